"""Iterated strict dominance: removes dominated strategies until none is left.

A strategy is dominated if some mix of others is better against everything that is left, by more than 1e-9 of the
range of the payoffs. The order of removal does not change the result.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from mashq.analysis.games.bimatrix import LIMIT, Bimatrix, symmetric
from mashq.analysis.games.linear_programs import secure
from mashq.protocol.results import Floats

TRIED = 200
Side = Literal["row", "column"]


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed strategy, and the mix of others that dominates it: (strategy, share)."""

    side: Side
    strategy: int
    by: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dominance:
    """The remaining strategies, and the removed ones in order."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    removed: tuple[Removed, ...]


def dominance(game: Bimatrix) -> Dominance:
    """Remove strictly dominated strategies repeatedly, including those that only a mix dominates."""
    rows, columns = list(range(game.row.shape[0])), list(range(game.row.shape[1]))
    removed: list[Removed] = []
    while True:
        removal = _dominated("row", game.row, rows, columns) or _dominated("column", game.column.T, columns, rows)
        if removal is None:
            return Dominance(tuple(rows), tuple(columns), tuple(removed))
        removed.append(removal)
        (rows if removal.side == "row" else columns).remove(removal.strategy)


def dominated_in(payoffs: Floats) -> Floats:
    """The share of symmetric games (resamples x strategies x strategies) in which each strategy is removed."""
    removed = np.ones(payoffs.shape[:2])
    for index, game in enumerate(payoffs):
        removed[index, list(dominance(symmetric(game)).rows)] = 0.0
    return removed.mean(axis=0)


def _dominated(side: Side, payoffs: Floats, own: list[int], other: list[int]) -> Removed | None:
    """The first dominated strategy of a side, or None."""
    remaining = payoffs[np.ix_(own, other)]
    margin = LIMIT * float(np.ptp(payoffs))
    answers = remaining @ _mixes(len(other))
    never_best = (answers < answers.max(axis=0)).all(axis=1)
    for index in np.flatnonzero(never_best).tolist():
        others = own[:index] + own[index + 1 :]
        gains = np.delete(remaining, index, axis=0) - remaining[index]
        pure: list[int] = np.flatnonzero(gains.min(axis=1) > margin).tolist()
        if pure:
            return Removed(side, own[index], ((others[pure[0]], 1.0),))
        mix, gain = secure(gains)
        if gain > margin:
            by = tuple((strategy, float(share)) for strategy, share in zip(others, mix, strict=True) if share > LIMIT)
            return Removed(side, own[index], by)
    return None


@cache
def _mixes(count: int) -> Floats:
    """Some mixes of the opponent, one per column, pure ones first: a best response to any of them is not
    dominated."""
    drawn = np.random.default_rng(0).dirichlet(np.full(count, 0.5), TRIED)
    return np.concatenate([np.eye(count), drawn]).T
