"""Mixes that make some strategies equally good: the raw material of equilibria.

`payoffs` are the chooser's, its own strategies x the other's. The other's mixes at which the chooser's best payoff is
v form a polytope {(y, v): payoffs @ y <= v, y >= 0, sum y = 1}; its vertices are where as many of the chooser's
strategies are tied for best as the other mixes. All pairs of equal-sized sets are tried, one size at a time.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from mashq.errors import DataError
from mashq.protocol.results import Floats

Flags = NDArray[np.bool_]
Ints = NDArray[np.intp]
TINY = 1e-9
MAX_SYSTEMS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Vertices:
    """Mixes, one a row; which strategies each mixes, and which of the chooser's are best against it."""

    mixes: Floats
    support: Flags
    best: Flags


def scaled(payoffs: Floats) -> Floats:
    """The same game with payoffs from 0 to 1 (0 where all are equal), each matrix of a stack for itself."""
    low = payoffs.min(axis=(-2, -1), keepdims=True)
    width = payoffs.max(axis=(-2, -1), keepdims=True) - low
    return np.divide(payoffs - low, width, out=np.zeros_like(payoffs), where=width > 0)


def systems(rows: int, columns: int) -> int:
    """How many pairs of equal-sized sets there are."""
    return sum(comb(rows, size) * comb(columns, size) for size in range(1, min(rows, columns) + 1))


def sets(count: int, size: int) -> Ints:
    """Every set of that size, one a row."""
    return np.array(list(combinations(range(count), size)), dtype=np.intp)


def level(blocks: Floats) -> tuple[Floats, Floats, Flags]:
    """The mix of columns that makes all rows of a block (... x k x k) equal, their value, and whether there is one.

    Mixes may come out negative; where a block has no single answer they are 0.
    """
    size = blocks.shape[-1]
    table = np.zeros((*blocks.shape[:-2], size + 1, size + 1))
    table[..., :size, :size] = blocks
    table[..., :size, size] = -1.0
    table[..., size, :size] = 1.0
    solid: Flags = np.linalg.det(table) != 0
    goal = np.zeros((size + 1, 1))
    goal[size] = 1.0
    found = np.zeros((*blocks.shape[:-2], size + 1))
    found[solid] = np.linalg.solve(table[solid], goal)[..., 0]
    return found[..., :size], found[..., size], solid & np.isfinite(found).all(axis=-1)


def vertices(payoffs: Floats) -> Vertices:
    """All vertices of the polytope. Raises DataError when the game is too large to try every pair of sets."""
    rows, columns = payoffs.shape
    if systems(rows, columns) > MAX_SYSTEMS:
        raise DataError(f"a game of {rows} x {columns} strategies is too large to enumerate: remove dominated ones")
    matrix = scaled(payoffs)
    found: list[Floats] = []
    for size in range(1, min(rows, columns) + 1):
        tied, mixed = sets(rows, size), sets(columns, size)
        mix, _, solid = level(matrix[tied[:, None, :, None], mixed[None, :, None, :]])
        whole = np.zeros((len(tied), len(mixed), columns))
        np.put_along_axis(whole, np.broadcast_to(mixed, mix.shape), mix, axis=2)
        best = whole @ matrix.T
        level_of = np.take_along_axis(best, np.broadcast_to(tied[:, None, :], mix.shape), axis=2).min(axis=2)
        found.append(whole[solid & (mix >= -TINY).all(axis=2) & (best.max(axis=2) <= level_of + TINY)])
    mixes = np.maximum(np.concatenate(found), 0.0)
    mixes /= mixes.sum(axis=1, keepdims=True)
    values = mixes @ matrix.T
    support, best = mixes > TINY, values >= values.max(axis=1, keepdims=True) - TINY
    return _extreme(Vertices(mixes, support, best))


def _extreme(found: Vertices) -> Vertices:
    """Each vertex once. A point between vertices has fewer ties and zeros than they, and is left out."""
    labels = np.concatenate([~found.support, found.best], axis=1)
    _, first = np.unique(labels, axis=0, return_index=True)
    first.sort()
    labels = labels[first].astype(np.float64)
    common, number = labels @ labels.T, labels.sum(axis=1)
    inside = (common == number[:, None]) & (number[:, None] < number[None, :])
    keep = first[~inside.any(axis=1)]
    return Vertices(found.mixes[keep], found.support[keep], found.best[keep])
