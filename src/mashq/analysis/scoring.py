"""Each item's contribution to Q, to first order."""

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures


def influence(item_view: View, rules: ScoreRules) -> Floats:
    """Each item's contribution to Q, players x items: the first-order change of Q with more weight on that item.

    The mean over items is Q itself; the spread gives the standard error of Q and of any difference.
    """
    estimate = figures(item_view, rules)
    count = len(item_view.items)
    if not count:
        return np.zeros((len(estimate.q[0]), 0))
    contributions = np.repeat(estimate.q.T, count, axis=1)
    contributions += rules.alpha * _deviation(item_view.h, item_view.h_counts, estimate.h[0])
    for name, values in item_view.costs.items():
        mean = estimate.costs[name][0]
        pull = _deviation(values, item_view.cost_counts, mean)
        reference = rules.each(name, count)
        if reference is not None:
            contributions -= rules.beta * rules.weights[name] * pull / reference
            continue
        top = int(np.argmax(mean))
        if mean[top] > 0:
            ratio = (mean / mean[top])[:, None]
            contributions -= rules.beta * rules.weights[name] * (pull - ratio * pull[top][None, :]) / mean[top]
    return contributions


def _deviation(values: Floats, counts: Floats, mean: Floats) -> Floats:
    """The contribution of each item to a player's mean, as a deviation from it."""
    share = counts.mean(axis=1, keepdims=True)
    return np.divide(counts * (values - mean[:, None]), share, out=np.zeros_like(values), where=share > 0)
