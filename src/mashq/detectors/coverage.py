"""Coverage: how much of what matters in a source an answer carries. No reference, no download, no model.

Contract: a word of the source weighs the more the more sentences it stands in (their number to the power of POWER, a
number counting half as much again): what a text comes back to is what it is about. The weightiest PART of the
different words, those that come first where they weigh the same, are what matters; coverage is the share of their
weight that the answer has at least once, in [0, 1]. So nothing that is repeated, and nothing that the source does not
have or hardly touches, raises it, and nothing raises it above 1. It says nothing about truth: an answer can carry the
right words and twist them. A source without such words has nothing to carry, and any answer with a word covers it.
Time is linear in the lengths; equal pairs get equal scores in any order and batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mashq.detectors.base import Pair
from mashq.detectors.grounding.reading import read

__all__ = ["PART", "Coverage", "carried", "matters"]

PART = 0.3  # of the different words of a source
FEWEST = 10  # words that matter, where the source has so many
NUMBER = 1.5  # sentences that a number in one of them counts for
POWER = 1.5


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what matters in its source an answer carries."""

    name: str = "coverage"
    version: str = "1"
    free: bool = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The coverage of each pair, in the order given."""
        return [carried(_matters(pair.source), pair.answer) for pair in pairs]


def matters(source: str, part: float = PART) -> dict[str, float]:
    """What matters in a source, by word: its share of the weight."""
    sentences: dict[str, set[int]] = {}
    numbers: set[str] = set()
    for token in read(source):
        if token.kind != "function":
            sentences.setdefault(token.key, set()).add(token.sentence)
            if token.kind == "number":
                numbers.add(token.key)
    weights = {key: (len(where) * (NUMBER if key in numbers else 1.0)) ** POWER for key, where in sentences.items()}
    ranked = sorted(weights, key=lambda key: -weights[key])[: max(FEWEST, int(part * len(weights)))]
    total = sum(weights[key] for key in ranked)
    return {key: weights[key] / total for key in ranked}


@lru_cache(256)
def _matters(source: str) -> Mapping[str, float]:
    return matters(source)


def carried(wanted: Mapping[str, float], answer: str) -> float:
    """How much an answer has of what matters."""
    there = {token.key for token in read(answer)}
    if not wanted:
        return float(bool(there))
    return min(1.0, sum(weight for key, weight in wanted.items() if key in there))
