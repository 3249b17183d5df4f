"""`python -m tests.torture`: thousands of faulty matches on a virtual clock, then hundreds of real kills.

Prints what was met and the seed of anything that was violated; the exit code says which.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.torture import kills
from tests.torture.invariants import Violation
from tests.torture.virtual import trial


def one(seed: int) -> tuple[int, Counter[str], str]:
    """A trial in a folder of its own, in memory where the system has such."""
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=root))
    try:
        return seed, trial(seed, folder / "t"), ""
    except Violation as violation:
        return seed, Counter(), str(violation)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    met: Counter[str] = Counter()
    violated: list[str] = []
    started = time.monotonic()
    with multiprocessing.get_context("spawn").Pool() as pool:
        seeds = range(options.seed, options.seed + options.matches)
        for done, (_seed, found, wrong) in enumerate(pool.imap_unordered(one, seeds, chunksize=10), start=1):
            met += found
            if wrong:
                violated.append(wrong)
                print(wrong, flush=True)
            if done % 1000 == 0:
                print(f"{done} matches, {time.monotonic() - started:.0f} s, {dict(met)}", flush=True)
    print(f"Virtual clock: {options.matches} matches, {dict(met)}, {len(violated)} violation(s).", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = kills.torture(options.kills, options.seed, Path(folder))
    print(f"Real kills: {report}")
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()
