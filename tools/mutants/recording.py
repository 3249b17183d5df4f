"""A plugin of pytest: which test runs which line, the lines of shared fixtures and of child processes included.

Coverage's context is the test while it runs, and the fixture while one of a module or a session is made: all tests
that use it depend on it, not only the first. The plan names the file the controller writes, a line for each test.
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

FIXTURE = "fixture "  # what the context of a fixture starts with
CHILDREN = "COVERAGE_PROCESS_CONFIG"  # what coverage tells child processes, as JSON in base 64

_tests: dict[str, dict[str, Any]] = {}
_contexts: list[str] = [""]


def _enter(context: str) -> None:
    measuring = Coverage.current()
    if measuring is not None:
        measuring.switch_context(context)
    if CHILDREN in os.environ:
        told = json.loads(base64.b64decode(os.environ[CHILDREN]))
        told["context"] = context or None
        os.environ[CHILDREN] = base64.b64encode(json.dumps(told).encode()).decode()


def _during(context: str) -> Generator[None, object, object]:
    _contexts.append(context)
    _enter(context)
    try:
        return (yield)
    finally:
        _contexts.pop()
        _enter(_contexts[-1])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart() -> None:
    """What tests start may load what it likes."""
    os.environ.pop(NO_OTHERS, None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """The test, from its first fixture to its last."""
    names: list[str] = getattr(item, "fixturenames", [])
    item.user_properties.append(("fixtures", names))
    return (yield from _during(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """What fixtures changed in the environment is kept; the context is stated once more."""
    _enter(_contexts[-1])
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """A fixture that several tests share."""
    if fixturedef.scope == "function":
        return (yield)
    return (yield from _during(f"{FIXTURE}{fixturedef.baseid}::{fixturedef.argname}"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Seconds and outcome."""
    test = _tests.setdefault(report.nodeid, {"test": report.nodeid, "seconds": 0.0, "passed": False})
    test["seconds"] += report.duration
    test["fixtures"] = dict(report.user_properties).get("fixtures", [])
    if report.when == "call":
        test["passed"] = report.passed
    elif report.failed:
        test["passed"] = False


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what is known, in the process that knows all."""
    if not hasattr(session.config, "workerinput"):
        plan = json.loads(Path(os.environ["MUTANTS_PLAN"]).read_text("utf-8"))
        lines = (json.dumps(test) for test in _tests.values())
        Path(plan["out"]).write_text("\n".join(lines), "utf-8")
