"""Outcomes of games, from their Q and from resampled items.

With items as the unit, a game's outcome is not one bit but the share of the resamples with each order: a narrow win
is little more than half a win, a clear one is a whole win. Errors are mirrored, q + (q_c - q) and q - (q_c - q) for
every resample c, so that a win is never less than half a win if resamples are skewed. The same is needed for every
resample, which would take resamples of resamples; Q is a mean over items, so its errors around each resample are
assumed to be those around the results: resample b, resampled again, gives q_b +- (q_c - q).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.ratings.bradley_terry import Ints
from mashq.analysis.ratings.plackett_luce import Contest, contest, untied
from mashq.protocol.results import Floats
from mashq.protocol.score import TIE

PARTNERS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A match: the players by seat, each seat's Q and, if items are resampled, Q by resample x seat.

    The resamples of all games use the same items in the same draws. Trials of a match are one game: average each item
    over its trials first. Another order of seats is another game. NaN is a seat without a score: it comes last.
    `items` is how many of the items count in this match, if known.
    """

    seats: tuple[int, ...]
    q: Floats
    drawn: Floats | None = None
    items: int | None = None


def filled(game: Game, resampled: bool) -> Floats:
    """Q of the results and, if `resampled`, of the resamples below it; missing values are set below all others."""
    q = game.q[None]
    if resampled and game.drawn is not None:
        q = np.concatenate([q, game.drawn])
    known = q[~np.isnan(q)]
    return np.where(np.isnan(q), known.min() - 1 if len(known) else 0.0, q)


def records(games: Sequence[Game], players: int) -> Ints:
    """How often the row's player won, tied and lost against the column's: players x players x 3."""
    counts = np.zeros((players, players, 3), dtype=np.intp)
    for game in games:
        q = filled(game, False)[0]
        for first, second in permutations(range(len(game.seats)), 2):
            gap = float(q[first] - q[second])
            counts[game.seats[first], game.seats[second], 1 if abs(gap) < TIE else 0 if gap > 0 else 2] += 1
    return counts


def pair_outcomes(games: Sequence[Game]) -> tuple[Ints, Floats]:
    """The pairs that met, and their outcomes summed over games: pairs x (win, tie, loss of the first)."""
    return _by_pair(games, [_hard(game) for game in games])


def soft_pair_outcomes(games: Sequence[Game]) -> tuple[Ints, Floats]:
    """The same from resampled items: (1 + resamples) x pairs x 3, with the results in the first row."""
    return _by_pair(games, [_soft(*_split(game)) for game in games])


def contests(games: Sequence[Game], random: np.random.Generator) -> list[Contest]:
    """Games of any number of seats by their actual results, as one fit."""
    result: list[Contest] = []
    for game in games:
        orders = untied(_groups(filled(game, False)[0]), random)
        result.append(contest(game.seats, np.argsort(orders, axis=1).T[:, None, :]))
    return result


def soft_contests(games: Sequence[Game], random: np.random.Generator) -> tuple[list[Contest], list[Contest]]:
    """The same from resampled items: contests of the results (one fit), and of every resample (one fit each)."""
    results, resamples = list[Contest](), list[Contest]()
    for game in games:
        q, drawn = _split(game)
        mirrored = np.concatenate([drawn, 2 * q - drawn])
        results.append(contest(game.seats, _places(mirrored.T[:, None, :], random)))
        count = len(drawn)
        partner = np.arange(count)[:, None] + 1 + np.arange(PARTNERS) * count // PARTNERS
        signs = np.where(np.arange(PARTNERS) % 2, -1.0, 1.0)
        doubly_drawn = drawn.T[:, :, None] + signs * (drawn - q).T[:, partner % count]
        resamples.append(contest(game.seats, _places(doubly_drawn, random)))
    return results, resamples


def _by_pair(games: Sequence[Game], outcomes: Sequence[Floats]) -> tuple[Ints, Floats]:
    keys = sorted({(min(game.seats), max(game.seats)) for game in games})
    place = {key: at for at, key in enumerate(keys)}
    total = np.zeros((len(outcomes[0]), len(keys), 3))
    for game, outcome in zip(games, outcomes, strict=True):
        first, second = game.seats
        total[:, place[min(first, second), max(first, second)]] += outcome if first < second else outcome[:, ::-1]
    return np.array(keys, dtype=np.intp), total


def _soft(q: Floats, drawn: Floats) -> Floats:
    """Win, tie and loss of a pair as shares of the resamples: for the results, then for every resample."""
    gap, gaps = float(q[0] - q[1]), drawn[:, 0] - drawn[:, 1]
    errors, centre = np.sort(np.concatenate([gaps - gap, gap - gaps])), np.append(gap, gaps)
    lost = np.searchsorted(errors, -centre - TIE, side="right") / len(errors)
    not_won = np.searchsorted(errors, TIE - centre, side="left") / len(errors)
    return np.stack([1 - not_won, not_won - lost, lost], axis=1)


def _hard(game: Game) -> Floats:
    q = filled(game, False)[0]
    gap = q[0] - q[1]
    return np.array([[gap >= TIE, abs(gap) < TIE, gap <= -TIE]], dtype=np.float64)


def _split(game: Game) -> tuple[Floats, Floats]:
    both = filled(game, True)
    return both[0], both[1:]


def _groups(q: Floats) -> list[list[int]]:
    """Seats, best first, grouped with the one before if within a tie of it."""
    order: list[int] = np.argsort(-q, kind="stable").tolist()
    groups = [order[:1]]
    for better, seat in pairwise(order):
        if q[better] - q[seat] < TIE:
            groups[-1].append(seat)
        else:
            groups.append([seat])
    return groups


def _places(q: Floats, random: np.random.Generator) -> Ints:
    """Each seat's place (seats x fits x orders, 0 is best); ties are placed at random."""
    place = np.zeros(q.shape, dtype=np.intp)
    tied = False
    for first, second in combinations(range(len(q)), 2):
        gap = q[first] - q[second]
        place[first] += gap < 0
        place[second] += gap >= 0
        tied = tied or bool((np.abs(gap) < TIE).any())
    if not tied:
        return place
    order = np.argsort(place, axis=0)
    apart: NDArray[np.bool_] = -np.diff(np.take_along_axis(q, order, axis=0), axis=0) >= TIE
    group = np.concatenate([np.zeros((1, *q.shape[1:])), apart.cumsum(axis=0)])
    shuffled = np.argsort(group + random.random(q.shape), axis=0)
    return np.argsort(np.take_along_axis(order, shuffled, axis=0), axis=0)
