"""The results of a match by item, as rows: written when it ends, so that a table needs no fold of its events."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from mashq.protocol.resources import Amount, Spend
from mashq.protocol.score import ItemResult, PlayerResult
from mashq.store.db import AMOUNTS, Statement

COUNTS = ("calls", "unresolved", "failed", "unknown", "reviews", "waited")
COLUMNS = ("status", "h", "h_first", "guide", "guide_first", "length", *COUNTS)
_AMOUNTS = tuple(f"{name}{part}" for name in AMOUNTS for part in ("", "_known", "_unknown", "_worst"))
SEAT = "INSERT OR REPLACE INTO seats VALUES (?,?,?,?,?,?,?)"
RESULT = (
    f"INSERT OR REPLACE INTO results (match, seat, position, {', '.join((*COLUMNS, *_AMOUNTS))})"
    f" VALUES ({','.join('?' * (3 + len(COLUMNS) + len(_AMOUNTS)))})"
)


def statements(match: str, results: Sequence[PlayerResult]) -> Iterator[Statement]:
    """The rows of a match that has ended."""
    for seat, player in enumerate(results):
        shared = json.dumps(player.shared.to_json())
        yield SEAT, (match, seat, player.name, player.threshold, player.max_reviews, player.stopped, shared)
        for position, item in enumerate(player.items):
            spend = item.spend
            scores = (item.status, item.h, item.h_first, item.guide, item.guide_first, item.length)
            counts = (spend.calls, spend.unresolved, spend.failed, spend.unknown, spend.reviews, spend.waited)
            amounts = (*_parts(spend.tokens_in), *_parts(spend.tokens_out), *_parts(spend.seconds))
            yield RESULT, (match, seat, position, *scores, *counts, *amounts, *_parts(spend.dollars))


def read(connection: sqlite3.Connection, match: str) -> tuple[PlayerResult, ...] | None:
    """The results of a match from its rows; None when it has none, because it has not ended."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'seats'").fetchone():
        return None
    seats = connection.execute(
        "SELECT player, threshold, max_reviews, stopped, shared FROM seats WHERE match = ? ORDER BY seat", (match,)
    ).fetchall()
    if not seats:
        return None
    rows = connection.execute(
        f"SELECT seat, i.id, {', '.join((*COLUMNS, *_AMOUNTS))} FROM results r JOIN items i USING (position)"
        " WHERE match = ? ORDER BY seat, position",
        (match,),
    )
    items: list[list[ItemResult]] = [[] for _ in seats]
    for row in rows:
        seat: int = row[0]
        items[seat].append(_item(row[1], row[2:]))
    return tuple(
        PlayerResult(player, tuple(own), Spend.from_json(json.loads(shared)), threshold, most, stopped)
        for (player, threshold, most, stopped, shared), own in zip(seats, items, strict=True)
    )


def _item(item: str, values: tuple[Any, ...]) -> ItemResult:
    status, h, h_first, guide, guide_first, length, *rest = values
    calls, unresolved, failed, unknown, reviews, waited = rest[:6]
    amounts = [Amount(*rest[at : at + 4]) for at in range(6, len(rest), 4)]
    spend = Spend(calls, unresolved, failed, unknown, reviews, *amounts, waited=waited)
    return ItemResult(item, status, h, h_first, spend, guide, guide_first, length)


def _parts(amount: Amount) -> tuple[float, ...]:
    return amount.total, amount.known, amount.unknown, amount.worst
