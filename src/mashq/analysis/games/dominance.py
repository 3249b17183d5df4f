"""Iterated strict dominance: strategies that no reasonable player uses, removed until none is left.

A strategy is dominated if some mix of others is better against everything that is left, by more than 1e-9 of the
range of the payoffs. The order of removal does not change what remains.
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
    """A strategy that was removed, and the mix of others that beats it: (strategy, share)."""

    side: Side
    strategy: int
    by: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dominance:
    """The strategies that remain, and what was removed, in order."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    removed: tuple[Removed, ...]


def dominance(game: Bimatrix) -> Dominance:
    """Remove strictly dominated strategies, also those that only a mix dominates, again and again."""
    rows, columns = list(range(game.row.shape[0])), list(range(game.row.shape[1]))
    removed: list[Removed] = []
    while True:
        one = _dominated("row", game.row, rows, columns) or _dominated("column", game.column.T, columns, rows)
        if one is None:
            return Dominance(tuple(rows), tuple(columns), tuple(removed))
        removed.append(one)
        (rows if one.side == "row" else columns).remove(one.strategy)


def dominated_in(payoffs: Floats) -> Floats:
    """In what share of some symmetric games (resamples x strategies x strategies) each strategy is removed."""
    gone = np.ones(payoffs.shape[:2])
    for at, own in enumerate(payoffs):
        gone[at, list(dominance(symmetric(own)).rows)] = 0.0
    return gone.mean(axis=0)


def _dominated(side: Side, payoffs: Floats, own: list[int], other: list[int]) -> Removed | None:
    """The first strategy of a side that others dominate, if there is one."""
    left = payoffs[np.ix_(own, other)]
    least = LIMIT * float(np.ptp(payoffs))
    answers = left @ _mixes(len(other))
    never_best = (answers < answers.max(axis=0)).all(axis=1)
    for at in np.flatnonzero(never_best).tolist():
        others = own[:at] + own[at + 1 :]
        gains = np.delete(left, at, axis=0) - left[at]
        pure: list[int] = np.flatnonzero(gains.min(axis=1) > least).tolist()
        if pure:
            return Removed(side, own[at], ((others[pure[0]], 1.0),))
        mix, gain = secure(gains)
        if gain > least:
            by = tuple((one, float(share)) for one, share in zip(others, mix, strict=True) if share > LIMIT)
            return Removed(side, own[at], by)
    return None


@cache
def _mixes(count: int) -> Floats:
    """Some mixes of a rival, one a column, pure ones first: what is best against one of them is not dominated."""
    drawn = np.random.default_rng(0).dirichlet(np.full(count, 0.5), TRIED)
    return np.concatenate([np.eye(count), drawn]).T
