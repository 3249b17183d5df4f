"""A run file that is more than tables of rows, or less than a chain: every command refuses it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mashq.errors import StoreError
from mashq.web.api.queries import opened
from tests.pinned.door import command as cli
from tests.runs import tamper
from tests.runs.test_tamper import first_wrong


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tamper.played(tmp_path_factory.mktemp("forged"))


SCHEMES = {
    "view": "ALTER TABLE results RENAME TO kept; CREATE VIEW results AS SELECT * FROM kept",
    "trigger": "CREATE TRIGGER later AFTER INSERT ON events BEGIN UPDATE results SET h = 1; END",
    "computed": "ALTER TABLE seats ADD COLUMN sly GENERATED ALWAYS AS (seat + 1)",
    "virtual": "CREATE VIRTUAL TABLE notes USING fts5(words)",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_file_that_computes_what_it_shows_is_refused_by_every_reader(
    played: Path, tmp_path: Path, scheme: str
) -> None:
    run = tamper.copied(played, tmp_path / "run")
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.executescript(SCHEMES[scheme])
    for command in ("show", "score", "verify", "report", "resume"):
        ended = cli([command, str(run)])
        assert ended.code == 2 and "which mashq never writes" in ended.err, (command, ended.err)
        assert len(ended.err.strip().splitlines()) == 1, ended.err


def test_a_view_without_end_takes_no_dashboard_down(played: Path, tmp_path: Path) -> None:
    run = tamper.copied(played, tmp_path / "run")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT kept.*, x FROM c, kept"
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.executescript(f"ALTER TABLE events RENAME TO kept; CREATE VIEW events AS {endless}")
    for finished in (True, False):
        with pytest.raises(StoreError, match="which mashq never writes"), opened(run, finished=finished):
            pass


@pytest.mark.parametrize("statement", ["DROP TABLE chain", "DELETE FROM chain"])
def test_a_run_without_its_chain_is_none_of_an_earlier_version(played: Path, tmp_path: Path, statement: str) -> None:
    run = tamper.copied(played, tmp_path / "run")
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute(statement)
    assert first_wrong(run) == "chain: it was removed: a run of this version has one from its start"
    ended = cli(["resume", str(run)])
    assert ended.code == 2 and "is not what was begun (chain was changed)" in ended.err
