"""Plackett-Luce, for games of three or more.

The first place goes to a player with a probability in proportion to its strength, the second likewise among the
remaining players, and so on. The prior is the same as for pairs, and without ties a game of two is Bradley-Terry. A
tie stands for every order of the tied players, each with an equal part of the game's weight: in a game of two it is
half a win each. (Averaging the likelihood itself over those orders would make a tie of two carry no information; a
parameter for every size of tie, like Davidson's for pairs, is not worthwhile because ties of Q to 1e-9 are rare.)

All that the fit needs to know about a game is who was still to be placed, at each place: the *sets left*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.ratings.bradley_terry import CHUNK, SPREAD, Fit, Ints
from mashq.analysis.ratings.newton import climb
from mashq.protocol.results import Floats

Ranking = Sequence[Sequence[int]]
MAX_ORDERS = 120
TABLED = 8
MEANT = 64


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Games of some seats, for some fits.

    `left` are the sets left (1 or fits x sets x seats: whether the seat is in the set), `weights` how often each
    occurred (fits x sets), `placed` how often each seat was placed before the last (fits x seats).
    """

    seats: Ints
    left: NDArray[np.bool_]
    weights: Floats
    placed: Floats

    def part(self, start: int, end: int) -> "Contest":
        """The same for some of the fits."""
        left = self.left if len(self.left) == 1 else self.left[start:end]
        return Contest(self.seats, left, self.weights[start:end], self.placed[start:end])

    def mean(self) -> "Contest":
        """One fit with the average counts of all fits."""
        weights, placed = self.weights.mean(axis=0), self.placed.mean(axis=0, keepdims=True)
        if len(self.left) == 1:
            return Contest(self.seats, self.left, weights[None], placed)
        sampled = self.left[:: -(-len(self.left) // MEANT)]
        each = np.tile(weights, len(sampled)) / len(sampled)
        return Contest(self.seats, sampled.reshape(1, -1, len(self.seats)), each[None], placed)


def untied(ranking: Ranking, random: np.random.Generator) -> Ints:
    """Every order that a ranking allows, orders x places; 120 random ones if there are more."""
    groups = [list(group) for group in ranking]
    if prod(factorial(len(group)) for group in groups) <= MAX_ORDERS:
        orders = [list(chain.from_iterable(order)) for order in product(*map(permutations, groups))]
        return np.array(orders, dtype=np.intp)
    drawn = [np.concatenate([random.permutation(group) for group in groups]) for _ in range(MAX_ORDERS)]
    return np.array(drawn, dtype=np.intp)


def contest(seats: Sequence[int], places: Ints, weight: float = 1.0) -> Contest:
    """A contest from places (seats x fits x orders, 0 is best) of orders that share a weight evenly."""
    size, fits, count = places.shape
    each = weight / count
    placed = each * (places < size - 1).sum(axis=2, dtype=np.float64).T
    if size > TABLED:
        left = np.stack([places >= stage for stage in range(size - 1)]).transpose(2, 3, 0, 1)
        sets = left.reshape(fits, count * (size - 1), size)
        return Contest(np.array(seats), sets, np.full((fits, count * (size - 1)), each), placed)
    weights = np.zeros((fits, 2**size))
    for stage in range(size - 1):
        code: Ints = np.indices((fits, count))[0]
        for seat in reversed(range(size)):
            code = 2 * code + (places[seat] >= stage)
        weights += each * np.bincount(code.ravel(), minlength=weights.size).reshape(weights.shape)
    table = np.array(list(product((False, True), repeat=size)))[:, ::-1]
    several = table.sum(axis=1) > 1
    return Contest(np.array(seats), table[several][None], weights[:, several], placed)


def fit_orders(
    contests: Sequence[Contest], players: int, fits: int, start: Floats | None = None, spread: float = SPREAD
) -> Fit:
    """Fit every row of the contests' weights; the same seats may occur in several contests."""
    size = max(1, CHUNK // (players**2 + max((game.left[0].size for game in contests), default=0)))
    chunks = [
        _fit([game.part(begin, begin + size) for game in contests], players, min(size, fits - begin), start, spread)
        for begin in range(0, fits, size)
    ]
    optimum = np.concatenate([strength for strength, _ in chunks])
    curvature = np.concatenate([bend for _, bend in chunks])
    return Fit(optimum - optimum.mean(axis=1, keepdims=True), np.zeros(fits), curvature)


def _fit(
    contests: Sequence[Contest], players: int, fits: int, start: Floats | None, spread: float
) -> tuple[Floats, Floats]:
    diagonal = np.arange(players)

    def objective(at: Floats) -> tuple[Floats, Floats, Floats]:
        value, slope = -(at**2).sum(axis=1) / (2 * spread**2), -at / spread**2
        curvature = np.zeros((fits, players, players))
        curvature[:, diagonal, diagonal] = spread**-2
        for game in contests:
            likely, push, bend = _contest(at[:, game.seats], game)
            value += likely
            slope[:, game.seats] += push
            curvature[:, game.seats[:, None], game.seats] += bend
        return value, slope, curvature

    begin = np.zeros((fits, players)) if start is None else np.repeat(start[None], fits, axis=0)
    return climb(objective, begin)


def _contest(strength: Floats, game: Contest) -> tuple[Floats, Floats, Floats]:
    """A contest's log-likelihood, slope and curvature at the seats' strengths (fits x seats)."""
    highest = strength.max(axis=1, keepdims=True)
    share = game.left * np.exp(strength - highest)[:, None, :]
    total = share.sum(axis=2)
    share /= total[:, :, None]
    likely = (game.placed * (strength - highest)).sum(axis=1) - (game.weights * np.log(total)).sum(axis=1)
    heavy = share * game.weights[:, :, None]
    expected = heavy.sum(axis=1)
    bend = -np.matmul(heavy.transpose(0, 2, 1), share)
    diagonal = np.arange(len(game.seats))
    bend[:, diagonal, diagonal] += expected
    return likely, game.placed - expected, bend
