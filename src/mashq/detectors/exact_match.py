"""Exact match against a reference answer.

Contract: H is 1.0 when answer and reference are equal after NFKC, casefold, dropping punctuation (a dash
becomes a space) and the articles a, an, the, and collapsing white space; else 0.0. The source is not read.
A pair without a reference is a ValueError.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mashq.detectors.base import Pair

__all__ = ["ExactMatch", "normalise"]

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """1.0 for an answer equal to its reference, else 0.0."""

    name: str = "exact-match"
    version: str = "1"
    needs_reference: ClassVar[bool] = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        return [_score(pair) for pair in pairs]


def normalise(text: str) -> str:
    """Normalise for comparison; nothing is dropped where that would leave an empty text ("The The", "?!")."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = "".join(_without_punctuation(c) for c in folded).split() or folded.split()
    kept = " ".join([word for word in words if word not in _ARTICLES] or words)
    return unicodedata.normalize("NFKC", kept)  # dropping punctuation can bring an accent to its letter


def _without_punctuation(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd":
        return " "  # a dash joins two words
    return "" if category[0] == "P" else character


def _score(pair: Pair) -> float:
    if pair.reference is None:
        raise ValueError(
            f"exact-match needs a reference answer, and the pair with answer {pair.answer[:60]!r} has none: "
            "give the item a reference or choose another detector."
        )
    return float(normalise(pair.answer) == normalise(pair.reference))
