"""A pytest plugin that runs the planned tests in order, each with its time limit, up to the first failure.

The plan: `order` ((test, seconds) pairs), `seconds` for all of them, `events`, a file to log events to, and
`root`, where the sources must come from.
"""

import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from tools.mutants.tree import NO_OTHERS

PLAN: dict[str, Any] = json.loads(Path(os.environ["MUTANTS_PLAN"]).read_text("utf-8"))
_started = time.monotonic()


def _log_event(event: str, test: str = "") -> None:
    with Path(PLAN["events"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event, "test": test}) + "\n")


def pytest_sessionstart() -> None:
    """Turn off the shrinking of failing examples, and check that the copy is what is tested."""
    os.environ.pop(NO_OTHERS, None)
    spec = importlib.util.find_spec("mashq")
    if spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(PLAN["root"]):
        raise pytest.UsageError(f"{spec} would be tested, not what is in {PLAN['root']}.")
    quick = settings(phases=(Phase.explicit, Phase.generate), database=None)
    settings.register_profile("mutants", quick)
    settings.load_profile("mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the planned tests; a test whose parameters the fault changed is matched by its name."""
    by_id = {item.nodeid: item for item in items}
    by_name: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_name.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: dict[str, pytest.Item] = {}
    for test, limit in PLAN["order"]:
        matches = [by_id[test]] if test in by_id else by_name.get(test.partition("[")[0], [])
        for item in matches:
            if item.nodeid not in kept:
                item.add_marker(pytest.mark.timeout(limit), append=False)
                kept[item.nodeid] = item
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = kept.values()
    _log_event("collected")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Log a failure."""
    if report.failed:
        _log_event("hung" if "Timeout (>" in report.longreprtext else "failed", report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Stop between two tests when the time is up."""
    if time.monotonic() - _started > PLAN["seconds"]:
        _log_event("out of time", nodeid)
        pytest.exit("out of time", returncode=0)
