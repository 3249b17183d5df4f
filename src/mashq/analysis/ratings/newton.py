"""Newton's method for many concave functions at once, one row each."""

from collections.abc import Callable

import numpy as np

from mashq.protocol.results import Floats

Objective = Callable[[Floats], tuple[Floats, Floats, Floats]]
STEPS = 100
HALVINGS = 40
CLOSE = 1e-13


def climb(objective: Objective, start: Floats, steps: int = STEPS) -> tuple[Floats, Floats]:
    """The maxima of strictly concave functions, and the curvature there.

    `objective` takes rows of points and returns, for each, the value, the slope and the curvature (the negated second
    derivative, a matrix). A step that decreases the value is halved until it does not.
    """
    point = start
    value, slope, curvature = objective(point)
    for _ in range(steps):
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        gain = (slope * step).sum(axis=1)
        noise = 1e-12 * (1 + np.abs(value))
        tried = objective(point + step)
        for _ in range(HALVINGS):
            worse = ~(tried[0] >= value - noise)
            if not worse.any():
                break
            step[worse] /= 2
            tried = objective(point + step)
        point = point + step
        value, slope, curvature = tried
        if (gain <= CLOSE * (1 + np.abs(value))).all():
            break
    return point, curvature
