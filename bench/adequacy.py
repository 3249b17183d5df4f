"""Does coverage rank summaries as people do, and better than their length does?

Needs the judgements in ../shared. For each set of judged summaries: Spearman's rank correlation with people's
judgements within documents (the mean over documents) and between systems (of their means), for the number of words,
the H of `grounding` and `coverage`; then `coverage` with the share of a source's words that counts, chosen on the
other sets; and how long an answer to a source of 600 words takes.
"""

import gzip
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mashq.analysis.validation import agreement
from mashq.detectors.base import Pair
from mashq.detectors.coverage import Coverage, carried, matters
from mashq.detectors.grounding.detector import Grounding
from mashq.protocol.results import Floats
from mashq.protocol.texts import words

DATA = Path(__file__).parents[2] / "shared" / "data" / "adequacy" / "judged.jsonl.gz"
PARTS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
Row = dict[str, Any]
Scores = Sequence[float]


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation."""
    return float(agreement.spearman(x, y)(np.ones((1, len(x))))[0])


def correlations(rows: Sequence[Row], scores: Scores) -> tuple[float, float]:
    """Return the correlations within documents, and between systems."""
    documents: dict[str, list[tuple[float, float]]] = defaultdict(list)
    systems: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, value in zip(rows, scores, strict=True):
        documents[row["document"]].append((value, row["human"]))
        systems[row["system"]].append((value, row["human"]))
    per_document: list[float] = []
    for pairs in documents.values():
        values, human = np.array(pairs).T
        if len(set(human)) > 1:  # equal ratings rank nothing
            per_document.append(spearman(values, human) if len(set(values)) > 1 else 0.0)
    means = np.array([np.mean(pairs, axis=0) for pairs in systems.values()])
    return float(np.mean(per_document)), spearman(means[:, 0], means[:, 1])


def covered(rows: Sequence[Row], part: float) -> list[float]:
    """Return the coverage with another share of the words."""
    key_words = {source: matters(source, part) for source in {row["source"] for row in rows}}
    return [carried(key_words[row["source"]], row["answer"]) for row in rows]


def milliseconds(rows: Sequence[Row]) -> float:
    """Return the time per answer, including its source, for a source of 600 words."""
    source = " ".join(row["source"] for row in rows[:2]).split(" ")
    pairs = [Pair(" ".join([str(number), *source])[:3600], row["answer"]) for number, row in enumerate(rows[:200])]
    started = time.process_time()
    Coverage().score(pairs)
    spent = 1000 * (time.process_time() - started) / len(pairs)
    return spent * 600 / float(np.mean([len(words(pair.source)) for pair in pairs]))


def judged() -> dict[str, list[Row]]:
    """Return the judgements, by set."""
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        rows: list[Row] = [json.loads(line) for line in file]
    return {name: [row for row in rows if row["set"] == name] for name in dict.fromkeys(r["set"] for r in rows)}


def table(sets: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the correlations by measure and set; "left out" is coverage with its share chosen on the other sets."""
    measures: dict[str, Callable[[Sequence[Row]], Scores]] = {
        "words": lambda rows: [len(words(row["answer"])) for row in rows],
        "coverage": lambda rows: Coverage().score([Pair(row["source"], row["answer"]) for row in rows]),
    }
    by_measure = {
        measure: {name: correlations(rows, scores(rows)) for name, rows in sets.items()}
        for measure, scores in measures.items()
    }
    grid = {name: {part: correlations(rows, covered(rows, part)) for part in PARTS} for name, rows in sets.items()}
    by_measure["left out"] = {
        name: grid[name][max(PARTS, key=lambda part: sum(sum(grid[other][part]) for other in sets if other != name))]
        for name in sets
    }
    return by_measure


def main() -> None:
    """Print the table."""
    sets = judged()
    by_measure = table(sets)
    by_measure["grounding"] = {
        name: correlations(rows, Grounding().score([Pair(row["source"], row["answer"]) for row in rows]))
        for name, rows in sets.items()
    }
    print(f"{'within / between':20}" + "".join(f"{name:>16}" for name in sets))
    for name, cells in by_measure.items():
        print(f"{name:20}" + "".join(f"{within:9.3f} /{between:5.2f}" for within, between in cells.values()))
    all_rows = [row for rows in sets.values() for row in rows]
    print(f"milliseconds for an answer to 600 words: {milliseconds(all_rows):.2f}")


if __name__ == "__main__":
    main()
