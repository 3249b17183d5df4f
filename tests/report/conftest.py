"""Text is written as wide as the terminal; these tests read it as where there is none, whatever they are run in."""

import pytest

from mashq.report.text.tables import WIDTH


@pytest.fixture(autouse=True)
def a_page_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is about another width sets its own."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
