"""Do 95% intervals of Pearson, Spearman and AUC contain the truth 95% of the time? On simulated ratings."""

import sys
from pathlib import Path

import numpy as np

from mashq.analysis.validation.agreement import Estimate, agreement, auc, pearson, spearman

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.analysis.validation.test_agreement import apart, noisy, value

WHOLE, SAMPLES = 100_000, 1000


def main() -> None:
    """Print the share of intervals that contain the truth, for two strengths of agreement and four sample sizes."""
    print("noise  items  figure     truth  covered  with an interval")
    for noise in (0.3, 0.1):
        x, y = noisy(WHOLE, noise)
        figures = {"pearson": pearson(x, y), "spearman": spearman(x, y), "auc": auc(x, y >= 0.5)}
        truth = {name: value(measure, WHOLE) for name, measure in figures.items()}
        for count in (30, 60, 100, 300):
            random = np.random.default_rng(count)
            hits, given = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
            for _ in range(SAMPLES):
                picked = random.integers(0, WHOLE, count)
                estimates = agreement(x[picked], y[picked], apart(count, 500))
                for name, true in truth.items():
                    interval: Estimate = getattr(estimates, name)
                    if interval.low is not None and interval.high is not None:
                        given[name] += 1
                        hits[name] += interval.low <= true <= interval.high
            for name, true in truth.items():
                share = 100 * hits[name] / max(given[name], 1)
                with_one = 100 * given[name] / SAMPLES
                print(f"{noise:5}  {count:5}  {name:9}  {true:5.3f}  {share:6.1f}%  {with_one:6.1f}%")


if __name__ == "__main__":
    main()
