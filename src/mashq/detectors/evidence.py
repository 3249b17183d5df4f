"""How much of an answer its source does not support, as a few numbers that are all 0 for a verbatim copy.

Contract: `Source` indexes a text once; `deficits` compares an answer with it. Every deficit is 0 when nothing
is missing and grows with what is. Adding a sentence of which the source supports nothing never lowers one.
Time is linear in both lengths.

| deficit | unit | missing when |
|---|---|---|
| word | content word | the source does not have it |
| pair | two neighbouring content words | they are not neighbours in the source |
| number | number with its unit, if stated | no such value (and unit) in the source |
| name | run of capitalised words, or words the source capitalises | a word of it is not in the source |
| scatter | content word | it is not in the one source sentence that shares most with the answer's sentence |

Each comes as a share of all units (`_all`) and of the weakest sentence (`_worst`); `missing` is the length
term, log(1 + missing pairs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import NamedTuple

from mashq.detectors.reading import Token, read

__all__ = ["DEFICITS", "Source", "deficits"]

UNITS = ("word", "pair", "number", "name", "scatter")
DEFICITS = (*(f"{unit}_{share}" for unit in UNITS for share in ("all", "worst")), "missing")

_COMMON = 200  # a word in more source sentences than this says nothing about where a claim comes from


class Count(NamedTuple):
    """Units of one kind in one sentence: how many are missing from the source, out of how many."""

    missing: int
    total: int

    @property
    def share(self) -> float:
        return self.missing / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Source:
    """What a source text offers as evidence."""

    keys: frozenset[str]
    quantities: frozenset[tuple[str, str]]
    names: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    sentences: dict[str, list[int]] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Source:
        """Index a source text."""
        tokens = read(text)
        content = [t.key for t in tokens if t.kind != "function"]
        every = [t.key for t in tokens]
        sentences: dict[str, list[int]] = {}
        for token in tokens:
            places = sentences.setdefault(token.key, [])
            if not places or places[-1] != token.sentence:
                places.append(token.sentence)
        return cls(
            keys=frozenset(every),
            quantities=frozenset((t.key, t.unit) for t in tokens if t.kind == "number"),
            names=frozenset(t.key for t in tokens if t.kind == "name"),
            pairs=frozenset(pairwise(content)) | frozenset(pairwise(every)),
            sentences=sentences,
        )

    def supports(self, token: Token) -> bool:
        """Whether the source has this word or number; a stated unit must be the source's unit."""
        if token.kind == "number" and token.unit:
            return (token.key, token.unit) in self.quantities
        return token.key in self.keys


def deficits(source: Source, answer: Sequence[Token]) -> tuple[float, ...]:
    """The answer's deficits in the order of DEFICITS. The answer must have at least one token."""
    table = [_sentence(source, list(group)) for _, group in groupby(answer, key=lambda t: t.sentence)]
    values: list[float] = []
    for counts in zip(*table, strict=True):
        pooled = Count(sum(c.missing for c in counts), sum(c.total for c in counts))
        values += [pooled.share, max(c.share for c in counts)]
    values.append(math.log1p(sum(pair.missing for _, pair, *_ in table)))
    return tuple(values)


def _sentence(source: Source, tokens: list[Token]) -> tuple[Count, ...]:
    """Counts of one answer sentence, in the order of UNITS."""
    # A sentence of function words alone ("It is.") is judged by those.
    content = [t for t in tokens if t.kind != "function"] or tokens
    found = [source.supports(t) for t in content]
    return (
        Count(found.count(False), len(found)),
        _pairs(source, content, found),
        _numbers(content, found),
        _names(source, content, found),
        _scatter(source, {t.key for t in content}),
    )


def _pairs(source: Source, content: list[Token], found: list[bool]) -> Count:
    if len(content) == 1:  # a lone word stands for the pair it cannot form
        return Count(found.count(False), 1)
    keys = [t.key for t in content]
    missing = sum(pair not in source.pairs for pair in pairwise(keys))
    return Count(missing, len(keys) - 1)


def _numbers(content: list[Token], found: list[bool]) -> Count:
    numbers = [ok for token, ok in zip(content, found, strict=True) if token.kind == "number"]
    return Count(numbers.count(False), len(numbers))


def _names(source: Source, content: list[Token], found: list[bool]) -> Count:
    """Runs of name words; a run counts once and needs all of its words."""
    marks = [(t.kind == "name" or t.key in source.names, ok) for t, ok in zip(content, found, strict=True)]
    runs = [all(ok for _, ok in run) for is_name, run in groupby(marks, key=lambda m: m[0]) if is_name]
    return Count(runs.count(False), len(runs))


def _scatter(source: Source, keys: set[str]) -> Count:
    """Words outside the source sentence that holds most of them."""
    common, held = 0, dict[int, int]()
    for key in keys:
        places = source.sentences.get(key, [])
        if len(places) > _COMMON:
            common += 1
            continue
        for place in places:
            held[place] = held.get(place, 0) + 1
    return Count(len(keys) - common - max(held.values(), default=0), len(keys))
