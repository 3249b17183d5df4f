"""Is a simulated match like the recorded one? Its figures beside the recorded ones and their intervals.

A figure is a mean over the scored items, so that matches which lose different items to refusals compare. A simulated
figure is the mean over several simulated matches; it is like the recorded one when it falls into its interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mashq.analysis.intervals import LEVEL, RESAMPLES, resample
from mashq.errors import DataError
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import ScoreRules, View, figures, nothing_common, view, with_known

COSTS = ("tokens", "calls", "reviews", "seconds")
FIGURES = ("h", "q", *COSTS)
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """A figure of a player, recorded and simulated."""

    player: str
    """The player."""
    figure: str
    """h, q, or a resource per item."""
    recorded: float
    """In the recorded match."""
    low: float | None
    """Lower end of its interval; null where there are too few items."""
    high: float | None
    """Upper end of its interval."""
    simulated: float
    """The mean over simulated matches."""
    spread: float | None
    """Their standard deviation."""
    fitted: bool
    """Whether the simulation was fitted to it."""
    inside: bool | None
    """Whether the simulated mean is inside the recorded interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCheck:
    """Whether simulated matches are like the recorded one."""

    simulated: bool
    """Always: these figures are drawn."""
    items: int
    """How many items the recorded match has."""
    matches: int
    """How many matches were simulated."""
    level: float
    """The level of the intervals."""
    rows: Sequence[FitRow]
    """Every figure of every player."""
    like: bool | None
    """Whether all fitted figures are inside; null where there are too few items to say."""


def likeness(
    recorded: Results, simulated: Sequence[Results], rules: ScoreRules, unfitted: Mapping[str, Sequence[str]]
) -> FitCheck:
    """Compare. `unfitted` names, by player, the figures that no simulation was fitted to: shown, not judged."""
    rules = with_known(recorded, rules, [])
    found = [_means(one, rules) for one in simulated]
    found = [one for one in found if one is not None]
    now = _means(recorded, rules)
    if now is None or not found:
        raise DataError(nothing_common(recorded))
    intervals = _intervals(recorded, rules)
    open_costs = any(set(COSTS) & set(names) for names in unfitted.values()) and rules.reference is None
    rows: list[FitRow] = []
    for seat, name in enumerate(recorded.players):
        for figure in FIGURES:
            if np.isnan(now[figure][seat]):
                continue
            drawn = np.array([one[figure][seat] for one in found])
            fitted = figure not in unfitted.get(name, ()) and not (figure == "q" and open_costs)
            mean, (low, high) = float(drawn.mean()), intervals[figure][seat]
            rows.append(
                FitRow(
                    player=name,
                    figure=figure,
                    recorded=float(now[figure][seat]),
                    low=low,
                    high=high,
                    simulated=mean,
                    spread=float(drawn.std(ddof=1)) if len(drawn) > 1 else None,
                    fitted=fitted,
                    inside=None if low is None or high is None else low - CLOSE <= mean <= high + CLOSE,
                )
            )
    outside = [row for row in rows if row.fitted and row.inside is False]
    return FitCheck(
        simulated=True,
        items=len(recorded.items),
        matches=len(found),
        level=LEVEL,
        rows=rows,
        like=None if intervals["h"][0][0] is None else not outside,
    )


def _view(results: Results, rules: ScoreRules) -> View:
    """What is scored, with the costs that are known, whether P counts them or not."""
    known = tuple(name for name in COSTS if not (np.isnan(results.costs[name].value) & results.present).any())
    return view(results, rules.refusals, tuple(dict.fromkeys((*rules.weights, *known))))


def _counted(seen: View, rules: ScoreRules) -> View:
    return replace(seen, costs={name: seen.costs[name] for name in rules.weights})


def _means(results: Results, rules: ScoreRules) -> dict[str, Floats] | None:
    """Each figure of each player; NaN where a cost is not known of everyone."""
    seen = _view(results, rules)
    if not seen.items:
        return None
    now = figures(_counted(seen, rules), rules)
    means = {"h": now.h[0], "q": now.q[0]}
    for name in COSTS:
        values = seen.costs.get(name)
        counts = seen.cost_counts.sum(axis=1)
        nothing = np.full(len(results.players), np.nan)
        means[name] = nothing if values is None else (values * seen.cost_counts).sum(axis=1) / counts
    return means


def _intervals(results: Results, rules: ScoreRules) -> dict[str, list[tuple[float | None, float | None]]]:
    """The interval of each figure, all by the method that Q's has: a cost is put on a scale from 0 to 1 for it."""
    seen = _view(results, rules)
    plain = ScoreRules(weights={})
    found = {"q": _interval(_counted(seen, rules), rules), "h": _interval(replace(seen, costs={}), plain)}
    for name, values in seen.costs.items():
        top = float(values.max()) or 1.0
        ends = _interval(replace(seen, h=values / top, h_counts=seen.cost_counts, costs={}), plain, top)
        found[name] = [(None if low is None else max(0.0, low), high) for low, high in ends]
    return found


def _interval(seen: View, rules: ScoreRules, scale: float = 1.0) -> list[tuple[float | None, float | None]]:
    """By player; None where there are too few items."""
    found = resample(seen, rules, [], RESAMPLES, 0)
    if found.low is None or found.high is None:
        return [(None, None)] * len(seen.h)
    ends: list[list[float]] = (np.stack([found.low, found.high], axis=1) * scale).tolist()
    return [(low, high) for low, high in ends]
