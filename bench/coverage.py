"""Do intervals have their stated coverage, and is a winner claimed only if there is one? Simulated on real scores.

Needs the leaderboard data in ../shared. Real systems and their items are the truth; samples of n items are drawn from
them with replacement, and intervals are computed from each sample by the code that every command uses.

    pairs     differences of two systems, compared with the percentile bootstrap; real costs, and costs correlated
              with H
    trials    the same with three trials of an item and refusals
    leader    the best of 10, 40 and 139 systems: its own interval, and its differences to all others together
    claims    fields of equal systems: how often somebody is called the winner
    tails     systems with one huge cost: the coverage, and how often the note on it appears
"""

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mashq.analysis.intervals import Resampled, draws, resample
from mashq.analysis.score_report import Options, judge
from mashq.protocol.results import COST_NAMES, OK, REFUSED, Cost, Floats, Results
from mashq.protocol.score import ScoreRules, View, figures, view

DATA = Path(__file__).parents[2] / "shared" / "data" / "leaderboard" / "results.csv.gz"
RULES = ScoreRules(weights={"tokens": 1.0, "seconds": 1.0})


class Pool:
    """The systems that answered nearly everything: H, words in and out (as tokens), and words out (as seconds)."""

    def __init__(self) -> None:
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
        table = np.array([[np.mean(cells[player, item], axis=0) for item in items] for player in players])
        self.h, self.tokens, self.seconds = table[..., 0], table[..., 1] + table[..., 2], table[..., 2]
        self.ranked = np.argsort(-self.h.mean(axis=1))
        self.items = len(items)


def seen(h: Floats, tokens: Floats, seconds: Floats) -> View:
    """Return a view of some items of some systems."""
    ones = np.ones(h.shape)
    return View(tuple(map(str, range(h.shape[1]))), h, ones, {"tokens": tokens, "seconds": seconds}, ones)


def sample_view(pool: Pool, who: np.ndarray, picked: np.ndarray | None = None) -> View:
    """Return a view of a sample of the items, or of all of them."""
    at = slice(None) if picked is None else picked
    return seen(pool.h[who][:, at], pool.tokens[who][:, at], pool.seconds[who][:, at])


def percentile(part: View, resamples: int, seed: int) -> tuple[float, float]:
    """Return the percentile interval of the difference of the first two."""
    resampled = np.concatenate([figures(part, RULES, d).q for d in draws(len(part.items), resamples, seed)])
    low, high = np.quantile(resampled[:, 0] - resampled[:, 1], [0.025, 0.975])
    return float(low), float(high)


def first(resampled: Resampled) -> tuple[float, float]:
    """Return the interval of the first difference."""
    span = resampled.differences[0]
    assert span.low is not None and span.high is not None
    return span.low, span.high


def pairs(pool: Pool, options: argparse.Namespace, random: np.random.Generator) -> None:
    """Print the coverage for differences of two systems."""
    print(f"{options.pairs} pairs x {options.samples} samples a row")
    print("systems                     items  ours %  worst pair %  width   percentile %  width")
    groups = {"any two systems": pool.ranked, "two of the best 20": pool.ranked[:20]}
    kinds: dict[str, Callable[[Floats, Floats], Floats]] = {
        "": lambda h, tokens: tokens,
        ", cost rises as H falls": lambda h, tokens: tokens * (1 + 4 * (1 - h)),
        ", cost rises with H": lambda h, tokens: tokens * (1 + 4 * h),
    }
    for name, group in groups.items():
        for kind, cost in kinds.items() if name == "any two systems" else [("", kinds[""])]:
            for count in (30, 100, 800):
                ours, plain, widths = list[float](), list[float](), list[tuple[float, float]]()
                for _ in range(options.pairs):
                    two = random.choice(group, 2, replace=False)
                    h, seconds = pool.h[two], pool.seconds[two]
                    tokens = cost(h, pool.tokens[two])
                    q = figures(seen(h, tokens, seconds), RULES).q[0]
                    hits = np.zeros((options.samples, 2))
                    for at in range(options.samples):
                        picked = random.integers(0, pool.items, count)
                        part = seen(h[:, picked], tokens[:, picked], seconds[:, picked])
                        seed = int(random.integers(2**31))
                        low, high = first(resample(part, RULES, [(0, 1)], options.resamples, seed, keep=1))
                        percentile_span = percentile(part, options.resamples, seed)
                        hits[at] = low <= q[0] - q[1] <= high, percentile_span[0] <= q[0] - q[1] <= percentile_span[1]
                        widths.append((high - low, percentile_span[1] - percentile_span[0]))
                    ours.append(float(hits[:, 0].mean()))
                    plain.append(float(hits[:, 1].mean()))
                wide = np.mean(widths, axis=0)
                print(
                    f"{name + kind:40} {count:5}  {100 * np.mean(ours):6.1f}  {100 * min(ours):12.1f}  {wide[0]:.4f}"
                    f"  {100 * np.mean(plain):12.1f}  {wide[1]:.4f}",
                    flush=True,
                )


def repeated(h: Floats, tokens: Floats, trials: int, rate: Floats, random: np.random.Generator) -> Results:
    """Draw trials of some items: scores that vary around each item's mean, and refusals at each item's rate."""
    players, items = h.shape
    shape = (players, items * trials)
    item_of = np.repeat(np.arange(items), trials)
    spread = np.minimum(np.minimum(h, 1 - h), 0.2)
    scores = h[:, item_of] + spread[:, item_of] * random.uniform(-1, 1, shape)
    status = np.where(random.random(shape) < rate[:, item_of], REFUSED, OK).astype(np.int8)
    cost = tokens[:, item_of] * random.uniform(0.8, 1.2, shape)
    costs = {name: Cost.known(cost if name == "tokens" else np.ones(shape)) for name in COST_NAMES}
    names = tuple(map(str, range(items)))
    trial_of = tuple(map(str, range(trials))) * items
    scores = np.where(status == OK, scores, np.nan)
    return Results(("a", "b"), names, item_of, trial_of, status, scores, scores, costs, np.zeros(shape))


def trials(pool: Pool, options: argparse.Namespace, random: np.random.Generator) -> None:
    """Print the coverage for differences of two systems, with three trials per item, one in five refused."""
    rules = ScoreRules(weights={"tokens": 1.0})
    print(f"three trials with refusals; {options.pairs} pairs x {options.samples} samples a row")
    print("refusals      items  coverage %  worst pair %")
    for count in (30, 100, 800):
        rates: list[float] = []
        for _ in range(options.pairs if count < 800 else max(4, options.pairs // 4)):
            two = random.choice(pool.ranked, 2, replace=False)
            h, tokens = pool.h[two], pool.tokens[two]
            rate = random.beta(1, 4, h.shape)
            ones, names = np.ones(h.shape), tuple(map(str, range(pool.items)))
            q = figures(View(names, h, ones, {"tokens": tokens}, ones), rules).q[0]
            truth, hits = float(q[0] - q[1]), 0
            for at in range(options.samples):
                picked = random.integers(0, pool.items, count)
                results = repeated(h[:, picked], tokens[:, picked], 3, rate[:, picked], random)
                part = view(results, "intersection", ("tokens",))
                low, high = first(resample(part, rules, [(0, 1)], options.resamples, at, keep=1))
                hits += low <= truth <= high
            rates.append(hits / options.samples)
        print(f"intersection {count:6}  {100 * np.mean(rates):10.1f}  {100 * min(rates):12.1f}", flush=True)


def leader(pool: Pool, options: argparse.Namespace, random: np.random.Generator) -> None:
    """Print the coverage for the observed leader of a field: its interval, and its differences to all others."""
    print("the observed leader of a field")
    print("field  items  fields  own interval %  all differences together %  each difference %")
    for size in (2, 10, 40, len(pool.h)):
        for count in (30, 100):
            own_hits = joint_hits = single_hits = single_total = 0
            for _ in range(options.fields):
                systems = random.choice(len(pool.h), size, replace=False)
                truth = figures(sample_view(pool, systems), RULES).q[0]
                part = sample_view(pool, systems, random.integers(0, pool.items, count))
                q = figures(part, RULES).q[0]
                best = int(np.argmax(q))
                others = [(best, seat) for seat in np.argsort(-q).tolist() if seat != best]
                resampled = resample(part, RULES, others, options.resamples, int(random.integers(2**31)), keep=1)
                assert resampled.low is not None and resampled.high is not None
                own_hits += resampled.low[best] <= truth[best] <= resampled.high[best]
                spans = resampled.differences
                gaps = [truth[s.a] - truth[s.b] for s in spans]
                joint_hits += all(
                    (s.all_low or 0) <= g <= (s.all_high or 0) for s, g in zip(spans, gaps, strict=True)
                )
                single_hits += sum((s.low or 0) <= g <= (s.high or 0) for s, g in zip(spans, gaps, strict=True))
                single_total += len(spans)
            share = [100 * value / options.fields for value in (own_hits, joint_hits)]
            print(
                f"{size:5}  {count:5}  {options.fields:6}  {share[0]:14.1f}  {share[1]:26.1f}  "
                f"{100 * single_hits / single_total:17.1f}",
                flush=True,
            )


def claims(pool: Pool, options: argparse.Namespace, random: np.random.Generator) -> None:
    """Print false claims among equal systems: scores and costs of an item are drawn from the same real answers."""
    print("fields of equal systems")
    print("field  items  fields  called the winner %")
    for size in (2, 10, 40):
        for count in (30, 100):
            false_claims = 0
            for _ in range(options.equal):
                picked = random.integers(0, pool.items, count)
                systems = random.integers(0, len(pool.h), (size, count))
                part = seen(pool.h[systems, picked], pool.tokens[systems, picked], pool.seconds[systems, picked])
                q = figures(part, RULES).q[0]
                best = int(np.argmax(q))
                others = [(best, seat) for seat in np.argsort(-q).tolist() if seat != best]
                resampled = resample(part, RULES, others, options.resamples, int(random.integers(2**31)), keep=1)
                false_claims += all((span.all_low or 0) > 0 for span in resampled.differences)
            print(f"{size:5}  {count:5}  {options.equal:6}  {100 * false_claims / options.equal:18.1f}", flush=True)


def tails(pool: Pool, options: argparse.Namespace, random: np.random.Generator) -> None:
    """Print the coverage for systems in which one item has the largest share of words, each against five others."""
    part_of = pool.seconds.max(axis=1) / pool.seconds.sum(axis=1)
    heavy = np.argsort(-part_of)[:6]
    print("systems with one huge answer, against five others each")
    print("largest item's part of all words  items  coverage %  samples with the note %")
    for seat in heavy.tolist():
        rivals = random.choice([other for other in range(len(pool.h)) if other != seat], 5, replace=False)
        for count in (100, 800):
            hits = notes = total = 0
            for rival in rivals.tolist():
                two = np.array([seat, rival])
                q = figures(sample_view(pool, two), RULES).q[0]
                for _ in range(options.samples):
                    picked = random.integers(0, pool.items, count)
                    part = sample_view(pool, two, picked)
                    low, high = first(resample(part, RULES, [(0, 1)], options.resamples, total, keep=1))
                    hits += low <= q[0] - q[1] <= high
                    notes += _has_tail_note(part)
                    total += 1
            print(
                f"{100 * part_of[seat]:31.1f}%  {count:5}  {100 * hits / total:10.1f}  {100 * notes / total:23.1f}",
                flush=True,
            )


def _has_tail_note(part: View) -> bool:
    """Whether the output would have a note on a cost with a heavy tail."""
    shape = part.h.shape
    status = np.zeros(shape, dtype=np.int8)
    costs = {name: Cost.known(part.costs.get(name, np.ones(shape))) for name in COST_NAMES}
    results = Results(
        ("a", "b"), part.items, np.arange(shape[1]), ("",) * shape[1], status, part.h, part.h, costs, np.zeros(shape)
    )
    return any(note.startswith("One item makes") for note in judge(results, Options(RULES, resamples=100)).notes)


PARTS = {"pairs": pairs, "trials": trials, "leader": leader, "claims": claims, "tails": tails}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--samples", type=int, default=60, help="samples a pair")
    parser.add_argument("--fields", type=int, default=200, help="fields of each size for the leader")
    parser.add_argument("--equal", type=int, default=1000, help="fields of equal systems of each size")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is not here: the leaderboard data is needed")
    pool = Pool()
    print(f"{pool.h.shape[0]} systems, {pool.items} items")
    for part in options.parts:
        PARTS[part](pool, options, np.random.default_rng(options.seed))


if __name__ == "__main__":
    main()
