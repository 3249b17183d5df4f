"""Builds the arrays that are scored from rows of any source. Absent or unknown values are NaN, never 0."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mashq.bounds import RESULTS, TooMuch
from mashq.errors import DataError
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
    largest value of any row.
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
        {name: Cost.known(values) if totals else _filled(values, asked) for name, values in costs.items()},
        np.zeros(shape),
        totals,
    )


def _filled(values: Floats, asked: NDArray[np.bool_]) -> Cost:
    """Fill the gaps of a cost for players that have it on at least one row."""
    known = ~np.isnan(values)
    holes = asked & ~known & known.any(axis=1, keepdims=True)
    if not holes.any():
        return Cost.known(values)
    means = np.nansum(values, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    bounds = (
        np.where(holes, means, values),
        np.where(holes, 0.0, values),
        np.where(holes, values[known].max(), values),
    )
    return Cost(*bounds)


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
