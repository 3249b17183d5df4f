"""Confidence intervals from resampled items: one method for every command.

Items are drawn with replacement, all players' scores and costs of an item together, and Q is recomputed with its
normaliser in every resample. An interval is the estimate plus or minus a multiple of its standard error, where the
multiple is the 95% point of the resampled |t| (never less than Student's): a symmetric bootstrap-t. A plain
percentile interval is too short on such skewed scores when items are few. To that half-width is added, in quadrature,
Student's quantile times alpha / 2n: the change caused by half a failed item among the n, to allow for rare failures
that a small sample does not contain (like half-observation corrections for proportions); beyond 30 items it is
reduced by a further 30 / n. All-or-nothing scores that are the same on every item carry no information about their
variance; there the term is alpha times 1 - 0.05^(1/n): the largest share of other items that n drawn ones miss with a
probability of 5%.

Among several players, the leader was selected for being in front. So the differences to the leader have simultaneous
intervals: the multiple is raised by the 95% point of the largest of all players' standardised differences in a
resample; and with more than MANY_PLAYERS players the leader's own interval is widened by the same point of all
players' own deviations.

The probability of winning is consistent with these intervals: it is the share of resamples, scaled to the interval of
the top two and mirrored around the estimate, in which a player has the best Q. With two players it exceeds 97.5%
when the interval excludes 0, and hardly ever otherwise (skewed resamples can carry it 0.1% beyond). With more, a
player whose Q varies a lot can win more resamples than the leader; a note reports that.
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
MAX_CELLS = 10_000_000  # per block of draws: 80 MB
PRODUCTS, FEWEST_ROWS = 400_000, 16  # size of a matrix product that is fastest on one core
SMALL = 30.0
MANY = 2_000  # degrees of freedom
MANY_PLAYERS, MAX_PAIRED = 3, 12
FEWEST = 5
FAR = 1e6


@dataclass(frozen=True, slots=True)
class Span:
    """A difference in Q between two seats: its own interval, and the simultaneous one over all differences to the
    leader. The ends are None if there are too few items."""

    a: int
    b: int
    value: float
    low: float | None = None
    high: float | None = None
    all_low: float | None = None
    all_high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Results of resampling. `low`, `high` and `p_win` are None if there are too few items.

    `h` and `penalty` hold the resamples on both sides of the estimate, scaled as for the probability of winning.
    """

    low: Floats | None
    high: Floats | None
    differences: tuple[Span, ...]
    p_win: Floats | None
    h: Floats
    penalty: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Differences with simultaneous intervals: the number of players, the resampled |t| of each difference, and per
    resample the largest standardised difference over all pairs."""

    players: int
    ratios: Floats
    farthest_pair: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Resamples:
    """Raw resamples: |t| of every column, the deviations of Q, H and P, and the largest standardised difference."""

    ratios: Floats
    q: Floats
    h: Floats
    penalty: Floats
    farthest_pair: Floats


def compared(q: Floats) -> list[tuple[int, int]]:
    """The pairs with simultaneous intervals, the better player first: all pairs, or best against each if there are
    many players."""
    ranked = sorted((seat for seat in range(len(q)) if not np.isnan(q[seat])), key=lambda seat: (-q[seat], seat))
    return list(combinations(ranked, 2)) if len(q) <= MAX_PAIRED else [(ranked[0], seat) for seat in ranked[1:]]


def resample(
    item_view: View,
    rules: ScoreRules,
    pairs: Sequence[tuple[int, int]],
    resamples: int = RESAMPLES,
    seed: int = 0,
    keep: int | None = None,
    level: float = LEVEL,
) -> Resampled:
    """Intervals of every player's Q and of the differences of `pairs`; `keep`: how many resamples to keep for curves
    (None: all)."""
    estimate = figures(item_view, rules)
    q, count, players = estimate.q[0], len(item_view.items), len(estimate.q[0])
    if count < FEWEST:
        spans = tuple(Span(a, b, float(q[a] - q[b])) for a, b in pairs)
        return Resampled(None, None, spans, None, estimate.h, estimate.penalty)
    deviations = influence(item_view, rules) - q[:, None]
    better, worse = np.array([a for a, _ in pairs], dtype=int), np.array([b for _, b in pairs], dtype=int)
    value = np.concatenate([q, q[better] - q[worse]])
    error = np.concatenate([deviations, deviations[better] - deviations[worse]]).std(axis=1, ddof=1) / np.sqrt(count)
    sample = _draw(item_view, rules, (better, worse), resamples, seed)
    kept = len(sample.h) if keep is None else keep
    multiple = _multiple(sample.ratios, count, level)
    rare = unseen(count, rules.alpha, level, _alike(item_view, better, worse))
    half = np.hypot(multiple * error, rare)
    family = Family(players, sample.ratios[:, players:], sample.farthest_pair)
    joint_half = _simultaneous(family, multiple * error, error, rare, count, level)
    low, high = value - half, value + half
    leader = int(np.nanargmax(q))
    if players > MANY_PLAYERS:
        leader_half = _selected_multiple(sample.ratios[:, :players], multiple[leader], players, count, level)
        leader_half *= float(np.hypot(error[leader], rules.alpha / 2 / count * min(1.0, (SMALL / count) ** 0.5)))
        leader_half = max(leader_half, float(half[leader]))
        low[leader], high[leader] = q[leader] - leader_half, q[leader] + leader_half
    spans = tuple(
        Span(a, b, *(float(ends[index]) for ends in (value, low, high, value - joint_half, value + joint_half)))
        for index, (a, b) in enumerate(pairs, start=players)
    )
    second_best = int(np.argsort(np.where(np.isnan(q), np.inf, -q), kind="stable")[1]) if players > 1 else leader
    index = [*pairs, (leader, second_best)].index((leader, second_best)) + players
    top_half, top_rare = (float((multiple * error)[index]), float(rare[index])) if index < len(value) else (0.0, 0.0)
    top_scale = _scale(sample.q[:, leader] - sample.q[:, second_best], top_half, level)
    rare_by_player = np.full(players, float(unseen(count, rules.alpha, level)))
    rare_by_player[[leader, second_best]] = max(top_rare, float(rare_by_player[0]))
    noise = _noise(sample.q.shape, rare_by_player, level, seed)
    scale = _scales(top_scale, sample.farthest_pair, players, level)
    spread = scale * sample.q + noise
    chances = (wins(q + spread) + wins(q - spread)) / (2 * len(spread))
    h_moved = scale[:kept] * sample.h[:kept] + noise[:kept] / rules.alpha
    penalty_moved = scale[:kept] * sample.penalty[:kept]
    h = np.concatenate([estimate.h[0] + h_moved, estimate.h[0] - h_moved])
    penalty = np.concatenate([estimate.penalty[0] + penalty_moved, estimate.penalty[0] - penalty_moved])
    return Resampled(low[:players], high[:players], spans, chances, h, penalty)


def _draw(item_view: View, rules: ScoreRules, pairs: tuple[Floats, Floats], resamples: int, seed: int) -> _Resamples:
    bundled, bundled_rules = bundled_view(item_view, rules, seed)
    estimate = figures(bundled, bundled_rules)
    q, (better, worse) = estimate.q[0], pairs
    deviations = influence(bundled, bundled_rules) - q[:, None]
    columns_by_item = np.concatenate([deviations, deviations[better] - deviations[worse]]).T
    size, squares = len(columns_by_item), columns_by_item**2
    error = np.sqrt(variances(deviations) / size)
    blocks: list[tuple[Floats, ...]] = []
    columns = max(columns_by_item.shape[1], len(q) * len(bundled.costs) + 1)
    for drawn in draws(size, resamples, seed, columns):
        moved_figures = figures(bundled, bundled_rules, drawn)
        q_moved = moved_figures.q - q
        moved = np.concatenate([q_moved, q_moved[:, better] - q_moved[:, worse]], axis=1)
        spread = drawn @ squares / size - (drawn @ columns_by_item / size) ** 2
        ratios = ratio(np.abs(moved), np.sqrt(np.maximum(spread, 0.0) / size))
        blocks.append(
            (
                ratios,
                q_moved,
                moved_figures.h - estimate.h[0],
                moved_figures.penalty - estimate.penalty[0],
                farthest_pair(q_moved, error),
            )
        )
    return _Resamples(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def variances(deviations: Floats) -> Floats:
    """The variance of each pair's difference per item; on the diagonal, of each player's own value."""
    products = deviations @ deviations.T / max(deviations.shape[1] - 1, 1)
    variance = np.diag(products)
    pair_variances = variance[:, None] + variance[None, :] - 2 * products
    np.fill_diagonal(pair_variances, variance)
    return np.maximum(pair_variances, 0.0)


def farthest_pair(moved: Floats, error: Floats) -> Floats:
    """Per resample, the largest standardised difference over all pairs."""
    by_player = np.ascontiguousarray(moved.T)
    undefined = np.isnan(by_player).any(axis=0)
    farthest = np.zeros(len(moved))
    for seat in range(len(by_player) - 1):
        errors = error[seat, seat + 1 :]
        nonzero = errors > 1e-12
        if nonzero.any():
            distances = by_player[seat + 1 :][nonzero] - by_player[seat]
            np.abs(distances, out=distances)
            distances /= errors[nonzero][:, None]
            np.maximum(farthest, distances.max(axis=0), out=farthest)
    return np.where(undefined, FAR, farthest)


def draws(count: int, resamples: int, seed: int, columns: int = 0) -> Iterator[Floats]:
    """Yield how often each item is drawn in each resample, in chunks of resamples. A chunk is small enough that its
    product with `columns` columns per item stays on one core, since parallelising a small product takes longer than
    computing it."""
    random = np.random.default_rng(seed)
    chunk = max(1, min(CHUNK, MAX_CELLS // max(count, 1)))
    single_core = PRODUCTS // max(count * columns, 1)
    chunk = min(chunk, single_core) if columns and single_core >= FEWEST_ROWS else chunk
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
    """Half the width of intervals over `count` items, from standard errors and the resampled |t|; with a family, of
    the simultaneous intervals of its differences; `alike` as in `unseen`."""
    wide, rare = _multiple(ratios, count, level) * error, unseen(count, alpha, level, alike)
    return np.hypot(wide, rare) if family is None else _simultaneous(family, wide, error, rare, count, level)


def quantile(values: Floats, at: float) -> Floats:
    """The same as numpy's quantile along the first axis, for finite values, without the imports numpy needs for
    it."""
    position = at * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above), axis=0)
    low, high, fraction = ordered[below], ordered[above], position - below
    return high - (high - low) * (1 - fraction) if fraction >= 0.5 else low + (high - low) * fraction


def _multiple(ratios: Floats, count: int, level: float) -> Floats:
    """The half-width of an interval in standard errors."""
    student, upper_limit = _student(0.5 + level / 2, count - 1), _student(0.9995, count - 1)
    return np.clip(quantile(ratios, level), student, max(upper_limit, student))


def unseen(count: int, alpha: float, level: float = LEVEL, alike: NDArray[np.bool_] | bool = False) -> Floats:
    """The term added in quadrature for rare failures that few items do not show.

    If scores are all-or-nothing and `alike` on every item, nothing is known about their variance: the term is then
    the largest share of other items that would show none among `count` with a probability of 1 - level.
    """
    usual = _student(0.5 + level / 2, count - 1) * alpha * 0.5 / count * min(1.0, SMALL / count)
    return np.where(alike, alpha * (1 - (1 - level) ** (1 / count)), usual)


def _alike(item_view: View, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each player and each pair: are scores all-or-nothing, and equal (or equally far apart) on every item?"""
    h, scored = item_view.h, item_view.h_counts > 0
    all_or_nothing = ((h == 0) | (h == 1) | ~scored).all(axis=1)
    values = np.concatenate([h, h[first] - h[second]])
    known = np.concatenate([scored, scored[first] & scored[second]])
    same = values.max(axis=1, where=known, initial=-np.inf) == values.min(axis=1, where=known, initial=np.inf)
    return same & np.concatenate([all_or_nothing, all_or_nothing[first] & all_or_nothing[second]])


def _simultaneous(family: Family, wide: Floats, error: Floats, rare: Floats, count: int, level: float) -> Floats:
    """Half-widths of simultaneous intervals, from `wide`, the single half-widths before the term for rare failures.

    The multiple is raised by the ratio of the largest difference over all pairs to a single one, and to no less than
    the 95% point of the largest resampled |t| of the given differences.
    """
    half = np.hypot(wide, rare)
    if family.players <= 2:
        return half
    normal, size = NormalDist(), family.players * (family.players - 1) // 2
    single = normal.inv_cdf(0.5 + level / 2)
    bonferroni = normal.inv_cdf(1 - (1 - level) / 2 / size)
    largest = min(max(float(quantile(family.farthest_pair, level)), single), bonferroni)
    factor = _student(normal.cdf(largest), count - 1) / _student(0.5 + level / 2, count - 1)
    least = _largest(family.ratios, size, count, level)
    return np.maximum(half, np.hypot(np.maximum(wide * factor, least * error), factor * rare))


def _selected_multiple(ratios: Floats, multiple: float, players: int, count: int, level: float) -> float:
    """The multiple of an interval that is valid for whichever player is selected."""
    bonferroni = _student(1 - (1 - level) / 2 / players, count - 1)
    return max(float(multiple), bonferroni, _largest(ratios, players, count, level))


def _largest(ratios: Floats, size: int, count: int, level: float) -> float:
    """The 95% point of the largest of several resampled |t|, capped for `size` of them."""
    if not ratios.shape[1]:
        return 0.0
    return min(float(quantile(ratios.max(axis=1), level)), _student(1 - (1 - level) / 100 / size, count - 1))


def _student(at: float, freedom: int) -> float:
    """A quantile of Student's t; for many degrees of freedom, by its expansion around the normal quantile."""
    if freedom >= MANY:
        z = NormalDist().inv_cdf(at)
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) + third
    target, low, high = abs(2 * at - 1), 0.0, math.pi / 2
    slope = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = min(math.atan(abs(NormalDist().inv_cdf(at)) / math.sqrt(freedom)), 1.5)
    for _ in range(80):  # Newton steps, or bisection if one would leave the bracket
        excess = _student_central(angle, freedom) - target
        low, high = (low, angle) if excess > 0 else (angle, high)
        derivative = slope * math.cos(angle) ** (freedom - 1)
        step = angle - excess / derivative if derivative else high
        step = step if low < step < high else (low + high) / 2
        if abs(step - angle) <= 1e-15 * angle:
            break
        angle = step
    return math.copysign(math.sqrt(freedom) * math.tan(angle), at - 0.5)


def _student_central(angle: float, freedom: int) -> float:
    """The probability that Student's t lies within sqrt(freedom) * tan(angle) of 0, by its finite series."""
    square, odd = math.cos(angle) ** 2, freedom % 2
    term = total = math.cos(angle) if odd and freedom > 1 else 0.0 if odd else 1.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _scale(moved: Floats, wide: float, level: float) -> float:
    """The factor that scales resamples of a difference so that the interval contains its nominal share of them."""
    known = moved[~np.isnan(moved)]
    usual = float(quantile(np.abs(known), level)) if len(known) else 0.0  # empty if the second has no score
    return max(1.0, wide / usual) if usual > 1e-12 else 1.0


def _scales(full: float, farthest: Floats, players: int, level: float) -> Floats:
    """The scale factor of each resample: constant for two players; with more, in full at the end of the interval and
    less for nearer resamples, as quantiles of Student's t exceed the normal's: in proportion to 1 + z².

    With a constant factor, a player that varies little would lose its lead through the width of the others alone.
    """
    if players <= 2:
        return np.full((len(farthest), 1), full)
    square = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    end = float(quantile(farthest, level))
    distance = np.minimum(farthest / end, 2.0) if end > 1e-12 else np.ones_like(farthest)
    return (1 + (full - 1) * (1 + square * distance**2) / (1 + square))[:, None]


def _noise(shape: tuple[int, int], rare: Floats, level: float, seed: int) -> Floats:
    """The contribution of the rare-failure term (per player) to Q in each resample."""
    sigma = rare / NormalDist().inv_cdf(0.5 + level / 2) / np.sqrt(2)
    return np.random.default_rng([seed, 1]).standard_normal(shape) * sigma


def ratio(moved: Floats, error: Floats) -> Floats:
    """|t| of each resample; FAR if a player has no answer left in it, or moved with a standard error of 0."""
    tiny = error <= 1e-12
    ratios = np.divide(moved, error, out=np.zeros_like(moved), where=~tiny)
    return np.where(np.isnan(moved) | (tiny & (moved > 1e-12)), FAR, ratios)
