"""Equilibria of a game whose payoffs were estimated: which of them survive when the items are drawn again."""

from dataclasses import dataclass

import numpy as np

from mashq.analysis.games.supports import TINY, Flags, Ints, level, scaled, sets, systems
from mashq.analysis.intervals import LEVEL
from mashq.errors import DataError
from mashq.protocol.results import Floats

MAX_SYSTEMS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """Shares of the strategies in the resamples where an equilibrium survives: mean, and the middle 95%."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """An equilibrium by the strategies it mixes, and the share of the resamples that have it."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    share: float
    row: Mix
    column: Mix

    @property
    def pure(self) -> bool:
        """Whether neither player mixes."""
        return len(self.rows) == len(self.columns) == 1

    @property
    def symmetric(self) -> bool:
        """Whether both players mix the same strategies."""
        return self.rows == self.columns


@dataclass(frozen=True, slots=True)
class Survivals:
    """Every equilibrium of any resample, the most frequent first; the share of resamples in which none was found
    (all of theirs are degenerate); and the share that has exactly the equilibria of the most frequent combination."""

    found: tuple[Survival, ...]
    none: float
    same: float


def uncertain_equilibria(row: Floats, column: Floats | None = None) -> Survivals:
    """In what share of the resamples each support is an equilibrium.

    Payoffs are resamples x row strategies x column strategies; without the column player's, the game is symmetric.
    Both sides of an equilibrium mix equally many strategies, as they do unless a game is degenerate.
    """
    other = row.transpose(0, 2, 1) if column is None else column
    if row.ndim != 3 or row.shape != other.shape or row.size == 0:
        raise DataError(f"payoffs are {row.shape} and {other.shape}, must be resamples x strategies x strategies")
    resamples, rows, columns = row.shape
    if systems(rows, columns) * resamples > MAX_SYSTEMS:
        most = MAX_SYSTEMS // systems(rows, columns)
        raise DataError(f"{resamples} resamples of {rows} x {columns} strategies take too long: use {most} or fewer")
    a, b = scaled(row), scaled(other.transpose(0, 2, 1))
    found: list[Survival] = []
    alive: list[Flags] = []
    for size in range(1, min(rows, columns) + 1):
        for one in sets(rows, size):
            for two in sets(columns, size):
                first, second, holds = _equilibrium(a, b, one, two)
                if holds.any():
                    share = float(holds.mean())
                    mixes = _mix(first[holds]), _mix(second[holds])
                    found.append(Survival(tuple(one.tolist()), tuple(two.tolist()), share, *mixes))
                    alive.append(holds)
    found.sort(key=lambda one: (-one.share, len(one.rows), one.rows, one.columns))
    table = np.stack(alive, axis=1) if alive else np.zeros((resamples, 0), dtype=bool)
    _, counts = np.unique(table, axis=0, return_counts=True)
    return Survivals(tuple(found), float((~table.any(axis=1)).mean()), float(counts.max() / resamples))


def _equilibrium(a: Floats, b: Floats, rows: Ints, columns: Ints) -> tuple[Floats, Floats, Flags]:
    """The mixes on two supports that make each other's strategies equal, and whether they are an equilibrium."""
    second, best = _against(a, rows, columns)
    first, good = _against(b, columns, rows)
    return first, second, best & good


def _against(payoffs: Floats, own: Ints, other: Ints) -> tuple[Floats, Flags]:
    """The other's mix that makes `own` strategies equal; whether it is a mix of all of `other` and they are best."""
    mix, value, _ = level(payoffs[:, own[:, None], other])
    whole = np.zeros((len(payoffs), payoffs.shape[2]))
    whole[:, other] = mix
    reached = (payoffs @ whole[:, :, None])[:, :, 0].max(axis=1)
    return whole, (mix > TINY).all(axis=1) & (reached <= value + TINY)


def _mix(shares: Floats) -> Mix:
    low, high = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Mix(shares.mean(axis=0), low, high)
