"""The results of a match by item, as rows: written when it ends, so that a table needs no fold of its events."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, get_args

from mashq.protocol.resources import MAX_COST, Amount, Spend, is_number
from mashq.protocol.score import ItemResult, PlayerResult, ResultStatus
from mashq.runs.database import AMOUNTS, Statement

COUNTS = ("calls", "unresolved", "failed", "unknown", "reviews", "waited")
COLUMNS = ("status", "h", "h_first", "guide", "guide_first", "length", *COUNTS)
_AMOUNTS = tuple(f"{name}{part}" for name in AMOUNTS for part in ("", "_known", "_unknown", "_worst"))
STATUSES = get_args(ResultStatus)
WORST = (9, 13, 17, 21)  # of the counts and amounts, those that may have no bound
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
    seats = read_seats(connection, match)
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
        if seat not in range(len(seats)):
            raise ValueError(f"there is no seat {seat!r:.40}")
        items[seat].append(_item(row[1], row[2:]))
    return tuple(replace(seat, items=tuple(own)) for seat, own in zip(seats, items, strict=True))


def read_seats(connection: sqlite3.Connection, match: str) -> list[PlayerResult]:
    """The players of a match that has ended, without their items; none when it has not."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'seats'").fetchone():
        return []
    query = "SELECT player, threshold, max_reviews, stopped, shared FROM seats WHERE match = ? ORDER BY seat"
    return [_player(seat) for seat in connection.execute(query, (match,)).fetchall()]


def _player(seat: tuple[Any, ...]) -> PlayerResult:
    player, threshold, most, stopped, shared = seat
    texts = all(isinstance(text, str) for text in (player, shared, stopped or ""))
    if not (texts and is_number(threshold, 1) and is_number(most)):
        raise ValueError(f"a seat is {seat!r:.80}")
    return PlayerResult(player, (), Spend.from_json(json.loads(shared)), threshold, most, stopped)


def _item(item: str, values: tuple[Any, ...]) -> ItemResult:
    """A row as a result; a ValueError when its columns hold what they cannot."""
    status, h, h_first, guide, guide_first, length, *rest = values
    scores = all(value is None or is_number(value, 1) for value in (h, h_first, guide, guide_first))
    if status not in STATUSES or not scores or not all(is_number(value, inf) for value in (length, *rest)):
        raise ValueError(f"the result of item {item!r:.40} is {values!r:.200}")
    calls, unresolved, failed, unknown, reviews, waited = rest[:6]
    if not all(value <= MAX_COST for at, value in enumerate(rest) if at not in WORST):
        raise ValueError(f"item {item!r:.40} cost {max(rest):g}")
    amounts = [Amount(*rest[at : at + 4]) for at in range(6, len(rest), 4)]
    spend = Spend(calls, unresolved, failed, unknown, reviews, *amounts, waited=waited)
    return ItemResult(item, status, h, h_first, spend, guide, guide_first, length)


def _parts(amount: Amount) -> tuple[float, ...]:
    return amount.total, amount.known, amount.unknown, amount.worst
