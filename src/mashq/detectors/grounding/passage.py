"""How a source is written: what makes it easy or hard to summarise, whatever the answer.

Contract: `passage` gives one number for each name in PASSAGE, in time linear in the source. A text that opens in the
middle of things, uses surnames alone and is full of names and hedges invites the summariser to add details.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from mashq.detectors.grounding.reading import Token
from mashq.detectors.grounding.words import DATES, HEDGES, PAST, PRONOUNS, RELATIVE, SAYING

__all__ = ["PASSAGE", "SHAPE", "lone_names", "passage"]

SHAPE = ("source_numbers", "source_names", "source_length", "source_quotes", "source_pronouns", "source_variety")
PASSAGE = (
    *SHAPE,
    "source_people",  # distinct names
    "source_lone",  # names that the source never gives in full
    "source_counts",  # numbers
    "source_once",  # words that occur once
    "source_letters",  # letters per word
    "source_opening",  # tokens of the first sentence
    "source_the",  # whether it opens with "the"
    "source_brackets",
    "source_function",
    "source_hedges",
    "source_past",
    "source_relative",
    "source_saying",
)


def lone_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names that never occur next to another name."""
    full: set[str] = set()
    for left, right in pairwise(tokens):
        if left.kind == right.kind == "name" and left.sentence == right.sentence and right.start - left.end <= 1:
            full |= {left.key, right.key}
    return frozenset(t.key for t in tokens if t.kind == "name" and t.key not in full and t.key not in DATES)


def passage(text: str, tokens: Sequence[Token], lone: frozenset[str]) -> tuple[float, ...]:
    """Return one number for each name in PASSAGE, in that order."""
    n = len(tokens) or 1
    times = Counter(t.key for t in tokens)
    names = {t.key for t in tokens if t.kind == "name"}
    numbers = sum(t.kind == "number" for t in tokens)
    sentences = tokens[-1].sentence + 1 if tokens else 1

    def share(words: frozenset[str]) -> float:
        return sum(times[word] for word in words) / n

    return (
        numbers / n,
        sum(t.kind == "name" for t in tokens) / n,
        n / sentences if tokens else 0.0,
        sum(map(text.count, "\"“”'‘’")) / n,
        share(PRONOUNS),
        len(times) / n,
        math.log1p(len(names)),
        len(lone) / (len(names) or 1),
        math.log1p(numbers),
        sum(count == 1 for count in times.values()) / n,
        sum(t.end - t.start for t in tokens) / n,
        sum(t.sentence == 0 for t in tokens),
        float(bool(tokens) and tokens[0].key == "the"),
        text.count("(") / sentences,
        sum(t.kind == "function" for t in tokens) / n,
        share(HEDGES),
        share(PAST),
        share(RELATIVE),
        share(SAYING),
    )
