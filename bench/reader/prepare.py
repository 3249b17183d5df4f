"""The reader's training and test data as one file of numbers: `python bench/reader/prepare.py --out FILE`.

Reads the same data as `bench/fit_grounding.py` (see there) and the embedded model's vocabulary. The file holds
every text as token ids, the rows to measure on (those of `bench/edits.py`, in their order) and the rows to
train on: people's labels, HHEM's scores, and generated pairs (a faithful answer, the same with one fact changed;
`rewrites.py`). Seeds are fixed. The file contains third-party text in token form and is not part of the project.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import edits
import rewrites
from grounding_parts import HUMAN

from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.tokens import Tokens
from mashq.gateway.backends import weights

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 400  # tokens of an answer to train on
KINDS = (*HUMAN, "hhem", "edit-copy", "edit-short", "edit-model", "edit-human", "planted")


def identity(document: str) -> str:
    """Return the first letters, which identify an article whose case and spacing differ between sets."""
    return re.sub(r"\W", "", document.casefold())[:60]


@dataclass
class Store:
    """Texts as tokens, rows as numbers."""

    tokens: Tokens
    documents: dict[str, int] = field(default_factory=dict[str, int])
    answers: list[list[int]] = field(default_factory=list[list[int]])
    odd: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # changed tokens, -1 unknown
    rows: list[tuple[int, int, str, float, int, int]] = field(
        default_factory=list[tuple[int, int, str, float, int, int]]
    )

    def add(self, document: str, kind: str, test: str, answer: str, label: float, use: int, partner: int = -1) -> int:
        """Add one row; `use` is 1 to train on, 2 to measure on, 3 for both."""
        document_number = self.documents.setdefault(document, len(self.documents))
        self.answers.append(self.tokens.ids(answer.encode("utf-8", "replace").decode()))
        self.odd.append((-1, -1))
        self.rows.append((document_number, KINDS.index(kind), test, label, use, partner))
        return len(self.rows) - 1

    def two(self, document: str, kind: str, test: str, good: str, bad: str) -> None:
        """Add a faithful answer and its changed twin, with the tokens that differ."""
        first = self.add(document, kind, test, good, 1.0, 1)
        second = self.add(document, kind, test, bad, 0.0, 1, partner=first)
        self.odd[first] = (0, 0)
        if test in rewrites.SCATTERED:
            return
        a, b = self.answers[first], self.answers[second]
        start = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        end = next((i for i, (x, y) in enumerate(zip(a[::-1], b[::-1])) if x != y), min(len(a), len(b)))
        self.odd[second] = (start, min(len(b), max(start + 1, len(b) - end)))


def build(store: Store, data: Path, news: Path) -> None:
    """Add all rows: first those to measure on, in the order of `edits.pairs`."""
    for kind, test, document, answer, label in edits.pairs(data, news, random.Random(0)):
        store.add(document, kind, test, answer, label, 3 if kind in (*HUMAN, "hhem") else 2)
    rng = random.Random(17)
    texts = [json.loads(line)["text"] for line in news.read_text(encoding="utf-8").splitlines()]
    foreign = rng.sample(sorted({name for text in texts for name in edits.names(text)}), 4000)
    others = [s for text in texts for s in edits.sentences(text)]
    articles = {row["article"]: row["text"] for row in edits.records(data / "articles.jsonl.gz")}
    good = [
        (articles[row["article"]], row["summary"], "edit-model", 2)
        for row in edits.records(data / "pairs.jsonl.gz") if row["hhem"] >= 0.75
    ]  # fmt: skip
    good += [
        (row["document"], row["claim"], "edit-human", 1)
        for row in edits.records(data / "labelled.jsonl.gz") if row["label"] == 1
    ]  # fmt: skip
    sources = [*texts * 4, *list(articles.values()) * 3]
    sources += sorted({row["document"] for row in edits.records(data / "labelled.jsonl.gz")}) * 2
    faithful: list[tuple[str, str, str, int]] = [*good]
    for document in sources:
        if len(edits.sentences(document)) >= 4:
            summary = edits.extract(document, rng)
            short = rng.random() < 0.7
            faithful.append(
                (
                    document,
                    edits.shorten(summary, rng) if short else summary,
                    "edit-short" if short else "edit-copy",
                    2,
                )
            )
    for document, summary, kind, tries in faithful:
        for test in rng.sample(rewrites.KINDS, tries + 1)[: tries + (rng.random() < 0.3)]:
            text = rewrites.keep(summary, document, rng) if rng.random() < 0.6 else summary
            changed = rewrites.change(test, document, text, foreign, others, rng)
            if changed is not None and changed != text:
                store.two(document, kind, test, text, changed)


def packed(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, lists)])
    return np.array([token for ids in lists for token in ids], dtype=np.uint16), ends.astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description="Token ids and rows for training the reader.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/detector")
    parser.add_argument("--news", type=Path, default=ROOT.parent / "shared/data/news/wikinews.jsonl")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    path = weights.fetch(print)
    file = Gguf(path)
    tokens = Tokens(file.texts("tokenizer.ggml.tokens"), file.texts("tokenizer.ggml.merges"))
    store = Store(tokens)
    build(store, options.data, options.news)
    documents = list(store.documents)
    owners = {name: set[str]() for name in HUMAN}
    for document_number, kind, *_ in store.rows:
        if KINDS[kind] in owners:
            owners[KINDS[kind]].add(identity(documents[document_number]))
    names = [identity(document) for document in documents]
    doc_tokens, doc_ends = packed([tokens.ids(d.encode("utf-8", "replace").decode()) for d in documents])
    answer_tokens, answer_ends = packed(store.answers)
    tests = sorted({row[2] for row in store.rows})
    np.savez_compressed(
        options.out,
        doc_tokens=doc_tokens, doc_ends=doc_ends, answer_tokens=answer_tokens, answer_ends=answer_ends,
        third=np.array([zlib.crc32(name.encode()) % 3 for name in names], dtype=np.int8),
        sets=np.array([[name in owners[s] for s in HUMAN] for name in names]),
        odd=np.array(store.odd, dtype=np.int32),
        doc=np.array([r[0] for r in store.rows], dtype=np.int32),
        kind=np.array([r[1] for r in store.rows], dtype=np.int8),
        test=np.array([tests.index(r[2]) for r in store.rows], dtype=np.int8),
        tests=np.array(tests), kinds=np.array(KINDS),
        label=np.array([r[3] for r in store.rows], dtype=np.float32),
        use=np.array([r[4] for r in store.rows], dtype=np.int8),
        partner=np.array([r[5] for r in store.rows], dtype=np.int32),
        prefix=np.array(tokens.ids("Article:\n"), dtype=np.uint16),
        middle=np.array(tokens.ids("\n\nSummary:\n"), dtype=np.uint16),
        end=np.array(tokens.ids("\n\n"), dtype=np.uint16),
    )  # fmt: skip
    train = [i for i, r in enumerate(store.rows) if r[4] & 1]
    print(f"{len(documents)} documents, {len(store.rows)} rows, {len(train)} to train on", file=sys.stderr)
    print(f"{sum(len(store.answers[i]) for i in train)} answer tokens to train on", file=sys.stderr)
    for number, kind in enumerate(KINDS):
        rows = [r for r in store.rows if r[1] == number]
        print(f"{kind:12}{sum(r[4] & 1 for r in rows):7} to train on{sum(r[4] >> 1 for r in rows):7} to measure on")


if __name__ == "__main__":
    main()
