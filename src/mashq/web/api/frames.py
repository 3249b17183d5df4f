"""A moment of a match as a small document: who stands where, a window of each lane, what was shown, the last moves.

Contract: its size does not depend on the length of the match. `at` counts moves: 0 is before the first.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mashq.analysis.story.score_so_far import scores_so_far
from mashq.protocol.resources import RESOURCES
from mashq.web.api import queries
from mashq.web.replay import MatchReplay
from mashq.web.replay_cache import LiveReplay

SPAN, LOG, NAME = 60, 40, 120
METRICS = ("q", "h", "p", *RESOURCES)


def frame(live: LiveReplay, at: int | None = None, starts: tuple[int, ...] = (), log: int = LOG) -> dict[str, Any]:
    """The match after `at` moves (the last known by default); `starts` says where each lane's window begins."""
    found = live.view.found
    with live.lock:
        replay = live.replay
        read = len(replay)
        upto = read if at is None or at > read else max(0, at)
        players = players_at(replay, upto)
        document: dict[str, Any] = {
            "at": upto,
            "read": read,
            "total": max(live.total, read),
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
    with queries.opened(found.path, finished=found.finished) as connection:
        rows = queries.log(connection, live.match, seq, log) if seq else []
    for row, number in zip(reversed(rows), range(upto, 0, -1), strict=False):
        row["n"] = number
        row["at"] = live.view.places.get(row["item"]) if row["item"] is not None else None
        row["item"] = None if row["item"] is None else row["item"][:NAME]
    document["log"] = rows
    document["final"] = live.result() if live.ended and upto == document["total"] else None
    return document


def standing(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """Every player's figures after `upto` moves; None is unknown."""
    return standings(replay, [upto])[0]


def standings(replay: MatchReplay, moments: Sequence[int]) -> list[list[dict[str, Any]]]:
    """The same after each of several numbers of moves."""
    players = replay.first.players
    rows = [[replay.totals(seat, upto) for seat in range(len(players))] for upto in moments]
    h = np.array([[np.nan if own.h is None else own.h for own in row] for row in rows])
    costs = {name: np.array([[own.costs[name] or 0.0 for own in row] for row in rows]) for name in RESOURCES}
    handled = np.array([[own.done for own in row] for row in rows], dtype=np.float64)
    p, q = scores_so_far(replay.rules, h, costs, handled)
    return [
        [
            {"name": player.name, "done": own.done, "h": own.h, "unknown": own.unknown, **own.costs}
            | {"p": penalty, "q": None if own.h is None else score}
            for player, own, penalty, score in zip(players, row, *scores, strict=True)
        ]
        for row, *scores in zip(rows, p.tolist(), q.tolist(), strict=True)
    ]


def players_at(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """Every player's figures and what it is doing."""
    return [row | {"phase": replay.phase(seat, upto)} for seat, row in enumerate(standing(replay, upto))]


def chart(replay: MatchReplay, metric: str, upto: int, points: int) -> dict[str, Any]:
    """One figure of every player over the match, at no more than so many moments."""
    count = min(points, upto)
    moments = sorted({math.ceil(upto * n / count) for n in range(1, count + 1)}) if count else []
    rows = standings(replay, moments) if moments else []
    players = [player.name for player in replay.first.players]
    values = [[row[seat][metric] for row in rows] for seat in range(len(players))]
    rounds = [replay.round(moment) + 1 for moment in moments]
    return {"metric": metric, "moments": moments, "rounds": rounds, "players": players, "values": values}


def _lane(live: LiveReplay, seat: int, upto: int, start: int | None) -> dict[str, Any]:
    """A window of a player's items, in its own order, each: place, id, status, H, first H, reviews."""
    replay, ids = live.replay, live.view.item_ids
    order = replay.first.players[seat].order
    wanted = replay.totals(seat, upto).done - SPAN + 6 if start is None else start
    start = max(0, min(wanted, len(order) - SPAN))
    cells: list[list[Any]] = []
    for place in order[start : start + SPAN]:
        cell = replay.cell(seat, place, upto)
        cells.append([place, ids[place][:NAME], cell.status, cell.h, cell.h_first, cell.reviews])
    return {"start": start, "of": len(order), "now": replay.at_work(seat, upto), "cells": cells}


def _shown(replay: MatchReplay, upto: int) -> list[dict[str, Any]]:
    """The snapshots that rivals are shown in this round."""
    return [
        {"player": shot.seat, "round": shot.round + 1, "fields": shot.fields, "left": shot.stopped}
        for shot in (replay.shown(replay.round(upto)) if upto else [])
    ]
