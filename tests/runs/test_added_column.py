"""A column that was added to the ledger: runs begun before it hold, and what is put into it is noticed."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.gateway.clock import RealClock
from mashq.runs import chain
from mashq.runs.reading import read_head
from mashq.runs.writer import Run
from tests.pinned.stage import copied
from tests.runs.test_begun import begun
from tests.torture.honest import complaints

CLOSED = tuple(name for name in chain.CLOSED if name != "first_byte")
CLOSE = f"UPDATE attempts SET {', '.join(f'{name}=?' for name in CLOSED)} WHERE id=?"


class EarlierChain(chain.Chain):
    """The chain as a version wrote it that did not know when a stream began."""

    def write(self, cursor: sqlite3.Cursor, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Close attempts without it."""
        at = chain.CLOSED.index("first_byte")
        earlier = [(CLOSE, (*v[:at], *v[at + 1 :])) if s == chain.CLOSE else (s, v) for s, v in statements]
        super().write(cursor, earlier)


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """While it lasts, runs are written as that version wrote them."""
    rows = chain.Rows("attempts", "id", (*CLOSED, "id"))
    monkeypatch.setattr(chain, "ROWS", {**chain.ROWS, "c": rows})
    monkeypatch.setattr(chain, "BY_NAME", {**chain.BY_NAME, CLOSE: chain.BY_NAME[chain.CLOSE]})
    monkeypatch.setattr(chain, "Chain", EarlierChain)
    return monkeypatch


def changed(run: Path, *statements: str) -> None:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount
        connection.commit()


def without_column(run: Path) -> None:
    """The file as it was before there was such a column."""
    changed(run, "DROP INDEX attempts_streamed", "ALTER TABLE attempts DROP COLUMN first_byte")


def told(run: Path) -> list[Any]:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return ["first_byte" in entry[1]["c"] for entry in map(list[Any], chain.notes(connection, chain.COLUMNS))]


def test_a_chain_that_was_begun_without_it_goes_on_with_it(tmp_path: Path, earlier: pytest.MonkeyPatch) -> None:
    run = begun(tmp_path / "run")
    without_column(run)
    assert complaints(run) == []
    earlier.undo()
    head = read_head(run)
    assert complaints(run, head) == [], "this version reads it as it is"
    assert mashq.show(run)["finished"] is False
    mashq.resume(run)
    assert told(run) == [False, True] and complaints(run, read_head(run)) == []
    for which in ("min", "max"):  # one of each version
        there = f"(SELECT {which}(id) FROM attempts WHERE outcome IS NOT NULL)"
        changed(run, f"UPDATE attempts SET first_byte = 0.5 WHERE id = {there}")
        assert any("is not what was recorded" in one for one in complaints(run)), which
        changed(run, f"UPDATE attempts SET first_byte = NULL WHERE id = {there}")
    assert complaints(run) == []


def test_what_a_run_held_when_its_chain_began_is_checked_by_the_columns_of_then(
    tmp_path: Path, earlier: pytest.MonkeyPatch
) -> None:
    run = copied("stopped", tmp_path / "run")
    Run.open(run, RealClock()).close()
    without_column(run)
    assert complaints(run) == []
    earlier.undo()
    mashq.resume(run)
    assert told(run) == [False, True] and complaints(run, read_head(run)) == []
    changed(run, "UPDATE attempts SET first_byte = 0.5 WHERE id = (SELECT min(id) FROM attempts)")
    assert any("when its chain began" in one for one in complaints(run))
