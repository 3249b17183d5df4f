"""Compares simulated matches with the recorded one: figures side by side, with intervals.

A figure is a mean over the scored items, so that matches which lose different items to refusals are comparable. A
simulated figure is the mean over several simulated matches; it agrees with the recorded one if it lies in its
interval.
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
    """Compare. `unfitted` lists, by player, the figures that no simulation was fitted to: shown, but not judged."""
    rules = with_known(recorded, rules, [])
    means = [_means(match, rules) for match in simulated]
    means = [match for match in means if match is not None]
    recorded_means = _means(recorded, rules)
    if recorded_means is None or not means:
        raise DataError(nothing_common(recorded))
    intervals = _intervals(recorded, rules)
    unfitted_costs = any(set(COSTS) & set(names) for names in unfitted.values()) and rules.reference is None
    rows: list[FitRow] = []
    for seat, name in enumerate(recorded.players):
        for figure in FIGURES:
            if np.isnan(recorded_means[figure][seat]):
                continue
            drawn = np.array([match[figure][seat] for match in means])
            fitted = figure not in unfitted.get(name, ()) and not (figure == "q" and unfitted_costs)
            mean, (low, high) = float(drawn.mean()), intervals[figure][seat]
            rows.append(
                FitRow(
                    player=name,
                    figure=figure,
                    recorded=float(recorded_means[figure][seat]),
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
        matches=len(means),
        level=LEVEL,
        rows=rows,
        like=None if intervals["h"][0][0] is None else not outside,
    )


def _view(results: Results, rules: ScoreRules) -> View:
    """The scored items with all known costs, whether P counts them or not."""
    known = tuple(name for name in COSTS if not (np.isnan(results.costs[name].value) & results.present).any())
    return view(results, rules.refusals, tuple(dict.fromkeys((*rules.weights, *known))))


def _counted(item_view: View, rules: ScoreRules) -> View:
    return replace(item_view, costs={name: item_view.costs[name] for name in rules.weights})


def _means(results: Results, rules: ScoreRules) -> dict[str, Floats] | None:
    """Each figure of each player; NaN if a cost is not known for everyone."""
    item_view = _view(results, rules)
    if not item_view.items:
        return None
    estimate = figures(_counted(item_view, rules), rules)
    means = {"h": estimate.h[0], "q": estimate.q[0]}
    for name in COSTS:
        values = item_view.costs.get(name)
        counts = item_view.cost_counts.sum(axis=1)
        unknown = np.full(len(results.players), np.nan)
        means[name] = unknown if values is None else (values * item_view.cost_counts).sum(axis=1) / counts
    return means


def _intervals(results: Results, rules: ScoreRules) -> dict[str, list[tuple[float | None, float | None]]]:
    """The interval of each figure, all by the method used for Q: costs are scaled to 0 to 1 for it."""
    item_view = _view(results, rules)
    h_only = ScoreRules(weights={})
    intervals = {
        "q": _interval(_counted(item_view, rules), rules),
        "h": _interval(replace(item_view, costs={}), h_only),
    }
    for name, values in item_view.costs.items():
        top = float(values.max()) or 1.0
        ends = _interval(replace(item_view, h=values / top, h_counts=item_view.cost_counts, costs={}), h_only, top)
        intervals[name] = [(None if low is None else max(0.0, low), high) for low, high in ends]
    return intervals


def _interval(item_view: View, rules: ScoreRules, scale: float = 1.0) -> list[tuple[float | None, float | None]]:
    """The interval per player; None if there are too few items."""
    resampled = resample(item_view, rules, [], RESAMPLES, 0)
    if resampled.low is None or resampled.high is None:
        return [(None, None)] * len(item_view.h)
    ends: list[list[float]] = (np.stack([resampled.low, resampled.high], axis=1) * scale).tolist()
    return [(low, high) for low, high in ends]
