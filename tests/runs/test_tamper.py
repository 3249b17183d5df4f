"""Whatever is changed in a run is noticed; what is not changed is not complained of."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mashq.errors import MashqError
from mashq.runs.reading import read_head
from mashq.runs.verify import verify
from tests.runs import tamper


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tamper.played(tmp_path_factory.mktemp("tamper"))


def first_wrong(run: Path, head: str | None = None) -> str:
    """What `mashq verify` says first, or nothing."""
    try:
        return next((f"{one.check}: {one.wrong}" for one in verify(run, head=head) if one.wrong), "")
    except MashqError as error:
        return str(error)


def test_the_run_has_what_there_is_to_change(played: Path) -> None:
    counts = {table: count for table, (_, count) in tamper.tables(played).items()}
    empty = {table for table, count in counts.items() if not count}
    assert empty <= {"marks", "lost"}, counts
    assert first_wrong(played, read_head(played)) == ""


def test_every_cell_and_every_row(played: Path, tmp_path: Path) -> None:
    missed: list[str] = []
    done = 0
    for name, statement in tamper.changes(played):
        run = tamper.copied(played, tmp_path / "run")
        connection = sqlite3.connect(run / "run.db")
        connection.executescript(statement)
        connection.commit()
        changed = connection.total_changes
        connection.close()
        assert changed, name
        done += 1
        if not first_wrong(run):
            missed.append(name)
    assert not missed, f"{len(missed)} of {done}: {missed}"
    assert done > 150


def test_every_level_of_the_manifest(played: Path, tmp_path: Path) -> None:
    manifest = json.loads((played / "manifest.json").read_text())
    run, missed = tamper.copied(played, tmp_path / "run"), list[object]()
    for path in tamper.levels(manifest):
        if path[0] == "prompts" and len(path) > 2:
            continue
        (run / "manifest.json").write_text(json.dumps(tamper.edited(manifest, path)))
        if not first_wrong(run):
            missed.append(path)
    assert not missed


def test_a_shorter_run_is_told_by_its_head(played: Path, tmp_path: Path) -> None:
    """Someone who cuts the end off, and makes the rest agree, is found out by the head that was published."""
    run = tamper.copied(played, tmp_path / "run")
    head = read_head(run)
    connection = sqlite3.connect(run / "run.db")
    connection.execute("DELETE FROM chain WHERE n = (SELECT max(n) FROM chain)")
    connection.commit()
    connection.close()
    assert first_wrong(run).startswith("chain: "), "the manifest of the end is not in the chain"
    forged = tamper.copied(played, tmp_path / "forged")
    assert first_wrong(forged, head) == ""
    assert first_wrong(forged, "0" * 64).startswith("head: ")


def test_a_table_that_is_none_of_a_run_is_noticed(played: Path, tmp_path: Path) -> None:
    run = tamper.copied(played, tmp_path / "run")
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.executescript("CREATE TABLE extra (h REAL)")
    assert first_wrong(run) == "file: it has a table 'extra', which mashq never writes"
