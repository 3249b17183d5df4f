"""Ratings of players from games, with intervals.

Games of two are rated by Bradley-Terry with ties; where some have three seats and more, all are by Plackett-Luce.

**Items as the unit.** A tournament's games share their items, so items are drawn again, for all games at once. Who
won is then the worst of statistics: one bit a game, and resamples of a bit do not show its error. A game's outcome is
therefore the share of resamples that a seat wins (`ratings_outcomes`). To first order that is the share of the
*halves* of the items that it wins, an unbiased estimate of its chance to win a match of **half as many items**: that
is what these ratings and win chances speak of. (Of its chance in a match of all the items, the bare result is the
only unbiased estimate.) Intervals are percentiles of the ratings of the resamples. Far from the middle those lean
outwards when all games share their errors (the same answers in every match): the rating of the resamples' mean
outcome, which is to them what the truth is to the results, is then not in their middle, and the percentiles are moved
half way to it. They are widened as Student's t is when items are few. `bench/ratings_coverage.py` tells how often
they hold the truth. Where the prior and not the games decides a rating, its interval says nothing: it is left out
when a prior twice as wide would put the rating outside its own interval, and for all where not all have met.

**Games as the unit.** Without items, games are taken to be independent, and outcomes to be what they were. Intervals
come from the curvature of the fit, prior included, so that a player who never lost has one too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from mashq.analysis.intervals import FEWEST, LEVEL, draws
from mashq.analysis.ratings.bradley_terry import SPREAD, Fit, Strengths, fit_pairs, points
from mashq.analysis.ratings.notes import Flags, all_met, doubts, surprises
from mashq.analysis.ratings.outcomes import Game, contests, pair_outcomes, soft_contests, soft_pair_outcomes
from mashq.analysis.ratings.plackett_luce import fit_orders
from mashq.errors import DataError
from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures

RESAMPLES = 2000
EQUAL = 1e-9
SAME = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Ratings and what the resamples say of them. `low` and `high` are NaN where they are not known.

    `ranks` are the best and the worst rank (1 is first) in the middle 95% of the resamples and `p_first` is the share
    of them in which a player is first, None and NaN where too few items count or not all have met; `resampled` are
    their log-strengths, resamples x players.
    """

    fit: Strengths
    low: Floats
    high: Floats
    ranks: tuple[tuple[int, int] | None, ...]
    p_first: Floats
    resampled: Floats
    notes: tuple[str, ...]

    @property
    def points_low(self) -> Floats:
        """The lower ends in points."""
        return points(self.low)

    @property
    def points_high(self) -> Floats:
        """The upper ends in points."""
        return points(self.high)


def game(
    seats: Sequence[int],
    seen: View,
    rules: ScoreRules,
    items: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Game:
    """A game from a match's results; `items` are the tournament's, so one seed draws the same for every match."""
    place = {item: at for at, item in enumerate(items)}
    columns = [place[item] for item in seen.items]
    found: list[Floats] = []
    for drawn in draws(len(items), resamples, seed):
        own = drawn[:, columns]
        own[own.sum(axis=1) == 0] = 1.0  # none of the match's items was drawn: take it as it was
        found.append(figures(seen, rules, own).q)
    return Game(tuple(seats), figures(seen, rules).q[0], np.concatenate(found), len(columns))


def rate(
    games: Sequence[Game],
    names: Sequence[str],
    items: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ratings:
    """Rate players from games. With `items`, their number, items are the unit and every game brings its `drawn`;
    without, games are, and `resamples` says how many times to draw. The seed draws them and breaks ties of many."""
    _check(games, len(names), items)
    random = np.random.default_rng(seed)
    paired = all(len(one.seats) == 2 for one in games)
    counted = _from_games(games, len(names), paired, random)
    few, prior = np.zeros((2, len(names)), dtype=bool)
    said = doubts(games, names, items)
    if items is None:
        found, resampled = counted, _around(counted, resamples, random)
        low, high = _ends(resampled, found.strength[0], found.strength[0], np.ones(len(names)))
    else:
        found, resampled, centre, wide = _from_items(games, len(names), paired, random)
        count = _items(games, len(names), items)
        low, high = _ends(resampled, found.strength[0], centre, _stretch(count))
        few, prior = count < FEWEST, (wide < low - SAME) | (wide > high + SAME)
        said = (*surprises(games, names, found.strength[0], counted.strength[0]), *said)
    unmet = not all_met(games, len(names))
    said = (*said, *_without(names, few, prior & ~few & (not unmet)))
    ranks, p_first = _ranks(resampled)
    vague = few | unmet
    return Ratings(
        Strengths(tuple(names), found.strength[0], float(found.nu[0])),
        np.where(vague | prior, np.nan, low),
        np.where(vague | prior, np.nan, high),
        tuple(None if unknown else rank for rank, unknown in zip(ranks, vague.tolist(), strict=True)),
        np.where(vague, np.nan, p_first),
        resampled,
        said,
    )


def _items(games: Sequence[Game], players: int, items: int) -> Floats:
    """How many items count in a player's matches: the median over them."""
    own: list[list[int]] = [[] for _ in range(players)]
    for one in games:
        for seat in one.seats:
            own[seat].append(items if one.items is None else one.items)
    return np.array([float(np.median(counts)) if counts else float(items) for counts in own])


def _without(names: Sequence[str], few: Flags, prior: Flags) -> Iterator[str]:
    """Who has no interval, and why."""
    if few.any():
        yield f"Too few items count for an interval and ranks of {_named(names, few)}: use {FEWEST} or more."
    if prior.any():
        yield f"No interval for {_named(names, prior)}: matches so one-sided leave the rating to the prior."


def _named(names: Sequence[str], which: Flags) -> str:
    return ", ".join(compress(names, which.tolist()))


def _check(games: Sequence[Game], players: int, items: int | None) -> None:
    if not games:
        raise DataError("there are no games to rate: play some first")
    rows = {None if one.drawn is None else len(one.drawn) for one in games}
    if items is not None and (len(rows) > 1 or None in rows):
        raise DataError("every game needs its Q by resample, all from the same draws, when items are the unit")
    for one in games:
        size = len(one.seats)
        if size < 2 or len(set(one.seats)) < size or any(not 0 <= seat < players for seat in one.seats):
            raise DataError(f"seats {one.seats} must be two or more different players, by a number below {players}")
        if one.q.shape != (size,) or (one.drawn is not None and one.drawn.shape[1:] != (size,)):
            raise DataError(f"a game of seats {one.seats} needs a Q for each seat, alone and in every resample")


def _from_games(games: Sequence[Game], players: int, paired: bool, random: np.random.Generator) -> Fit:
    if paired:
        pairs, outcomes = pair_outcomes(games)
        return fit_pairs(pairs, outcomes, players)
    return fit_orders(contests(games, random), players, 1)


def _around(found: Fit, resamples: int, random: np.random.Generator) -> Floats:
    """Log-strengths drawn from the normal distribution that the curvature of a fit describes."""
    players = found.strength.shape[1]
    error = np.linalg.inv(found.curvature)[0, :players, :players]
    drawn = random.standard_normal((resamples, players)) @ np.linalg.cholesky(error).T
    return found.strength + drawn - drawn.mean(axis=1, keepdims=True)


def _from_items(
    games: Sequence[Game], players: int, paired: bool, random: np.random.Generator
) -> tuple[Fit, Floats, Floats, Floats]:
    """The fit of the results; log-strengths of every resample, of the resamples' mean outcome, and of the results
    under a prior twice as wide."""
    if paired:
        pairs, outcomes = soft_pair_outcomes(games)
        found = fit_pairs(pairs, outcomes[:1], players)
        again = fit_pairs(pairs, outcomes[1:], players, found.strength[0])
        centre = fit_pairs(pairs, outcomes[1:].mean(axis=0, keepdims=True), players, found.strength[0])
        wide = fit_pairs(pairs, outcomes[:1], players, found.strength[0], 2 * SPREAD)
    else:
        results, drawn = soft_contests(games, random)
        found = fit_orders(results, players, 1)
        again = fit_orders(drawn, players, len(drawn[0].weights), found.strength[0])
        centre = fit_orders([one.mean() for one in drawn], players, 1, found.strength[0])
        wide = fit_orders(results, players, 1, found.strength[0], 2 * SPREAD)
    return found, again.strength, centre.strength[0], wide.strength[0]


def _ends(resampled: Floats, strength: Floats, centre: Floats, stretch: Floats) -> tuple[Floats, Floats]:
    """Percentiles of the resamples, moved half way to the centre's place among them, stretched from the estimate."""
    least = 1 / len(resampled)
    below = ((resampled < centre).mean(axis=0) + (resampled <= centre).mean(axis=0)) / 2
    from scipy.special import ndtr, ndtri  # pyright: ignore[reportMissingTypeStubs]  # slow to import

    shift = ndtri(np.clip(below, least, 1 - least)) / 2
    level = ndtri((1 + LEVEL) / 2)
    low = [np.quantile(own, at) for own, at in zip(resampled.T, ndtr(shift - level), strict=True)]
    high = [np.quantile(own, at) for own, at in zip(resampled.T, ndtr(shift + level), strict=True)]
    ends = strength + stretch * (np.array([low, high]) - strength)
    return np.minimum(ends[0], strength), np.maximum(ends[1], strength)


def _stretch(items: Floats) -> Floats:
    """How much wider than a normal interval one from that many items is."""
    freedom = np.maximum(items - 1, 1)
    from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]  # slow to import

    wide, normal = np.asarray(stdtrit(freedom, (1 + LEVEL) / 2)), float(stdtrit(math.inf, (1 + LEVEL) / 2))
    return wide / normal * np.sqrt(items / freedom)


def _ranks(resampled: Floats) -> tuple[tuple[tuple[int, int], ...], Floats]:
    """The range of ranks of each player, and the share of resamples in which it is first; equal ones share."""
    best = np.stack([1 + (resampled > own[:, None] + EQUAL).sum(axis=1) for own in resampled.T])
    worst = np.stack([(resampled >= own[:, None] - EQUAL).sum(axis=1) for own in resampled.T])
    low = np.quantile(best, (1 - LEVEL) / 2, axis=1, method="lower")
    high = np.quantile(worst, (1 + LEVEL) / 2, axis=1, method="higher")
    p_first = ((best == 1) / (best == 1).sum(axis=0)).mean(axis=1)
    return tuple((int(one), int(two)) for one, two in zip(low, high, strict=True)), p_first
