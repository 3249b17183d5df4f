"""Ratings of players from games, with intervals.

Games of two are rated by Bradley-Terry with ties; if some have three or more seats, all are rated by Plackett-Luce.

**Items as the unit.** A tournament's games share their items, so items are resampled for all games at once. The
winner alone is then a poor statistic: one bit per game, and resamples of a bit do not show its error. A game's
outcome is therefore the share of resamples that a seat wins (`ratings.outcomes`). To first order that is the share of
the *halves* of the items that it wins, an unbiased estimate of its probability to win a match of **half as many
items**: that is what these ratings and win probabilities refer to. (For a match of all the items, the bare result is
the only unbiased estimate.) Intervals are percentiles of the ratings of the resamples. Far from the middle those are
biased outwards if all games share their errors (the same answers in every match): the rating of the resamples' mean
outcome, which is to them what the truth is to the results, is then not in their middle, and the percentiles are moved
halfway to it. They are widened like Student's t if items are few. `bench/ratings_coverage.py` measures how often they
contain the truth. If the prior and not the games determines a rating, its interval is meaningless: it is left out if
a prior twice as wide would put the rating outside its own interval, and for all players if not all are connected by
games.

**Games as the unit.** Without items, games are assumed to be independent, and outcomes to be the actual results.
Intervals come from the curvature of the fit, prior included, so that a player who never lost has one too.
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
    """Ratings and their resamples. `low` and `high` are NaN if unknown.

    `ranks` are the best and the worst rank (1 is first) in the middle 95% of the resamples and `p_first` is the share
    of them in which a player is first, None and NaN if too few items count or not all are connected by games;
    `resampled` are their log-strengths, resamples x players.
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
    item_view: View,
    rules: ScoreRules,
    items: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Game:
    """A game from a match's results; `items` are the tournament's, so that one seed draws the same items for every
    match."""
    position = {item: at for at, item in enumerate(items)}
    columns = [position[item] for item in item_view.items]
    resampled: list[Floats] = []
    for drawn in draws(len(items), resamples, seed):
        counts = drawn[:, columns]
        counts[counts.sum(axis=1) == 0] = 1.0  # none of the match's items was drawn: use all of them once
        resampled.append(figures(item_view, rules, counts).q)
    return Game(tuple(seats), figures(item_view, rules).q[0], np.concatenate(resampled), len(columns))


def rate(
    games: Sequence[Game],
    names: Sequence[str],
    items: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ratings:
    """Rate players from games. With `items` (their number), items are the unit and every game has its `drawn` values;
    without, games are the unit, and `resamples` is the number of draws. The seed is used for drawing and to break
    ties of many."""
    _check(games, len(names), items)
    random = np.random.default_rng(seed)
    paired = all(len(entry.seats) == 2 for entry in games)
    from_games = _from_games(games, len(names), paired, random)
    few, prior = np.zeros((2, len(names)), dtype=bool)
    messages = doubts(games, names, items)
    if items is None:
        fitted, resampled = from_games, _normal_draws(from_games, resamples, random)
        low, high = _ends(resampled, fitted.strength[0], fitted.strength[0], np.ones(len(names)))
    else:
        fitted, resampled, centre, wide = _from_items(games, len(names), paired, random)
        count = _items(games, len(names), items)
        low, high = _ends(resampled, fitted.strength[0], centre, _stretch(count))
        few, prior = count < FEWEST, (wide < low - SAME) | (wide > high + SAME)
        messages = (*surprises(games, names, fitted.strength[0], from_games.strength[0]), *messages)
    unconnected = not all_met(games, len(names))
    messages = (*messages, *_missing_intervals(names, few, prior & ~few & (not unconnected)))
    ranks, p_first = _ranks(resampled)
    vague = few | unconnected
    return Ratings(
        Strengths(tuple(names), fitted.strength[0], float(fitted.nu[0])),
        np.where(vague | prior, np.nan, low),
        np.where(vague | prior, np.nan, high),
        tuple(None if unknown else rank for rank, unknown in zip(ranks, vague.tolist(), strict=True)),
        np.where(vague, np.nan, p_first),
        resampled,
        messages,
    )


def _items(games: Sequence[Game], players: int, items: int) -> Floats:
    """The median number of items that count in a player's matches."""
    counts_by_player: list[list[int]] = [[] for _ in range(players)]
    for entry in games:
        for seat in entry.seats:
            counts_by_player[seat].append(items if entry.items is None else entry.items)
    return np.array([float(np.median(counts)) if counts else float(items) for counts in counts_by_player])


def _missing_intervals(names: Sequence[str], few: Flags, prior: Flags) -> Iterator[str]:
    """Notes on who has no interval, and why."""
    if few.any():
        yield f"Too few items count for an interval and ranks of {_joined_names(names, few)}: use {FEWEST} or more."
    if prior.any():
        yield f"No interval for {_joined_names(names, prior)}: results so one-sided leave the rating to the prior."


def _joined_names(names: Sequence[str], which: Flags) -> str:
    return ", ".join(compress(names, which.tolist()))


def _check(games: Sequence[Game], players: int, items: int | None) -> None:
    if not games:
        raise DataError("there are no games to rate: play some first")
    rows = {None if entry.drawn is None else len(entry.drawn) for entry in games}
    if items is not None and (len(rows) > 1 or None in rows):
        raise DataError("every game needs its Q by resample, all from the same draws, when items are the unit")
    for entry in games:
        size = len(entry.seats)
        if size < 2 or len(set(entry.seats)) < size or any(not 0 <= seat < players for seat in entry.seats):
            raise DataError(f"seats {entry.seats} must be two or more different players, by a number below {players}")
        if entry.q.shape != (size,) or (entry.drawn is not None and entry.drawn.shape[1:] != (size,)):
            raise DataError(f"a game of seats {entry.seats} needs a Q for each seat, alone and in every resample")


def _from_games(games: Sequence[Game], players: int, paired: bool, random: np.random.Generator) -> Fit:
    if paired:
        pairs, outcomes = pair_outcomes(games)
        return fit_pairs(pairs, outcomes, players)
    return fit_orders(contests(games, random), players, 1)


def _normal_draws(fitted: Fit, resamples: int, random: np.random.Generator) -> Floats:
    """Draw log-strengths from the normal distribution given by the curvature of a fit."""
    players = fitted.strength.shape[1]
    covariance = np.linalg.inv(fitted.curvature)[0, :players, :players]
    drawn = random.standard_normal((resamples, players)) @ np.linalg.cholesky(covariance).T
    return fitted.strength + drawn - drawn.mean(axis=1, keepdims=True)


def _from_items(
    games: Sequence[Game], players: int, paired: bool, random: np.random.Generator
) -> tuple[Fit, Floats, Floats, Floats]:
    """The fit of the results; log-strengths of every resample, of the resamples' mean outcome, and of the results
    under a prior twice as wide."""
    if paired:
        pairs, outcomes = soft_pair_outcomes(games)
        fitted = fit_pairs(pairs, outcomes[:1], players)
        resampled = fit_pairs(pairs, outcomes[1:], players, fitted.strength[0])
        centre = fit_pairs(pairs, outcomes[1:].mean(axis=0, keepdims=True), players, fitted.strength[0])
        wide = fit_pairs(pairs, outcomes[:1], players, fitted.strength[0], 2 * SPREAD)
    else:
        results, drawn = soft_contests(games, random)
        fitted = fit_orders(results, players, 1)
        resampled = fit_orders(drawn, players, len(drawn[0].weights), fitted.strength[0])
        centre = fit_orders([contest.mean() for contest in drawn], players, 1, fitted.strength[0])
        wide = fit_orders(results, players, 1, fitted.strength[0], 2 * SPREAD)
    return fitted, resampled.strength, centre.strength[0], wide.strength[0]


def _ends(resampled: Floats, strength: Floats, centre: Floats, stretch: Floats) -> tuple[Floats, Floats]:
    """Percentiles of the resamples, shifted halfway to the centre's rank among them, and scaled around the
    estimate."""
    least = 1 / len(resampled)
    below = ((resampled < centre).mean(axis=0) + (resampled <= centre).mean(axis=0)) / 2
    from scipy.special import ndtr, ndtri  # pyright: ignore[reportMissingTypeStubs]  # slow to import

    shift = ndtri(np.clip(below, least, 1 - least)) / 2
    level = ndtri((1 + LEVEL) / 2)
    low = [
        np.quantile(column, probability) for column, probability in zip(resampled.T, ndtr(shift - level), strict=True)
    ]
    high = [
        np.quantile(column, probability) for column, probability in zip(resampled.T, ndtr(shift + level), strict=True)
    ]
    ends = strength + stretch * (np.array([low, high]) - strength)
    return np.minimum(ends[0], strength), np.maximum(ends[1], strength)


def _stretch(items: Floats) -> Floats:
    """How much wider than a normal interval the interval from that many items is."""
    freedom = np.maximum(items - 1, 1)
    from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]  # slow to import

    wide, normal = np.asarray(stdtrit(freedom, (1 + LEVEL) / 2)), float(stdtrit(math.inf, (1 + LEVEL) / 2))
    return wide / normal * np.sqrt(items / freedom)


def _ranks(resampled: Floats) -> tuple[tuple[tuple[int, int], ...], Floats]:
    """The range of ranks of each player, and the share of resamples in which it is first; ties are shared."""
    best = np.stack([1 + (resampled > column[:, None] + EQUAL).sum(axis=1) for column in resampled.T])
    worst = np.stack([(resampled >= column[:, None] - EQUAL).sum(axis=1) for column in resampled.T])
    low = np.quantile(best, (1 - LEVEL) / 2, axis=1, method="lower")
    high = np.quantile(worst, (1 + LEVEL) / 2, axis=1, method="higher")
    p_first = ((best == 1) / (best == 1).sum(axis=0)).mean(axis=1)
    return tuple((int(top), int(bottom)) for top, bottom in zip(low, high, strict=True)), p_first
