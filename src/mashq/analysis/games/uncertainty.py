"""Equilibria of a game whose payoffs were estimated: in how many resamples of the items they are still there."""

import numpy as np

from mashq.analysis.games.supports import TINY, Flags, Ints, level, scaled
from mashq.errors import DataError
from mashq.protocol.results import Floats

Supports = tuple[tuple[int, ...], tuple[int, ...]]


def survival(supports: Supports, row: Floats, column: Floats | None = None) -> float | None:
    """The share of resamples with an equilibrium in which each side mixes just these strategies.

    Payoffs are resamples x row strategies x column strategies; without the column player's, the game is symmetric.
    None where the two sides mix unequally many: that happens in degenerate games, and is not counted.
    """
    other = row.transpose(0, 2, 1) if column is None else column
    if row.ndim != 3 or row.shape != other.shape or row.size == 0:
        raise DataError(f"payoffs are {row.shape} and {other.shape}, must be resamples x strategies x strategies")
    rows, columns = (np.array(support, dtype=np.intp) for support in supports)
    if len(rows) != len(columns):
        return None
    held = _holds(scaled(row), rows, columns) & _holds(scaled(other.transpose(0, 2, 1)), columns, rows)
    return float(held.mean())


def _holds(payoffs: Floats, own: Ints, other: Ints) -> Flags:
    """Whether some mix of all of `other` makes `own` strategies equal, and no strategy is better against it."""
    mix, value, _ = level(payoffs[:, own[:, None], other])
    whole = np.zeros((len(payoffs), payoffs.shape[2]))
    whole[:, other] = mix
    reached = (payoffs @ whole[:, :, None])[:, :, 0].max(axis=1)
    return (mix > TINY).all(axis=1) & (reached <= value + TINY)
