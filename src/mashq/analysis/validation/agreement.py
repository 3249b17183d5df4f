"""How well a detector's scores agree with human ratings.

A measure takes weights, one row per resample, and returns one value per row, NaN if undefined: weights of 1 give the
estimate, drawn counts its resamples. Intervals are bias-corrected and accelerated (BCa), because a correlation near 1
is skewed. Answers about one source are drawn together. Estimates and documents contain no NaN: None means "cannot be
determined".
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.intervals import FEWEST, LEVEL, draws
from mashq.analysis.parts import flat, named
from mashq.protocol.results import Floats

Measure = Callable[[Floats], Floats]
Metric = Literal["interval", "nominal"]
POSITIVE = 0.5
BINS = 5
DEFINED = 0.9
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95% interval; None where it is undefined or the data are too few or too uniform to say."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers with like scores."""

    n: int
    """How many."""
    start: float = field(metadata=named("from"))
    """The lowest score."""
    end: float = field(metadata=named("to"))
    """The highest score."""
    score: float
    """The mean score."""
    rating: float | None
    """The mean rating."""
    low: float | None
    """Lower end of its 95% interval."""
    high: float | None
    """Upper end of its 95% interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How well scores agree with ratings."""

    n: int
    """How many answers were rated."""
    good: int
    """How many of them are good."""
    rating: float | None
    """The mean rating."""
    pearson: Estimate
    """Pearson's r."""
    spearman: Estimate
    """Spearman's rank correlation."""
    auc: Estimate
    """The area under the ROC curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotator:
    """One person's ratings."""

    name: str
    """Who."""
    agreement: Agreement = field(metadata=flat())
    """How well the scores agree with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a paper reports."""

    detector: str
    """Of which detector."""
    pearson: float
    """Pearson's r."""
    n: int
    """On how many answers."""


PAPER = Published(detector="hhem", pearson=0.96, n=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How well a detector agrees with people."""

    n: int
    """How many answers were rated."""
    sources: int
    """How many sources they are about."""
    positive: float
    """A rating from here on is good."""
    level: float
    """The level of the intervals."""
    annotators: Sequence[Annotator]
    """By annotator."""
    mean: Agreement
    """With the mean rating."""
    in_run: Agreement | None
    """The same, weighted back to the answers of the run."""
    alpha: Estimate | None
    """Krippendorff's alpha of the ratings; null for one annotator."""
    alpha_binary: Estimate | None
    """The same for good or not."""
    rated_twice: int
    """How many answers two or more people rated."""
    difference: Estimate
    """Mean score less mean rating."""
    calibration: Sequence[Bin]
    """Mean ratings along the score."""
    points: Sequence[Sequence[float]]
    """Score and rating of every answer."""
    paper: Published
    """What the paper reports."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Which rows are drawn together (those with the same label), how many times, and with which seed.

    `base` weights the rows of a sample that was not drawn evenly.
    """

    groups: Sequence[str]
    resamples: int = 10_000
    seed: int = 0
    base: Floats | None = None

    def part(self, keep: NDArray[np.bool_]) -> "Resampling":
        """The same for a subset of the rows."""
        groups = [group for group, kept in zip(self.groups, keep, strict=True) if kept]
        return Resampling(groups, self.resamples, self.seed, None if self.base is None else self.base[keep])


def estimate(measure: Measure, how: Resampling) -> Estimate:
    """The value of a measure over all rows, and its interval from resampled groups of rows."""
    count = len(how.groups)
    if count == 0:
        return Estimate(None)
    base = np.ones(count) if how.base is None else how.base
    value = float(measure(base[None, :])[0])
    if not math.isfinite(value):
        return Estimate(None)
    labels = {label: index for index, label in enumerate(dict.fromkeys(how.groups))}
    codes = np.array([labels[label] for label in how.groups])
    if len(labels) < FEWEST:
        return Estimate(value)
    drawn = np.concatenate([measure(times[:, codes] * base) for times in draws(len(labels), how.resamples, how.seed)])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < DEFINED * how.resamples or float(np.ptp(drawn)) <= 1e-12:
        return Estimate(value)
    leave_one_out = measure((codes[None, :] != np.arange(len(labels))[:, None]) * base)
    low, high = _bca(value, drawn, leave_one_out[np.isfinite(leave_one_out)])
    return Estimate(value, min(low, value), max(high, value))


def pearson(x: Floats, y: Floats) -> Measure:
    """Pearson's r of two columns."""
    return lambda weights: _correlation(weights, x[None, :], y[None, :])


def spearman(x: Floats, y: Floats) -> Measure:
    """Spearman's rho: Pearson's r of the ranks, with average ranks for ties."""
    return lambda weights: _correlation(weights, _ranks(weights, x), _ranks(weights, y))


def auc(scores: Floats, good: NDArray[np.bool_]) -> Measure:
    """The probability that a good row has a higher score than a bad one; equal scores count half."""

    def measure(weights: Floats) -> Floats:
        good_weights, bad_weights = weights * good, weights * ~good
        wins = (good_weights * _ranks(bad_weights, scores)).sum(axis=1)
        return _ratio(wins, good_weights.sum(axis=1) * bad_weights.sum(axis=1))

    return measure


def krippendorff(ratings: Floats, metric: Metric = "interval") -> Measure:
    """Krippendorff's alpha of annotators x rows, NaN for missing ratings; rows rated only once do not count."""
    known = ~np.isnan(ratings)
    number = known.sum(axis=0).astype(np.float64)
    number[number < 2] = 0
    if metric == "interval":
        filled = np.where(known, ratings - np.mean(ratings[known]) if known.any() else ratings, 0.0)
        parts, squares = filled.sum(axis=0)[None, :], (filled**2).sum(axis=0)
    else:
        values = np.unique(ratings[known])
        parts = (ratings[None] == values[:, None, None]).sum(axis=1).astype(np.float64)
        squares = number
    # The sum of differences over all ordered pairs: n * sum(a^2) - sum(a)^2, once within each row and once in all.
    within = number * squares - (parts**2).sum(axis=0) if len(parts) else np.zeros_like(number)
    within = np.divide(within, number - 1, out=np.zeros_like(within), where=number > 1)

    def measure(weights: Floats) -> Floats:
        used = weights * (number > 0)
        total = used @ number
        expected = total * (used @ squares) - ((used @ parts.T) ** 2).sum(axis=1)
        expected[expected <= 1e-12 * np.maximum(total, 1) ** 2] = 0.0
        return 1 - _ratio((used @ within) * (total - 1), expected)

    return measure


def mean(values: Floats, keep: NDArray[np.bool_]) -> Measure:
    """The mean of a subset of the rows."""
    return lambda weights: _ratio(weights @ np.where(keep, values, 0.0), weights @ keep.astype(np.float64))


def calibration(scores: Floats, ratings: Floats, how: Resampling, bins: int = BINS) -> list[Bin]:
    """Bins of about equal size along the score: the mean score, and the mean rating with its interval."""
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1])) if len(scores) else np.zeros(0)
    bin_of = np.searchsorted(edges, scores, side="left")
    result: list[Bin] = []
    for number in np.unique(bin_of):
        keep = bin_of == number
        few = len({group for group, kept in zip(how.groups, keep, strict=True) if kept}) < FEWEST
        rating = estimate(mean(ratings, keep), how)
        result.append(
            Bin(
                n=int(keep.sum()),
                start=float(scores[keep].min()),
                end=float(scores[keep].max()),
                score=float(scores[keep].mean()),
                rating=rating.value,
                low=None if few else rating.low,
                high=None if few else rating.high,
            )
        )
    return result


def agreement(scores: Floats, ratings: Floats, how: Resampling, positive: float = POSITIVE) -> Agreement:
    """Pearson, Spearman and AUC of scores against ratings; a rating of `positive` or more is good, NaN is unrated."""
    keep = ~np.isnan(ratings)
    x, y, part = scores[keep], ratings[keep], how.part(keep)
    good = y >= positive
    return Agreement(
        n=len(y),
        good=int(good.sum()),
        rating=float(y.mean()) if len(y) else None,
        pearson=estimate(pearson(x, y), part),
        spearman=estimate(spearman(x, y), part),
        auc=estimate(auc(x, good), part),
    )


def validate(
    scores: Floats, ratings: Mapping[str, Floats], how: Resampling, positive: float = POSITIVE
) -> Validation:
    """How well scores and ratings agree: per annotator, for the mean rating, between annotators, and along the score.

    `how.base`, if given, is the weight of each row in the run; only `in_run` uses it.
    """
    even = Resampling(how.groups, how.resamples, how.seed)
    table = np.stack(list(ratings.values()))
    known = ~np.isnan(table)
    rated: NDArray[np.bool_] = np.asarray(known.any(axis=0))
    mean_rating = np.full(len(scores), np.nan)
    mean_rating[rated] = np.where(known, table, 0.0).sum(axis=0)[rated] / known.sum(axis=0)[rated]
    labels = np.where(known, (table >= positive).astype(np.float64), np.nan)
    x, y, part = scores[rated], mean_rating[rated], even.part(rated)
    return Validation(
        n=int(rated.sum()),
        sources=len(set(part.groups)),
        positive=positive,
        level=LEVEL,
        annotators=[
            Annotator(name=name, agreement=agreement(scores, annotator_ratings, even, positive))
            for name, annotator_ratings in ratings.items()
        ],
        mean=agreement(scores, mean_rating, even, positive),
        in_run=None if how.base is None else agreement(scores, mean_rating, how, positive),
        alpha=None if len(table) < 2 else estimate(krippendorff(table), even),
        alpha_binary=None if len(table) < 2 else estimate(krippendorff(labels, "nominal"), even),
        rated_twice=int((known.sum(axis=0) >= 2).sum()),
        difference=estimate(mean(x - y, np.ones(len(x), dtype=bool)), part),
        calibration=calibration(x, y, part),
        points=[[float(score), float(rating)] for score, rating in zip(x, y, strict=True)],
        paper=PAPER,
    )


def _correlation(weights: Floats, x: Floats, y: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / total
    dy = y - (weights * y).sum(axis=1, keepdims=True) / total
    xx, yy = (weights * dx**2).sum(axis=1), (weights * dy**2).sum(axis=1)
    tiny = 1e-20 * total[:, 0]
    flat = (xx <= tiny * (x**2).max(axis=1)) | (yy <= tiny * (y**2).max(axis=1))
    r = _ratio((weights * dx * dy).sum(axis=1), np.where(flat, 0.0, np.sqrt(xx) * np.sqrt(yy)))
    return np.clip(r, -1.0, 1.0)


def _ranks(weights: Floats, values: Floats) -> Floats:
    """The weight below each value plus half the weight at it, per resample: ranks shared by equal values."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) > 0]))
    blocks = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(blocks, axis=1) - blocks / 2
    ranks = np.empty_like(weights)
    ranks[:, order] = np.repeat(middle, np.diff(np.append(starts, len(values))), axis=1)
    return ranks


def _bca(value: float, drawn: Floats, leave_one_out: Floats) -> tuple[float, float]:
    """The ends of the interval: quantiles of the resamples, corrected for bias and skew.

    Resamples that differ from the value by rounding alone are ties, and count half: which way the last bit falls
    depends on the machine."""
    tied = np.isclose(drawn, value, rtol=1e-9, atol=1e-12)
    below = float(((drawn < value) & ~tied).mean() + tied.mean() / 2)
    bias = NORMAL.inv_cdf(min(max(below, 1 / len(drawn)), 1 - 1 / len(drawn)))
    influence = leave_one_out.mean() - leave_one_out if len(leave_one_out) else np.zeros(1)
    spread = float((influence**2).sum()) ** 1.5
    skew = float((influence**3).sum()) / (6 * spread) if spread > 0 else 0.0
    ends: list[float] = []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        shifted = bias + NORMAL.inv_cdf(tail)
        quantile = NORMAL.cdf(bias + shifted / max(1 - skew * shifted, 1e-6))
        ends.append(float(np.quantile(drawn, quantile)))
    return min(ends), max(ends)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, giving NaN without a warning where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator > 0)
