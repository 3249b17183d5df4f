"""A run that was tampered with is found out."""

import sqlite3
from pathlib import Path

import pytest

import mashq
from mashq.runs.verify import verify
from tests.arena.helpers import mashq as command
from tests.arena.test_seasons import config


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("verify") / "run"
    mashq.play(config(), run, trials=2)
    return run


def wrong(run: Path) -> list[str]:
    return [finding.check for finding in verify(run) if finding.wrong]


def test_a_run_as_it_was_written_holds(played: Path) -> None:
    assert wrong(played) == []
    done = command("verify", played)
    assert (done.returncode, done.stdout) == (0, "13 checks, all hold.\n")


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("UPDATE results SET h = h / 2 WHERE match = '1' AND seat = 0 AND position = 2", "match 1: results"),
        ("UPDATE results SET tokens_out = tokens_out + 1 WHERE match = '0' AND position = 0", "match 0: results"),
        ("DELETE FROM attempts WHERE id = 3", "match 0: costs"),
        ("UPDATE attempts SET tokens_in = tokens_in + 1 WHERE id = 1", "match 0: costs"),
        ("UPDATE items SET text = text || '.' WHERE position = 1", "items"),
        ("DELETE FROM prompts WHERE rowid = (SELECT min(rowid) FROM prompts)", "prompts"),
        ("UPDATE prompts SET messages = '[]' WHERE rowid = (SELECT min(rowid) FROM prompts)", "prompts"),
        ("UPDATE events SET move = json_set(move, '$.h', 0.5) WHERE seq = 1", "match 0: results"),
    ],
)
def test_what_was_changed_is_found(played: Path, tmp_path: Path, change: str, check: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("run.db", "manifest.json"):
        (run / name).write_bytes((played / name).read_bytes())
    connection = sqlite3.connect(run / "run.db")
    connection.execute(change)
    connection.commit()
    connection.close()
    assert check in wrong(run)
    done = command("verify", run)
    assert done.returncode == 1 and check in done.stdout
