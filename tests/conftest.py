"""Shared by all tests: no deadlines, because machines are noisy and a slow example is not wrong; the slow folders."""

from pathlib import Path

import pytest
from hypothesis import settings

SLOW = {"browser", "fuzz", "torture"}

settings.register_profile("mashq", deadline=None)
settings.load_profile("mashq")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of these folders as slow."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in SLOW:
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def unmeasured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off coverage in the torture's processes: it could not be stored where the disk is full."""
    if "torture" in request.path.parts:
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture(autouse=True)
def as_wide_as_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print as wide as without a terminal, whatever the environment of the tests sets."""
    monkeypatch.delenv("COLUMNS", raising=False)
