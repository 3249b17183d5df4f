"""Reading a run's SQLite file: its items, matches, moves, attempts and results. Nothing here writes.

A damaged file, or a row that cannot be, is a StoreError that says what to do.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mashq.errors import StoreError
from mashq.gateway.profiles import Lesson
from mashq.gateway.providers import IN_PROCESS
from mashq.gateway.types import Call, Entry
from mashq.protocol import moves
from mashq.protocol.items import Item
from mashq.protocol.resources import FREE, MEASURES, RATED, TABLE, Amount, Spend
from mashq.protocol.results import PlayerResult
from mashq.runs import chain, charges, items, results
from mashq.runs.file import columns_of, connect
from mashq.runs.schema import check_file

DATABASE = "run.db"
DAMAGE = (
    sqlite3.Error,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)  # what reading and decoding a row can meet
TALLY = """SELECT match, player, purpose, count(*) AS opened, count(outcome) AS closed,
  sum(outcome IS NULL) AS unresolved, sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')) AS failed,
  sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)) AS tokens, sum(coalesce(seconds, 0)) AS seconds,
  sum(coalesce(waited, 0)) AS waited FROM attempts WHERE 1 GROUP BY match, player, purpose"""
COUNTS = ("opened", "closed", "unresolved", "failed", "tokens", "seconds", "waited")
REVIEW_CHARGES = charges.CHARGED.replace(
    "WHERE match = ? AND {measure} IS NULL", "WHERE match = ? AND purpose = 'review' AND {measure} IS NULL"
)


@dataclass(frozen=True, slots=True)
class Left:
    """What a crashed process left of a match: the attempts from the round at hand on, and the last id given."""

    entries: list[tuple[Call, Entry]]
    last: int | None


@dataclass(frozen=True, slots=True)
class Cut:
    """Moves of one kind that an output limit cut off: `lost` when nothing of them could be used; why the last was."""

    player: str
    kind: str
    lost: bool
    count: int
    why: str


@dataclass(frozen=True, slots=True)
class ReviewSpend:
    """What reviews cost: what the ledger knows of their attempts, and the charges for what it does not know."""

    known: Spend = FREE
    charge: Spend = FREE

    def __add__(self, other: "ReviewSpend") -> "ReviewSpend":
        return ReviewSpend(self.known + other.known, self.charge + other.charge)

    def cost(self, name: str) -> float:
        """The attempts as calls, or one of the other resources or measures, with its charges."""
        if name == "calls":
            return self.known.attempts
        return sum(self.known.measured(m).total + self.charge.measured(m).total for m in measures_of(name))

    def charged(self, name: str) -> float:
        """How much of a cost is a charge."""
        return sum(self.charge.measured(measure).total for measure in measures_of(name))

    def is_whole(self, name: str) -> bool:
        """Whether every attempt has a known cost or a charge."""
        spends = self.known, self.charge
        return all(
            sum(spend.measured(measure).known for spend in spends) >= self.known.attempts
            for measure in measures_of(name)
        )


def measures_of(name: str) -> tuple[str, ...]:
    """The measures that add up to a resource; a measure is itself."""
    return TABLE[name].measures if name in TABLE else (name,)


def check_record(path: Path) -> None:
    """See that every cell of a run's file holds what its column can; a StoreError names the first that does not."""
    with reading(path) as connection:
        check_file(connection, path / DATABASE)


def read_head(path: Path) -> str | None:
    """The head of the run's chain; None of a run of an earlier version, which has none."""
    with reading(path) as connection:
        links, head = chain.last(connection)
    return head if links else None


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of a run, as they were when it began."""
    with reading(path) as connection:
        return items.read(connection)


def read_matches(path: Path) -> dict[str, bool]:
    """The matches begun, in their order, and whether each has ended."""
    with reading(path) as connection:
        if not has_table(connection, "matches"):
            return {}
        rows = connection.execute("SELECT id, ended FROM matches ORDER BY position").fetchall()
    return {match: ended is not None for match, ended in rows}


def read_results(path: Path, match: str) -> tuple[PlayerResult, ...] | None:
    """The results of a match that has ended, by item; None before."""
    with reading(path) as connection:
        return results_in(connection, match)


def results_in(connection: sqlite3.Connection, match: str) -> tuple[PlayerResult, ...] | None:
    """The same from a file that is open."""
    found = results.read(connection, match)
    return None if found is None else charges.read(connection, match).on(found)


def read_charges(path: Path, match: str) -> charges.Charges:
    """What the attempts of unknown cost of a match are charged."""
    with reading(path) as connection:
        return charges.read(connection, match)


def read_left(path: Path, match: str) -> Left:
    """What a crashed process left of a match: the attempts from the last round it wrote of on."""
    from mashq.runs.ledger import entries  # only to go on with a run

    with reading(path) as connection:
        last = connection.execute("SELECT max(id) FROM attempts WHERE match = ?", (match,)).fetchone()[0]
        where = "match = ? AND round >= (SELECT coalesce(max(round), 0) FROM events WHERE match = ?)"
        return Left(entries(connection, where, (match, match)), last)


def read_lessons(path: Path) -> dict[str, tuple[Lesson, ...]]:
    """What the run has learnt that its models do not take, by model."""
    with reading(path) as connection:
        if not has_table(connection, "learnt"):
            return {}
        rows = connection.execute(
            "SELECT model, field, most, why FROM learnt ORDER BY noticed, model, field"
        ).fetchall()
    found: dict[str, tuple[Lesson, ...]] = {}
    for model, field, most, why in rows:
        found[model] = (*found.get(model, ()), Lesson(field, most, why))
    return found


def read_answering(path: Path, models: Iterable[str]) -> frozenset[str]:
    """Those of the models that have answered in the run."""
    query = "SELECT 1 FROM attempts WHERE model = ? AND outcome IN ('ok', 'refused') LIMIT 1"
    with reading(path) as connection:
        return frozenset(model for model in models if connection.execute(query, (model,)).fetchone() is not None)


def read_paid(path: Path, refused: str) -> bool:
    """Whether anything was asked of a provider that may cost: not of a model in this process, nor of the one whose
    provider refuses to serve."""
    query = """SELECT DISTINCT model FROM attempts WHERE outcome IN ('ok', 'refused') OR tokens_in > 0
      OR tokens_out > 0 OR (model <> ? AND (outcome IS NULL OR tokens_in IS NULL))"""
    with reading(path) as connection:
        return any(model.partition("/")[0] not in IN_PROCESS for (model,) in connection.execute(query, (refused,)))


def read_lost(path: Path) -> int:
    """How many attempts may have been sent without a trace when the machine went down."""
    with reading(path) as connection:
        if not has_table(connection, "lost"):
            return 0
        return connection.execute("SELECT coalesce(sum(attempts), 0) FROM lost").fetchone()[0]


def read_moves(path: Path, match: str) -> Iterator[tuple[str, moves.Move]]:
    """The moves of a match in the order they were made, with their players."""
    with reading(path) as connection:
        query = "SELECT player, kind, move FROM events WHERE match = ? ORDER BY seq"
        for player, kind, body in connection.execute(query, (match,)):
            yield player, moves.from_json(kind, json.loads(body))


def read_attempts(path: Path, match: str | None = None) -> list[dict[str, Any]]:
    """The attempts of each player and purpose, in a match or in all: how they ended, what is known of their cost.

    Those of a match that has ended were counted then; the others are counted now.
    """
    sums = ", ".join(f"sum({name}) AS {name}" for name in COUNTS)
    with reading(path) as connection:
        if has_table(connection, "spent") and connection.execute("SELECT 1 FROM matches LIMIT 1").fetchone():
            now = "match IN (SELECT id FROM matches WHERE id NOT IN (SELECT match FROM spent))"
            rows = f"SELECT * FROM spent UNION ALL {TALLY.replace('WHERE 1', f'WHERE {now}')}"
        else:
            rows = TALLY
        query = f"""SELECT player, purpose, {sums} FROM ({rows}) WHERE :match IS NULL OR match = :match
          GROUP BY player, purpose ORDER BY player, purpose"""
        found = _dicts(connection.execute(query, {"match": match}))
        if any(value is None for row in found for value in row.values()):
            raise ValueError("the counts of its attempts are not whole")
        return found


def read_review_spend(path: Path, match: str) -> dict[tuple[str, str], ReviewSpend]:
    """What the reviews of each item cost each player of a match; players and items without a review are left out."""
    with reading(path) as connection:
        there = columns_of(connection, "attempts")
        measures = [
            measure for measure in MEASURES if measure in there
        ]  # a file of an earlier version may have fewer
        sums = ", ".join(f"coalesce(sum({measure}), 0), count({measure})" for measure in measures)
        query = f"""SELECT player, item, count(*), {sums} FROM attempts
          WHERE match = ? AND purpose = 'review' AND item IS NOT NULL GROUP BY player, item"""
        spend: dict[tuple[str, str], ReviewSpend] = {}
        for player, item, attempts, *values in connection.execute(query, (match,)):
            known = Spend(calls=attempts)
            for measure, total, count in zip(measures, values[::2], values[1::2], strict=True):
                known = known.put(measure, Amount(total, count, attempts - count))
            spend[player, item] = ReviewSpend(known)
        for measure in measures:
            charged = charges.query_of(measure, REVIEW_CHARGES)
            for _, player, item, _, charge, attempts in connection.execute(charged, (match,) * 4):
                spend[player, item] += ReviewSpend(charge=FREE.put(measure, Amount(charge, attempts)))
    return spend


def read_times(path: Path, match: str) -> list[tuple[str, str, str | None, float, float]]:
    """Of every attempt whose time is known: player, item, how it ended, seconds, and seconds waited before it."""
    query = """SELECT player, item, outcome, seconds, coalesce(waited, 0) FROM attempts
      WHERE match = ? AND seconds IS NOT NULL ORDER BY id"""
    with reading(path) as connection:
        return connection.execute(query, (match,)).fetchall()


def read_first_bytes(path: Path) -> list[tuple[str, str, str, float]]:
    """Of every streamed reply: match, player, model, and the seconds to its first data."""
    query = "SELECT match, player, model, first_byte FROM attempts WHERE first_byte IS NOT NULL"
    with reading(path) as connection:
        known = "first_byte" in columns_of(connection, "attempts")  # a file of an earlier version lacks it
        return connection.execute(query).fetchall() if known else []


def read_unstated(path: Path, match: str) -> dict[str, int]:
    """How many answers of each player came without a stated confidence."""
    query = """SELECT player, count(*) FROM events WHERE match = ? AND kind IN ('answer', 'rewrite')
      AND json_extract(move, '$.status') = 'ok' AND json_extract(move, '$.confidence') IS NULL GROUP BY player"""
    with reading(path) as connection:
        return dict(connection.execute(query, (match,)).fetchall())


def read_abstentions(path: Path, match: str) -> tuple[int, int]:
    """How many answers and rewrites of a match abstain: as read from their words, and as stated."""
    query = """SELECT coalesce(sum(instr(move, '"abstained": "read"') > 0), 0),
      coalesce(sum(instr(move, '"abstained": "yes"') > 0), 0)
      FROM events WHERE match = ? AND kind IN ('answer', 'rewrite')"""
    with reading(path) as connection:  # a quotation mark within a text has a backslash
        read, stated = connection.execute(query, (match,)).fetchone()
    return read, stated


def read_unusable(path: Path, match: str | None) -> dict[str, tuple[int, int, int, int]]:
    """Of each player in a match, or in all: texts and those taken as they stood for want of the JSON asked for,
    decisions and those that fell back for want of a usable reply; players without either are left out."""
    query = """SELECT player, sum(kind != 'decision' AND instr(move, '"status": "ok"')),
      sum(kind != 'decision' AND instr(move, '"plain": true')), sum(kind = 'decision'),
      sum(kind = 'decision' AND instr(move, '"source": "fallback"'))
      FROM events WHERE kind IN ('answer', 'rewrite', 'decision')
      AND (:match IS NULL OR match = :match) GROUP BY player"""
    with reading(path) as connection:  # a move is stored as JSON: a quotation mark within a text has a backslash
        found = connection.execute(query, {"match": match}).fetchall()
    return {name: (texts, plain, decisions, lost) for name, texts, plain, decisions, lost in found if plain or lost}


def read_advice(path: Path, match: str | None) -> dict[str, tuple[int, int]]:
    """Of each player that was advised to review, in a match or in all: how often, and how often it then did."""
    query = """SELECT player, count(*), sum(instr(move, '"choice": "review"') > 0) FROM events
      WHERE kind = 'decision' AND instr(move, '"advised": true')
      AND (:match IS NULL OR match = :match) GROUP BY player"""
    with reading(path) as connection:
        return {name: (advised, did) for name, advised, did in connection.execute(query, {"match": match})}


def read_billed(path: Path, match: str | None) -> dict[str, tuple[int, int]]:
    """Of each player to whom a provider states its bill: the attempts with a bill, and all that have a cost."""
    query = """SELECT player, sum(instr(usage, '"cost": ') > 0), count(*) FROM attempts
      WHERE dollars IS NOT NULL
      AND (:match IS NULL OR match = :match) GROUP BY player"""
    with reading(path) as connection:
        found = connection.execute(query, {"match": match}).fetchall()
    return {name: (billed, priced) for name, billed, priced in found if billed}


def read_cuts(path: Path, match: str | None = None) -> list[Cut]:
    """What output limits cut off, by player and kind of move, in a match or in all."""
    query = """SELECT player, kind, json_extract(move, '$.status') IS 'cut' AS lost, count(*), max(seq),
      coalesce(json_extract(move, '$.error'), json_extract(move, '$.reason'), 'cut off')
      FROM events WHERE (:match IS NULL OR match = :match)
      AND (json_extract(move, '$.status') = 'cut' OR json_extract(move, '$.cut'))
      GROUP BY player, kind, lost ORDER BY player, kind, lost"""
    with reading(path) as connection:
        rows = connection.execute(query, {"match": match}).fetchall()
    return [Cut(player, kind, bool(lost), count, str(why)) for player, kind, lost, count, _, why in rows]


def read_last_error(path: Path, match: str, player: str) -> str | None:
    """The last thing that went wrong with an answer of a player, in the provider's words."""
    query = """SELECT json_extract(move, '$.error') FROM events WHERE match = ? AND player = ?
      AND kind IN ('answer', 'rewrite') AND json_extract(move, '$.error') IS NOT NULL
      AND json_extract(move, '$.status') <> 'cut' AND json_extract(move, '$.cut') IS NULL ORDER BY seq DESC LIMIT 1"""
    with reading(path) as connection:
        row = connection.execute(query, (match, player)).fetchone()
    return None if row is None else str(row[0])


def read_metered(path: Path) -> list[dict[str, Any]]:
    """The attempts of each player and model: how they ended and what is known of their cost."""
    query = """SELECT player, model, count(*) AS attempts, sum(outcome IS NULL) AS unresolved,
      sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')) AS failed,
      sum(tokens_in IS NULL OR tokens_out IS NULL) AS unknown, sum(tokens_in) AS tokens_in,
      sum(tokens_out) AS tokens_out, sum(seconds) AS seconds, sum(waited) AS waited, {rated}
      FROM attempts GROUP BY player, model ORDER BY player, model"""
    with reading(path) as connection:
        there = columns_of(connection, "attempts")
        rated = ", ".join(f"sum({name}) AS {name}" if name in there else f"NULL AS {name}" for name in RATED)
        return _dicts(connection.execute(query.format(rated=rated)))


def read_refusals(path: Path) -> list[dict[str, Any]]:
    """The requests that were turned away, by player and reason."""
    query = """SELECT player, status, reason, count(*) AS requests FROM refusals
      GROUP BY player, status, reason ORDER BY min(id)"""
    with reading(path) as connection:
        return _dicts(connection.execute(query)) if has_table(connection, "refusals") else []


def has_table(connection: sqlite3.Connection, table: str) -> bool:
    """Whether the file has a table: one of an earlier version may not."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _dicts(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


class reading:
    """A read-only connection for a with block; a damaged file, or a row that cannot be, is a clear error."""

    def __init__(self, path: Path) -> None:
        self._path = path / DATABASE

    def __enter__(self) -> sqlite3.Connection:
        if not os.path.exists(self._path):
            raise StoreError(f"{self._path} is missing: the run directory is incomplete")
        self._connection = connect(self._path, readonly=True)
        (page,) = self._connection.execute("PRAGMA page_size").fetchone()
        if self._path.stat().st_size % page:  # SQLite would read zeros for what is missing
            self._connection.close()
            raise StoreError(f"{self._path} is damaged (its last page is not whole): restore it from a copy")
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._connection.close()
        if isinstance(error, DAMAGE):
            raise StoreError(f"{self._path} is damaged ({error}): restore it from a copy") from None


def unclosed(path: Path) -> bool:
    """Whether the last one to write did not close the run."""
    log = path / (DATABASE + "-wal")
    return os.path.exists(log) and log.stat().st_size > 0
