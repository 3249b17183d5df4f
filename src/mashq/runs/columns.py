"""The results of a match as columns, straight from the rows written when it ended: no object for each item.

Columns that hold nothing unusual (nothing unknown, nothing refused) are not even read. Rows that cannot be columns
(damaged, incomplete, with counts that a float cannot hold) are left to `results.read`, which can also say what is
wrong with them.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.resources import MEASURES, RATED
from mashq.protocol.results import COUNTS, SCORES, STATUSES, Columns, PlayerResult
from mashq.runs import charges, contents
from mashq.runs.file import AMOUNTS
from mashq.runs.reading import reading
from mashq.runs.results import read_seats, there

STORED = ("", "_known", "_unknown", "_worst")
COSTS = (*COUNTS, *AMOUNTS)
EXACT = 2.0**53  # beyond it a float has no room for the last digit of a count
USUAL: tuple[dict[str, str], ...] = (  # columns that are read together, or not at all where all hold this
    {"status": "'ok'"},
    {"guide": "NULL", "guide_first": "NULL"},
    {
        "unresolved": "0",
        "unknown": "0",
        **{f"tokens_{way}_known": "calls" for way in ("in", "out")},
        **{f"tokens_{way}_{part}": "0" for way in ("in", "out") for part in ("unknown", "worst")},
    },
    {"seconds_known": "calls", "seconds_unknown": "0", "seconds_worst": "0"},
    *({f"{name}{part}": "0" for part in STORED} for name in RATED),
)
DEFAULTS = {name: usual for group in USUAL for name, usual in group.items()}
CODED = "CASE status " + " ".join(f"WHEN '{status}' THEN {at}" for at, status in enumerate(STATUSES)) + " END"
NAMES = ("status", *SCORES, *COSTS)
SHAPE = """SELECT seat, count(*), min(position), max(position), {unusual}
  FROM results WHERE match = ? GROUP BY seat ORDER BY seat"""

Block = Mapping[str, NDArray[np.float64]]


def read_columns(path: Path, match: str) -> tuple[Columns, ...] | None:
    """The results of a match that has ended; None where it has not, or its rows have to be read one by one."""
    with reading(path) as connection:
        return columns_in(connection, match)


def columns_in(connection: sqlite3.Connection, match: str) -> tuple[Columns, ...] | None:
    """The same from a file that is open."""
    seats = read_seats(connection, match)
    if not seats:
        return None
    lacking = set(AMOUNTS) - set(there(connection))  # of an earlier version: as usual
    groups = [group for group in USUAL if not lacking & set(group)]
    tests = [" OR ".join(f"{name} IS NOT {usual}" for name, usual in group.items()) for group in groups]
    unusual = ", ".join(f"sum({test})" for test in tests)
    shape = connection.execute(SHAPE.format(unusual=unusual), (match,)).fetchall()
    items = _items(connection)
    if items is None or [row[:4] for row in shape] != _expected(len(seats), len(items)):
        return None
    odd = [name for at, group in enumerate(groups, 4) if any(row[at] for row in shape) for name in group]
    found = _read(connection, match, len(seats), len(items), odd)
    if found is None or not _possible(found):
        return None
    players = tuple(_columns(seat, at, items, found) for at, seat in enumerate(seats))
    carried = contents.read(connection, match, len(seats), len(items))
    if carried is not None:
        players = tuple(replace(own, content=content) for own, content in zip(players, carried, strict=True))
    if not any(player.has_unknown for player in players):
        return players
    return charges.read(connection, match).on_columns(players)


def _items(connection: sqlite3.Connection) -> tuple[str, ...] | None:
    """The items in order, if their positions count up from 0."""
    ids = [row[0] for row in connection.execute("SELECT id FROM items ORDER BY position")]
    ends = connection.execute("SELECT min(position), max(position) FROM items").fetchone()
    usual = ids and ends == (0, len(ids) - 1) and set(map(type, ids)) == {str}
    return tuple(ids) if usual else None


def _expected(seats: int, items: int) -> list[tuple[int, ...]]:
    return [(seat, items, 0, items - 1) for seat in range(seats)]


def _read(connection: sqlite3.Connection, match: str, seats: int, items: int, unusual: Sequence[str]) -> Block | None:
    """Each column, seats x items; those that are not read hold what is usual."""
    names = [name for name in NAMES if name not in DEFAULTS or name in unusual]
    wanted = ", ".join(CODED if name == "status" else name for name in names)
    query = f"SELECT {wanted} FROM results WHERE match = ? ORDER BY seat, position"
    cells = chain.from_iterable(connection.execute(query, (match,)))
    try:
        flat = np.fromiter(cells, np.float64, seats * items * len(names))
    except (TypeError, ValueError, OverflowError):  # a text, or fewer rows than there were
        return None
    block = np.ascontiguousarray(flat.reshape(-1, len(names)).T).reshape(len(names), seats, items)
    found = dict(zip(names, block, strict=True))
    plain = {"'ok'": 0.0, "0": 0.0, "NULL": np.nan}
    for name, usual in DEFAULTS.items():
        if name not in found:
            found[name] = (
                found[usual] if usual in found else np.broadcast_to(np.float64(plain[usual]), (seats, items))
            )
    return found


def _possible(found: Block) -> bool:
    """Whether all values are what a result can hold, and floats hold them exactly."""
    if np.isnan(found["status"]).any() or any((np.abs(found[name]) > 1).any() for name in SCORES):
        return False
    for name in COSTS:
        values = found[name]
        if np.isnan(values).any() or (not name.endswith("_worst") and np.isinf(values).any()):
            return False
        if not all(_is_exact(row) for row in values):
            return False
    return True


def _is_exact(values: NDArray[np.float64]) -> bool:
    """Whether floats can hold these and their sums to the last digit; those without a bound aside."""
    finite = values if np.isfinite(values).all() else values[np.isfinite(values)]
    return not len(finite) or float(np.abs(finite).max()) * len(finite) < EXACT


def _columns(seat: PlayerResult, at: int, items: tuple[str, ...], found: Block) -> Columns:
    values: dict[str, Any] = {name: found[name][at] for name in (*SCORES, *COSTS)}
    none = np.broadcast_to(np.float64(0), len(items))
    values |= {name + part: none for name in MEASURES for part in ("_charged", "_covered")}
    return Columns(
        seat.name,
        items,
        found["status"][at].astype(np.int8),
        values,
        seat.shared,
        seat.threshold,
        seat.max_reviews,
        seat.stopped,
    )
