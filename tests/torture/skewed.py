"""`python -m tests.torture.skewed SEED ARGUMENTS`: mashq on a machine whose wall clock keeps being set.

Only `time.time` jumps, as on a real machine: the monotonic clocks are unaffected.
"""

import random
import sys
import time

from mashq.cli import main

JUMPS = (-3600.0, -1.0, 86400.0, -1e7, 1e6)


def skew(seed: int) -> None:
    """Make the wall clock jump from time to time, forwards and back."""
    rng, real, shift = random.Random(seed), time.time, [0.0]

    def jumping() -> float:
        if rng.random() < 0.1:
            shift[0] += rng.choice(JUMPS)
        return real() + shift[0]

    time.time = jumping


if __name__ == "__main__":
    skew(int(sys.argv.pop(1)))
    main()
