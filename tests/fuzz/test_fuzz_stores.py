"""Damaged run directories: one clear sentence, a right answer, or a finding of `verify`; never another exception, and
never another table that `verify` calls whole."""

import asyncio
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import MashqError
from mashq.gateway.clock import RealClock
from mashq.protocol.moves import KINDS, from_json, to_json
from mashq.protocol.resources import Spend
from mashq.runs.verify import verify
from tests.arena.helpers import write_items

FILES = ("run.db", "manifest.json")
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
SMALL = settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=CALM)
VALUES: list[object] = [None, "", "x", -1, 0, 7, 0.5, 1e300, 10**30, True, [], {}, [[]], "\ud800", float("nan")]
Damage = Callable[[Path, random.Random], None]


def config(folder: Path) -> dict[str, Any]:
    """Two simulated players over three items: reviews, failures and refusals happen."""
    simulate = {"refusal_rate": 0.1, "failure_rate": 0.1}
    return {
        "task": {"data": str(write_items(folder / "items.jsonl", 3))},
        "players": [
            {"name": "Ada", "model": "simulated/default"},
            {"name": "Bo", "model": "simulated/default", "policy": "rule"},
        ],
        "models": {"simulated/default": {"simulate": simulate}},
        "seed": 5,
    }


class Cut(Exception):
    """The end of a match that stops half way."""


class Stopping:
    """Stops a match after some moves."""

    def __init__(self, after: int) -> None:
        self.left = after

    def batch(self, matches: int, done: int) -> None: ...
    def ended(self, fixture: object) -> None: ...
    def moved(self, fixture: object, state: object, seat: object, move: object) -> None:
        """One move less to make."""
        self.left -= 1
        if not self.left:
            raise Cut


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    mashq.play(config(folder), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores-cut")
    with pytest.raises(Cut):
        asyncio.run(match.run(check(config(folder)), folder / "run", clock=RealClock(), show=Stopping(6)))
    return folder / "run"


def table(run: Path) -> dict[str, Any]:
    """What `show` says, without where and without words taken from the record as they are."""
    return {name: value for name, value in mashq.show(run).items() if name not in ("run", "notes")}


def copy(run: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in FILES:
        shutil.copy(run / name, to / name)
    return to


def hurt(run: Path, to: Path, seed: int, damage: Damage) -> Path:
    """A copy of the run, damaged."""
    copy(run, to)
    damage(to, random.Random(seed))
    return to


def survives(whole: Path, run: Path) -> None:
    """What must hold of a damaged copy of a finished run."""
    try:
        found = [finding for finding in verify(run) if finding.wrong]
    except MashqError as error:
        assert_clear(error)
        found = [error]
    try:
        after = table(run)
    except MashqError as error:
        assert_clear(error)
    else:
        assert found or after == table(whole), "another table, and verify calls it whole"
    try:
        mashq.resume(run)
    except MashqError as error:
        assert_clear(error)


def assert_clear(error: MashqError) -> None:
    assert len(str(error)) > 20, str(error)


def flip(name: str) -> Damage:
    def damage(run: Path, rng: random.Random) -> None:
        body = bytearray((run / name).read_bytes())
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            body[rng.randrange(len(body))] = rng.randrange(256)
        (run / name).write_bytes(body)

    return damage


def truncate(run: Path, rng: random.Random) -> None:
    path = run / rng.choice(FILES)
    body = path.read_bytes()
    path.write_bytes(body[: rng.randrange(len(body))] + bytes(rng.choice((0, 0, 100))))


def drop(run: Path, rng: random.Random) -> None:
    """Tables, or some of their rows, are gone."""
    with closed(run) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in rng.sample(tables, rng.choice((1, 1, 2))):
            connection.execute(f"DROP TABLE {name}" if rng.random() < 0.5 else f"DELETE FROM {name}")


def change(run: Path, rng: random.Random) -> None:
    """A cell holds something else."""
    with closed(run) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        name = rng.choice(tables)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        value: object = rng.choice((None, "", "x", "{}", "[1]", b"\xff\x00", -1, 0, 1e308, 2**62, "NaN", "0"))
        _update(connection, name, rng.choice(columns), value)


def _update(connection: sqlite3.Connection, name: str, column: str, value: object) -> None:
    try:
        connection.execute(f"UPDATE OR IGNORE {name} SET {column} = ?", (value,))
    except sqlite3.IntegrityError:
        connection.execute(f"DELETE FROM {name}")


def moves(run: Path, rng: random.Random) -> None:
    """The JSON of a move is another."""
    with closed(run) as connection:
        rows = connection.execute("SELECT seq, move FROM events").fetchall()
        for seq, move in rng.sample(rows, min(len(rows), 2)):
            changed = mutated(move, rng).encode("utf-8", "surrogatepass")
            connection.execute("UPDATE events SET move = cast(? AS TEXT) WHERE seq = ?", (changed, seq))


def manifest(run: Path, rng: random.Random) -> None:
    """The JSON of the manifest is another."""
    path = run / "manifest.json"
    path.write_bytes(mutated(path.read_text("utf-8"), rng).encode("utf-8", "surrogatepass"))


def mutated(text: str, rng: random.Random) -> str:
    """The same JSON with one value, somewhere, replaced or left out."""
    document = json.loads(text)
    places = list(_places(document))
    if not places:
        return rng.choice(("", "[]", "null", "{", '{"x": 1}'))
    inside, key = rng.choice(places)
    if rng.random() < 0.25 and isinstance(inside, dict):
        del inside[key]
    else:
        inside[key] = rng.choice(VALUES)
    return json.dumps(document, ensure_ascii=rng.random() < 0.9)


def _places(document: object) -> Iterator[tuple[Any, Any]]:
    keys: Iterable[Any] = ()
    if isinstance(document, dict):
        keys = cast(dict[str, object], document)
    elif isinstance(document, list):
        keys = range(len(cast(list[object], document)))
    inside = cast(Any, document)
    for key in keys:
        yield inside, key
        yield from _places(inside[key])


class closed:
    """The run's file to change, for a with block."""

    def __init__(self, run: Path) -> None:
        self._connection = sqlite3.connect(run / "run.db")

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()


DAMAGES: dict[str, Damage] = {
    "flipped file": flip("run.db"),
    "flipped manifest": flip("manifest.json"),
    "truncated": truncate,
    "dropped": drop,
    "changed": change,
    "moves": moves,
    "manifest": manifest,
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_run_is_found_out(finished: Path, tmp_path: Path, kind: str) -> None:
    @SMALL
    @given(st.integers(0, 2**32))
    def search(seed: int) -> None:
        survives(finished, hurt(finished, tmp_path / "hurt", seed, DAMAGES[kind]))

    search()


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_unfinished_one_is_one_sentence_or_goes_on(unfinished: Path, tmp_path: Path, kind: str) -> None:
    @settings(SMALL, max_examples=25)
    @given(st.integers(0, 2**32))
    def search(seed: int) -> None:
        run = hurt(unfinished, tmp_path / "hurt", seed, DAMAGES[kind])
        looks: list[Callable[[Path], object]] = [mashq.show, mashq.resume, mashq.show, lambda run: list(verify(run))]
        for look in looks:
            try:
                look(run)
            except MashqError as error:
                assert_clear(error)

    search()


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("status", "text", "h", "plain", "choice", "source", "spend", "confidence", "reason", "calls", "tokens_in")


@settings(SMALL, max_examples=400)
@given(st.sampled_from([*KINDS, "x"]), ANY | st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=4))
def test_what_is_no_move_is_refused(kind: str, document: object) -> None:
    try:
        move = from_json(kind, document)
    except ValueError:
        return
    again = from_json(kind, to_json(move))
    assert again == move


@settings(SMALL, max_examples=300)
@given(ANY | st.dictionaries(st.sampled_from(["calls", "waited", "seconds", "tokens_in"]), ANY, max_size=3))
def test_what_is_no_cost_is_refused(document: object) -> None:
    try:
        spend = Spend.from_json(document)
    except ValueError:
        return
    assert Spend.from_json(json.loads(json.dumps(spend.to_json(), allow_nan=False))) == spend
