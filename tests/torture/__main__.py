"""`python -m tests.torture`: thousands of faulty matches on a virtual clock, hundreds of real kills, every mishap,
agents that cheat, and runs of every kind in which nothing is wrong.

Prints the counts and the seed of every violation; the exit code is 1 if there was one.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from tests.torture.seeds import TrialResult, cheated, killed, mishap, verified, virtual


def report(title: str, results: Iterable[TrialResult], total: int) -> list[str]:
    """Print progress and results; return the violations."""
    counts, violated, started = Counter[str](), list[str](), time.monotonic()
    interval = max(1, total // 10)
    for done, (seen, violation) in enumerate(results, start=1):
        counts += seen
        if violation:
            violated.append(violation)
            print(f"VIOLATION {violation}", flush=True)
        if done % interval == 0 or done == total:
            progress = f"{done} of {total} seeds in {time.monotonic() - started:.0f} s"
            print(f"{title}: {progress}, {len(violated)} violation(s); {figures(counts)}", flush=True)
    return violated


def figures(totals: Counter[str]) -> str:
    """Format the counts: all kinds, then the faults by kind."""
    faults = {name: count for name, count in totals.items() if name.startswith("fault ")}
    counts = ", ".join(f"{name} {count}" for name, count in sorted(totals.items()) if name not in faults)
    return f"{counts}; faults: " + ", ".join(f"{name[6:]} {count}" for name, count in sorted(faults.items()))


def main() -> None:
    """Run the long form."""
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
    with ProcessPoolExecutor(options.jobs, context) as pool:  # its processes may start children
        for name, play, count, chunk in (
            ("Virtual clock", virtual, options.matches, 10),
            ("Real kills", killed, options.kills, 1),
            ("Mishaps", mishap, options.mishaps, 1),
            ("Hostile agents", cheated, options.hostile, 1),
            ("Honest runs", verified, options.honest, 1),
        ):
            seeds = range(options.seed, options.seed + count)
            violated += report(name, pool.map(play, seeds, chunksize=chunk), count) if count else []
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()
