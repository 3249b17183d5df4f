"""Results from anyone's rows, as the arrays that are scored. What is absent or unknown is NaN, never 0."""

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
    """One answer: `h` is None unless its status is ok; a cost that is not there is unknown."""

    player: str
    item: str
    trial: str
    h: float | None
    status: str
    costs: Mapping[str, float]
    where: str = ""


def from_rows(rows: Iterable[Row], *, totals: bool = False) -> Results:
    """Results from rows; the same (player, item, trial) twice is an error.

    A cost missing on some rows of a player is taken to be the mean of its other rows. At its bounds it is nothing, or
    the largest that any row has.
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
    place = {unit: at for at, unit in enumerate(units)}
    named = list(trials)
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
        at = players[row.player], place[items[row.item], trials[row.trial]]
        status[at] = STATUSES.index(row.status)
        if row.h is not None:
            h[at] = row.h
        for name, value in row.costs.items():
            costs[name][at] = value
    asked = status != ABSENT
    return Results(
        tuple(players),
        tuple(items),
        np.array([item for item, _ in units], dtype=np.intp),
        tuple(named[trial] for _, trial in units),
        status,
        h,
        np.full(shape, np.nan),
        {name: Cost.known(values) if totals else _filled(values, asked) for name, values in costs.items()},
        np.zeros(shape),
        totals,
    )


def _filled(values: Floats, asked: NDArray[np.bool_]) -> Cost:
    """A cost with its holes filled, for players of whom some row has it."""
    known = ~np.isnan(values)
    holes = asked & ~known & known.any(axis=1, keepdims=True)
    if not holes.any():
        return Cost.known(values)
    means = np.nansum(values, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    ends = np.where(holes, means, values), np.where(holes, 0.0, values), np.where(holes, values[known].max(), values)
    return Cost(*ends)


def check(h: float | None, status: str, costs: Mapping[str, float], where: str) -> None:
    """Refuse what no result can be, in one sentence."""
    if status not in STATUSES:
        raise DataError(f"{where}: status is {status!r}, must be one of {', '.join(STATUSES)}")
    if status == "ok" and (h is None or not (math.isfinite(h) and 0 <= h <= 1)):
        raise DataError(f"{where}: h is {h}, must be a number from 0 to 1")
    if status != "ok" and h is not None:
        raise DataError(f"{where}: h is {h} but the status is {status}: leave h empty unless the status is ok")
    for name, value in costs.items():
        if not (math.isfinite(value) and value >= 0):
            raise DataError(f"{where}: {name} is {value}, must be a number that is not negative")
