"""The results of a match by item, as rows: written when it ends, so that a table needs no replay of its events."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mashq.protocol.resources import MEASURES, NOTHING, Amount, Spend
from mashq.protocol.results import ItemResult, PlayerResult
from mashq.runs.file import AMOUNTS, Statement, columns_of

COUNTS = ("calls", "unresolved", "failed", "unknown", "reviews", "waited")
SCORES = ("h", "h_first", "guide", "guide_first")
COLUMNS = ("status", *SCORES, "length", *COUNTS)
SEAT = "INSERT OR REPLACE INTO seats VALUES (?,?,?,?,?,?,?)"
WRITTEN = ("match", "seat", "position", *COLUMNS, *AMOUNTS, "abstained")
RESULT = f"INSERT OR REPLACE INTO results ({', '.join(WRITTEN)}) VALUES ({','.join('?' * len(WRITTEN))})"


def statements(match: str, results: Sequence[PlayerResult]) -> Iterator[Statement]:
    """The statements that write the rows of a match that has ended."""
    for seat, player in enumerate(results):
        shared = json.dumps(player.shared.to_json())
        yield SEAT, (match, seat, player.name, player.threshold, player.max_reviews, player.stopped, shared)
        for position, item in enumerate(player.items):
            spend = item.spend
            scores = (item.status, item.h, item.h_first, item.guide, item.guide_first, item.length)
            counts = (spend.calls, spend.unresolved, spend.failed, spend.unknown, spend.reviews, spend.waited)
            amounts = [part for amount in spend.amounts for part in _parts(amount)]
            yield RESULT, (match, seat, position, *scores, *counts, *amounts, item.abstained)


def read(connection: sqlite3.Connection, match: str) -> tuple[PlayerResult, ...] | None:
    """The results of a match from its rows; None if it has none, because it has not ended."""
    seats = read_seats(connection, match)
    if not seats:
        return None
    columns = (*COLUMNS, *optional_columns(connection))
    rows = connection.execute(
        f"SELECT seat, i.id, {', '.join(columns)} FROM results r JOIN items i USING (position)"
        " WHERE match = ? ORDER BY seat, position",
        (match,),
    )
    items: list[list[ItemResult]] = [[] for _ in seats]
    for row in rows:
        seat: int = row[0]
        if seat not in range(len(seats)):
            raise ValueError(f"there is no seat {seat!r:.40}")
        items[seat].append(_item(row[1], dict(zip(columns, row[2:], strict=True))))
    return tuple(replace(seat, items=tuple(player_items)) for seat, player_items in zip(seats, items, strict=True))


def optional_columns(connection: sqlite3.Connection) -> list[str]:
    """The columns of AMOUNTS, and `abstained`, that this file has: one of an earlier version may lack some."""
    existing = columns_of(connection, "results")
    return [name for name in (*AMOUNTS, "abstained") if name in existing]


def read_seats(connection: sqlite3.Connection, match: str) -> list[PlayerResult]:
    """The players of a match that has ended, without their items; none if it has not."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'seats'").fetchone():
        return []
    query = "SELECT player, threshold, max_reviews, stopped, shared FROM seats WHERE match = ? ORDER BY seat"
    return [_player(seat) for seat in connection.execute(query, (match,)).fetchall()]


def _player(row: tuple[Any, ...]) -> PlayerResult:
    player, threshold, max_reviews, stopped, shared = row
    return PlayerResult(player, (), Spend.from_json(json.loads(shared)), threshold, max_reviews, stopped)


def _item(item: str, row: Mapping[str, Any]) -> ItemResult:
    """A row as the result of an item."""
    h, h_first, guide, guide_first = (row[name] for name in SCORES)
    spend = spend_in({name: row[name] for name in COUNTS}, row)
    abstained = bool(row.get("abstained", 0))
    return ItemResult(item, row["status"], h, h_first, spend, guide, guide_first, row["length"], abstained=abstained)


def spend_in(counts: Mapping[str, Any], amounts: Mapping[str, Any]) -> Spend:
    """A cost from the columns that hold it; amounts without columns were not measured."""
    measured = {
        name: Amount(*(amounts[name + part] for part in ("", "_known", "_unknown", "_worst")))
        for name in MEASURES
        if name in amounts
    }
    return Spend(**counts, amounts=tuple(measured.get(name, NOTHING) for name in MEASURES))


def _parts(amount: Amount) -> tuple[float, ...]:
    return amount.total, amount.known, amount.unknown, amount.worst
