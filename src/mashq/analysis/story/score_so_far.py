"""P and Q of a match that goes on: over the items answered so far, from the known costs. Pure."""

from collections.abc import Mapping

from mashq.protocol.score import Floats, ScoreRules, reduce


def counted_by(rules: ScoreRules) -> tuple[str, ...]:
    """The resources that count in P."""
    return tuple(
        name
        for name, weight in rules.weights.items()
        if weight and (rules.reference is None or rules.reference.get(name, 0.0) > 0)
    )


def scores_so_far(rules: ScoreRules, h: Floats, totals: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """P and Q from mean H (NaN before the first answer) and known totals, players on the last axis."""
    return reduce(h, {name: totals[name] for name in counted_by(rules)}, rules)
