"""Fit and measure the grounding detector: `python bench/fit_grounding.py [--data DIR] [--news FILE] [--write]`.

DIR holds labelled.jsonl.gz (set, document, claim, label: human judgements), pairs.jsonl.gz (article, summary,
hhem) and articles.jsonl.gz (article, text); FILE holds news articles (text). The data is not part of the project;
only the fitted numbers are. Needs lightgbm (`pip install lightgbm`), which the package itself does not.

Four kinds of evidence: human labels (six sets), HHEM scores of what models wrote, single-fact edits (`edits.py`) and
planted pairs (a good answer, and the same with a sentence about another article). First a linear model with
weights >= 0 over the eleven plain deficits, every set counting the same; then boosted trees on all features, which
start from that line and so fall back on it where they have seen nothing; then two numbers that calibrate.

What is left out is left out of the choice too. A choice is a group of features, what the kinds count and how many
trees. For each left-out part (a human set with all that shares a document with it; a third of the articles) every
choice is fitted again without that part and, in turn, without each of the others: the one with the best figures on
those others is fitted without the part and measured on it. Those are the figures printed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import edits
import grounding_parts as parts
import lightgbm
import numpy as np
from grounding_parts import HUMAN, Choice, Found, auc, choose, sigmoid
from numpy.typing import NDArray

from mashq.detectors.grounding import evidence, reading
from mashq.detectors.grounding.detector import COPY
from mashq.detectors.grounding.features import FEATURES, features
from mashq.detectors.grounding.passage import PASSAGE, SHAPE
from mashq.detectors.grounding.trees import FILE
from mashq.detectors.grounding.wording import WORDING

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Model = tuple[Floats, Any]
ROOT = Path(__file__).resolve().parents[1]

LINE = [f"{u}_{s}" for u in ("word", "pair", "number", "name", "scatter") for s in ("all", "worst")] + ["pair_count"]
COLUMNS = [FEATURES.index(name) for name in LINE]
COPIED = FEATURES.index("copied")
# What each kind counts in the trees; half of it for its good answers, half for its bad ones.
COUNTS = {
    "even": {"human": 0.5, "hhem": 3.0, "edit-model": 1.5, "edit-copy": 0.05, "edit-short": 0.15, "planted": 0.5},
    "people": {"human": 1.0, "hhem": 3.0, "edit-model": 2.0, "edit-copy": 0.05, "edit-short": 0.15, "planted": 0.5},
    "model": {"human": 0.25, "hhem": 4.0, "edit-model": 1.5, "edit-copy": 0.05, "edit-short": 0.15, "planted": 0.5},
}
# Features that the trees may not use.
WITHOUT = {"all": (), "no passage": PASSAGE[len(SHAPE) :], "neither": (*PASSAGE[len(SHAPE) :], *WORDING)}
TREES = (100, 200, 300)
SETTINGS = {
    "objective": "cross_entropy", "num_leaves": 15, "learning_rate": 0.06, "min_data_in_leaf": 60, "lambda_l2": 5.0,
    "feature_fraction": 0.4, "bagging_fraction": 0.7, "bagging_freq": 1, "num_threads": 1, "verbosity": -1, "seed": 1,
    "deterministic": True, "force_col_wise": True,
}  # fmt: skip
BINS = {"max_bin": 63, "verbosity": -1, "num_threads": 1}


@dataclass(frozen=True, slots=True)
class Rows:
    """One row per pair: its kind, what it tests, its document, its label in [0, 1] and its features."""

    kinds: NDArray[np.str_]
    tests: NDArray[np.str_]
    documents: NDArray[np.str_]
    labels: Floats
    x: Floats


def identity(document: str) -> str:
    """Return the first letters, which identify an article whose case and spacing differ between sets."""
    return re.sub(r"\W", "", document.casefold())[:60]


def read_rows(data: Path, news: Path) -> Rows:
    """Return the features of every pair; an answer without words is left out, since its score is fixed."""
    pairs = list(edits.pairs(data, news, random.Random(0)))
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][2])
    jobs = [[(i, *pairs[i][2:4]) for i in order[k : k + 500]] for k in range(0, len(order), 500)]
    table: dict[int, list[float]] = {}
    with multiprocessing.Pool(2) as pool:
        for part in pool.imap_unordered(measured, jobs):
            table |= part
    metadata = [
        (kind, test, identity(document), label)
        for i, (kind, test, document, _, label) in enumerate(pairs)
        if i in table
    ]
    kinds, tests, documents, labels = zip(*metadata, strict=True)
    x = np.array([table[i] for i in sorted(table)])
    return Rows(np.array(kinds), np.array(tests), np.array(documents), np.array(labels), x)


def measured(job: Sequence[tuple[int, str, str]]) -> dict[int, list[float]]:
    """Return the features of (number, document, answer) by number; consecutive equal documents are read once."""
    by_number: dict[int, list[float]] = {}
    previous, source = "", evidence.Source.of("")
    for i, document, answer in job:
        if document != previous:
            previous, source = document, evidence.Source.of(document)
        if tokens := reading.read(answer):
            by_number[i] = [float(f"{v:.5g}") for v in features(source, answer, tokens)]
    return by_number


class Fitter:
    """Fits several choices to the same rows; the linear model of a set of rows is fitted once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.lines: dict[bytes, Floats] = {}
        self.tables: dict[str, Any] = {}

    def __call__(self, use: Mask, choice: Choice) -> Model:
        """Fit the linear model, then trees that start from it (centred per kind)."""
        rows = self.rows
        line = self.line(use)
        weight = balance(rows, use, COUNTS[choice.counts])
        start = rows.x[:, COLUMNS] @ line
        for kind in np.unique(rows.kinds[use]):
            rows_of_kind = use & (rows.kinds == kind)
            start[rows_of_kind] -= np.average(start[rows_of_kind], weights=weight[rows_of_kind])
        data = self.table(choice.features).subset(np.flatnonzero(use)).construct()
        data.set_weight(weight[use])
        data.set_init_score(start[use])
        return line, lightgbm.train(SETTINGS, data, choice.trees)

    def line(self, use: Mask) -> Floats:
        key = use.tobytes()
        if key not in self.lines:
            plain = use & ~np.char.startswith(self.rows.kinds, "edit")
            rows = self.rows
            self.lines[key] = parts.fit_line(rows.x[plain][:, COLUMNS], rows.labels[plain], rows.kinds[plain])
        return self.lines[key]

    def table(self, group: str) -> Any:
        """Return the rows with the features outside the group set to 0, so that no tree can split on them."""
        if group not in self.tables:
            x = self.rows.x.astype(np.float32)
            x[:, [FEATURES.index(name) for name in WITHOUT[group]]] = 0.0
            blank = np.ones(len(x)), np.zeros(len(x))
            data = lightgbm.Dataset(
                x, self.rows.labels, weight=blank[0], init_score=blank[1], params=BINS, free_raw_data=False
            )
            self.tables[group] = data.construct()
        return self.tables[group]


def balance(rows: Rows, use: Mask, counts: dict[str, float]) -> Floats:
    weight = np.zeros(len(rows.labels))
    for kind in np.unique(rows.kinds):
        count = counts["human" if kind in HUMAN else kind]
        for side in (rows.labels >= 0.5, rows.labels < 0.5):
            rows_of_side = use & (rows.kinds == kind) & side
            weight[rows_of_side] = count / 2 / max(1, rows_of_side.sum())
    return weight * use.sum() / weight.sum()


def predict(model: Model, x: Floats, trees: int = -1) -> Floats:
    """Return log-odds before calibration, using `trees` trees (-1 for all)."""
    line, booster = model
    return x[:, COLUMNS] @ line + booster.predict(x, raw_score=True, num_iteration=trees, num_threads=1)


def ranks(rows: Rows, model: Model, test: Mask, trees: int = -1) -> Floats:
    """Return the detector's ranking scores: copies above everything else."""
    h = sigmoid(predict(model, rows.x[test], trees))
    return np.where(rows.x[test][:, COPIED] >= 1.0, COPY + (1 - COPY) * h, COPY * h)


def calibrate(rows: Rows, model: Model, use: Mask) -> tuple[float, float]:
    """Return (intercept, steepness) of least log-loss on unseen articles: model answers, edits and planted pairs."""
    shares = {"hhem": 0.75, "edit-model": 0.08, "edit-short": 0.05, "planted": 0.12}
    weight = np.zeros(len(rows.labels))
    for kind, share in shares.items():  # not balanced: H must be a probability
        selected = use & (rows.kinds == kind) & (rows.x[:, COPIED] < 1.0)
        weight[selected] = share / max(1, selected.sum())
    selected = weight > 0
    z, y, w = predict(model, rows.x[selected]), rows.labels[selected], weight[selected] / weight.sum()
    a, b = 0.0, 1.0
    for _ in range(50):  # Newton
        p = np.clip(COPY * sigmoid(a + b * z), 1e-6, COPY)
        g, v = w * (y - p), w * np.maximum(p * (1 - p), 1e-6)
        hessian = np.array([[v.sum(), (v * z).sum()], [(v * z).sum(), (v * z * z).sum()]])
        step = np.linalg.solve(hessian, [g.sum(), (g * z).sum()])
        a, b = a + 0.5 * float(step[0]), b + 0.5 * float(step[1])
    return a, b


def units(rows: Rows) -> dict[str, Mask]:
    """Return the parts that are left out in turn, each with all that shares a document with it: the human sets, and
    two thirds of the articles. The second third only serves to choose when the first is left out."""
    masks = {name: np.isin(rows.documents, rows.documents[rows.kinds == name]) for name in HUMAN}
    third = np.array([zlib.crc32(document.encode()) % 3 for document in rows.documents])
    return masks | {"articles": third == 0, "more articles": third == 1}


def figures(rows: Rows, unit: str, away: Mask, model: Model, trees: int) -> list[float]:
    """Return the AUC of a model on a part: one for a human set, HHEM's and the edits' for articles."""

    def area(test: Mask) -> float:
        return auc(rows.labels[test], ranks(rows, model, test, trees))

    if unit in HUMAN:
        return [area(rows.kinds == unit)]
    return [area(away & (rows.kinds == kind)) for kind in ("hhem", "edit-model")]


def compare(fitter: Fitter) -> Found:
    """Return (left out, measured on, choice) -> figures on the second, fitted without both."""
    results: Found = {}
    with multiprocessing.get_context("fork").Pool(2, begin, [fitter]) as pool:
        for part in pool.imap_unordered(compare_one, [(group, counts) for group in WITHOUT for counts in COUNTS]):
            results |= part
    return results


_fitter: list[Fitter] = []  # of this process


def begin(fitter: Fitter) -> None:
    _fitter[:] = [fitter]


def compare_one(group_and_counts: tuple[str, str]) -> Found:
    fitter, rows = _fitter[0], _fitter[0].rows
    away = units(rows)
    results: Found = {}
    for left, right in combinations(away, 2):
        if right == "more articles" and left != "articles":
            continue
        model = fitter(~away[left] & ~away[right], Choice(*group_and_counts, max(TREES)))
        for trees in TREES:
            choice = Choice(*group_and_counts, trees)
            results[left, right, choice] = figures(rows, right, away[right], model, trees)
            results[right, left, choice] = figures(rows, left, away[left], model, trees)
    return results


def measure_human(rows: Rows, fitter: Fitter, results: Found) -> None:
    scores: list[float] = []
    for name in HUMAN:
        choice, test = choose(results, name), rows.kinds == name
        model = fitter(~units(rows)[name], choice)
        scores.append(auc(rows.labels[test], ranks(rows, model, test)))
        print(f"{name:24}{test.sum():7}{rows.labels[test].mean():7.2f}{scores[-1]:8.3f}  {tuple(choice)}", flush=True)
    print(f"{'mean of the six':38}{np.mean(scores):8.3f}")


def measure_rest(rows: Rows, model: Model, away: Mask) -> None:
    def line(name: str, test: Mask) -> None:
        value = auc(rows.labels[test], ranks(rows, model, test))
        print(f"{name:24}{test.sum():7}{(rows.labels[test] >= 0.5).mean():7.2f}{value:8.3f}")

    news = np.isin(rows.kinds, ["edit-copy", "edit-short"])
    for kind in ("hhem", "planted", "edit-copy", "edit-short", "edit-model"):
        line(kind, away & (rows.kinds == kind))
    line("edits of news", away & news)
    for kind in edits.KINDS:
        line(f"  news, {kind}", away & news & (rows.tests == kind))
        line(f"  model, {kind}", away & (rows.kinds == "edit-model") & (rows.tests == kind))


def measure_calibration(rows: Rows, model: Model, test: Mask, shift: float, steepness: float) -> None:
    """Print the share of good answers by score, for HHEM's verdicts and for the edits."""
    h = COPY * sigmoid(shift + steepness * predict(model, rows.x))
    copied = rows.x[:, COPIED] >= 1.0
    h[copied] = 1 - (1 - COPY) * (1 - h[copied] / COPY)
    bad = test & (rows.kinds == "planted") & (rows.labels < 0.5)
    print(f"planted, scored below 0.6: {(h[bad] < 0.6).mean():.3f}")
    for kind in ("hhem", "edit-model", "edit-short"):
        of_kind = test & (rows.kinds == kind)
        print(f"{kind}: mean H {h[of_kind].mean():.3f}, good {(rows.labels[of_kind] >= 0.5).mean():.3f}")
        for low in np.arange(0.0, 1.0, 0.1):
            cell = of_kind & (h >= low) & (h < low + 0.1)
            if cell.sum() >= 20:
                good = (rows.labels[cell] >= 0.5).mean()
                print(f"  {low:.1f}-{low + 0.1:.1f}{cell.sum():7}  mean H {h[cell].mean():.2f}  good {good:.2f}")


def export(model: Model, shift: float, steepness: float) -> str:
    """Return the model as JSON, one tree per line; nodes in preorder."""
    line, booster = model
    flat = [parts.flat(info["tree_structure"]) for info in booster.dump_model()["tree_info"]]
    trees = [json.dumps(tree, separators=(",", ":")) for tree in flat]
    head = {
        "made_by": "bench/fit_grounding.py --write",
        "features": FEATURES,
        "intercept": round(shift, 4),
        "steepness": round(steepness, 4),
        "line": {name: round(float(weight), 4) for name, weight in zip(LINE, line, strict=True)},
    }
    return json.dumps(head, indent=1)[:-2] + ',\n "trees": [\n' + ",\n".join(trees) + "\n]}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and measure the grounding detector.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/detector")
    parser.add_argument("--news", type=Path, default=ROOT.parent / "shared/data/news/wikinews.jsonl")
    parser.add_argument("--write", action="store_true", help="write the fitted trees into the package")
    options = parser.parse_args()
    rows = read_rows(options.data, options.news)
    fitter = Fitter(rows)
    results = compare(fitter)
    away = units(rows)["articles"]
    choice, final = choose(results, "articles"), choose(results, None)
    model = fitter(~away, choice)
    shipped = fitter(~away, final)  # the shipped choice without these articles: what calibrates it
    shift, steepness = calibrate(rows, shipped, away)
    if options.write:
        full_model = fitter(np.ones(len(away), dtype=np.bool_), final)
        (ROOT / "src/mashq/detectors/grounding" / FILE).write_text(
            export(full_model, shift, steepness), encoding="utf-8"
        )
    print(f"{'unseen':24}{'pairs':>7}{'good':>7}{'AUC':>8}  chosen without it")
    measure_human(rows, fitter, results)
    measure_rest(rows, model, away)
    print(f"articles: {tuple(choice)}; shipped: {tuple(final)}")
    measure_calibration(rows, shipped, away, shift, steepness)


if __name__ == "__main__":
    main()
