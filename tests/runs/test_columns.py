"""Results read as columns: the same as read one by one, and left to that where they are in any way odd."""

import asyncio
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.big_run import write
from mashq.errors import StoreError
from mashq.gateway.clock import RealClock
from mashq.protocol import Item
from mashq.protocol.resources import NOTHING, Amount, Spend
from mashq.protocol.results import COSTS, SCORES, ItemResult, PlayerResult, columns_of
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents import match as document
from mashq.report.documents.base import dumped
from mashq.report.documents.columns import results_of
from mashq.runs.columns import read_columns
from mashq.runs.open import load, load_season
from mashq.runs.reading import read_results
from mashq.runs.verify import verify
from mashq.runs.writer import Run

UNKNOWN = Spend(
    2,
    1,
    1,
    1,
    1,
    (Amount(7, 1, 1, 9), Amount(3, 1, 1, 4), Amount(0.1, 1, 1, 60.0), Amount(0, 0, 2, math.inf), NOTHING),
)
PLAIN = Spend(1, 0, 0, 0, 0, (Amount(5, 1), Amount(4, 1), Amount(0.3, 1), Amount(0.25, 1), NOTHING))


def stored(path: Path, results: list[PlayerResult]) -> Path:
    """A run of one match that ended with these results."""
    items = [Item(row.item, "text") for row in results[0].items]
    with closing(Run.create(path, RealClock(), {"ended": None}, items)) as run:
        record = run.record("0")
        record.begin()
        asyncio.run(record.end(results))
    return path


def player(name: str, *rows: tuple[Any, ...]) -> PlayerResult:
    items = tuple(ItemResult(f"i{at}", *row) for at, row in enumerate(rows))
    return PlayerResult(name, items, PLAIN, 0.8, 2, "it was poor")


USUAL = [player("a", ("ok", 0.5, 0.25, PLAIN), ("ok", 1.0, 1.0, PLAIN)), player("b", *[("ok", 0.1, 0.2, PLAIN)] * 2)]
ODD = [
    player("a", ("ok", 0.5, 0.25, UNKNOWN, 0.7, None), ("refused", None, None, PLAIN)),
    player("b", ("unanswered", None, None, Spend()), ("failed", None, None, UNKNOWN)),
]


@pytest.mark.parametrize("results", [USUAL, ODD], ids=["usual", "odd"])
def test_columns_are_those_of_the_rows(tmp_path: Path, results: list[PlayerResult]) -> None:
    found = read_columns(stored(tmp_path / "run", results), "0")
    assert found is not None
    for own, other in zip(found, columns_of(results), strict=True):
        assert (own.name, own.items, own.shared) == (other.name, other.items, other.shared)
        assert (own.threshold, own.max_reviews, own.stopped) == (0.8, 2, "it was poor")
        assert own.status.tolist() == other.status.tolist()
        for name in (*SCORES, *COSTS):
            assert own.values[name].tolist() == pytest.approx(other.values[name].tolist(), abs=0, nan_ok=True), name


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE results SET h = 'high' WHERE position = 1",
        "UPDATE results SET h = 7 WHERE position = 1",
        "UPDATE results SET status = 'great' WHERE position = 1",
        "UPDATE results SET tokens_in = 'many'",
        "UPDATE results SET tokens_in = 9e999",
        "UPDATE results SET tokens_in = 9007199254740993",
        "DELETE FROM results WHERE seat = 1 AND position = 0",
        "DELETE FROM results WHERE seat = 1",
        "DELETE FROM items WHERE position = 1",
        "UPDATE items SET position = 5 WHERE position = 1",
        "UPDATE results SET seat = 4 WHERE seat = 1",
        "DELETE FROM seats",
        "DROP TABLE seats",
    ],
)
def test_what_is_odd_is_left_to_the_reading_of_rows(tmp_path: Path, damage: str) -> None:
    run = stored(tmp_path / "run", USUAL)
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute(damage)
    assert read_columns(run, "0") is None


def test_a_match_that_has_not_ended_has_no_columns(tmp_path: Path) -> None:
    assert read_columns(stored(tmp_path / "run", USUAL), "1") is None


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as the benchmarks write it, small enough to fold."""
    path = tmp_path_factory.mktemp("big") / "run"
    write(path, 2000)
    return path


def test_a_run_of_the_benchmarks_is_one_that_could_have_been_played(big: Path) -> None:
    assert [finding for finding in verify(big) if finding.wrong] == []


def test_the_table_is_that_of_the_fold(big: Path) -> None:
    """From the rows, from the objects, and from the moves: the same numbers."""
    played, rules = load(big), ScoreRules()
    rows = read_results(big, "0")
    assert rows is not None and read_columns(big, "0") is not None
    shown = dumped(document.document(played))
    for row, own in zip(shown["players"], score(rows, rules).players, strict=True):
        assert (row["h"], row["q"], row["seconds"]) == (own.h, own.q, own.costs["seconds"])
    other = dumped(document.document(type(played)(played.path, played.manifest, played.fixture, played.state)))
    assert other == shown


def test_results_of_other_players_are_damage(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write(run, 100)
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("UPDATE seats SET player = 'someone' WHERE seat = 1")
    with pytest.raises(StoreError, match="its results are not of A, B"):
        results_of(next(load_season(run).fixtures_played()))
