"""The same player in two conditions, paired by item: how its H, costs and Q differ, with intervals.

Items are the unit. An interval is the mean difference plus or minus a multiple of its standard error, the multiple
being the 95% point of the resampled |t| (never less than Student's), as everywhere here. Q is no mean of items, but
each item's part in it is known to first order (`scoring.influence`), and the mean of those parts is Q.
"""

from dataclasses import dataclass

import numpy as np

from mashq.analysis.bundles import bundled
from mashq.analysis.intervals import FEWEST, RESAMPLES, draws, half_width, ratio
from mashq.analysis.scoring import influence
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import ScoreRules, by_item, final_h, scored_units, view, with_known


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


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Results under one condition, and the rules of their score."""

    results: Results
    rules: ScoreRules


def differences(now: Condition, before: Condition, player: str, seed: int = 0) -> dict[str, Difference]:
    """How `player` differs between two conditions: h, q and each resource an item, over the items both can score."""
    parts = _parts(now, player), _parts(before, player)
    there = dict(zip(parts[1][0], range(len(parts[1][0])), strict=True))
    pairs = [(at, there[item]) for at, item in enumerate(parts[0][0]) if item in there]
    if not pairs:
        return {}
    mine, other = np.array(pairs).T
    found: dict[str, Difference] = {}
    for name, values in parts[0][1].items():
        if name in parts[1][1]:
            change = values[mine] - parts[1][1][name][other]
            known = change[~np.isnan(change)]
            if len(known):
                found[name] = mean(known, seed)
    return found


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


def _parts(condition: Condition, player: str) -> tuple[tuple[str, ...], dict[str, Floats]]:
    """What each scored item adds to a player's H, costs and Q."""
    results = condition.results
    seat = results.players.index(player)
    rules = with_known(results, condition.rules, [])
    seen = view(results, rules.refusals, tuple(rules.weights))
    kept = np.isin(np.array(results.items), np.array(seen.items))
    h_cells, cost_cells = scored_units(results, rules.refusals)
    values = {name: by_item(results, results.costs[name].value, cost_cells)[0][seat, kept] for name in RESOURCES}
    h = by_item(results, final_h(results), h_cells)[0][seat, kept]
    return seen.items, {"h": h, "q": influence(seen, rules)[seat], **values}
