"""What each item has to do with Q, to first order."""

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures


def influence(seen: View, rules: ScoreRules) -> Floats:
    """Each item's part in Q, players x items: what Q would move by, to first order, with more of that item.

    The mean over items is Q itself; its spread gives the standard error of Q and of any difference.
    """
    now = figures(seen, rules)
    count = len(seen.items)
    if not count:
        return np.zeros((len(now.q[0]), 0))
    out = np.repeat(now.q.T, count, axis=1)
    out += rules.alpha * _pull(seen.h, seen.h_counts, now.h[0])
    for name, values in seen.costs.items():
        mean = now.costs[name][0]
        pull = _pull(values, seen.cost_counts, mean)
        each = rules.each(name, count)
        if each is not None:
            out -= rules.beta * rules.weights[name] * pull / each
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
