"""A moment of a match as a small document: standings, a window of each lane, shown snapshots, the last moves.

Contract: its size does not depend on the length of the match. `at` counts moves: 0 is before the first move.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import scores_so_far
from mashq.web.api import queries
from mashq.web.replay import MatchReplay
from mashq.web.replay_cache import LiveReplay

SPAN, LOG, NAME = 60, 40, 120
METRICS = ("q", "h", "p", *RESOURCES)


def frame(live: LiveReplay, at: int | None = None, starts: tuple[int, ...] = (), log: int = LOG) -> dict[str, Any]:
    """Return the match after `at` moves (by default all known moves); `starts` is where each lane's window begins."""
    entry = live.view.found
    with live.lock:
        replay = live.replay
        read_count = len(replay)
        upto = read_count if at is None or at > read_count else max(0, at)
        players = players_at(replay, upto)
        document: dict[str, Any] = {
            "at": upto,
            "read": read_count,
            "total": max(live.total, read_count),
            "round": replay.round(upto) + 1,
            "time": replay.time(upto),
            "ended": live.ended,
            "players": players,
            "lanes": [
                _lane(live, seat, upto, starts[seat] if seat < len(starts) else None) for seat in range(len(players))
            ],
            "shown": _shown(replay, upto),
        }
        seq = replay.seq(upto)
    with queries.opened(entry.path, finished=entry.finished) as connection:
        rows = queries.log(connection, live.match, seq, log) if seq else []
    for row, number in zip(reversed(rows), range(upto, 0, -1), strict=False):
        row["n"] = number
        row["at"] = live.view.places.get(row["item"]) if row["item"] is not None else None
        row["item"] = None if row["item"] is None else row["item"][:NAME]
    document["log"] = rows
    document["final"] = live.result() if live.ended and upto == document["total"] else None
    return document


def standing(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """Return every player's figures after `upto` moves; None is unknown."""
    return standings(replay, [upto])[0]


def standings(replay: MatchReplay, moments: Sequence[int]) -> list[list[dict[str, Any]]]:
    """Return every player's figures after each of several numbers of moves."""
    players = replay.first.players
    rows = [[replay.totals(seat, upto) for seat in range(len(players))] for upto in moments]
    h = np.array([[np.nan if totals.h is None else totals.h for totals in row] for row in rows])
    costs = {name: np.array([[totals.costs[name] or 0.0 for totals in row] for row in rows]) for name in RESOURCES}
    done = np.array([[totals.done for totals in row] for row in rows], dtype=np.float64)
    p, q = scores_so_far(replay.rules, h, costs, done)
    return [
        [
            {"name": player.name, "done": totals.done, "h": totals.h, "unknown": totals.unknown, **totals.costs}
            | {"p": penalty, "q": None if totals.h is None else score}
            for player, totals, penalty, score in zip(players, row, *scores, strict=True)
        ]
        for row, *scores in zip(rows, p.tolist(), q.tolist(), strict=True)
    ]


def players_at(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """Return every player's figures and its phase."""
    return [row | {"phase": replay.phase(seat, upto)} for seat, row in enumerate(standing(replay, upto))]


def chart(replay: MatchReplay, metric: str, upto: int, points: int) -> dict[str, Any]:
    """Return one metric of every player over the match, sampled at up to `points` moments."""
    count = min(points, upto)
    moments = sorted({math.ceil(upto * n / count) for n in range(1, count + 1)}) if count else []
    rows = standings(replay, moments) if moments else []
    players = [player.name for player in replay.first.players]
    values = [[row[seat][metric] for row in rows] for seat in range(len(players))]
    rounds = [replay.round(moment) + 1 for moment in moments]
    return {"metric": metric, "moments": moments, "rounds": rounds, "players": players, "values": values}


def _lane(live: LiveReplay, seat: int, upto: int, start: int | None) -> dict[str, Any]:
    """Return a window of a player's items in its own order, each with place, id, status, H, first H, reviews."""
    replay, ids = live.replay, live.view.item_ids
    order = replay.first.players[seat].order
    default_start = replay.totals(seat, upto).done - SPAN + 6 if start is None else start
    start = max(0, min(default_start, len(order) - SPAN))
    cells: list[list[Any]] = []
    for place in order[start : start + SPAN]:
        cell = replay.cell(seat, place, upto)
        cells.append([place, ids[place][:NAME], cell.status, cell.h, cell.h_first, cell.reviews])
    return {"start": start, "of": len(order), "now": replay.at_work(seat, upto), "cells": cells}


def _shown(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """Return the snapshots that rivals are shown in this round."""
    return [
        {"player": shot.seat, "round": shot.round + 1, "fields": shot.fields, "left": shot.stopped}
        for shot in (replay.shown(replay.round(upto)) if upto else [])
    ]
