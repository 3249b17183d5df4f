"""The results of a match as columns, straight from the rows written when it ended: no object per item.

Columns that hold nothing unusual (nothing unknown, nothing refused) are not read at all. Rows that cannot be read as
columns (damaged, incomplete, or with counts too large for a float) are left to `results.read`, which can also report
what is wrong with them.
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
from mashq.runs.results import optional_columns, read_seats

STORED = ("", "_known", "_unknown", "_worst")
COSTS = (*COUNTS, *AMOUNTS)
EXACT = 2.0**53  # above it a float cannot hold the last digit of a count
# Columns that are read together, or not at all where every row holds these values.
USUAL: tuple[dict[str, str], ...] = (
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
CODED = "CASE status " + " ".join(f"WHEN '{status}' THEN {code}" for code, status in enumerate(STATUSES)) + " END"
NAMES = ("status", *SCORES, *COSTS)
SHAPE = """SELECT seat, count(*), min(position), max(position), {unusual}
  FROM results WHERE match = ? GROUP BY seat ORDER BY seat"""

Block = Mapping[str, NDArray[np.float64]]


def read_columns(path: Path, match: str) -> tuple[Columns, ...] | None:
    """The results of a match that has ended; None if it has not, or if its rows have to be read one by one."""
    with reading(path) as connection:
        return columns_in(connection, match)


def columns_in(connection: sqlite3.Connection, match: str) -> tuple[Columns, ...] | None:
    """The same, from a file that is already open."""
    seats = read_seats(connection, match)
    if not seats:
        return None
    missing = set(AMOUNTS) - set(optional_columns(connection))  # in a file of an earlier version: the usual values
    groups = [group for group in USUAL if not missing & set(group)]
    tests = [" OR ".join(f"{name} IS NOT {usual}" for name, usual in group.items()) for group in groups]
    unusual = ", ".join(f"sum({test})" for test in tests)
    shape = connection.execute(SHAPE.format(unusual=unusual), (match,)).fetchall()
    items = _item_ids(connection)
    if items is None or [row[:4] for row in shape] != _expected_shape(len(seats), len(items)):
        return None
    unusual_names = [
        name for index, group in enumerate(groups, 4) if any(row[index] for row in shape) for name in group
    ]
    block = _read_block(connection, match, len(seats), len(items), unusual_names)
    if block is None or not _is_valid(block):
        return None
    players = tuple(_player_columns(seat, index, items, block) for index, seat in enumerate(seats))
    contents_by_seat = contents.read(connection, match, len(seats), len(items))
    if contents_by_seat is not None:
        players = tuple(
            replace(columns, content=content) for columns, content in zip(players, contents_by_seat, strict=True)
        )
    if not any(player.has_unknown for player in players):
        return players
    return charges.read(connection, match).on_columns(players)


def _item_ids(connection: sqlite3.Connection) -> tuple[str, ...] | None:
    """The ids of the items in order; None unless they are texts whose positions count up from 0."""
    ids = [row[0] for row in connection.execute("SELECT id FROM items ORDER BY position")]
    position_range = connection.execute("SELECT min(position), max(position) FROM items").fetchone()
    valid = ids and position_range == (0, len(ids) - 1) and set(map(type, ids)) == {str}
    return tuple(ids) if valid else None


def _expected_shape(seats: int, items: int) -> list[tuple[int, ...]]:
    return [(seat, items, 0, items - 1) for seat in range(seats)]


def _read_block(
    connection: sqlite3.Connection, match: str, seats: int, items: int, unusual: Sequence[str]
) -> Block | None:
    """Each column as seats x items; those that are not read hold the usual value."""
    names = [name for name in NAMES if name not in DEFAULTS or name in unusual]
    selected = ", ".join(CODED if name == "status" else name for name in names)
    query = f"SELECT {selected} FROM results WHERE match = ? ORDER BY seat, position"
    cells = chain.from_iterable(connection.execute(query, (match,)))
    try:
        flat = np.fromiter(cells, np.float64, seats * items * len(names))
    except (TypeError, ValueError, OverflowError):  # a text, or fewer rows than were counted
        return None
    block = np.ascontiguousarray(flat.reshape(-1, len(names)).T).reshape(len(names), seats, items)
    columns = dict(zip(names, block, strict=True))
    constants = {"'ok'": 0.0, "0": 0.0, "NULL": np.nan}
    for name, usual in DEFAULTS.items():
        if name not in columns:
            columns[name] = (
                columns[usual] if usual in columns else np.broadcast_to(np.float64(constants[usual]), (seats, items))
            )
    return columns


def _is_valid(block: Block) -> bool:
    """Whether all values are possible in a result, and floats hold them exactly."""
    if np.isnan(block["status"]).any() or any((np.abs(block[name]) > 1).any() for name in SCORES):
        return False
    for name in COSTS:
        values = block[name]
        if np.isnan(values).any() or (not name.endswith("_worst") and np.isinf(values).any()):
            return False
        if not all(_is_exact(row) for row in values):
            return False
    return True


def _is_exact(values: NDArray[np.float64]) -> bool:
    """Whether floats hold these values and their sums to the last digit; infinite values are ignored."""
    finite = values if np.isfinite(values).all() else values[np.isfinite(values)]
    return not len(finite) or float(np.abs(finite).max()) * len(finite) < EXACT


def _player_columns(seat: PlayerResult, index: int, items: tuple[str, ...], block: Block) -> Columns:
    values: dict[str, Any] = {name: block[name][index] for name in (*SCORES, *COSTS)}
    zeros = np.broadcast_to(np.float64(0), len(items))
    values |= {name + part: zeros for name in MEASURES for part in ("_charged", "_covered")}
    return Columns(
        seat.name,
        items,
        block["status"][index].astype(np.int8),
        values,
        seat.shared,
        seat.threshold,
        seat.max_reviews,
        seat.stopped,
    )
