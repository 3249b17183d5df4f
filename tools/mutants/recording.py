"""A pytest plugin that records which test runs which line, including lines of shared fixtures and child processes.

Coverage's context is the test while it runs, and the fixture while a module or session fixture is set up: all tests
that use it depend on it, not only the first. The plan names the file the controller writes, one line per test.
"""

import base64
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

from tools.mutants.tree import NO_OTHERS

FIXTURE = "fixture "  # prefix of a fixture's context
CHILDREN = "COVERAGE_PROCESS_CONFIG"  # coverage's configuration for child processes, as JSON in base 64

_tests: dict[str, dict[str, Any]] = {}
_contexts: list[str] = [""]


def _switch_context(context: str) -> None:
    coverage = Coverage.current()
    if coverage is not None:
        coverage.switch_context(context)
    if CHILDREN in os.environ:
        config = json.loads(base64.b64decode(os.environ[CHILDREN]))
        config["context"] = context or None
        os.environ[CHILDREN] = base64.b64encode(json.dumps(config).encode()).decode()


def _with_context(context: str) -> Generator[None, object, object]:
    _contexts.append(context)
    _switch_context(context)
    try:
        return (yield)
    finally:
        _contexts.pop()
        _switch_context(_contexts[-1])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart() -> None:
    """Let processes that tests start load any pytest plugin."""
    os.environ.pop(NO_OTHERS, None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record a test, from its first fixture to its last."""
    names: list[str] = getattr(item, "fixturenames", [])
    item.user_properties.append(("fixtures", names))
    return (yield from _with_context(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Set the context again, since fixtures may have changed the environment."""
    _switch_context(_contexts[-1])
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """Record a fixture that several tests share."""
    if fixturedef.scope == "function":
        return (yield)
    return (yield from _with_context(f"{FIXTURE}{fixturedef.baseid}::{fixturedef.argname}"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record duration and outcome."""
    test = _tests.setdefault(report.nodeid, {"test": report.nodeid, "seconds": 0.0, "passed": False})
    test["seconds"] += report.duration
    test["fixtures"] = dict(report.user_properties).get("fixtures", [])
    if report.when == "call":
        test["passed"] = report.passed
    elif report.failed:
        test["passed"] = False


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results, in the controlling process."""
    if not hasattr(session.config, "workerinput"):
        plan = json.loads(Path(os.environ["MUTANTS_PLAN"]).read_text("utf-8"))
        lines = (json.dumps(test) for test in _tests.values())
        Path(plan["out"]).write_text("\n".join(lines), "utf-8")
