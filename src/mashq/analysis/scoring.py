"""H, P and Q of many resamples at once, each with its own normaliser.

Every figure is a weighted mean over items, so that one matrix product does all resamples. The ratio of mean costs is
the ratio of totals where all players did the same items, and the fair form of it where they did not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.results import Floats, Results
from mashq.protocol.score import Refusals, ScoreRules, reduce


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a rule for refusals scores: values and how often they count, players x items (only those that count)."""

    items: tuple[str, ...]
    h: Floats
    h_counts: Floats
    costs: Mapping[str, Floats]
    cost_counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """H, P and Q, resamples x players (one row for the results themselves), and the mean costs behind P."""

    h: Floats
    penalty: Floats
    q: Floats
    costs: Mapping[str, Floats]


def scores(results: Results, refusals: Refusals) -> NDArray[np.bool_]:
    """Which items a rule for refusals scores."""
    return np.asarray((results.usable.all if refusals == "intersection" else results.present.any)(axis=0))


def view(results: Results, refusals: Refusals, counted: tuple[str, ...]) -> View:
    """The part of the results that a rule for refusals scores."""
    keep = scores(results, refusals)
    if refusals == "intersection":
        h = results.h[:, keep]
        ones = np.ones(h.shape)
        return _view(results, keep, h, ones, counted, ones)
    h = (results.h_penalised if refusals == "penalised" else results.h)[:, keep]
    return _view(results, keep, h, (~np.isnan(h)).astype(float), counted, results.present[:, keep].astype(float))


def _view(
    results: Results, keep: NDArray[np.bool_], h: Floats, h_counts: Floats, counted: tuple[str, ...], costs: Floats
) -> View:
    items = results.items if keep.all() else tuple(compress(results.items, keep.tolist()))
    known = {name: np.nan_to_num(results.costs[name][:, keep]) for name in counted}
    return View(items, np.nan_to_num(h), h_counts, known, costs)


def figures(seen: View, rules: ScoreRules, weights: Floats | None = None) -> Figures:
    """Score every row of `weights` (resamples x items: how often each was drawn); None is the results as they are."""
    drawn = np.ones((1, len(seen.items))) if weights is None else weights
    h = _mean(drawn, seen.h, seen.h_counts)[0]
    costs: dict[str, Floats] = {}
    total: Floats | None = None
    for name, values in seen.costs.items():
        costs[name], total = _mean(drawn, values, seen.cost_counts, total)
    penalty, q = reduce(h, costs, rules, len(seen.items))
    return Figures(h, penalty, q, costs)


def _mean(drawn: Floats, values: Floats, counts: Floats, total: Floats | None = None) -> tuple[Floats, Floats]:
    """The mean over the items that count, by resample and player, NaN where none was drawn; and how many count."""
    if (counts == 1).all():
        all_ = np.asarray(drawn.sum(axis=1, keepdims=True)) if total is None else total
        return drawn @ values.T / all_, all_
    own = drawn @ counts.T if total is None else total
    return np.divide(drawn @ (values * counts).T, own, out=np.full(own.shape, np.nan), where=own > 0), own


def influence(seen: View, rules: ScoreRules) -> Floats:
    """Each item's part in Q, players x items: what Q would move by, to first order, with more of that item.

    The mean over items is Q itself; its spread gives the standard error of Q and of any difference.
    """
    now = figures(seen, rules)
    count = len(seen.items)
    out = np.repeat(now.q.T, count, axis=1)
    out += rules.alpha * _pull(seen.h, seen.h_counts, now.h[0])
    for name, values in seen.costs.items():
        mean = now.costs[name][0]
        pull = _pull(values, seen.cost_counts, mean)
        if rules.reference is not None:
            out -= rules.beta * rules.weights[name] * pull * count / rules.reference[name]
            continue
        top = int(np.argmax(mean))
        if mean[top] > 0:
            ratio = (mean / mean[top])[:, None]
            out -= rules.beta * rules.weights[name] * (pull - ratio * pull[top][None, :]) / mean[top]
    return out


def _pull(values: Floats, counts: Floats, mean: Floats) -> Floats:
    """How far each item pulls a player's mean."""
    share = counts.mean(axis=1, keepdims=True)
    return np.divide(counts * (values - mean[:, None]), share, out=np.zeros_like(values), where=share > 0)
