"""Linear programs over a distribution: non-negative shares that sum to 1."""

from typing import Any, cast

import numpy as np

from mashq.protocol.results import Floats

PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def secure(payoffs: Floats) -> tuple[Floats, float]:
    """The mix of rows with the highest payoff against its worst column, and that payoff."""
    count, columns = payoffs.shape
    rows = np.concatenate([-payoffs.T, np.ones((columns, 1))], axis=1)
    goal = np.append(np.zeros(count), 1.0)
    shares = np.maximum(_solve(goal, rows, [(0, None)] * count + [(None, None)])[:count], 0.0)
    mix = shares / shares.sum()
    return mix, float((mix @ payoffs).min())


def _solve(goal: Floats, rows: Floats, bounds: list[tuple[int | None, None]]) -> Floats:
    """Solve the program; the variables bounded below by 0 are the shares."""
    # Slow to import, and only a few games need it.
    from scipy.optimize import linprog  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    shares = np.array([[float(low == 0) for low, _ in bounds]])
    zeros, total = np.zeros(len(rows)), np.ones(1)
    solution = cast(Any, linprog(-goal, rows, zeros, shares, total, bounds=bounds, options=PRECISE))
    if solution.status != 0:
        raise ArithmeticError(f"no distribution was found: {solution.message}")
    return np.asarray(solution.x, dtype=np.float64)
