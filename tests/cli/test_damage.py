"""Every reading command on a run with one damaged cell or manifest key: one sentence and exit 2, never a traceback.

Every column of every table, and every key of the manifest, in turn holds a value that it cannot: the wrong type,
broken JSON, an impossible number.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from mashq.runs.schema import ROWS
from tests.pinned.door import Dashboard, command
from tests.pinned.stage import RUNS, copied

KINDS = ("match", "trials", "tournament", "stopped")
SOME = ("show", "report", "verify", "attempts", "resume")  # of each way to open a run
COMMANDS: dict[str, Sequence[str]] = {
    "show": ("show", "RUN"),
    "show json": ("show", "RUN", "--json"),
    "score": ("score", "RUN"),
    "compare": ("compare", "RUN", "RUN"),
    "report": ("report", "RUN", "-o", "OUT.html"),
    "verify": ("verify", "RUN"),
    "power": ("power", "RUN"),
    "calibrate": ("calibrate", "RUN", "-o", "OUT.yaml"),
    "validate": ("validate", "sample", "RUN", "-o", "OUT"),
    "rescore": ("rescore", "RUN", "--detector", "grounding"),
    "results": ("export", "RUN", "--format", "csv"),
    "attempts": ("export", "RUN", "--format", "jsonl", "--what", "attempts"),
    "events": ("export", "RUN", "--format", "jsonl", "--what", "events"),
    "otel": ("export", "RUN", "--format", "otel"),
    "inspect": ("export", "RUN", "--format", "inspect", "-o", "OUT"),
    "latex": ("export", "RUN", "--format", "latex"),
    "resume": ("resume", "RUN"),
}
Cell = tuple[str, str, object]
NO_VALUE: list[list[object]] = [[]]  # what no key takes


def run(name: str, path: Path, out: Path) -> tuple[int, str]:
    """A command's exit code, and what it wrote to standard error."""
    words = [word.replace("RUN", str(path)).replace("OUT", str(out)) for word in COMMANDS[name]]
    done = command(words)
    return done.code, done.err


def refused(path: Path, out: Path, what: str, commands: Sequence[str] = tuple(COMMANDS)) -> None:
    for name in commands:
        code, said = run(name, path, out)
        assert code == 2, f"{name} of a run with {what}: exit {code}: {said[-400:]}"
        sentence = said.strip().splitlines()[-1]
        assert sentence.startswith("mashq: ") and "Traceback" not in said, (
            f"{name} of a run with {what}: {said[-400:]}"
        )


def impossible(table: str, column: str) -> Iterator[object]:
    """Values that the column cannot hold."""
    cell = ROWS[table][column]
    yield b"\xff\x00"
    if cell.type != "text":
        yield "five"
    if cell.low == 0:
        yield -1
    if cell.high is not None:
        yield 1e300
    if cell.words:
        yield "something else"
    if cell.json:
        yield "{"


def damage(path: Path, cell: Cell) -> bool:
    """Put the value into one row; whether there was one, and it stayed what it was given as."""
    table, column, value = cell
    with closing(sqlite3.connect(path / "run.db")) as connection, connection:
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if column not in there or not connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            return False
        least = f"(SELECT min({column}) FROM {table})"
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS {least}", (value,))
        except sqlite3.IntegrityError:  # a primary key, or the rowid, which takes nothing else
            return False
    return True


CELLS: list[Cell] = [
    (table, column, value) for table in ROWS for column in ROWS[table] for value in impossible(table, column)
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("table", ROWS)
@pytest.mark.parametrize("kind", ["match", "stopped"])
def test_a_damaged_cell(kind: str, table: str, tmp_path: Path) -> None:
    tried = 0
    for number, cell in enumerate(one for one in CELLS if one[0] == table):
        path = copied(kind, tmp_path / f"run{number}")
        if damage(path, cell):
            commands = tuple(COMMANDS) if kind == "match" else SOME
            refused(path, tmp_path / f"out{number}", f"{cell[2]!r} in {table}.{cell[1]}", commands)
            tried += 1
        shutil.rmtree(path)
    if not tried:
        pytest.skip(f"{kind} has no rows in {table}")


def places(document: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a JSON document stands."""
    inside: list[tuple[Any, object]] = []
    if isinstance(document, dict):
        inside = list(cast(dict[str, object], document).items())
    elif isinstance(document, list):
        inside = list(enumerate(cast(list[object], document)))
    for key, value in inside:
        yield (*at, key)
        yield from places(value, (*at, key))


def put(document: Any, at: tuple[Any, ...], value: object) -> None:
    for key in at[:-1]:
        document = document[key]
    document[at[-1]] = value


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_manifest_key(kind: str, tmp_path: Path) -> None:
    whole = json.loads((RUNS / kind / "manifest.json").read_text("utf-8"))
    path = copied(kind, tmp_path / "run")
    for at in places(whole):
        document = json.loads(json.dumps(whole))
        put(document, at, NO_VALUE)
        (path / "manifest.json").write_text(json.dumps(document))
        refused(path, tmp_path / "out", f"[[]] at {at}", SOME)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_a_damaged_run(name: str, tmp_path: Path) -> None:
    path = copied("match", tmp_path / "run")
    assert damage(path, ("attempts", "tokens_in", "five"))
    refused(path, tmp_path / "out", "'five' in attempts.tokens_in", (name,))


def test_the_dashboard_says_which_run_is_damaged_and_shows_the_others(tmp_path: Path) -> None:
    copied("trials", tmp_path / "good")
    path = copied("match", tmp_path / "bad")
    assert damage(path, ("events", "move", "{"))
    dashboard = Dashboard(tmp_path)
    assert dashboard.get("/api/runs").status == 200
    assert dashboard.get("/api/match", "run=good&match=0").status == 200
    for number, text in enumerate(('{"ended": null}', "[" * 5000, '{"ended": null, "season": null}')):
        other = copied("match", tmp_path / f"other{number}")
        (other / "manifest.json").write_text(text)
    assert Dashboard(tmp_path).get("/api/runs").status == 200
    damaged = dashboard.get("/api/frame", "run=bad&match=0&at=0")
    assert 400 <= damaged.status < 500 and b"restore it from a copy" in damaged.body


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"ended": null}', '{"ended": ' + "[" * 5000 + "]" * 5000 + "}"]
)
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    path = copied("match", tmp_path / "run")
    (path / "manifest.json").write_text(text)
    refused(path, tmp_path / "out", "another manifest", ("show", "score", "report", "verify", "resume"))


def test_the_metered_ledger_too(tmp_path: Path) -> None:
    path = copied("metered", tmp_path / "run")
    assert damage(path, ("attempts", "seconds", "five"))
    refused(path, tmp_path / "out", "'five' in attempts.seconds", ("show", "show json", "attempts", "otel"))
