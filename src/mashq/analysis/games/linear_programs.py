"""Linear programs over a distribution: shares that are not negative and add up to 1."""

from typing import Any, cast

import numpy as np

from mashq.protocol.results import Floats

PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def secure(payoffs: Floats) -> tuple[Floats, float]:
    """The mix of the rows with the highest payoff against the column that is worst for it, and that payoff."""
    count, columns = payoffs.shape
    rows = np.concatenate([-payoffs.T, np.ones((columns, 1))], axis=1)
    goal = np.append(np.zeros(count), 1.0)
    found = np.maximum(_solve(goal, rows, [(0, None)] * count + [(None, None)])[:count], 0.0)
    mix = found / found.sum()
    return mix, float((mix @ payoffs).min())


def _solve(goal: Floats, rows: Floats, bounds: list[tuple[int | None, None]]) -> Floats:
    """Shares are the variables that may not be negative."""
    # Heavy, and only a few games need it.
    from scipy.optimize import linprog  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    shares = np.array([[float(low == 0) for low, _ in bounds]])
    none, one = np.zeros(len(rows)), np.ones(1)
    found = cast(Any, linprog(-goal, rows, none, shares, one, bounds=bounds, options=PRECISE))
    if found.status != 0:
        raise ArithmeticError(f"no distribution was found: {found.message}")
    return np.asarray(found.x, dtype=np.float64)
