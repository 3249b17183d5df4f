"""Coverage: the share of a source's key words that an answer contains. No reference, no download, no model.

Contract: a word's weight is the number of source sentences it occurs in, to the power of POWER (a number counts half
as much again): a text is about what it keeps returning to. The heaviest PART of the distinct words, earlier ones
first on a tie, are the key words; coverage is the share of their weight that the answer contains at least once, in
[0, 1]. So repetition does not raise it, nor do words that the source lacks or barely mentions, and it never exceeds
1. It says nothing about truth: an answer can contain the right words and distort them. A source without such words is
covered by any answer with a word. Time is linear in the lengths; equal pairs get equal scores in any order and batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from mashq.detectors.base import Pair
from mashq.detectors.grounding.reading import read

__all__ = ["PART", "Coverage", "carried", "matters"]

PART = 0.3  # of the distinct words of a source
FEWEST = 10  # key words at least, if the source has that many
NUMBER = 1.5  # factor on the sentence count of a number
POWER = 1.5


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of its source's key words that an answer contains."""

    name: str = "coverage"
    version: str = "1"
    free: ClassVar[bool] = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The coverage of each pair, in the order given."""
        return [carried(_matters(pair.source), pair.answer) for pair in pairs]


def matters(source: str, part: float = PART) -> dict[str, float]:
    """Return the key words of a source, each with its share of the weight."""
    sentences: dict[str, set[int]] = {}
    numbers: set[str] = set()
    for token in read(source):
        if token.kind != "function":
            sentences.setdefault(token.key, set()).add(token.sentence)
            if token.kind == "number":
                numbers.add(token.key)
    weights = {key: (len(places) * (NUMBER if key in numbers else 1.0)) ** POWER for key, places in sentences.items()}
    ranked = sorted(weights, key=lambda key: -weights[key])[: max(FEWEST, int(part * len(weights)))]
    total = sum(weights[key] for key in ranked)
    return {key: weights[key] / total for key in ranked}


@lru_cache(256)
def _matters(source: str) -> Mapping[str, float]:
    return matters(source)


def carried(wanted: Mapping[str, float], answer: str) -> float:
    """Return the share of the key words' weight that an answer contains."""
    keys = {token.key for token in read(answer)}
    if not wanted:
        return float(bool(keys))
    return min(1.0, sum(weight for key, weight in wanted.items() if key in keys))
