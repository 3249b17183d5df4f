"""Equilibria of a game with estimated payoffs: in what share of resampled items they persist."""

import numpy as np

from mashq.analysis.games.supports import TINY, Flags, Ints, level, scaled
from mashq.errors import DataError
from mashq.protocol.results import Floats

Supports = tuple[tuple[int, ...], tuple[int, ...]]


def survival(supports: Supports, row: Floats, column: Floats | None = None) -> float | None:
    """The share of resamples with an equilibrium in which each side mixes exactly these strategies.

    Payoffs are resamples x row strategies x column strategies; without the column player's, the game is symmetric.
    None if the two sides mix different numbers of strategies: that happens in degenerate games, and is not counted.
    """
    other = row.transpose(0, 2, 1) if column is None else column
    if row.ndim != 3 or row.shape != other.shape or row.size == 0:
        raise DataError(f"payoffs are {row.shape} and {other.shape}, must be resamples x strategies x strategies")
    rows, columns = (np.array(support, dtype=np.intp) for support in supports)
    if len(rows) != len(columns):
        return None
    persists = _holds(scaled(row), rows, columns) & _holds(scaled(other.transpose(0, 2, 1)), columns, rows)
    return float(persists.mean())


def _holds(payoffs: Floats, own: Ints, other: Ints) -> Flags:
    """Whether a mix of all of `other` makes the `own` strategies equal, with no strategy better against it."""
    mix, value, _ = level(payoffs[:, own[:, None], other])
    full_mix = np.zeros((len(payoffs), payoffs.shape[2]))
    full_mix[:, other] = mix
    best_value = (payoffs @ full_mix[:, :, None])[:, :, 0].max(axis=1)
    return (mix > TINY).all(axis=1) & (best_value <= value + TINY)
