"""What simulated players are drawn from: tables of equally likely values, and their dependence on the item.

A table keeps the mean of its values exactly. Draws of different players are correlated through one normal number per
item that is common to all of them (a Gaussian copula with one factor): a share is how much of a draw that number
determines. Shares are fitted so that the drawn values, not the underlying normal numbers, correlate as recorded;
point masses at 0 and 1 would otherwise look like noise.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from mashq.protocol.results import Floats

FEWEST_COMMON = 5
POINTS, TERMS, ROUNDS = 4000, 24, 300
NORMAL = NormalDist()


def table(values: Sequence[float], most: int) -> list[float]:
    """At most `most` equally likely values in ascending order, with the same mean; all values if they are few."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    if count <= most:
        return ordered.tolist()
    totals = np.concatenate([[0.0], np.cumsum(ordered)])
    steps = np.interp(np.linspace(0, count, most + 1), np.arange(count + 1), totals)
    return np.sort(np.clip(np.diff(steps) * most / count, ordered[0], ordered[-1])).tolist()


def edges(values: Sequence[float], least: int, most: int) -> list[float]:
    """The upper ends of at most `most` groups of about equal size, each of at least `least` values.

    If there are few distinct values, each is its own group, whatever its size.
    """
    distinct = np.unique(np.asarray(values, dtype=np.float64))
    if len(distinct) <= min(most, 3):
        return distinct.tolist()
    groups = max(1, min(most, len(values) // least))
    cut = np.quantile(values, np.linspace(0, 1, groups + 1)[1:], method="inverted_cdf")
    return np.unique(cut).tolist()


def shares(columns: Floats) -> list[float | None]:
    """How much of each row (values by item, NaN if missing) is determined by the item.

    The shares reproduce the correlation of every two rows, as nearly as one number per item can; None if it cannot be
    determined, because a row is constant or has too few items in common with any other.
    """
    count = len(columns)
    expansions = [_expansion(row[~np.isnan(row)]) for row in columns]
    correlations, weight = np.zeros((count, count)), np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            rho = _latent(columns[a], columns[b], expansions[a], expansions[b])
            if rho is not None:
                correlations[a, b] = correlations[b, a] = rho
                weight[a, b] = weight[b, a] = int((~np.isnan(columns[a]) & ~np.isnan(columns[b])).sum())
    loading = np.full(count, 0.7)
    determined = weight.sum(axis=1) > 0
    for _ in range(ROUNDS):
        numerator, denominator = (weight * correlations) @ loading, weight @ loading**2
        best = np.divide(numerator, denominator, out=np.zeros(count), where=denominator > 0)
        loading = np.sqrt(loading * np.clip(best, 0.0, 1.0))  # halfway in logarithms: two rows get equal shares
    return [float(value**2) if known else None for value, known in zip(loading, determined, strict=True)]


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's r of the normal scores of two columns; 0 if one is constant or they are too short."""
    if len(x) < FEWEST_COMMON:
        return 0.0
    r = _pearson(_scores(x), _scores(y))
    return 0.0 if r is None else r


def _scores(values: Floats) -> Floats:
    """Normal scores of the values; equal values get the same score."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(values)
    return np.array([NORMAL.inv_cdf(float(rank)) for rank in middle])[group]


def _pearson(x: Floats, y: Floats) -> float | None:
    dx, dy = x - x.mean(), y - y.mean()
    size = math.sqrt(float((dx**2).sum()) * float((dy**2).sum()))
    return None if size <= 1e-12 * max(1.0, float(np.abs(x).max()), float(np.abs(y).max())) else float(dx @ dy) / size


def _expansion(values: Floats) -> Floats | None:
    """A table as a function of a normal number, in Hermite polynomials: the squared coefficients sum to 1.

    The last coefficient stands for all higher ones. None if the values are constant.
    """
    if len(values) < 2 or float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return None
    rank = (np.arange(POINTS) + 0.5) / POINTS
    z = np.array([NORMAL.inv_cdf(float(u)) for u in rank])
    f = np.sort(values)[(rank * len(values)).astype(int)]
    f = (f - f.mean()) / f.std()
    parts: list[float] = []
    previous, current = np.ones(POINTS), z
    for k in range(1, TERMS + 1):
        parts.append(float((f * current).mean()))
        previous, current = current, (z * current - math.sqrt(k) * previous) / math.sqrt(k + 1)
    remainder = max(0.0, 1 - sum(part**2 for part in parts))
    return np.array([*parts, math.sqrt(remainder)])


def _latent(x: Floats, y: Floats, of_x: Floats | None, of_y: Floats | None) -> float | None:
    """The correlation of the normal numbers that gives two tables the correlation of their values; at least 0."""
    both = ~np.isnan(x) & ~np.isnan(y)
    if of_x is None or of_y is None or int(both.sum()) < FEWEST_COMMON:
        return None
    r = _pearson(x[both], y[both])
    if r is None:
        return None
    parts, powers = of_x * of_y, np.arange(1, len(of_x) + 1)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(parts @ middle**powers) < r else (low, middle)
    return high if r > 0 else 0.0
