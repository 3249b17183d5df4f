"""Intervals that keep their coverage, from resampled items: one method for every command.

Items are drawn with replacement, all players' scores and costs of an item together, and Q is recomputed with its
normaliser in every resample. An interval is the estimate plus or minus a multiple of its standard error, where the
multiple is the 95% point of the resampled |t| (never less than Student's): a symmetric bootstrap-t. A plain
percentile interval is too short on such skewed scores when items are few. To that half-width is added, in quadrature,
Student's quantile times alpha / 2n: what half a failed item among the n would change, for the rare failure that a
small sample has not met (as corrections by half an observation do for proportions); beyond 30 items it fades by
another 30 / n. All-or-nothing scores that are the same on every item say nothing of how they vary, and there the term
is alpha times 1 - 0.05^(1/n): the largest share of other items that n drawn ones miss with a probability of 5%.

Among several players the one in front was picked for being in front. So the differences to the leader have intervals
that hold together: the multiple is raised by the 95% point of the largest of all players' standardised differences in
a resample, and the leader's own interval, of more than MANY_PLAYERS, by that of all players' own.

The chance of winning belongs to the same picture: it is the share of resamples, spread as the interval of the first
two is and taken both ways around the estimate, in which a player has the best Q. Of two players it is above 97.5%
just when the interval excludes 0. Of more, one whose Q varies much can win more of them than the leader; a note says
so.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.bundles import bundled_view
from mashq.analysis.flips import wins
from mashq.analysis.scoring import influence
from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures

LEVEL = 0.95
RESAMPLES = 10_000
METHOD = (
    f"Intervals are 95% confidence intervals by a symmetric bootstrap-t over items ({RESAMPLES:,} resamples, seed 0; "
    "all players and trials of an item are drawn together, and Q and its normaliser recomputed each time), with a "
    "multiple of the standard error never below Student's and, in quadrature, Student's quantile times alpha / 2n "
    "(times 30 / n beyond 30 items) for failures too rare for n items to show; where all-or-nothing scores or their "
    "differences are the same on every item, alpha times 1 − 0.05^(1/n), the largest share of other items that n "
    "miss with a probability of 5%, stands for it. Differences to the leader are simultaneous over all players (the "
    "bootstrap maximum of |t| over all pairs), the leader's own interval among more than three players is widened in "
    "the same way, and P(win) is the share of resamples, scaled to these intervals, in which a player has the best Q."
)
CHUNK = 1024
MAX_CELLS = 10_000_000  # of a block of draws: 80 MB
PRODUCTS, FEWEST_ROWS = 400_000, 16  # a block of draws times some columns that one core is quickest with
SMALL = 30.0
MANY = 2_000  # degrees of freedom
MANY_PLAYERS, MAX_PAIRED = 3, 12
FEWEST = 5
FAR = 1e6


@dataclass(frozen=True, slots=True)
class Span:
    """A difference in Q between two seats: its interval, and the one that holds together with all those of the
    leader. The ends are None where there are too few items to say anything."""

    a: int
    b: int
    value: float
    low: float | None = None
    high: float | None = None
    all_low: float | None = None
    all_high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """What the resamples say. `low`, `high` and `p_win` are None when there are too few items to say anything.

    `h` and `penalty` are some of the resamples, spread as for the chance of winning.
    """

    low: Floats | None
    high: Floats | None
    differences: tuple[Span, ...]
    p_win: Floats | None
    h: Floats
    penalty: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Differences whose intervals hold together: of how many players, the resampled |t| of each, and by resample the
    largest of all pairs' differences over their standard errors."""

    players: int
    ratios: Floats
    farthest_pair: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The resamples as they come: |t| of every column, how far Q, H and P moved, and the largest in each."""

    ratios: Floats
    q: Floats
    h: Floats
    penalty: Floats
    farthest_pair: Floats


def compared(q: Floats) -> list[tuple[int, int]]:
    """The pairs whose differences hold together: all, the better first; among many only the best against each."""
    ranked = sorted((seat for seat in range(len(q)) if not np.isnan(q[seat])), key=lambda seat: (-q[seat], seat))
    return list(combinations(ranked, 2)) if len(q) <= MAX_PAIRED else [(ranked[0], seat) for seat in ranked[1:]]


def resample(
    seen: View,
    rules: ScoreRules,
    pairs: Sequence[tuple[int, int]],
    resamples: int = RESAMPLES,
    seed: int = 0,
    keep: int = 2000,
    level: float = LEVEL,
) -> Resampled:
    """Intervals of every player's Q and of the differences of `pairs`; some resamples are kept for curves."""
    now = figures(seen, rules)
    q, count, players = now.q[0], len(seen.items), len(now.q[0])
    if count < FEWEST:
        spans = tuple(Span(a, b, float(q[a] - q[b])) for a, b in pairs)
        return Resampled(None, None, spans, None, now.h, now.penalty)
    own = influence(seen, rules) - q[:, None]
    first, second = np.array([a for a, _ in pairs], dtype=int), np.array([b for _, b in pairs], dtype=int)
    value = np.concatenate([q, q[first] - q[second]])
    error = np.concatenate([own, own[first] - own[second]]).std(axis=1, ddof=1) / np.sqrt(count)
    drawn = _draw(seen, rules, (first, second), resamples, seed, keep)
    multiple = _multiple(drawn.ratios, count, level)
    hidden = unseen(count, rules.alpha, level, _alike(seen, first, second))
    half = np.hypot(multiple * error, hidden)
    family = Family(players, drawn.ratios[:, players:], drawn.farthest_pair)
    wide = _together(family, multiple * error, error, hidden, count, level)
    low, high = value - half, value + half
    leader = int(np.nanargmax(q))
    if players > MANY_PLAYERS:
        most = _picked(drawn.ratios[:, :players], multiple[leader], players, count, level)
        most *= float(np.hypot(error[leader], rules.alpha / 2 / count * min(1.0, (SMALL / count) ** 0.5)))
        most = max(most, float(half[leader]))
        low[leader], high[leader] = q[leader] - most, q[leader] + most
    spans = tuple(
        Span(a, b, *(float(ends[at]) for ends in (value, low, high, value - wide, value + wide)))
        for at, (a, b) in enumerate(pairs, start=players)
    )
    second_best = int(np.argsort(np.where(np.isnan(q), np.inf, -q), kind="stable")[1]) if players > 1 else leader
    at = [*pairs, (leader, second_best)].index((leader, second_best)) + players
    wide_top, hidden_top = (float((multiple * error)[at]), float(hidden[at])) if at < len(value) else (0.0, 0.0)
    stretch = _stretch(drawn.q[:, leader] - drawn.q[:, second_best], wide_top, level)
    by_player = np.full(players, float(unseen(count, rules.alpha, level)))
    by_player[[leader, second_best]] = max(hidden_top, float(by_player[0]))
    noise = _noise(drawn.q.shape, by_player, level, seed)
    by = _stretches(stretch, drawn.farthest_pair, players, level)
    spread = by * drawn.q + noise
    chances = (wins(q + spread) + wins(q - spread)) / (2 * len(spread))
    ways = np.where(np.arange(len(drawn.h)) % 2, -1.0, 1.0)[:, None]
    h = now.h[0] + ways * (by[: len(drawn.h)] * drawn.h + noise[: len(drawn.h)] / rules.alpha)
    penalty = now.penalty[0] + ways * by[: len(drawn.h)] * drawn.penalty
    return Resampled(low[:players], high[:players], spans, chances, h, penalty)


def _draw(
    seen: View, rules: ScoreRules, pairs: tuple[Floats, Floats], resamples: int, seed: int, keep: int
) -> _Drawn:
    dealt, under = bundled_view(seen, rules, seed)
    now = figures(dealt, under)
    q, (first, second) = now.q[0], pairs
    own = influence(dealt, under) - q[:, None]
    part = np.concatenate([own, own[first] - own[second]]).T
    size, squares = len(part), part**2
    error = np.sqrt(variances(own) / size)
    blocks: list[tuple[Floats, ...]] = []
    kept = 0
    columns = max(part.shape[1], len(q) * len(dealt.costs) + 1)
    for drawn in draws(size, resamples, seed, columns):
        found = figures(dealt, under, drawn)
        q_moved = found.q - q
        moved = np.concatenate([q_moved, q_moved[:, first] - q_moved[:, second]], axis=1)
        spread = drawn @ squares / size - (drawn @ part / size) ** 2
        ratios = ratio(np.abs(moved), np.sqrt(np.maximum(spread, 0.0) / size))
        some = slice(0, max(0, keep - kept))
        kept += len(drawn)
        blocks.append(
            (
                ratios,
                q_moved,
                (found.h - now.h[0])[some],
                (found.penalty - now.penalty[0])[some],
                farthest_pair(q_moved, error),
            )
        )
    return _Drawn(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def variances(own: Floats) -> Floats:
    """The variance of each pair's difference by item; on the diagonal, of each player's own."""
    products = own @ own.T / max(own.shape[1] - 1, 1)
    variance = np.diag(products)
    found = variance[:, None] + variance[None, :] - 2 * products
    np.fill_diagonal(found, variance)
    return np.maximum(found, 0.0)


def farthest_pair(moved: Floats, error: Floats) -> Floats:
    """By resample, the largest of all pairs' differences, each over its standard error."""
    by_player = np.ascontiguousarray(moved.T)
    gone = np.isnan(by_player).any(axis=0)
    farthest = np.zeros(len(moved))
    for seat in range(len(by_player) - 1):
        rest = error[seat, seat + 1 :]
        usual = rest > 1e-12
        if usual.any():
            away = by_player[seat + 1 :][usual] - by_player[seat]
            np.abs(away, out=away)
            away /= rest[usual][:, None]
            np.maximum(farthest, away.max(axis=0), out=farthest)
    return np.where(gone, FAR, farthest)


def draws(count: int, resamples: int, seed: int, columns: int = 0) -> Iterator[Floats]:
    """How often each item is drawn in each resample, some resamples at a time: so many that their product with
    `columns` of parts by item stays on one core, since sharing out a small one takes longer than it does."""
    random = np.random.default_rng(seed)
    chunk = max(1, min(CHUNK, MAX_CELLS // max(count, 1)))
    small = PRODUCTS // max(count * columns, 1)
    chunk = min(chunk, small) if columns and small >= FEWEST_ROWS else chunk
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        picked = random.integers(0, count, (size, count), dtype=np.int32)
        picked += (np.arange(size, dtype=np.int32) * count)[:, None]
        yield np.bincount(picked.ravel(), minlength=size * count).reshape(size, count).astype(np.float64)


def half_width(
    error: Floats,
    ratios: Floats,
    count: int,
    alpha: float,
    level: float = LEVEL,
    family: Family | None = None,
    *,
    alike: bool = False,
) -> Floats:
    """Half the width of intervals of `count` items, from their standard errors and the resampled |t|; with a family,
    of those that hold together with all its differences; `alike` as in `unseen`."""
    wide, hidden = _multiple(ratios, count, level) * error, unseen(count, alpha, level, alike)
    return np.hypot(wide, hidden) if family is None else _together(family, wide, error, hidden, count, level)


def quantile(values: Floats, at: float) -> Floats:
    """The same as numpy's along the first axis, of finite values, without what numpy would import for it."""
    place = at * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    found = np.partition(values, (below, above), axis=0)
    low, high, part = found[below], found[above], place - below
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def _multiple(ratios: Floats, count: int, level: float) -> Floats:
    """How many standard errors an interval is wide to each side."""
    student, farthest = _student(0.5 + level / 2, count - 1), _student(0.9995, count - 1)
    return np.clip(quantile(ratios, level), student, max(farthest, student))


def unseen(count: int, alpha: float, level: float = LEVEL, alike: NDArray[np.bool_] | bool = False) -> Floats:
    """What is added, in quadrature, for the rare failure that few items do not show.

    Where scores are all or nothing and `alike` on every item, nothing is known of how they vary: it is then the
    largest share of other items that shows none among so many with a probability of 1 - level.
    """
    usual = _student(0.5 + level / 2, count - 1) * alpha * 0.5 / count * min(1.0, SMALL / count)
    return np.where(alike, alpha * (1 - (1 - level) ** (1 / count)), usual)


def _alike(seen: View, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each player and each pair: are scores all or nothing, and the same, or as far apart, on every item?"""
    h, there = seen.h, seen.h_counts > 0
    ends = ((h == 0) | (h == 1) | ~there).all(axis=1)
    values = np.concatenate([h, h[first] - h[second]])
    known = np.concatenate([there, there[first] & there[second]])
    same = values.max(axis=1, where=known, initial=-np.inf) == values.min(axis=1, where=known, initial=np.inf)
    return same & np.concatenate([ends, ends[first] & ends[second]])


def _together(family: Family, wide: Floats, error: Floats, hidden: Floats, count: int, level: float) -> Floats:
    """Half the widths of intervals that hold for all differences at once, from `wide`, those of single ones before
    what is added for the unseen.

    One interval's multiple is raised as far as that of the largest of all pairs' differences is above that of one,
    and to no less than the 95% point of the largest resampled |t| of the differences at hand.
    """
    half = np.hypot(wide, hidden)
    if family.players <= 2:
        return half
    normal, size = NormalDist(), family.players * (family.players - 1) // 2
    one = normal.inv_cdf(0.5 + level / 2)
    bonferroni = normal.inv_cdf(1 - (1 - level) / 2 / size)
    largest = min(max(float(quantile(family.farthest_pair, level)), one), bonferroni)
    raised = _student(normal.cdf(largest), count - 1) / _student(0.5 + level / 2, count - 1)
    least = _largest(family.ratios, size, count, level)
    return np.maximum(half, np.hypot(np.maximum(wide * raised, least * error), raised * hidden))


def _picked(ratios: Floats, multiple: float, players: int, count: int, level: float) -> float:
    """The multiple of an interval that holds for whichever of the players it is looked up for."""
    bonferroni = _student(1 - (1 - level) / 2 / players, count - 1)
    return max(float(multiple), bonferroni, _largest(ratios, players, count, level))


def _largest(ratios: Floats, size: int, count: int, level: float) -> float:
    """The 95% point of the largest resampled |t| of several, within reason for `size` of them."""
    if not ratios.shape[1]:
        return 0.0
    return min(float(quantile(ratios.max(axis=1), level)), _student(1 - (1 - level) / 100 / size, count - 1))


def _student(at: float, freedom: int) -> float:
    """A quantile of Student's t; of very many degrees of freedom by its expansion around the normal one."""
    if freedom >= MANY:
        z = NormalDist().inv_cdf(at)
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) + third
    wanted, low, high = abs(2 * at - 1), 0.0, math.pi / 2
    slope = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = min(math.atan(abs(NormalDist().inv_cdf(at)) / math.sqrt(freedom)), 1.5)
    for _ in range(80):  # Newton's steps, and halves where they would leave the bracket
        over = _within(angle, freedom) - wanted
        low, high = (low, angle) if over > 0 else (angle, high)
        rising = slope * math.cos(angle) ** (freedom - 1)
        step = angle - over / rising if rising else high
        step = step if low < step < high else (low + high) / 2
        if abs(step - angle) <= 1e-15 * angle:
            break
        angle = step
    return math.copysign(math.sqrt(freedom) * math.tan(angle), at - 0.5)


def _within(angle: float, freedom: int) -> float:
    """The chance that Student's t lies within sqrt(freedom) times tan(angle) of 0, by its finite series."""
    square, odd = math.cos(angle) ** 2, freedom % 2
    term = total = math.cos(angle) if odd and freedom > 1 else 0.0 if odd else 1.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _stretch(moved: Floats, wide: float, level: float) -> float:
    """How far resamples of a difference have to be spread so that the interval holds its share of them."""
    known = moved[~np.isnan(moved)]
    usual = float(quantile(np.abs(known), level)) if len(known) else 0.0  # none: the second has no score
    return max(1.0, wide / usual) if usual > 1e-12 else 1.0


def _stretches(full: float, farthest: Floats, players: int, level: float) -> Floats:
    """By how much each resample is stretched: of two players all by as much, of more those at the end of the interval
    by as much and nearer ones by less, as quantiles of Student's t lie beyond the normal's: in proportion to 1 + z².

    Stretched all by as much, whoever varies little would lose its lead by the width of the others alone.
    """
    if players <= 2:
        return np.full((len(farthest), 1), full)
    square = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    end = float(quantile(farthest, level))
    away = np.minimum(farthest / end, 2.0) if end > 1e-12 else np.ones_like(farthest)
    return (1 + (full - 1) * (1 + square * away**2) / (1 + square))[:, None]


def _noise(shape: tuple[int, int], hidden: Floats, level: float, seed: int) -> Floats:
    """What the term for unseen failures, by player, adds to Q in each resample."""
    one = hidden / NormalDist().inv_cdf(0.5 + level / 2) / np.sqrt(2)
    return np.random.default_rng([seed, 1]).standard_normal(shape) * one


def ratio(moved: Floats, error: Floats) -> Floats:
    """|t| of each resample; one that leaves a player without any answer, or moves without an error, is far out."""
    tiny = error <= 1e-12
    found = np.divide(moved, error, out=np.zeros_like(moved), where=~tiny)
    return np.where(np.isnan(moved) | (tiny & (moved > 1e-12)), FAR, found)
