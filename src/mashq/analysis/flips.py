"""When the ranking flips: exact envelopes, shares of the weight simplex, Pareto fronts.

A player's Q is a line in beta, and in the weight of any one resource; the winners are the upper envelope.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mashq.protocol.results import Floats


@dataclass(frozen=True, slots=True)
class Stretch:
    """The winner from `start` to `end` (None: for ever)."""

    start: float
    end: float | None
    winner: int


def envelope(heights: Sequence[float], slopes: Sequence[float]) -> tuple[Stretch, ...]:
    """The upper envelope of the lines height - x * slope over x >= 0; equal lines go to the first."""
    order = sorted(range(len(heights)), key=lambda i: (-heights[i], slopes[i], i))
    best, at = order[0], 0.0
    found: list[Stretch] = []
    while True:
        crossing: tuple[float, float, int] | None = None
        for other in range(len(heights)):
            if slopes[other] < slopes[best]:
                x = (heights[best] - heights[other]) / (slopes[best] - slopes[other])
                candidate = (max(x, at), slopes[other], other)
                crossing = candidate if crossing is None else min(crossing, candidate)
        if crossing is None:
            return (*found, Stretch(at, None, best))
        if crossing[0] > at:
            found.append(Stretch(at, crossing[0], best))
        at, best = crossing[0], crossing[2]


def simplex_shares(h: Floats, shares: Floats, alpha: float, beta: float, draws: int, seed: int) -> Floats:
    """How much of the weight simplex each player wins: `shares` are players x resources.

    By `draws` uniform points on the simplex, scaled to add up to the number of resources: good to about
    1 / sqrt(draws).
    """
    resources = shares.shape[1]
    weights = np.random.default_rng(seed).dirichlet(np.ones(resources), draws) * resources
    q = alpha * h - beta * (weights @ shares.T)
    return np.bincount(q.argmax(axis=1), minlength=len(h)) / draws


def chance_along(h: Floats, penalty: Floats, alpha: float, betas: Sequence[float]) -> Floats:
    """The share of resamples (rows of `h` and `penalty`) that each player wins at each beta: betas x players."""
    out = np.zeros((len(betas), h.shape[1]))
    for at, beta in enumerate(betas):
        q = np.where(np.isnan(h), -np.inf, alpha * h - beta * penalty)
        out[at] = np.bincount(q.argmax(axis=1), minlength=h.shape[1]) / len(h)
    return out


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
