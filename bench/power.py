"""Is the power that `mashq power` predicts the actual power? On real score distributions.

Needs the leaderboard data in ../shared. A pair of real systems and its items are the truth: the actual power at n
items is the share of samples of n items, drawn from them with replacement, whose interval (the code of `mashq score`)
lies above 0. It is compared with predictions from all items (is the method right?), and from a pilot of a few
(the case that matters: the prediction is as good as the pilot). Also printed is how often the range of the number of
items that comes with a pilot's prediction contains the true number.
"""

import argparse
import sys

import numpy as np
from coverage import DATA, RULES, Pool, seen  # bench/coverage.py

from mashq.analysis.intervals import resample
from mashq.analysis.power import Options, PowerReport, power
from mashq.protocol.results import COST_NAMES, Cost, Floats, Results

SIZES = (30, 50, 100, 200, 500)
QUICK = Options(full=0, samples=2000)


def results(h: Floats, tokens: Floats, seconds: Floats, picked: np.ndarray) -> Results:
    """Return the results of some items of two systems."""
    shape, none = (2, len(picked)), np.full((2, len(picked)), np.nan)
    measured = {"tokens": tokens[:, picked], "seconds": seconds[:, picked]}
    costs = {name: Cost.known(measured.get(name, none)) for name in COST_NAMES}
    items, scores = tuple(map(str, range(len(picked)))), h[:, picked]
    status = np.zeros(shape, dtype=np.int8)
    trial_of = ("",) * len(picked)
    return Results(
        ("a", "b"), items, np.arange(len(picked)), trial_of, status, scores, scores, costs, np.zeros(shape)
    )


def got(part: tuple[Floats, Floats, Floats], size: int, samples: int, random: np.random.Generator) -> float:
    """Return the share of real samples whose interval lies above 0; the first system is the better one."""
    significant = 0
    for _ in range(samples):
        picked = random.integers(0, part[0].shape[1], size)
        part_view = seen(*(values[:, picked] for values in part))
        resampled = resample(part_view, RULES, [(0, 1)], 500, int(random.integers(2**31)), keep=1)
        low = resampled.differences[0].low
        significant += low is not None and low > 0
    return significant / samples


def predicted(report: PowerReport, at: int) -> float:
    """Return the power on the curve at `at` items, or 0 if the report has the other system as the better one."""
    power_there = next(point.power for point in report.curve if point.items == at)
    return power_there if report.players[0] == "a" else 0.0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--samples", type=int, default=100, help="samples a pair and size")
    parser.add_argument("--pilots", type=int, default=4, help="pilots a pair")
    parser.add_argument("--pilot", type=int, default=100, help="items of a pilot")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is not here: the leaderboard data is needed")
    pool = Pool()
    h, tokens, seconds = pool.h, pool.tokens, pool.seconds
    random = np.random.default_rng(options.seed)
    everything = np.arange(h.shape[1])
    actual, from_all, pilot, missed = (np.zeros((options.pairs, len(SIZES))) for _ in range(4))
    held = ranges = 0
    for number in range(options.pairs):
        systems = random.choice(h.shape[0], 2, replace=False)
        part = h[systems], tokens[systems], seconds[systems]
        truth = power(results(*part, everything), RULES, ("a", "b"), QUICK)
        if truth.players[0] == "b":
            part = tuple(values[::-1] for values in part)
            truth = power(results(*part, everything), RULES, ("a", "b"), QUICK)
        for at, size in enumerate(SIZES):
            actual[number, at] = got(part, size, options.samples, random)
            from_all[number, at] = predicted(truth, size)
        for _ in range(options.pilots):
            pilot_report = power(
                results(*part, random.integers(0, h.shape[1], options.pilot)), RULES, ("a", "b"), QUICK
            )
            pilot_power = np.array([predicted(pilot_report, size) for size in SIZES])
            pilot[number] += pilot_power / options.pilots
            missed[number] += np.abs(pilot_power - actual[number]) / options.pilots
            if truth.needed is not None:
                ranges += 1
                right = pilot_report.players[0] == "a"
                lowest = pilot_report.if_high if right else None
                highest = pilot_report.if_low if right and pilot_report.low > 0 else None
                held += (lowest is None or lowest <= truth.needed) and (highest is None or truth.needed <= highest)
        print(f"\r{number + 1} of {options.pairs} pairs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(
        f"{h.shape[0]} systems, {h.shape[1]} items; {options.pairs} pairs, {options.samples} samples a pair and size"
    )
    print("items   got   predicted from all items   mean error   from pilots of", options.pilot, "  mean error")
    for at, size in enumerate(SIZES):
        print(
            f"{size:5}  {actual[:, at].mean():.3f}  {from_all[:, at].mean():24.3f}  "
            f"{np.abs(from_all[:, at] - actual[:, at]).mean():11.3f}  {pilot[:, at].mean():18.3f}  "
            f"{missed[:, at].mean():11.3f}"
        )
    print(f"The range given with a pilot's prediction held the true number of items in {held / max(ranges, 1):.1%}.")


if __name__ == "__main__":
    main()
