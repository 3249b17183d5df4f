"""The same player in two conditions: how its H, costs and Q differ, with intervals.

The unit is an item in a trial, as everywhere. An effect (`differences`) is over the units that both conditions score,
so that what one of them leaves out is no effect; how far two scores are apart (`apart`) is the difference of the two
as they stand, each over what its own rules score. Both are averaged by item first, and items are resampled together.
An interval is the mean difference plus or minus a multiple of its standard error, the multiple being the 95% point of
the resampled |t| (never less than Student's). Q is no mean of items, but each item's part in it is known to first
order (`scoring.influence`), and the mean of those parts is Q.
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
    """A difference and its interval; no interval where there are too few items."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sure(self) -> bool:
        """Whether the interval leaves zero out."""
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
    """Results under one condition, and the rules of their score."""

    results: Results
    rules: ScoreRules


def differences(now: Condition, before: Condition, player: str, seed: int = 0) -> dict[str, Difference]:
    """How `player` differs between two conditions: h, q and each resource an item, over the units both score."""
    inside = _both(now, before, player)
    mine, other = (_parts(one, player, own) for one, own in zip((now, before), inside, strict=True))
    there = {item: at for at, item in enumerate(other.items)}
    places = np.array([there[item] for item in mine.items], dtype=np.intp)
    found: dict[str, Difference] = {}
    for name, values in mine.values.items():
        change = values - other.values[name][places]
        known = change[~np.isnan(change)]
        if len(known):
            found[name] = mean(known, seed)
    return found


def apart(now: Condition, before: Condition, player: str, seed: int = 0) -> dict[str, Difference]:
    """How far the figures of `player` are apart in two conditions, each over what it scores: h, q, and each resource
    an item. What is not known in one of them is left out."""
    mine, other = (_parts(one, player) for one in (now, before))
    items = tuple(dict.fromkeys((*mine.items, *other.items)))
    found: dict[str, Difference] = {}
    for name in mine.values:
        change = mine.over(name, items) - other.over(name, items)
        if len(items) and not np.isnan(change).any():
            few = min(int(own.counted[name].sum()) for own in (mine, other)) < FEWEST
            found[name] = Difference(float(change.mean())) if few else mean(change, seed)
    return found


def common(now: Condition, before: Condition, player: str) -> Common | None:
    """How many units of `player` count in both conditions; None where the same do."""
    own = [_cells(one, player) for one in (now, before)]
    both = int(_both(now, before, player)[0][0].sum())
    counts = [int(h.sum()) for h, _ in own]
    return None if counts == [both, both] else Common(both, sum(counts) - both)


def mean(values: Floats, seed: int = 0, alpha: float = 0.0) -> Difference:
    """The mean of values by item, with its interval; `alpha`, a score's range, allows for what few items hide."""
    count, middle = len(values), float(values.mean())
    if count < FEWEST:
        return Difference(middle)
    if not np.ptp(values) and not alpha:
        return Difference(middle, middle, middle)
    part = bundled((values - middle)[None, :], seed).T
    size = len(part)
    ratios: list[Floats] = []
    for drawn in draws(size, RESAMPLES, seed):
        moved = drawn @ part / size
        spread = drawn @ part**2 / size - moved**2
        ratios.append(ratio(np.abs(moved), np.sqrt(np.maximum(spread, 0.0) / size)))
    error = values.std(ddof=1, keepdims=True) / np.sqrt(count)
    half = float(half_width(error, np.concatenate(ratios), count, alpha)[0])
    return Difference(middle, middle - half, middle + half)


def _cells(condition: Condition, player: str) -> tuple[Units, Units]:
    """The units in which a player's H counts, and its costs."""
    h, costs = scored_units(condition.results, condition.rules.refusals)
    seat = condition.results.players.index(player)
    return h[seat], costs[seat]


def _both(now: Condition, before: Condition, player: str) -> tuple[tuple[Units, Units], tuple[Units, Units]]:
    """Of each condition the units in which a player's H, and its costs, count in both."""
    mine, other = _aligned(now.results, before.results)
    own = _cells(now, player), _cells(before, player)
    counts = [own[0][at][mine] & own[1][at][other] for at in range(2)]
    here = _placed(counts[0], mine, own[0][0]), _placed(counts[1], mine, own[0][1])
    there = _placed(counts[0], other, own[1][0]), _placed(counts[1], other, own[1][1])
    return here, there


def _placed(counts: Units, at: NDArray[np.intp], like: Units) -> Units:
    """The counts of some units among all of them."""
    placed = np.zeros_like(like)
    placed[at] = counts
    return placed


def _aligned(a: Results, b: Results) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where in each of two results the units stand that both have."""
    if (a.items, a.trial_of) == (b.items, b.trial_of) and np.array_equal(a.item_of, b.item_of):
        every = np.arange(len(a.item_of))
        return every, every
    there = {unit: at for at, unit in enumerate(units(b))}
    pairs = [(at, there[unit]) for at, unit in enumerate(units(a)) if unit in there]
    mine, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return mine, other


def scored(results: Results, refusals: Refusals) -> Units:
    """The units that a rule for refusals scores for anybody."""
    h, costs = scored_units(results, refusals)
    return np.asarray((h | costs).any(axis=0))


def units(results: Results) -> list[tuple[str, str]]:
    """Every unit's item and trial; a trial without a name is the first."""
    names = zip(results.item_of.tolist(), results.trial_of, strict=True)
    return [(results.items[at], trial or "0") for at, trial in names]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """What each scored item adds to a player's H, costs and Q (`values`), and which items that is a mean over."""

    items: tuple[str, ...]
    values: dict[str, Floats]
    counted: dict[str, Units]

    def over(self, name: str, items: Sequence[str]) -> Floats:
        """The parts of a figure over these items and maybe more, with the same mean; NaN where it is not known."""
        values, counted = self.values[name], self.counted[name]
        if not counted.any() or (counted.all() and tuple(items) == self.items):
            return values if counted.any() else np.full(len(items), np.nan)
        middle = values[counted].mean()
        place = {item: at for at, item in enumerate(items)}
        parts = np.full(len(items), middle)
        own = np.array([place[item] for item in self.items])[counted]
        parts[own] += (values[counted] - middle) * (len(items) / len(own))
        return parts


def _parts(condition: Condition, player: str, inside: tuple[Units, Units] | None = None) -> _Parts:
    """The parts of what a condition scores; of some units only, where H and costs are said to count."""
    results = condition.results
    seat = results.players.index(player)
    rules = with_known(results, condition.rules, [])
    cells = scored_units(results, rules.refusals)
    if inside is not None:
        items = len(view(results, rules.refusals, ()).items)
        if rules.reference is not None and items:  # the same for fewer units
            each = {name: rules.each(name, items) or 0.0 for name in rules.reference}
            rules = replace(rules, reference=each, per_item=True)
        cells = cells[0] & inside[0], cells[1] & inside[1]
    seen = view_of(results, cells, tuple(rules.weights))
    kept = np.isin(np.array(results.items), np.array(seen.items))
    h, h_counts = by_item(results, final_h(results), cells[0])
    found = {name: by_item(results, results.costs[name].value, cells[1]) for name in RESOURCES}
    return _Parts(
        seen.items,
        {
            "h": h[seat, kept],
            "q": influence(seen, rules)[seat],
            **{name: values[seat, kept] for name, (values, _) in found.items()},
        },
        {
            "h": h_counts[seat, kept] > 0,
            "q": np.ones(len(seen.items), dtype=bool),
            **{name: counts[seat, kept] > 0 for name, (_, counts) in found.items()},
        },
    )
