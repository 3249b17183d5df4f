"""The content of a run's file, read with SQL and plain loops, without mashq: the rows that the oracle scores.

Every attempt of the ledger is counted once. A cost that it did not report is charged as the protocol says: at its
worst case when the agent left it, else at the mean reported by the player's attempts of the same purpose in that
match, else at its worst case; a mean of errors only, which bill 0, does not count.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from tests.oracle.oracle import Normaliser, Row, Rules, Score, Standing, Status, score

Bound = Literal["charged", "least", "most"]
MEASURES = ("tokens_in", "tokens_out", "seconds", "dollars")
WORST = {"tokens_in": "worst_in", "tokens_out": "worst_out", "seconds": "worst_seconds", "dollars": "worst_dollars"}
BOUNDLESS = 1e30
LEFT = "the agent left before the end of the stream"


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost with its lower and upper bound; None where it is unbounded."""

    charged: float | None
    least: float
    most: float | None


@dataclass(frozen=True, slots=True)
class Unit:
    """A player's result on an item in a match."""

    player: str
    item: str
    match: str
    status: str
    h: float | None
    h_first: float | None
    unknown: float
    costs: Mapping[str, Cost]


@dataclass(frozen=True, slots=True)
class Run:
    """A run: the rules it is scored by, and the results of every player on every item."""

    rules: Rules
    players: tuple[str, ...]
    items: tuple[str, ...]
    trials: int
    units: tuple[Unit, ...]


def read(path: Path) -> Run:
    """Read the matches of a run that have ended, or the first one so far if none has."""
    config = json.loads((path / "manifest.json").read_text())["config"]
    with closing(sqlite3.connect(f"{(path / 'run.db').resolve().as_uri()}?mode=ro", uri=True)) as file:
        file.row_factory = sqlite3.Row
        items = tuple(row["id"] for row in file.execute("SELECT id FROM items ORDER BY position"))
        matches_begun = file.execute("SELECT id, ended FROM matches ORDER BY position").fetchall()
        matches = [row["id"] for row in matches_begun if row["ended"] is not None] or [
            row["id"] for row in matches_begun[:1]
        ]
        names = tuple(player["name"] for player in config["players"])
        units = [unit for match in matches for name in names for unit in _units(file, config, match, name, items)]
    return Run(rules_of(config), names, items, len(matches), tuple(units))


def rules_of(config: Mapping[str, Any]) -> Rules:
    """Return the scoring rules of a configuration; default weight 1, default beta 0.1 or, for questions, 0.001."""
    settings = config["score"]
    beta = settings["beta"] if settings["beta"] is not None else 0.001 if config["task"]["kind"] == "qa" else 0.1
    totals: dict[str, Any] = {} if settings["normalise"] == "match" else settings["normalise"]
    normaliser: Normaliser = "match" if not totals else "per_item" if "per_item" in totals else "totals"
    reference: dict[str, float | None] = totals["per_item"] if normaliser == "per_item" else totals
    return Rules(
        alpha=settings["alpha"],
        beta=beta,
        weights={name: settings["weights"].get(name, 1.0) for name in settings["resources"]},
        refusals=settings["refusals"],
        normaliser=normaliser,
        reference={name: value for name, value in reference.items() if value is not None},
    )


def _units(
    file: sqlite3.Connection, config: Mapping[str, Any], match: str, player: str, items: Sequence[str]
) -> Iterator[Unit]:
    events = file.execute(
        "SELECT * FROM events WHERE match = ? AND player = ? ORDER BY seq", (match, player)
    ).fetchall()
    moves = [(row["kind"], row["item"], json.loads(row["move"])) for row in events]
    answers = {item: move for kind, item, move in moves if kind == "answer"}
    over = any(kind == "stop" for kind, _, _ in moves)
    reviews = dict.fromkeys(items, 0.0)
    for kind, item, move in moves:
        if item is not None:
            reviews[item] += (kind == "rewrite") + move.get("spend", {}).get("reviews", 0)
    attempts = _attempts(file, match, player, events)
    for item in items:
        first = answers.get(item)
        h = _final_h(
            first, [move for kind, paid_item, move in moves if kind == "rewrite" and paid_item == item], config
        )
        costs = {"reviews": Cost(reviews[item], reviews[item], reviews[item])}
        for name in ("calls", *MEASURES):
            costs[name] = _total([attempt_costs[name] for paid_item, attempt_costs in attempts if paid_item == item])
            shared = _total([attempt_costs[name] for paid_item, attempt_costs in attempts if paid_item is None])
            costs[name] = _sum([costs[name], _times(shared, 1 / len(items))])
        costs["tokens"] = _sum([costs["tokens_in"], costs["tokens_out"]])
        unknown = sum(
            attempt_costs["unknown"].least / (len(items) if paid_item is None else 1)
            for paid_item, attempt_costs in attempts
            if paid_item in (item, None)
        )
        status = first["status"] if first else "unanswered" if over else "pending"
        h_first = None if first is None or status != "ok" else _judged(first, first=True)
        yield Unit(player, item, match, status, h if status == "ok" else None, h_first, unknown, costs)


def _judged(move: Mapping[str, Any], *, first: bool = False) -> float:
    """Return the judge's score of a version: the guide's if the judge is the guide."""
    names = ("judged_first", "judged", "h_first", "h") if first else ("judged", "h")
    if first and "judged" in move:
        names = ("judged_first", "judged")
    return next(move[name] for name in names if move.get(name) is not None)


def _final_h(
    first: Mapping[str, Any] | None, rewrites: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> float | None:
    """Return the judge's score of the final answer."""
    if first is None or first["status"] != "ok":
        return None
    standing = first
    for rewrite in rewrites:
        if rewrite["status"] == "ok" and (config["rules"]["keep"] == "latest" or rewrite["h"] > standing["h"]):
            standing = rewrite
    return _judged(standing)


def _attempts(
    file: sqlite3.Connection, match: str, player: str, events: Sequence[sqlite3.Row]
) -> list[tuple[str | None, dict[str, Cost]]]:
    """Return every attempt of a player: the item it is charged to (None for all of them), and its costs."""
    rows = file.execute(
        "SELECT * FROM attempts WHERE match = ? AND player = ? ORDER BY id", (match, player)
    ).fetchall()
    paid = _decided_for(events)
    attempts: list[tuple[str | None, dict[str, Cost]]] = []
    for row in rows:
        costs = {"calls": Cost(1, 1, 1)}
        for measure in MEASURES:
            reported = [
                other[measure] for other in rows if other["purpose"] == row["purpose"] and other[measure] is not None
            ]
            worst = row[WORST[measure]]
            was_left = row["outcome"] == "left" or row["error"] == LEFT
            if row[measure] is not None:
                costs[measure] = Cost(row[measure], row[measure], row[measure])
            elif was_left or not any(reported):
                costs[measure] = Cost(worst, 0, worst)
            else:
                costs[measure] = Cost(sum(reported) / len(reported), 0, worst)
        silent = row["tokens_in"] is None or row["tokens_out"] is None
        costs["unknown"] = Cost(silent, silent, silent)
        item = paid.get(row["round"], row["item"]) if row["purpose"] == "decision" else row["item"]
        attempts.append((item, costs))
    return attempts


def _decided_for(events: Sequence[sqlite3.Row]) -> dict[int, str]:
    """Return, by round, the item a decision is charged to if it is not the current one: in the game of single actions
    a decision to review, made before the last answer, belongs to the reviewed item."""
    items_by_round: dict[int, str] = {}
    answered: list[str] = []
    for row in events:
        if row["kind"] == "answer":
            answered.append(row["item"])
        ruling: dict[str, Any] = json.loads(row["ruling"] or "{}")
        if row["kind"] == "decision" and ruling.get("choice") == "review" and row["item"] not in (None, *answered):
            items_by_round[row["round"]] = answered[ruling["position"]]
    return items_by_round


def _total(costs: Sequence[Cost]) -> Cost:
    return _sum(costs) if costs else Cost(0, 0, 0)


def _sum(costs: Sequence[Cost]) -> Cost:
    charged = [cost.charged for cost in costs]
    most = [cost.most for cost in costs]
    return Cost(
        None if None in charged else sum(value for value in charged if value is not None),
        sum(cost.least for cost in costs),
        None if None in most else sum(value for value in most if value is not None),
    )


def _times(cost: Cost, factor: float) -> Cost:
    return Cost(
        None if cost.charged is None else cost.charged * factor,
        cost.least * factor,
        None if cost.most is None else cost.most * factor,
    )


# Conversion to the oracle's rows


def rows_of(run: Run, bounds: Mapping[str, Bound]) -> list[Row]:
    """Return the rows of a run, each player's costs as charged or at one of their bounds."""
    rows: list[Row] = []
    unknown = {
        (other.player, name) for other in run.units for name, cost in other.costs.items() if cost.charged is None
    }
    for unit in run.units:
        status = cast(Status, unit.status)
        bound = bounds.get(unit.player, "charged")
        costs = {name: _at(cost, bound) for name, cost in unit.costs.items() if (unit.player, name) not in unknown}
        rows.append(Row(unit.player, unit.item, int(unit.match), unit.h, status, costs))
    return rows


def _at(cost: Cost, bound: Bound) -> float:
    """Return a cost as charged or at one of its bounds; an unbounded cost is larger than anything else."""
    value = getattr(cost, bound)
    return BOUNDLESS if value is None else value


@dataclass(frozen=True, slots=True)
class Scored:
    """A player of a run: the oracle's result, and what only a run contains."""

    standing: Standing
    h_before_review: float | None
    unknown: float


def scored(run: Run) -> tuple[Score, dict[str, Scored]]:
    """Score a run; for the bounds of Q, a player's unknown costs are at one bound, the others' at the other."""
    result = score(rows_of(run, {}), run.rules)
    players: dict[str, Scored] = {}
    for name in run.players:
        standing = result.of(name)
        ends: list[Any] = []
        for own_bound, others in (("most", "least"), ("least", "most")):
            bounds: dict[str, Any] = {other: own_bound if other == name else others for other in run.players}
            ends.append(score(rows_of(run, bounds), run.rules).of(name).q)
        least = score(rows_of(run, {name: "least"}), run.rules).of(name).totals
        charged = {
            resource: total - least_total
            for resource, total in standing.totals.items()
            if total is not None and (least_total := least[resource]) is not None and total != least_total
        }
        standing = replace(standing, q_min=ends[0], q_max=ends[1], charged=charged)
        firsts: dict[str, list[float]] = {}
        unknown = 0.0
        lost = {(u.item, u.match) for u in run.units if u.status in ("refused", "failed")}
        for unit in run.units:
            if unit.player != name or unit.status == "pending":
                continue
            excluded = (unit.item, unit.match) in lost and run.rules.refusals == "intersection"
            unknown += 0 if excluded else unit.unknown
            own_loss = unit.status in ("refused", "failed")
            if not excluded and not (own_loss and run.rules.refusals == "answered"):
                firsts.setdefault(unit.item, []).append(unit.h_first or 0.0)
        means = [sum(values) / len(values) for values in firsts.values()]
        players[name] = Scored(standing, sum(means) / len(means) if means else None, unknown)
    return result, players
