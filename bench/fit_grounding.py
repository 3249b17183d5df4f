"""Fit and measure the grounding detector: `python bench/fit_grounding.py [--data DIR] [--write]`.

DIR holds labelled.jsonl.gz (set, document, claim, label: human judgements), pairs.jsonl.gz (article, summary,
hhem) and articles.jsonl.gz (article, text). The data is not part of the project; only the fitted numbers are.

Three kinds of evidence: human labels (six sets), HHEM scores of what models wrote, and planted pairs (an
answer that is copied, or that HHEM finds good, is good as it is and bad with a sentence about another article
added). Slopes: a logistic regression with weights >= 0, one free intercept per set (the sets differ in how
often answers are wrong), every set counting the same, a small ridge. Then one number, the steepness, is
fitted with the intercept held where a verbatim copy scores COPY, the three kinds counting the same.

Measured: AUC on each human set with that set, and all that shares a document with it, left out of the fit;
AUC against HHEM >= 0.5 on articles that the fit did not see.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mashq.detectors import evidence, reading

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROOT = Path(__file__).resolve().parents[1]
WEIGHTS_FILE = ROOT / "src/mashq/detectors/grounding_weights.py"

COPY = 0.96  # the score of a verbatim copy
RIDGE = 0.05
HHEM_PAIRS = 8000  # of 30,000: enough for a dozen weights
PLANTED = 1000
UNSEEN = 3  # every third article is kept for the HHEM measurement
HHEM, PLANT = "hhem", "planted"


@dataclass(frozen=True, slots=True)
class Rows:
    """One row a pair: its set, its document, its label in [0, 1] and its deficits."""

    sets: NDArray[np.str_]
    documents: NDArray[np.str_]
    labels: Floats
    deficits: Floats


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def identity(document: str) -> str:
    """The same article in two sets differs in case and spacing: its first letters identify it."""
    return re.sub(r"\W", "", document.casefold())[:60]


def pairs(data: Path, rng: random.Random) -> Iterator[tuple[str, str, str, float]]:
    """All (set, document, answer, label), human labels first."""
    for row in records(data / "labelled.jsonl.gz"):
        yield row["set"], row["document"], row["claim"], float(row["label"])
    articles = {row["article"]: row["text"] for row in records(data / "articles.jsonl.gz")}
    judged = rng.sample(list(records(data / "pairs.jsonl.gz")), HHEM_PAIRS)
    for row in judged:
        yield HHEM, articles[row["article"]], row["summary"], float(row["hhem"])
    good = [(articles[row["article"]], row["summary"]) for row in judged if float(row["hhem"]) >= 0.8]
    for _ in range(PLANTED):
        (document, answer), (other, foreign) = rng.sample(good, 2)
        if other == document:
            continue
        if rng.random() < 0.5:  # half of them copies, half of them what models write
            own = sentences(document)
            answer, foreign = " ".join(rng.sample(own, min(len(own), rng.randint(1, 5)))), other
        yield PLANT, document, answer, 1.0
        yield PLANT, document, f"{answer} {rng.choice(sentences(foreign))}", 0.0


def sentences(text: str) -> list[str]:
    """Sentences of at least five words (the whole text when it has none)."""
    return [s for s in re.split(r"(?<=[.!?])\s+", text) if len(s.split()) >= 5] or [text]


def read_rows(data: Path) -> Rows:
    """Deficits of every pair; an answer without words is left out, since no weight changes its score."""
    sources: dict[str, evidence.Source] = {}
    sets: list[str] = []
    documents: list[str] = []
    labels: list[float] = []
    table: list[tuple[float, ...]] = []
    for name, document, answer, label in pairs(data, random.Random(0)):
        if document not in sources:
            sources[document] = evidence.Source.of(document)
        tokens = reading.read(answer)
        if tokens:
            sets.append(name)
            documents.append(identity(document))
            labels.append(label)
            table.append(evidence.deficits(sources[document], tokens))
    return Rows(np.array(sets), np.array(documents), np.array(labels), np.array(table))


def fit_slopes(rows: Rows, use: Mask) -> Floats:
    """Non-negative slopes by projected gradient descent with momentum; one free intercept per set."""
    names, which = np.unique(rows.sets[use], return_inverse=True)
    weight = (1.0 / np.bincount(which))[which] / len(names)
    scale = rows.deficits[use].std(axis=0) + 1e-9
    x, y = rows.deficits[use] / scale, rows.labels[use]
    slopes, intercepts = np.zeros(x.shape[1]), np.zeros(len(names))
    ahead_slopes, ahead_intercepts = slopes, intercepts
    step = 4.0 / (float((weight[:, None] * x * x).sum()) + 1.0 + 4 * RIDGE)
    for k in range(1, 3001):
        error = weight * (sigmoid(ahead_intercepts[which] - x @ ahead_slopes) - y)
        new_slopes = np.maximum(0.0, ahead_slopes + step * (x.T @ error - RIDGE / len(names) * ahead_slopes))
        new_intercepts = ahead_intercepts - step * np.bincount(which, error)
        momentum = k / (k + 3)
        ahead_slopes = new_slopes + momentum * (new_slopes - slopes)
        ahead_intercepts = new_intercepts + momentum * (new_intercepts - intercepts)
        slopes, intercepts = new_slopes, new_intercepts
    return slopes / scale


def fit_steepness(rows: Rows, slopes: Floats) -> float:
    """The factor on the slopes with the least log-loss while a copy scores COPY; each kind counts the same."""
    kinds = np.where(np.isin(rows.sets, [HHEM, PLANT]), rows.sets, "human")
    names, which = np.unique(kinds, return_inverse=True)
    weight = (1.0 / np.bincount(which))[which] / len(names)
    z, y = rows.deficits @ slopes, rows.labels

    def loss(factor: float) -> float:
        h = np.clip(sigmoid(logit(COPY) - factor * z), 1e-9, 1 - 1e-9)
        return -float(weight @ (y * np.log(h) + (1 - y) * np.log(1 - h)))

    return min((float(f) for f in np.arange(0.1, 4.0, 0.01)), key=loss)


def sigmoid(z: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-z))


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def auc(labels: Floats, scores: Floats) -> float:
    """The chance that a good answer outranks a bad one, ties counting half."""
    good = labels >= 0.5
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(good.sum())
    return float((rank[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def unseen(rows: Rows) -> Mask:
    """All rows of every third article that HHEM scored answers to."""
    articles = np.unique(rows.documents[rows.sets == HHEM])
    return np.isin(rows.documents, articles[::UNSEEN])


def measure(rows: Rows, human: list[str]) -> None:
    print(f"{'left out':12}{'pairs':>7}{'good':>7}{'AUC':>8}")
    scores: list[float] = []
    for name in human:
        test = rows.sets == name
        train = ~np.isin(rows.documents, rows.documents[test])
        scores.append(auc(rows.labels[test], -(rows.deficits[test] @ fit_slopes(rows, train))))
        print(f"{name:12}{test.sum():7}{rows.labels[test].mean():7.2f}{scores[-1]:8.3f}")
    print(f"{'mean':26}{np.mean(scores):8.3f}")
    away = unseen(rows)
    test = away & (rows.sets == HHEM)
    good = (rows.labels[test] >= 0.5).mean()
    held_out = auc(rows.labels[test], -(rows.deficits[test] @ fit_slopes(rows, ~away)))
    print(f"HHEM >= 0.5{test.sum():8}{good:7.2f}{held_out:8.3f}   (unseen articles)\n")


def summary(rows: Rows, h: Floats) -> None:
    """Quartiles of H for the good and the bad of each set: what the calibration does."""
    print(f"{'H quartiles':12}{'good':>18}{'bad':>20}")
    for name in np.unique(rows.sets):
        line = f"{name:12}"
        for side in (rows.labels >= 0.5, rows.labels < 0.5):
            quartiles = np.quantile(h[(rows.sets == name) & side], [0.25, 0.5, 0.75])
            line += "  " + " ".join(f"{q:5.2f}" for q in quartiles)
        print(line)
    added = h[(rows.sets == PLANT) & (rows.labels < 0.5)]
    print(f"answers with a planted sentence that score below 0.6: {(added < 0.6).mean():.1%}")


def table(weights: Floats) -> str:
    lines = [f'    "{name}": {weight:.3f},' for name, weight in zip(evidence.DEFICITS, weights, strict=True)]
    return "\n".join(
        [
            '"""The fitted numbers of the grounding detector, written by `bench/fit_grounding.py --write`.',
            "",
            f"INTERCEPT is the log-odds of {COPY}, the score of a verbatim copy. A weight is what the whole deficit",
            "costs, in log-odds; `evidence` says what each deficit counts.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            f"INTERCEPT = {logit(COPY):.3f}",
            "",
            "WEIGHTS: dict[str, float] = {",
            *lines,
            "}",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and measure the grounding detector.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/detector")
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    rows = read_rows(options.data)
    human = [str(name) for name in np.unique(rows.sets) if name not in {HHEM, PLANT}]
    measure(rows, human)
    slopes = fit_slopes(rows, np.ones(len(rows.labels), dtype=np.bool_))
    steepness = fit_steepness(rows, slopes)
    weights = slopes * steepness
    print(f"steepness {steepness:.2f}\n")
    summary(rows, sigmoid(logit(COPY) - rows.deficits @ weights))
    print("\n" + table(weights))
    if options.write:
        WEIGHTS_FILE.write_text(table(weights), encoding="utf-8")


if __name__ == "__main__":
    main()
