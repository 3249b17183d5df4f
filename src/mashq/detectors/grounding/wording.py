"""How an answer words what it takes from the source: what it covers and what it adds, sentence by sentence.

Contract: `wording` gives one number for each name in WORDING, in time linear in the answer. "Near" means the source
sentence that contains most of an answer's sentence, with its two neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token
from mashq.detectors.grounding.words import HEDGES, INFERENCES, QUANTIFIERS

__all__ = ["WORDING", "wording"]

_START = 4  # two words with this many first letters in common count as similar
_PLACES = 8  # at most this many positions of a word are compared
_SHORT = 5  # letters of a word that is more often common than rare

WORDING = (
    "far_words",  # content words that are not near
    "far_words_worst",
    "far_starts",  # ... and no word near begins the same
    "far_starts_worst",
    "far_function",  # function words that are not near
    "hedge_lost",  # sentences without a hedge where the source has one
    "quantifiers",  # all, most, only and similar words that are not near
    "pair_middle",  # new pairs of neighbours in the median sentence
    "sentences_close",  # sentences with few new pairs
    "sentences_free",  # sentences with hardly any pair from the source
    "cover_words",  # share of the source's words that are in the answer
    "cover_names",
    "cover_numbers",
    "cover_opening",  # ... of its first sentence's words
    "gap",  # the longest run of missing words
    "short_missing",
    "rarity",  # how rare the answer's words are in the source
    "completed",  # names that the source gives in part and the answer in full
    "new_names",  # names that the source does not have
    "lone_used",  # names that the source never gives in full
    "apart",  # distance in the source between neighbours of the answer, 90th percentile
    "once_used",  # words that the source has once
    "familiar",  # how often the source has a word of the answer
    "inferences",  # highlighting, demonstrating and similar words that the source does not have
    "letters",
    "function",
    "colons",
)


def wording(
    source: Source, text: str, answer: Sequence[Token], parts: Sequence[Sequence[Token]], best: Sequence[int]
) -> list[float]:
    """Return one number per name in WORDING; `best` has the best source sentence of each part, -1 for none."""
    rows = [_near(source, part, place) for part, place in zip(parts, best, strict=True)]
    words, starts, function, hedges, quantifiers, pairs = zip(*rows, strict=True)
    n = len(parts)
    return [
        sum(words) / n,
        max(words),
        sum(starts) / n,
        max(starts),
        sum(function) / n,
        sum(hedges) / n,
        sum(quantifiers) / n,
        sorted(pairs)[n // 2],
        sum(share < 0.3 for share in pairs) / n,
        sum(share > 0.8 for share in pairs) / n,
        *_cover(source, answer),
        *_missing(source, answer),
        sum(_completes(source, left, right) for left, right in pairwise(answer)),
        math.log1p(sum(t.kind == "name" and t.key not in source.places for t in answer)),
        sum(t.key in source.lone for t in answer) / len(answer),
        _apart(source, parts),
        *_familiar(source, answer),
        sum(t.key in INFERENCES and t.key not in source.places for t in answer) / n,
        sum(t.end - t.start for t in answer) / len(answer),
        sum(t.kind == "function" for t in answer) / len(answer),
        (text.count(":") + text.count(";")) / n,
    ]


def _near(source: Source, part: Sequence[Token], best: int) -> tuple[float, float, float, bool, int, float]:
    content = [t.key for t in part if t.kind != "function"] or [t.key for t in part]
    function = [t.key for t in part if t.kind == "function"]
    sentence_keys = source.held[best] if best >= 0 else frozenset[str]()
    near = sentence_keys.union(*source.held[max(0, best - 1) : best + 2]) if best >= 0 else sentence_keys
    starts = {key[:_START] for key in near}
    far_words = [key for key in content if key not in near]
    keys = {*content, *function}
    pairs = list(pairwise(content))
    return (
        len(far_words) / len(content),
        sum(key[:_START] not in starts for key in far_words) / len(content),
        sum(key not in near for key in function) / (len(function) or 1),
        not sentence_keys.isdisjoint(HEDGES) and keys.isdisjoint(HEDGES),
        len((keys & QUANTIFIERS) - near),
        sum(pair not in source.pairs for pair in pairs) / (len(pairs) or 1),
    )


def _cover(source: Source, answer: Sequence[Token]) -> list[float]:
    keys = {t.key for t in answer}
    numbers = {value for value, _ in source.quantities}
    opening = source.held[0] if source.held else frozenset[str]()
    return [
        len(keys & source_keys) / (len(source_keys) or 1)
        for source_keys in (source.positions.keys(), source.names, numbers, opening)
    ]


def _missing(source: Source, answer: Sequence[Token]) -> list[float]:
    content = [t for t in answer if t.kind != "function"] or answer
    n, gap, longest, short = len(content), 0, 0, 0
    for token in content:
        is_missing = not source.supports(token)
        gap = gap + 1 if is_missing else 0
        longest = max(longest, gap)
        short += is_missing and len(token.key) <= _SHORT
    return [longest / n, short / n, sum(source.weight(t.key) for t in content) / n]


def _apart(source: Source, parts: Sequence[Sequence[Token]]) -> float:
    gaps: list[int] = []
    for part in parts:
        for left, right in pairwise([t.key for t in part if t.kind != "function"]):
            left_positions, right_positions = (
                source.positions.get(left, ())[:_PLACES],
                source.positions.get(right, ())[:_PLACES],
            )
            if left_positions and right_positions:
                gaps.append(min(abs(i - j) for i in left_positions for j in right_positions))
    return math.log1p(sorted(gaps)[len(gaps) * 9 // 10]) if gaps else 0.0


def _familiar(source: Source, answer: Sequence[Token]) -> list[float]:
    keys = {t.key for t in answer if t.kind != "function"}
    times = [len(source.positions.get(key, ())) for key in keys]
    return [times.count(1) / (len(times) or 1), sum(times) / (len(times) or 1)]


def _completes(source: Source, left: Token, right: Token) -> bool:
    """Whether the source has one of two neighbouring names only by itself, and does not have the other at all."""
    known = (left.key in source.lone and right.key not in source.places) or (
        right.key in source.lone and left.key not in source.places
    )
    return known and left.kind == right.kind == "name"
