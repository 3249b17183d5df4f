"""Do 95% intervals of a difference in Q cover 95%? By simulation on real score distributions.

Needs the leaderboard data in ../shared. A pair of real systems and its items are the truth; samples of n items are
drawn from them with replacement, and an interval is made from each sample by the code that `mashq score` uses.
Prints, beside the plain percentile bootstrap, the share of intervals that hold the truth, overall and worst pair.
"""

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from mashq.analysis.intervals import draws, resample
from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures

DATA = Path(__file__).parents[2] / "shared" / "data" / "leaderboard" / "results.csv.gz"
RULES = ScoreRules(weights={"tokens": 1.0, "seconds": 1.0})


def load() -> tuple[Floats, Floats, Floats]:
    """H, words in and out (as tokens), and words out (as seconds) of the systems that answered nearly everything."""
    cells: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    with gzip.open(DATA, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["valid"] == "1":
                words = float(row["words_in"] or 100), float(row["words_out"])
                cells[row["player"], row["item"]].append((float(row["h"]), *words))
    by_player: dict[str, set[str]] = defaultdict(set)
    for player, item in cells:
        by_player[player].add(item)
    players = sorted(player for player, items in by_player.items() if len(items) > 930)
    items = sorted(set.intersection(*(by_player[player] for player in players)))
    whole = np.array([[np.mean(cells[player, item], axis=0) for item in items] for player in players])
    return whole[..., 0], whole[..., 1] + whole[..., 2], whole[..., 2]


def sample(h: Floats, tokens: Floats, seconds: Floats, picked: np.ndarray) -> View:
    """Some items of two systems."""
    ones = np.ones((2, len(picked)))
    names = tuple(map(str, range(len(picked))))
    return View(names, h[:, picked], ones, {"tokens": tokens[:, picked], "seconds": seconds[:, picked]}, ones)


def percentile(seen: View, resamples: int, seed: int) -> tuple[float, float]:
    """The plain percentile interval."""
    found = np.concatenate([figures(seen, RULES, d).q for d in draws(len(seen.items), resamples, seed)])
    low, high = np.quantile(found[:, 0] - found[:, 1], [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--samples", type=int, default=60, help="samples a pair")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is not here: the leaderboard data is needed")
    h, tokens, seconds = load()
    random = np.random.default_rng(options.seed)
    ranked = np.argsort(-h.mean(axis=1))
    groups = {"any two systems": ranked, "two of the best 20": ranked[:20]}
    print(f"{h.shape[0]} systems, {h.shape[1]} items; {options.pairs} pairs x {options.samples} samples a row")
    print("systems              items  ours %  worst pair %  width   percentile %  worst pair %  width")
    for name, group in groups.items():
        for count in (30, 100, 800):
            ours, plain, widths = list[float](), list[float](), list[tuple[float, float]]()
            for _ in range(options.pairs):
                two = random.choice(group, 2, replace=False)
                part = h[two], tokens[two], seconds[two]
                whole = figures(sample(*part, np.arange(h.shape[1])), RULES).q[0]
                truth = whole[0] - whole[1]
                hits = np.zeros((options.samples, 2))
                for at in range(options.samples):
                    seen = sample(*part, random.integers(0, h.shape[1], count))
                    seed = int(random.integers(2**31))
                    found = resample(seen, RULES, [(0, 1)], options.resamples, seed)
                    _, _, _, low, high = found.differences[0]
                    assert low is not None and high is not None
                    other = percentile(seen, options.resamples, seed)
                    hits[at] = low <= truth <= high, other[0] <= truth <= other[1]
                    widths.append((high - low, other[1] - other[0]))
                ours.append(float(hits[:, 0].mean()))
                plain.append(float(hits[:, 1].mean()))
            wide = np.mean(widths, axis=0)
            print(
                f"{name:20} {count:5}  {100 * np.mean(ours):6.1f}  {100 * min(ours):12.1f}  {wide[0]:.4f}"
                f"  {100 * np.mean(plain):12.1f}  {100 * min(plain):12.1f}  {wide[1]:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
