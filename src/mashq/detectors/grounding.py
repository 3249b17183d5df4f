"""Grounding: how much of an answer's wording, numbers and names its source supports. No download, no model.

Contract: H = 1 / (1 + exp(-(INTERCEPT - sum of weight x deficit))), with the deficits of `evidence` and the
fitted table of `grounding_weights`. All weights are >= 0, so a verbatim copy of source sentences gets the
highest score there is and a sentence the source knows nothing about can only lower it. An answer without a
single word or number scores 0.0. Any text is accepted; time is linear in the lengths; equal pairs get equal
scores in any order and batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from mashq.detectors.base import Pair
from mashq.detectors.evidence import DEFICITS, Source, deficits
from mashq.detectors.grounding_weights import INTERCEPT, WEIGHTS
from mashq.detectors.reading import Token, read

__all__ = ["Grounding"]

_WEIGHTS = tuple(WEIGHTS[name] for name in DEFICITS)


@dataclass(frozen=True, slots=True)
class Grounding:
    """The built-in detector of unsupported wording."""

    name: str = "grounding"
    version: str = "1"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        scores = [0.0] * len(pairs)
        # Grouped by source, so that each is read once and only one index is held at a time.
        by_source = sorted(range(len(pairs)), key=lambda i: pairs[i].source)
        for text, group in groupby(by_source, key=lambda i: pairs[i].source):
            source = Source.of(text)
            for i in group:
                scores[i] = _score(source, read(pairs[i].answer))
        return scores

    def spans(self, pair: Pair) -> list[tuple[int, int]]:
        """Character spans of the answer's words and numbers that the source does not have, neighbours merged."""
        source = Source.of(pair.source)
        answer = read(pair.answer)
        # A function word is no evidence by itself: it joins the missing words on both of its sides.
        missing = [None if t.kind == "function" else not source.supports(t) for t in answer]
        return _runs(answer, missing)


def _score(source: Source, answer: list[Token]) -> float:
    if not answer:
        return 0.0
    weighed = zip(_WEIGHTS, deficits(source, answer), strict=True)
    return 1.0 / (1.0 + math.exp(sum(weight * deficit for weight, deficit in weighed) - INTERCEPT))


def _runs(answer: list[Token], missing: list[bool | None]) -> list[tuple[int, int]]:
    """From the first to the last missing token of each run in a sentence; None neither starts nor ends one."""
    spans: list[tuple[int, int]] = []
    sentence = -1  # the sentence of the open run, -1 when none is open
    for token, gone in zip(answer, missing, strict=True):
        if gone and token.sentence == sentence:
            spans[-1] = (spans[-1][0], token.end)
        elif gone:
            spans.append((token.start, token.end))
            sentence = token.sentence
        elif gone is False:
            sentence = -1
    return spans
