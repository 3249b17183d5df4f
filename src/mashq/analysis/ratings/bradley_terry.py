"""Bradley-Terry with ties, for games of two: Davidson's model.

    P(i beats j) : P(tie) : P(j beats i)  =  pi_i : nu * sqrt(pi_i * pi_j) : pi_j

The fitted parameter is the log-strength, log(pi), with mean 0. A weak prior keeps it finite for a player that never
loses: log-strengths are normal around 0 with a standard deviation of 3 (about 520 points), log(nu) with one of 10.
With twenty games per player, the prior moves a log-strength of 2 by less than 0.02. If there are no ties, nu is 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.ratings.newton import climb
from mashq.protocol.results import Floats

Ints = NDArray[np.intp]
SPREAD = 3.0
TIE_SPREAD = 10.0
POINTS = 400 / math.log(10)
MIDDLE = 1500.0
CHUNK = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Log-strengths around 0, and the tie parameter."""

    names: tuple[str, ...]
    strength: Floats
    nu: float = 0.0

    @property
    def points(self) -> Floats:
        """Log-strengths on the scale of chess ratings: 400 points are odds of 10 to 1, the average is 1500."""
        return points(self.strength)

    @property
    def win(self) -> Floats:
        """The probability that the row's player beats the column's; NaN on the diagonal."""
        return chances(self.strength, self.nu)[0]

    @property
    def tie(self) -> Floats:
        """The probability that the two tie; NaN on the diagonal."""
        return chances(self.strength, self.nu)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Log-strengths and nu, one row per fit, with the curvature of the fit in (strengths, log nu if there are
    ties)."""

    strength: Floats
    nu: Floats
    curvature: Floats


def fit_pairs(
    pairs: Ints, outcomes: Floats, players: int, start: Floats | None = None, spread: float = SPREAD
) -> Fit:
    """Fit every row of `outcomes`: fits x pairs x (first wins, tie, second wins). No pair may occur twice.

    `spread` is the prior's standard deviation of log-strengths.
    """
    tied = bool(outcomes[..., 1].any())
    size = max(1, CHUNK // (4 * len(pairs) + players**2 + 1))
    fits = [_fit(pairs, part, players, start, tied, spread) for part in _parts(outcomes, size)]
    return Fit(*(np.concatenate([getattr(fit, name) for fit in fits]) for name in ("strength", "nu", "curvature")))


def chances(strength: Floats, nu: float) -> tuple[Floats, Floats]:
    """The probabilities of wins and of ties, players x players; NaN on the diagonal."""
    win, tie, _ = _shares(strength[:, None] - strength[None, :], np.full((1, 1), nu))
    np.fill_diagonal(win, np.nan)
    np.fill_diagonal(tie, np.nan)
    return win, tie


def points(strength: Floats) -> Floats:
    """Log-strengths as points: 400 for odds of 10 to 1, around 1500."""
    return MIDDLE + POINTS * strength


def _parts(rows: Floats, size: int) -> list[Floats]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _fit(pairs: Ints, outcomes: Floats, players: int, start: Floats | None, tied: bool, spread: float) -> Fit:
    first, second = pairs[:, 0], pairs[:, 1]
    won, draw, lost = outcomes[..., 0], outcomes[..., 1], outcomes[..., 2]
    games = outcomes.sum(axis=-1)
    prior = np.append(np.full(players, spread**-2), [TIE_SPREAD**-2] if tied else [])
    diagonal = np.arange(len(prior))

    def objective(at: Floats) -> tuple[Floats, Floats, Floats]:
        nu = np.exp(at[:, players:]) if tied else np.zeros((len(at), 1))
        gap = at[:, first] - at[:, second]
        win, tie, loss = _shares(gap, nu)
        edge = win - loss
        value = _dot(won, win) + _dot(draw, tie) + _dot(lost, loss) - (at**2 @ prior) / 2
        slope, curvature = -at * prior, np.zeros((len(at), len(prior), len(prior)))
        slope[:, :players] += _net((won - lost - games * edge) / 2, pairs, players)
        bend = games * (win + loss - edge**2) / 4
        curvature[:, first, second] = curvature[:, second, first] = -bend
        curvature[:, diagonal, diagonal] = prior - curvature.sum(axis=2)
        if tied:
            slope[:, players] += (draw - games * tie).sum(axis=1)
            cross = _net(-games * edge * tie / 2, pairs, players)
            curvature[:, :players, players] = curvature[:, players, :players] = cross
            curvature[:, players, players] += (games * tie * (1 - tie)).sum(axis=1)
        return value, slope, curvature

    begin = np.zeros((len(outcomes), len(prior)))
    if start is not None:
        begin[:, :players] = start
    if tied:
        begin[:, players] = np.log((2 * draw.sum(axis=1) + 1) / ((won + lost).sum(axis=1) + 1))
    optimum, curvature = climb(objective, begin)
    nu = np.exp(optimum[:, players]) if tied else np.zeros(len(optimum))
    return Fit(optimum[:, :players] - optimum[:, :players].mean(axis=1, keepdims=True), nu, curvature)


def _shares(gap: Floats, nu: Floats) -> tuple[Floats, Floats, Floats]:
    """The probabilities of win, tie and loss at a gap in log-strength, without overflow."""
    odds = np.exp(-np.abs(gap))
    middle = nu * np.sqrt(odds)
    total = 1 + odds + middle
    high, low = 1 / total, odds / total
    return np.where(gap >= 0, high, low), middle / total, np.where(gap >= 0, low, high)


def _dot(weight: Floats, share: Floats) -> Floats:
    """The weighted sum of logarithms; terms with weight 0 count as 0."""
    return (weight * np.log(np.where(weight > 0, np.maximum(share, 1e-300), 1.0))).sum(axis=1)


def _net(amount: Floats, pairs: Ints, players: int) -> Floats:
    """Per player: the sum over its pairs as first, minus the sum over its pairs as second."""
    table = np.zeros((len(amount), players, players))
    table[:, pairs[:, 0], pairs[:, 1]] = amount
    return table.sum(axis=2) - table.sum(axis=1)
