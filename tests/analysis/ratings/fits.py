"""Ratings of a plain table of wins, or of rankings, by the fits that tournaments use."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from mashq.analysis.ratings.bradley_terry import Strengths, fit_pairs
from mashq.analysis.ratings.plackett_luce import Contest, Ranking, contest, fit_orders, untied
from mashq.protocol.results import Floats


def bradley_terry(wins: Floats, ties: Floats | None, names: Sequence[str]) -> Strengths:
    """Strengths from `wins[i, j]`, how often i beat j, and `ties[i, j] == ties[j, i]`; fractions are welcome."""
    size = len(names)
    drawn = np.zeros((size, size)) if ties is None else ties
    first, second = np.nonzero(np.triu(wins + wins.T + drawn, 1))
    outcomes = np.stack([wins[first, second], drawn[first, second], wins[second, first]], axis=-1)
    found = fit_pairs(np.stack([first, second], axis=-1), outcomes[None], size)
    return Strengths(tuple(names), found.strength[0], float(found.nu[0]))


def plackett_luce(
    rankings: Sequence[Ranking], names: Sequence[str], weights: Sequence[float] | None = None, seed: int = 0
) -> Strengths:
    """Strengths from rankings: players by number, best first, those who tied in one group, as [[2], [0, 1]]."""
    random = np.random.default_rng(seed)
    worth: dict[tuple[tuple[int, ...], ...], float] = {}
    for ranking, weight in zip(rankings, [1.0] * len(rankings) if weights is None else weights, strict=True):
        key = tuple(tuple(group) for group in ranking)
        worth[key] = worth.get(key, 0.0) + weight
    contests: list[Contest] = []
    for ranking, weight in worth.items():
        seats = list(chain.from_iterable(ranking))
        groups = [[seats.index(player) for player in group] for group in ranking]
        contests.append(contest(seats, np.argsort(untied(groups, random), axis=1).T[:, None, :], weight))
    return Strengths(tuple(names), fit_orders(contests, len(names), 1).strength[0])
