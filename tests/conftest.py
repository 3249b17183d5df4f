"""Shared by all tests: no deadlines, because machines are noisy and a slow example is not wrong; the slow folders."""

from pathlib import Path

import pytest
from hypothesis import settings

SLOW = {"browser", "fuzz", "torture"}

settings.register_profile("mashq", deadline=None)
settings.load_profile("mashq")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of these folders is slow."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in SLOW:
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def unmeasured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage is not measured in the processes of the torture: where the disk is full it could not be stored."""
    if "torture" in request.path.parts:
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture(autouse=True)
def as_wide_as_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed is as wide as where there is no terminal, whatever was set around the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)
