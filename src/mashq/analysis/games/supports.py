"""Mixes that make some strategies equally good: the building blocks of equilibria.

`payoffs` are the chooser's, own strategies x the opponent's. The opponent's mixes at which the chooser's best payoff
is v form a polytope {(y, v): payoffs @ y <= v, y >= 0, sum y = 1}; at its vertices, as many of the chooser's
strategies are tied for best as the opponent mixes. All pairs of equal-sized sets are tried, one size at a time.
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
    """Mixes, one per row; the strategies in each, and the chooser's best responses to it."""

    mixes: Floats
    support: Flags
    best: Flags


def scaled(payoffs: Floats) -> Floats:
    """The same game with payoffs from 0 to 1 (0 if all are equal), each matrix of a stack separately."""
    low = payoffs.min(axis=(-2, -1), keepdims=True)
    width = payoffs.max(axis=(-2, -1), keepdims=True) - low
    return np.divide(payoffs - low, width, out=np.zeros_like(payoffs), where=width > 0)


def systems(rows: int, columns: int) -> int:
    """The number of pairs of equal-sized sets."""
    return sum(comb(rows, size) * comb(columns, size) for size in range(1, min(rows, columns) + 1))


def sets(count: int, size: int) -> Ints:
    """Every set of that size, one per row."""
    return np.array(list(combinations(range(count), size)), dtype=np.intp)


def level(blocks: Floats) -> tuple[Floats, Floats, Flags]:
    """The mix of columns that makes all rows of a block (... x k x k) equal, their value, and whether it exists.

    Mixes may be negative; they are 0 if a block has no unique solution.
    """
    size = blocks.shape[-1]
    table = np.zeros((*blocks.shape[:-2], size + 1, size + 1))
    table[..., :size, :size] = blocks
    table[..., :size, size] = -1.0
    table[..., size, :size] = 1.0
    solid: Flags = np.linalg.det(table) != 0
    right_side = np.zeros((size + 1, 1))
    right_side[size] = 1.0
    solution = np.zeros((*blocks.shape[:-2], size + 1))
    solution[solid] = np.linalg.solve(table[solid], right_side)[..., 0]
    return solution[..., :size], solution[..., size], solid & np.isfinite(solution).all(axis=-1)


def vertices(payoffs: Floats) -> Vertices:
    """All vertices of the polytope. Raises DataError if the game is too large to try every pair of sets."""
    rows, columns = payoffs.shape
    if systems(rows, columns) > MAX_SYSTEMS:
        raise DataError(f"a game of {rows} x {columns} strategies is too large to enumerate: remove dominated ones")
    matrix = scaled(payoffs)
    blocks: list[Floats] = []
    for size in range(1, min(rows, columns) + 1):
        tied, mixed = sets(rows, size), sets(columns, size)
        mix, _, solid = level(matrix[tied[:, None, :, None], mixed[None, :, None, :]])
        full_mix = np.zeros((len(tied), len(mixed), columns))
        np.put_along_axis(full_mix, np.broadcast_to(mixed, mix.shape), mix, axis=2)
        best = full_mix @ matrix.T
        tied_value = np.take_along_axis(best, np.broadcast_to(tied[:, None, :], mix.shape), axis=2).min(axis=2)
        blocks.append(full_mix[solid & (mix >= -TINY).all(axis=2) & (best.max(axis=2) <= tied_value + TINY)])
    mixes = np.maximum(np.concatenate(blocks), 0.0)
    mixes /= mixes.sum(axis=1, keepdims=True)
    values = mixes @ matrix.T
    support, best = mixes > TINY, values >= values.max(axis=1, keepdims=True) - TINY
    return _extreme(Vertices(mixes, support, best))


def _extreme(candidates: Vertices) -> Vertices:
    """Each vertex once. A point between vertices has fewer ties and zeros than they have, and is left out."""
    labels = np.concatenate([~candidates.support, candidates.best], axis=1)
    _, first = np.unique(labels, axis=0, return_index=True)
    first.sort()
    labels = labels[first].astype(np.float64)
    common, number = labels @ labels.T, labels.sum(axis=1)
    inside = (common == number[:, None]) & (number[:, None] < number[None, :])
    keep = first[~inside.any(axis=1)]
    return Vertices(candidates.mixes[keep], candidates.support[keep], candidates.best[keep])
