"""When the ranking changes: exact envelopes, shares of the weight simplex, Pareto fronts.

A player's Q is linear in beta and in the weight of any one resource; the winners form the upper envelope of the
lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import TIE

SAME = 1e-12  # lines that differ by no more than rounding are the same line


@dataclass(frozen=True, slots=True)
class Stretch:
    """The winners from `start` to `end` (None: unbounded): one player, or several with the same line."""

    start: float
    end: float | None
    winners: tuple[int, ...]


def envelope(heights: Sequence[float], slopes: Sequence[float]) -> tuple[Stretch, ...]:
    """The upper envelope of the lines height - x * slope over x >= 0; equal lines share their stretch."""

    def same(line: int) -> tuple[int, ...]:
        near = (abs(heights[i] - heights[line]) <= SAME and abs(slopes[i] - slopes[line]) <= SAME for i in lines)
        return tuple(i for i, is_near in zip(lines, near, strict=True) if is_near)

    lines = range(len(heights))
    order = sorted(range(len(heights)), key=lambda i: (-heights[i], slopes[i], i))
    best, position = order[0], 0.0
    stretches: list[Stretch] = []
    while True:
        crossing: tuple[float, float, int] | None = None
        for other in lines:
            if slopes[other] < slopes[best] and other not in same(best):
                x = (heights[best] - heights[other]) / (slopes[best] - slopes[other])
                candidate = (max(x, position), slopes[other], other)
                crossing = candidate if crossing is None else min(crossing, candidate)
        if crossing is None:
            return (*stretches, Stretch(position, None, same(best)))
        if crossing[0] > position:
            stretches.append(Stretch(position, crossing[0], same(best)))
        position, best = crossing[0], crossing[2]


def simplex_shares(h: Floats, shares: Floats, alpha: float, beta: float, draws: int, seed: int) -> Floats:
    """The share of the weight simplex that each player wins, ties shared; `shares` is players x resources.

    Estimated from `draws` uniform points on the simplex, scaled to sum to the number of resources: accurate to about
    1 / sqrt(draws).
    """
    resources = shares.shape[1]
    weights = np.random.default_rng(seed).dirichlet(np.ones(resources), draws) * resources
    q = alpha * h - beta * (weights @ shares.T)
    return wins(q) / draws


def chance_along(h: Floats, penalty: Floats, alpha: float, betas: Sequence[float]) -> Floats:
    """The share of resamples (rows of `h` and `penalty`) that each player wins at each beta, ties shared: betas x
    players."""
    chances = np.zeros((len(betas), h.shape[1]))
    for index, beta in enumerate(betas):
        chances[index] = wins(alpha * h - beta * penalty) / len(h)
    return chances


def wins(q: Floats) -> Floats:
    """How many rows each player wins, ties shared; a player without a score in a row does not win it."""
    filled = np.where(np.isnan(q), -np.inf, q)
    best = filled >= filled.max(axis=1, keepdims=True) - TIE
    return (best / best.sum(axis=1, keepdims=True)).sum(axis=0)


def pareto(h: Sequence[float], cost: Sequence[float]) -> tuple[int, ...]:
    """The players that no other beats in H at no more cost, or in cost at no less H."""
    front: list[int] = []
    for candidate in range(len(h)):
        beaten = any(
            h[other] >= h[candidate]
            and cost[other] <= cost[candidate]
            and (h[other] > h[candidate] or cost[other] < cost[candidate])
            for other in range(len(h))
        )
        if not beaten:
            front.append(candidate)
    return tuple(front)
