"""A plugin of pytest: the planned tests in the planned order, each with its time limit, up to the first failure.

The plan: `order` ((test, seconds) pairs), `seconds` for all of them, `events`, a file that is told what happened, and
`root`, where the sources have to come from.
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
_began = time.monotonic()


def _tell(event: str, test: str = "") -> None:
    with Path(PLAN["events"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event, "test": test}) + "\n")


def pytest_sessionstart() -> None:
    """A failing example need not be made small; and it is the copy that is tested."""
    os.environ.pop(NO_OTHERS, None)
    spec = importlib.util.find_spec("mashq")
    if spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(PLAN["root"]):
        raise pytest.UsageError(f"{spec} would be tested, not what is in {PLAN['root']}.")
    quick = settings(phases=(Phase.explicit, Phase.generate), database=None)
    settings.register_profile("mutants", quick)
    settings.load_profile("mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is planned. A test whose parameters were changed by the fault is found by its name."""
    found = {item.nodeid: item for item in items}
    by_name: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_name.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: dict[str, pytest.Item] = {}
    for test, limit in PLAN["order"]:
        alike = [found[test]] if test in found else by_name.get(test.partition("[")[0], [])
        for item in alike:
            if item.nodeid not in kept:
                item.add_marker(pytest.mark.timeout(limit), append=False)
                kept[item.nodeid] = item
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = kept.values()
    _tell("collected")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The first failure is what was wanted."""
    if report.failed:
        _tell("hung" if "Timeout (>" in report.longreprtext else "failed", report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Between two tests: is there time for another?"""
    if time.monotonic() - _began > PLAN["seconds"]:
        _tell("out of time", nodeid)
        pytest.exit("out of time", returncode=0)
