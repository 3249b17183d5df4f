"""`python -m tests.torture`: thousands of faulty matches on a virtual clock, hundreds of real kills, every mishap,
agents that cheat, and runs of every kind in which nothing is wrong.

Prints what was met and the seed of anything that was violated; the exit code is 1 when something was.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from tests.torture.seeds import Found, cheated, killed, mishap, verified, virtual


def told(what: str, found: Iterable[Found], total: int) -> list[str]:
    """Print how it goes and what came of it; what was violated."""
    met, violated, started = Counter[str](), list[str](), time.monotonic()
    every = max(1, total // 10)
    for done, (seen, wrong) in enumerate(found, start=1):
        met += seen
        if wrong:
            violated.append(wrong)
            print(f"VIOLATION {wrong}", flush=True)
        if done % every == 0 or done == total:
            took = f"{done} of {total} seeds in {time.monotonic() - started:.0f} s"
            print(f"{what}: {took}, {len(violated)} violation(s); {figures(met)}", flush=True)
    return violated


def figures(met: Counter[str]) -> str:
    """What was met: counts of all kinds, then the faults by theirs."""
    faults = {name: count for name, count in met.items() if name.startswith("fault ")}
    counts = ", ".join(f"{name} {count}" for name, count in sorted(met.items()) if name not in faults)
    return f"{counts}; faults: " + ", ".join(f"{name[6:]} {count}" for name, count in sorted(faults.items()))


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=10_000, help="seeds on the virtual clock")
    parser.add_argument("--kills", type=int, default=300, help="seeds with real kills")
    parser.add_argument("--mishaps", type=int, default=70, help="seeds of mishaps, each kind in turn")
    parser.add_argument("--hostile", type=int, default=200, help="seeds of hostile agents, each trick in turn")
    parser.add_argument("--honest", type=int, default=200, help="seeds of honest runs, each kind in turn, verified")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    violated: list[str] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:  # its processes may have some of their own
        for name, play, count, chunk in (
            ("Virtual clock", virtual, options.matches, 10),
            ("Real kills", killed, options.kills, 1),
            ("Mishaps", mishap, options.mishaps, 1),
            ("Hostile agents", cheated, options.hostile, 1),
            ("Honest runs", verified, options.honest, 1),
        ):
            seeds = range(options.seed, options.seed + count)
            violated += told(name, pool.map(play, seeds, chunksize=chunk), count) if count else []
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()
