"""Intervals that keep their coverage, from resampled items.

Items are drawn with replacement, all players' scores and costs of an item together, and Q is recomputed with its
normaliser in every resample. An interval is the estimate plus or minus a multiple of its standard error, where the
multiple is the 95% point of the resampled |t| (never less than Student's): a symmetric bootstrap-t. A plain
percentile interval is too short on such skewed scores when items are few. For few items, half an item's worth of the
whole score range is added as well, for the rare failure a small sample has not met; it fades beyond 30 items.
Very many items are drawn in bundles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from mashq.analysis.bundles import bundled_view
from mashq.analysis.results import Floats
from mashq.analysis.scoring import View, figures, influence
from mashq.protocol.score import TIE, ScoreRules

LEVEL = 0.95
CHUNK = 1024
MAX_CELLS = 10_000_000  # of a block of draws: 80 MB
SMALL = 30.0
MANY = 20_000  # degrees of freedom
FEWEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """What the resamples say. `low` and `high` are None when there are too few items to say anything."""

    low: Floats | None
    high: Floats | None
    differences: tuple[tuple[int, int, float, float | None, float | None], ...]
    p_win: Floats
    h: Floats
    penalty: Floats


def resample(
    seen: View,
    rules: ScoreRules,
    pairs: Sequence[tuple[int, int]],
    resamples: int,
    seed: int,
    keep: int = 2000,
    level: float = LEVEL,
) -> Resampled:
    """Intervals of every player's Q and of the differences of `pairs`; some resamples are kept for curves."""
    now = figures(seen, rules).q[0]
    players, count = len(now), len(seen.items)
    first, second = np.array([a for a, _ in pairs], dtype=int), np.array([b for _, b in pairs], dtype=int)
    # One column for each player's Q and each difference: its value now, and its parts by item.
    value = np.concatenate([now, now[first] - now[second]])

    def parts(of: View, under: ScoreRules) -> Floats:
        own = influence(of, under)
        return np.concatenate([own, own[first] - own[second]]).T - value

    part = parts(seen, rules)
    dealt, under = bundled_view(seen, rules, seed)
    drawn_part = part if dealt is seen else parts(dealt, under)
    size, squares = len(drawn_part), drawn_part**2
    ratios: list[Floats] = []
    wins = np.zeros(players)
    kept_h, kept_p = list[Floats](), list[Floats]()
    for drawn in draws(size, resamples, seed):
        found = figures(dealt, under, drawn)
        moved = np.concatenate([found.q, found.q[:, first] - found.q[:, second]], axis=1) - value
        spread = drawn @ squares / size - (drawn @ drawn_part / size) ** 2
        ratios.append(ratio(np.abs(moved), np.sqrt(np.maximum(spread, 0.0) / size)))
        wins += _wins(found.q)
        if sum(len(block) for block in kept_h) < keep:
            kept_h.append(found.h)
            kept_p.append(found.penalty)
    h, penalty = np.concatenate(kept_h), np.concatenate(kept_p)
    if count < FEWEST:
        none = tuple((a, b, float(now[a] - now[b]), None, None) for a, b in pairs)
        return Resampled(None, None, none, wins / resamples, h, penalty)
    error = part.std(axis=0, ddof=1) / np.sqrt(count)
    half = half_width(error, np.concatenate(ratios), count, rules.alpha, level)
    low, high = value - half, value + half
    differences = tuple(
        (a, b, float(value[at]), float(low[at]), float(high[at])) for at, (a, b) in enumerate(pairs, start=players)
    )
    return Resampled(low[:players], high[:players], differences, wins / resamples, h, penalty)


def draws(count: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each item is drawn in each resample, some resamples at a time."""
    random = np.random.default_rng(seed)
    chunk = max(1, min(CHUNK, MAX_CELLS // max(count, 1)))
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        picked = random.integers(0, count, (size, count), dtype=np.int32)
        picked += (np.arange(size, dtype=np.int32) * count)[:, None]
        yield np.bincount(picked.ravel(), minlength=size * count).reshape(size, count).astype(np.float64)


def half_width(error: Floats, ratios: Floats, count: int, alpha: float, level: float = LEVEL) -> Floats:
    """Half the width of intervals of `count` items, from their standard errors and the resampled |t|."""
    student, farthest = _student(0.5 + level / 2, count - 1), _student(0.9995, count - 1)
    multiple = np.clip(np.quantile(ratios, level, axis=0), student, max(farthest, student))
    unseen = student * alpha * 0.5 / count * min(1.0, SMALL / count)
    return np.sqrt((multiple * error) ** 2 + unseen**2)


def _student(at: float, freedom: int) -> float:
    """A quantile of Student's t; of very many degrees of freedom by its expansion around the normal one."""
    if freedom >= MANY:
        z = NormalDist().inv_cdf(at)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]

    return float(stdtrit(freedom, at))


def ratio(moved: Floats, error: Floats) -> Floats:
    """|t| of each resample; one that leaves a player without any answer, or moves without an error, is far out."""
    tiny = error <= 1e-12
    found = np.divide(moved, error, out=np.zeros_like(moved), where=~tiny)
    return np.where(np.isnan(moved) | (tiny & (moved > 1e-12)), 1e6, found)


def _wins(q: Floats) -> Floats:
    """How many resamples each player won, ties shared; a resample without a score for a player is not its win."""
    filled = np.where(np.isnan(q), -np.inf, q)
    best = filled >= filled.max(axis=1, keepdims=True) - TIE
    return (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
