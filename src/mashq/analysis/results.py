"""Builds the arrays that are scored from rows of any source. Absent or unknown values are NaN, never 0."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mashq.bounds import RESULTS, TooMuch
from mashq.errors import DataError
from mashq.protocol.resources import TABLE
from mashq.protocol.results import ABSENT, COST_NAMES, STATUSES, Cost, Floats, Results


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: `h` is None unless the status is ok; a missing cost is unknown."""

    player: str
    item: str
    trial: str
    h: float | None
    status: str
    costs: Mapping[str, float]
    where: str = ""


def from_rows(rows: Iterable[Row], *, totals: bool = False) -> Results:
    """Build results from rows; raises DataError if a (player, item, trial) is repeated.

    A cost missing on some rows of a player is estimated by the mean of its other rows, with bounds of 0 and the
    largest value of any row. Where a resource has parts (tokens: in and out), only the missing part is estimated.
    """
    players: dict[str, int] = {}
    items: dict[str, int] = {}
    trials: dict[str, int] = {}
    seen: dict[tuple[str, str, str], str] = {}
    kept: list[Row] = []
    for row in rows:
        key = (row.player, row.item, row.trial)
        if key in seen:
            trial = f", trial {row.trial!r}" if row.trial else ""
            what = f"player {row.player!r}" + ("" if totals else f", item {row.item!r}")
            raise DataError(
                f"{row.where}: {what}{trial} is there already ({seen[key]}): "
                "give repeats a 'trial' column, or keep one"
            )
        seen[key] = row.where
        players.setdefault(row.player, len(players))
        items.setdefault(row.item, len(items))
        trials.setdefault(row.trial, len(trials))
        kept.append(row)
    units = sorted({(items[row.item], trials[row.trial]) for row in kept})
    position = {unit: index for index, unit in enumerate(units)}
    trial_names = list(trials)
    shape = (len(players), len(units))
    if len(players) * len(units) > RESULTS:
        raise TooMuch(
            f"{len(players):,} players on {len(units):,} items and trials make more than {RESULTS:,} results: "
            "score fewer of them at once"
        )
    status = np.full(shape, ABSENT, dtype=np.int8)
    h = np.full(shape, np.nan)
    costs = {name: np.full(shape, np.nan) for name in COST_NAMES}
    for row in kept:
        index = players[row.player], position[items[row.item], trials[row.trial]]
        status[index] = STATUSES.index(row.status)
        if row.h is not None:
            h[index] = row.h
        for name, value in row.costs.items():
            costs[name][index] = value
    asked = status != ABSENT
    return Results(
        tuple(players),
        tuple(items),
        np.array([item for item, _ in units], dtype=np.intp),
        tuple(trial_names[trial] for _, trial in units),
        status,
        h,
        np.full(shape, np.nan),
        _costs(costs, asked, totals=totals),
        np.zeros(shape),
        totals,
    )


def _costs(values: Mapping[str, Floats], asked: NDArray[np.bool_], *, totals: bool) -> dict[str, Cost]:
    """The costs by name; tables of totals have no other rows to estimate a missing cost by."""
    completed = dict(values)
    for row in TABLE.values():
        if len(row.measures) > 1:
            completed |= _completed(row.name, row.measures, values)
    if totals:
        return {name: Cost.known(known) for name, known in completed.items()}
    costs = {name: _filled(Cost.known(known), asked) for name, known in completed.items()}
    for row in TABLE.values():
        if len(row.measures) > 1:
            parts = {measure: completed[measure] for measure in row.measures}
            costs[row.name] = _filled(_summed(completed[row.name], parts, costs), asked)
    return costs


def _completed(name: str, measures: Sequence[str], values: Mapping[str, Floats]) -> dict[str, Floats]:
    """A resource and its parts, with what follows from the others: the sum, and the one part that a sum leaves."""
    parts = np.stack([values[measure] for measure in measures])
    missing = np.isnan(parts)
    known_sum = np.where(missing, 0.0, parts).sum(axis=0)
    total = np.where(np.isnan(values[name]) & ~missing.any(axis=0), known_sum, values[name])
    rest = np.maximum(total - known_sum, 0.0)
    alone = missing & (missing.sum(axis=0) == 1) & ~np.isnan(total)
    return {name: total, **dict(zip(measures, np.where(alone, rest, parts), strict=True))}


def _summed(total: Floats, parts: Mapping[str, Floats], costs: Mapping[str, Cost]) -> Cost:
    """A resource where its total or some of its parts are given: known parts, and missing ones as estimated.

    A part that is known on no row of a player leaves the total unknown, unless the player's other totals tell: their
    mean, but never less than the parts that are known.
    """
    known = np.stack([~np.isnan(values) for values in parts.values()])
    partial = np.isnan(total) & known.any(axis=0)
    if not partial.any():
        return Cost.known(total)
    least = np.nansum(np.stack(list(parts.values())), axis=0)
    whole = Cost.total([costs[measure] for measure in parts])
    given = ~np.isnan(total)
    counts = given.sum(axis=1, keepdims=True)
    sums = np.nansum(total, axis=1, keepdims=True)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    largest = total[given].max() if given.any() else np.nan
    unestimated = np.isnan(whole.value)
    value = np.where(unestimated, np.maximum(means, least), whole.value)
    high = np.where(unestimated, np.maximum(largest, least), whole.high)
    return Cost(
        *(np.where(partial, bound, total) for bound in (value, np.where(np.isnan(value), np.nan, least), high))
    )


def _filled(cost: Cost, asked: NDArray[np.bool_]) -> Cost:
    """Fill the gaps of a cost for players that have it on at least one row."""
    known = ~np.isnan(cost.value)
    holes = asked & ~known & known.any(axis=1, keepdims=True)
    if not holes.any():
        return cost
    means = np.nansum(cost.value, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return Cost(
        np.where(holes, means, cost.value),
        np.where(holes, 0.0, cost.low),
        np.where(holes, cost.high[known].max(), cost.high),
    )


def check(h: float | None, status: str, costs: Mapping[str, float], where: str) -> None:
    """Raise DataError if a result has an invalid value."""
    if status not in STATUSES:
        raise DataError(f"{where}: status is {status!r}, must be one of {', '.join(STATUSES)}")
    if status == "ok" and (h is None or not (math.isfinite(h) and 0 <= h <= 1)):
        raise DataError(f"{where}: h is {h}, must be a number from 0 to 1")
    if status != "ok" and h is not None:
        raise DataError(f"{where}: h is {h} but the status is {status}: leave h empty unless the status is ok")
    for name, value in costs.items():
        if not (math.isfinite(value) and value >= 0):
            raise DataError(f"{where}: {name} is {value}, must be a number that is not negative")
