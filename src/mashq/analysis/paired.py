"""The same player in two conditions: differences in H, costs and Q, with intervals.

The unit is an item in a trial, as everywhere. An effect (`differences`) covers the units that both conditions score,
so that units missing from one of them do not count as an effect; `apart` is the plain difference between two scores,
each over the units that its own rules score. Both are averaged by item first, and items are resampled together. An
interval is the mean difference plus or minus a multiple of its standard error, the multiple being the 95% point of
the resampled |t| (never less than Student's). Q is not a mean over items, but each item's contribution to it is known
to first order (`scoring.influence`), and the mean of those contributions is Q.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.bundles import bundled
from mashq.analysis.intervals import FEWEST, RESAMPLES, draws, half_width, ratio
from mashq.analysis.scoring import influence
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import Refusals, ScoreRules, by_item, final_h, scored_units, view, view_of, with_known

Units = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference and its interval; no interval if there are too few items."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Common:
    """How many units (an item in a trial) of a player two conditions score."""

    both: int
    """Those that both score."""
    either: int
    """Those that one of them does, or both."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Results under one condition, and the rules they are scored by."""

    results: Results
    rules: ScoreRules


def differences(now: Condition, before: Condition, player: str, seed: int = 0) -> dict[str, Difference]:
    """Differences of `player` between two conditions: h, q and each resource per item, over the units both score."""
    inside = _both(now, before, player)
    now_parts, before_parts = (
        _parts(condition, player, cells) for condition, cells in zip((now, before), inside, strict=True)
    )
    positions = {item: index for index, item in enumerate(before_parts.items)}
    order = np.array([positions[item] for item in now_parts.items], dtype=np.intp)
    effects: dict[str, Difference] = {}
    for name, values in now_parts.values.items():
        change = values - before_parts.values[name][order]
        known = change[~np.isnan(change)]
        if len(known):
            effects[name] = mean(known, seed)
    return effects


def apart(now: Condition, before: Condition, player: str, seed: int = 0) -> dict[str, Difference]:
    """Differences between the scores of `player` in two conditions, each over the units it scores: h, q, and each
    resource per item. A figure that is unknown in either is left out."""
    now_parts, before_parts = (_parts(condition, player) for condition in (now, before))
    items = tuple(dict.fromkeys((*now_parts.items, *before_parts.items)))
    distances: dict[str, Difference] = {}
    for name in now_parts.values:
        change = now_parts.over(name, items) - before_parts.over(name, items)
        if len(items) and not np.isnan(change).any():
            few = min(int(parts.counted[name].sum()) for parts in (now_parts, before_parts)) < FEWEST
            distances[name] = Difference(float(change.mean())) if few else mean(change, seed)
    return distances


def common(now: Condition, before: Condition, player: str) -> Common | None:
    """How many units of `player` count in both conditions; None if both score the same units."""
    cells = [_cells(condition, player) for condition in (now, before)]
    both = int(_both(now, before, player)[0][0].sum())
    counts = [int(h.sum()) for h, _ in cells]
    return None if counts == [both, both] else Common(both, sum(counts) - both)


def mean(values: Floats, seed: int = 0, alpha: float = 0.0) -> Difference:
    """The mean of values by item, with its interval; `alpha`, the range of the score, allows for rare failures."""
    count, average = len(values), float(values.mean())
    if count < FEWEST:
        return Difference(average)
    if not np.ptp(values) and not alpha:
        return Difference(average, average, average)
    deviations = bundled((values - average)[None, :], seed).T
    size = len(deviations)
    ratios: list[Floats] = []
    for drawn in draws(size, RESAMPLES, seed):
        moved = drawn @ deviations / size
        spread = drawn @ deviations**2 / size - moved**2
        ratios.append(ratio(np.abs(moved), np.sqrt(np.maximum(spread, 0.0) / size)))
    error = values.std(ddof=1, keepdims=True) / np.sqrt(count)
    half = float(half_width(error, np.concatenate(ratios), count, alpha)[0])
    return Difference(average, average - half, average + half)


def _cells(condition: Condition, player: str) -> tuple[Units, Units]:
    """The units in which a player's H counts, and those in which its costs count."""
    h, costs = scored_units(condition.results, condition.rules.refusals)
    seat = condition.results.players.index(player)
    return h[seat], costs[seat]


def _both(now: Condition, before: Condition, player: str) -> tuple[tuple[Units, Units], tuple[Units, Units]]:
    """For each condition, the units in which a player's H, and its costs, count in both."""
    now_units, before_units = _aligned(now.results, before.results)
    cells = _cells(now, player), _cells(before, player)
    counts = [cells[0][which][now_units] & cells[1][which][before_units] for which in range(2)]
    in_now = _scattered(counts[0], now_units, cells[0][0]), _scattered(counts[1], now_units, cells[0][1])
    in_before = _scattered(counts[0], before_units, cells[1][0]), _scattered(counts[1], before_units, cells[1][1])
    return in_now, in_before


def _scattered(flags: Units, positions: NDArray[np.intp], like: Units) -> Units:
    """Spread the flags of some units over an array of all units."""
    scattered = np.zeros_like(like)
    scattered[positions] = flags
    return scattered


def _aligned(a: Results, b: Results) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The positions, in each of two results, of the units that both have."""
    if (a.items, a.trial_of) == (b.items, b.trial_of) and np.array_equal(a.item_of, b.item_of):
        every = np.arange(len(a.item_of))
        return every, every
    positions = {unit: at for at, unit in enumerate(units(b))}
    pairs = [(at, positions[unit]) for at, unit in enumerate(units(a)) if unit in positions]
    in_a, in_b = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return in_a, in_b


def scored(results: Results, refusals: Refusals) -> Units:
    """The units that a refusal rule scores for at least one player."""
    h, costs = scored_units(results, refusals)
    return np.asarray((h | costs).any(axis=0))


def units(results: Results) -> list[tuple[str, str]]:
    """The item and trial of every unit; a trial without a name is the first."""
    names = zip(results.item_of.tolist(), results.trial_of, strict=True)
    return [(results.items[at], trial or "0") for at, trial in names]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Each scored item's contribution to a player's H, costs and Q (`values`), and the items each mean is over
    (`counted`)."""

    items: tuple[str, ...]
    values: dict[str, Floats]
    counted: dict[str, Units]

    def over(self, name: str, items: Sequence[str]) -> Floats:
        """The contributions to a figure over a superset of items, with the same mean; NaN if it is unknown."""
        values, counted = self.values[name], self.counted[name]
        if not counted.any() or (counted.all() and tuple(items) == self.items):
            return values if counted.any() else np.full(len(items), np.nan)
        average = values[counted].mean()
        place = {item: at for at, item in enumerate(items)}
        parts = np.full(len(items), average)
        known = np.array([place[item] for item in self.items])[counted]
        parts[known] += (values[counted] - average) * (len(items) / len(known))
        return parts


def _parts(condition: Condition, player: str, inside: tuple[Units, Units] | None = None) -> _Parts:
    """The per-item contributions in a condition; with `inside`, only over the units where H and costs count there."""
    results = condition.results
    seat = results.players.index(player)
    rules = with_known(results, condition.rules, [])
    cells = scored_units(results, rules.refusals)
    if inside is not None:
        items = len(view(results, rules.refusals, ()).items)
        if rules.reference is not None and items:  # keep the reference the same for fewer units
            per_item = {name: rules.each(name, items) or 0.0 for name in rules.reference}
            rules = replace(rules, reference=per_item, per_item=True)
        cells = cells[0] & inside[0], cells[1] & inside[1]
    item_view = view_of(results, cells, tuple(rules.weights))
    kept = np.isin(np.array(results.items), np.array(item_view.items))
    h, h_counts = by_item(results, final_h(results), cells[0])
    costs = {name: by_item(results, results.costs[name].value, cells[1]) for name in RESOURCES}
    return _Parts(
        item_view.items,
        {
            "h": h[seat, kept],
            "q": influence(item_view, rules)[seat],
            **{name: values[seat, kept] for name, (values, _) in costs.items()},
        },
        {
            "h": h_counts[seat, kept] > 0,
            "q": np.ones(len(item_view.items), dtype=bool),
            **{name: counts[seat, kept] > 0 for name, (_, counts) in costs.items()},
        },
    )
