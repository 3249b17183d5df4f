"""Iterated strict dominance: strategies that no reasonable player uses, removed until none is left.

A strategy is dominated if some mix of others is better against everything that is left, by more than 1e-9 of the
range of the payoffs. The order of removal does not change what remains.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mashq.analysis.games.bimatrix import LIMIT, Bimatrix
from mashq.analysis.games.linear_programs import secure
from mashq.protocol.results import Floats

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


def _dominated(side: Side, payoffs: Floats, own: list[int], other: list[int]) -> Removed | None:
    """The first strategy of a side that others dominate, if there is one."""
    left = payoffs[np.ix_(own, other)]
    for at in range(len(own) if len(own) > 1 else 0):
        mix, gain = secure(np.delete(left, at, axis=0) - left[at])
        if gain > LIMIT * float(np.ptp(payoffs)):
            others = own[:at] + own[at + 1 :]
            by = tuple((one, float(share)) for one, share in zip(others, mix, strict=True) if share > LIMIT)
            return Removed(side, own[at], by)
    return None
