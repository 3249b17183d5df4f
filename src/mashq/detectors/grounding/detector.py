"""Grounding: the share of an answer's wording, numbers and names that its source supports. No download, no model.

Contract: H is the calibrated probability that the answer is faithful: boosted trees and a linear model over what
`features` measures, fitted by `bench/fit_grounding.py`. An answer whose every sentence occurs in the
source word for word (endings apart) scores at least COPY, any other at most COPY. An answer without a single
word or number scores 0.0. Of a source that is too long (`windows`), only the best windows for the answer's sentences
are the evidence. Any text is accepted; time is linear in the lengths; equal pairs get equal scores
in any order and batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from mashq.detectors.base import Pair
from mashq.detectors.grounding.align import doubts
from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.features import FEATURES, best_sentence, features, sentences
from mashq.detectors.grounding.reading import Token, read
from mashq.detectors.grounding.trees import load
from mashq.detectors.grounding.windows import FITS, Windows

__all__ = ["COPY", "Grounding", "evidence", "odds"]

COPY = 0.95  # the lowest score of a copy, and the highest of anything else
_COPIED = FEATURES.index("copied")


@dataclass(frozen=True, slots=True)
class Grounding:
    """The built-in detector of unsupported wording."""

    name: str = "grounding"
    version: str = "4"
    free: ClassVar[bool] = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        scores = [0.0] * len(pairs)
        # Grouped by source, so that each is read once and only one index is held at a time.
        by_source = sorted(range(len(pairs)), key=lambda i: pairs[i].source)
        for text, group in groupby(by_source, key=lambda i: pairs[i].source):
            if len(text) > FITS:
                windows = Windows.of(text)
                for i in group:
                    scores[i] = _score(Source.of(windows.part(pairs[i].answer)), pairs[i].answer)
                continue
            source = Source.of(text)
            for i in group:
                scores[i] = _score(source, pairs[i].answer)
        return scores

    def same_scores(self, version: str, sources: Iterable[str]) -> bool:
        """Whether an earlier version gave the same scores for these sources: version 3 had no windows."""
        return version == "3" and all(len(source) <= FITS for source in sources)

    def spans(self, pair: Pair) -> list[tuple[int, int]]:
        """Character spans of the answer that its source contradicts, neighbours merged.

        A word or number the source does not have; a name, number or date in the place of a different one in the
        source; a negation that the source does not have there.
        """
        source = Source.of(pair.source)
        answer: list[Token] = []
        doubtful: list[bool | None] = []
        for part in sentences(read(pair.answer)):
            contradicted = set[int]() if source.copies(part) else doubts(source, part, best_sentence(source, part))
            # A function word is no evidence by itself: it only joins doubtful words on both sides.
            for i, token in enumerate(part):
                is_function = token.kind == "function"
                doubtful.append(i in contradicted or (None if is_function else not source.supports(token)))
            answer += part
        return _runs(answer, doubtful)


def evidence(source: str, sentence: str) -> tuple[int, int] | None:
    """Return the span of the source sentence that contains most of this one; None when none contains any of it."""
    indexed = Source.of(source)
    best = best_sentence(indexed, read(sentence))
    if best < 0:
        return None
    first, last = indexed.starts[best], indexed.starts[best + 1] - 1
    return indexed.tokens[first].start, indexed.tokens[last].end


def odds(source: Source, text: str) -> tuple[float, bool] | None:
    """Return the log-odds that an answer is faithful and whether all of it is copied; None without any words."""
    answer = read(text)
    if not answer:
        return None
    values = features(source, text, answer)
    return load().score(values), values[_COPIED] >= 1.0


def _score(source: Source, text: str) -> float:
    result = odds(source, text)
    if result is None:
        return 0.0
    z, copied = result
    h = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))
    if copied:  # copies rank above everything else
        return COPY + (1.0 - COPY) * h
    return COPY * h


def _runs(answer: list[Token], missing: list[bool | None]) -> list[tuple[int, int]]:
    """Return the span of each run of missing tokens within a sentence; a None neither starts nor ends a run."""
    spans: list[tuple[int, int]] = []
    sentence = -1  # the sentence of the open run, -1 when none is open
    for token, is_missing in zip(answer, missing, strict=True):
        if is_missing and token.sentence == sentence:
            spans[-1] = (spans[-1][0], token.end)
        elif is_missing:
            spans.append((token.start, token.end))
            sentence = token.sentence
        elif is_missing is False:
            sentence = -1
    return spans
