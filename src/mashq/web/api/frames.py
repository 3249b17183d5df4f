"""A moment of a match as a small document: who stands where, a window of each lane, what was shown, the last moves.

Contract: its size does not depend on the length of the match. `at` counts moves: 0 is before the first.
"""

import math
from typing import Any

from mashq.analysis.story.tell import p_now, q_now
from mashq.web.api import queries
from mashq.web.replay import ANSWER, DECIDE, DONE, PHASES, REST, STOPPED, Reel
from mashq.web.run_view import Projector

SPAN, LOG, NAME = 60, 40, 120
RESOURCES = ("tokens", "calls", "reviews", "seconds", "dollars")
METRICS = ("q", "h", "p", *RESOURCES)


def frame(
    projector: Projector, at: int | None = None, starts: tuple[int, ...] = (), log: int = LOG
) -> dict[str, Any]:
    """The match after `at` moves (the last known by default); `starts` says where each lane's window begins."""
    found = projector.stage.found
    with projector.lock:
        reel = projector.reel
        read = len(reel)
        upto = read if at is None or at > read else max(0, at)
        round_ = reel.columns["round"][upto - 1] if upto else 0
        players = _players(reel, upto)
        document: dict[str, Any] = {
            "at": upto,
            "read": read,
            "total": max(projector.total, read),
            "round": round_ + 1,
            "time": reel.columns["time"][upto - 1] if upto else None,
            "ended": projector.ended,
            "players": players,
            "lanes": [
                _lane(projector, seat, upto, starts[seat] if seat < len(starts) else None)
                for seat in range(len(players))
            ],
            "shown": _shown(reel, upto, round_),
        }
        seq = reel.columns["seq"][upto - 1] if upto else 0
    with queries.opened(found.path, finished=found.finished) as connection:
        rows = queries.log(connection, projector.match, seq, log) if seq else []
    for row, number in zip(reversed(rows), range(upto, 0, -1), strict=False):
        row["n"] = number
        row["at"] = projector.stage.positions.get(row["item"]) if row["item"] is not None else None
        row["item"] = None if row["item"] is None else row["item"][:NAME]
    document["log"] = rows
    document["final"] = projector.result() if projector.ended and upto == document["total"] else None
    return document


def standing(reel: Reel, upto: int) -> list[dict[str, Any]]:
    """Every player's figures after `upto` moves; None is unknown."""
    columns = reel.columns
    rows: list[dict[str, Any]] = []
    totals: list[dict[str, float]] = []
    for seat, name in enumerate(reel.shape.scene.players):
        at = reel.state(seat, upto)
        if at is None:
            rows.append({"name": name, "done": 0, "h": None, "unknown": 0, **dict.fromkeys(RESOURCES, 0)})
            totals.append(dict.fromkeys(RESOURCES, 0.0))
            continue
        answered = columns["answered"][at]
        own: dict[str, float] = {name: columns[name][at] for name in RESOURCES}
        totals.append(own)
        known: dict[str, float | None] = dict(own)
        for resource in ("tokens", "seconds", "dollars"):
            if not columns[resource + "_known"][at] and columns[resource + "_unknown"][at]:
                known[resource] = None
        h = columns["h_sum"][at] / answered if answered else None
        unknown = columns["tokens_unknown"][at]
        rows.append({"name": name, "done": columns["handled"][at], "h": h, "unknown": unknown, **known})
    rules = reel.shape.scene.rules
    scores = q_now(rules, [row["h"] for row in rows], totals)
    for row, p, q in zip(rows, p_now(rules, totals), scores, strict=True):
        row["p"], row["q"] = p, q
    return rows


def chart(reel: Reel, metric: str, upto: int, points: int) -> dict[str, Any]:
    """One figure of every player over the match, at no more than so many moments."""
    count = min(points, upto)
    moments = sorted({math.ceil(upto * n / count) for n in range(1, count + 1)}) if count else []
    rows = [standing(reel, moment) for moment in moments]
    players = reel.shape.scene.players
    values = [[row[seat][metric] for row in rows] for seat in range(len(players))]
    rounds = [reel.columns["round"][moment - 1] + 1 for moment in moments]
    return {"metric": metric, "moments": moments, "rounds": rounds, "players": list(players), "values": values}


def _players(reel: Reel, upto: int) -> list[dict[str, Any]]:
    rows = standing(reel, upto)
    start = ANSWER if reel.shape.turn == "cycle" else DECIDE
    states = [reel.state(seat, upto) for seat in range(len(rows))]
    phases = [start if at is None else reel.columns["phase"][at] for at in states]
    over = all(phase in (REST, DONE, STOPPED) for phase in phases)
    for row, phase in zip(rows, phases, strict=True):
        if phase == REST and over:
            phase = start if row["done"] < reel.shape.scene.items or start == DECIDE else DONE
        row["phase"] = PHASES[phase]
    return rows


def _lane(projector: Projector, seat: int, upto: int, start: int | None) -> dict[str, Any]:
    """A window of a player's items, in its own order, each: position, id, status, H, first H, reviews."""
    reel, ids = projector.reel, projector.stage.item_ids
    order = reel.shape.orders[seat]
    last = reel.state(seat, upto)
    now = -1 if last is None else reel.columns["position"][last]
    handled = 0 if last is None else reel.columns["handled"][last]
    wanted: int = handled - SPAN + 6 if start is None else start
    start = max(0, min(wanted, len(order) - SPAN))
    cells: list[list[Any]] = []
    for place in range(start, min(start + SPAN, len(order))):
        position = order[place]
        status, h, first, reviews = reel.cell(seat, position, upto)
        cells.append([position, ids[position][:NAME], status, h, first, reviews])
    return {"start": start, "of": len(order), "now": now, "cells": cells}


def _shown(reel: Reel, upto: int, round_: int) -> list[dict[str, Any]]:
    """The snapshots that rivals are shown in this round."""
    return [
        {"player": seat, "round": taken + 1, "fields": dict(zip(reel.shape.show, values, strict=True)), "left": left}
        for seat, taken, values, left in (reel.shown(round_) if upto else [])
    ]
