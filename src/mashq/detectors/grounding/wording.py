"""How an answer words what it retells: what it covers, what it adds, sentence by sentence.

Contract: `wording` gives one number for each name in WORDING, in time linear in the answer. "Near" is the source
sentence that holds most of an answer's sentence, with its two neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token
from mashq.detectors.grounding.words import HEDGES, INFERENCES, QUANTIFIERS

__all__ = ["WORDING", "wording"]

_START = 4  # letters that make two words near enough the same
_PLACES = 8  # so many places of a word are compared
_SHORT = 5  # letters of a word that is more often common than rare

WORDING = (
    "far_words",  # content words that are not near
    "far_words_worst",
    "far_starts",  # ... and no word near begins alike
    "far_starts_worst",
    "far_function",  # function words that are not near
    "hedge_lost",  # sentences without a hedge where the source has one
    "quantifiers",  # all, most, only and their like that are not near
    "pair_middle",  # new pairs of neighbours in the middle sentence of all
    "sentences_close",  # sentences with few new pairs
    "sentences_free",  # sentences with hardly an old pair
    "cover_words",  # of the source's words, those in the answer
    "cover_names",
    "cover_numbers",
    "cover_opening",  # of its first sentence
    "gap",  # the longest run of missing words
    "short_missing",
    "rarity",  # how rare the answer's words are in the source
    "completed",  # names that the source gives in part and the answer in full
    "new_names",  # names that the source does not have
    "lone_used",  # names that the source never gives in full
    "apart",  # how far the neighbours of the answer stand from each other in the source, at most but for a tenth
    "once_used",  # words that the source has once
    "familiar",  # how often the source has a word of the answer
    "inferences",  # highlighting, demonstrating and their like, of the answer's own
    "letters",
    "function",
    "colons",
)


def wording(
    source: Source, text: str, answer: Sequence[Token], parts: Sequence[Sequence[Token]], best: Sequence[int]
) -> list[float]:
    """The numbers of WORDING, in its order. `best` has the best source sentence of each part, -1 for none."""
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
        sum(_completes(source, one, two) for one, two in pairwise(answer)),
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
    here = source.held[best] if best >= 0 else frozenset[str]()
    near = here.union(*source.held[max(0, best - 1) : best + 2]) if best >= 0 else here
    starts = {key[:_START] for key in near}
    far = [key for key in content if key not in near]
    keys = {*content, *function}
    pairs = list(pairwise(content))
    return (
        len(far) / len(content),
        sum(key[:_START] not in starts for key in far) / len(content),
        sum(key not in near for key in function) / (len(function) or 1),
        not here.isdisjoint(HEDGES) and keys.isdisjoint(HEDGES),
        len((keys & QUANTIFIERS) - near),
        sum(pair not in source.pairs for pair in pairs) / (len(pairs) or 1),
    )


def _cover(source: Source, answer: Sequence[Token]) -> list[float]:
    keys = {t.key for t in answer}
    numbers = {value for value, _ in source.quantities}
    opening = source.held[0] if source.held else frozenset[str]()
    return [len(keys & of) / (len(of) or 1) for of in (source.positions.keys(), source.names, numbers, opening)]


def _missing(source: Source, answer: Sequence[Token]) -> list[float]:
    content = [t for t in answer if t.kind != "function"] or answer
    n, gap, longest, short = len(content), 0, 0, 0
    for token in content:
        gone = not source.supports(token)
        gap = gap + 1 if gone else 0
        longest = max(longest, gap)
        short += gone and len(token.key) <= _SHORT
    return [longest / n, short / n, sum(source.weight(t.key) for t in content) / n]


def _apart(source: Source, parts: Sequence[Sequence[Token]]) -> float:
    gaps: list[int] = []
    for part in parts:
        for one, two in pairwise([t.key for t in part if t.kind != "function"]):
            first, second = source.positions.get(one, ())[:_PLACES], source.positions.get(two, ())[:_PLACES]
            if first and second:
                gaps.append(min(abs(i - j) for i in first for j in second))
    return math.log1p(sorted(gaps)[len(gaps) * 9 // 10]) if gaps else 0.0


def _familiar(source: Source, answer: Sequence[Token]) -> list[float]:
    keys = {t.key for t in answer if t.kind != "function"}
    times = [len(source.positions.get(key, ())) for key in keys]
    return [times.count(1) / (len(times) or 1), sum(times) / (len(times) or 1)]


def _completes(source: Source, one: Token, two: Token) -> bool:
    """Whether one of two neighbouring names is known by itself only, and the other not at all."""
    known = (one.key in source.lone and two.key not in source.places) or (
        two.key in source.lone and one.key not in source.places
    )
    return known and one.kind == two.kind == "name"
