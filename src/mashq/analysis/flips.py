"""When the ranking flips: exact envelopes, shares of the weight simplex, Pareto fronts.

A player's Q is a line in beta, and in the weight of any one resource; the winners are the upper envelope.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import TIE

SAME = 1e-12  # lines that differ by no more are one line, but for rounding


@dataclass(frozen=True, slots=True)
class Stretch:
    """The winners from `start` to `end` (None: for ever): one, or those that share one line."""

    start: float
    end: float | None
    winners: tuple[int, ...]


def envelope(heights: Sequence[float], slopes: Sequence[float]) -> tuple[Stretch, ...]:
    """The upper envelope of the lines height - x * slope over x >= 0; equal lines share their stretch."""

    def same(line: int) -> tuple[int, ...]:
        near = (abs(heights[i] - heights[line]) <= SAME and abs(slopes[i] - slopes[line]) <= SAME for i in everyone)
        return tuple(i for i, is_near in zip(everyone, near, strict=True) if is_near)

    everyone = range(len(heights))
    order = sorted(range(len(heights)), key=lambda i: (-heights[i], slopes[i], i))
    best, at = order[0], 0.0
    found: list[Stretch] = []
    while True:
        crossing: tuple[float, float, int] | None = None
        for other in everyone:
            if slopes[other] < slopes[best] and other not in same(best):
                x = (heights[best] - heights[other]) / (slopes[best] - slopes[other])
                candidate = (max(x, at), slopes[other], other)
                crossing = candidate if crossing is None else min(crossing, candidate)
        if crossing is None:
            return (*found, Stretch(at, None, same(best)))
        if crossing[0] > at:
            found.append(Stretch(at, crossing[0], same(best)))
        at, best = crossing[0], crossing[2]


def simplex_shares(h: Floats, shares: Floats, alpha: float, beta: float, draws: int, seed: int) -> Floats:
    """How much of the weight simplex each player wins, ties shared: `shares` are players x resources.

    By `draws` uniform points on the simplex, scaled to add up to the number of resources: good to about
    1 / sqrt(draws).
    """
    resources = shares.shape[1]
    weights = np.random.default_rng(seed).dirichlet(np.ones(resources), draws) * resources
    q = alpha * h - beta * (weights @ shares.T)
    return wins(q) / draws


def chance_along(h: Floats, penalty: Floats, alpha: float, betas: Sequence[float]) -> Floats:
    """The share of resamples (rows of `h` and `penalty`) that each player wins at each beta, ties shared: betas x
    players."""
    out = np.zeros((len(betas), h.shape[1]))
    for at, beta in enumerate(betas):
        out[at] = wins(alpha * h - beta * penalty) / len(h)
    return out


def wins(q: Floats) -> Floats:
    """How many rows each player won, ties shared; a row without a score for a player is not its win."""
    filled = np.where(np.isnan(q), -np.inf, q)
    best = filled >= filled.max(axis=1, keepdims=True) - TIE
    return (best / best.sum(axis=1, keepdims=True)).sum(axis=0)


def pareto(h: Sequence[float], cost: Sequence[float]) -> tuple[int, ...]:
    """Those whom nobody beats in H at no more cost, or in cost at no less H."""
    front: list[int] = []
    for one in range(len(h)):
        beaten = any(
            h[other] >= h[one] and cost[other] <= cost[one] and (h[other] > h[one] or cost[other] < cost[one])
            for other in range(len(h))
        )
        if not beaten:
            front.append(one)
    return tuple(front)
