"""P and Q of an unfinished match: over the items answered so far, from known costs. Pure functions."""

from collections.abc import Mapping

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, reduce


def counted_by(rules: ScoreRules) -> tuple[str, ...]:
    """The resources that count in P."""
    return tuple(
        name
        for name, weight in rules.weights.items()
        if weight and (rules.reference is None or rules.reference.get(name, 0.0) > 0)
    )


def scores_so_far(
    rules: ScoreRules, h: Floats, totals: Mapping[str, Floats], handled: Floats
) -> tuple[Floats, Floats]:
    """P and Q from mean H (NaN before the first answer) and known totals over the `handled` items; players on the
    last axis."""
    each = np.maximum(handled, 1.0) if rules.per_item else 1.0
    return reduce(h, {name: totals[name] / each for name in counted_by(rules)}, rules)
