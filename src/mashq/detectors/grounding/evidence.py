"""A source text as evidence: what it says, in which order, and where.

Contract: `Source.of` indexes a text once, in linear time; the questions an answer asks of it take time that
does not grow with the source, but for `copies`, a plain substring search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from mashq.detectors.grounding.passage import lone_names, passage
from mashq.detectors.grounding.reading import Token, read
from mashq.detectors.grounding.words import DATES

__all__ = ["Source"]

_COMMON = 200  # a word in more source sentences than this says nothing about where a claim comes from
_PLACES = 24  # so many places of a word are looked at when its neighbours are compared
_PREFIX = 5  # letters that make two words forms of one another, near enough
_JOIN = "\x1f"


@dataclass(frozen=True, slots=True)
class Source:
    """What a source text offers as evidence."""

    tokens: list[Token] = field(repr=False)
    keys: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)  # the first token of each sentence, and the end of the last
    content: list[str] = field(repr=False)
    places: dict[str, list[int]] = field(repr=False)  # the sentences that have a key
    positions: dict[str, list[int]] = field(repr=False)  # where a key stands in `content`
    held: list[frozenset[str]] = field(repr=False)  # the keys of each sentence
    names: frozenset[str] = field(repr=False)
    lone: frozenset[str] = field(repr=False)  # names that never stand next to another
    quantities: frozenset[tuple[str, str]] = field(repr=False)
    prefixes: frozenset[str] = field(repr=False)
    pairs: frozenset[tuple[str, str]] = field(repr=False)
    triples: frozenset[tuple[str, str, str]] = field(repr=False)
    joined: str = field(repr=False)
    shape: tuple[float, ...] = ()  # how the source is written, in the order of PASSAGE

    @classmethod
    def of(cls, text: str) -> Source:
        """Index a source text."""
        tokens = read(text)
        keys = [t.key for t in tokens]
        content = [t.key for t in tokens if t.kind != "function"]
        places: dict[str, list[int]] = {}
        for token in tokens:
            found = places.setdefault(token.key, [])
            if not found or found[-1] != token.sentence:
                found.append(token.sentence)
        positions: dict[str, list[int]] = {}
        for i, key in enumerate(content):
            at = positions.setdefault(key, [])
            if len(at) < _PLACES:
                at.append(i)
        firsts = [i for i, t in enumerate(tokens) if i == 0 or tokens[i - 1].sentence != t.sentence]
        starts = [*firsts, len(tokens)]
        lone = lone_names(tokens)
        return cls(
            tokens=tokens,
            keys=keys,
            starts=starts,
            content=content,
            places=places,
            positions=positions,
            held=[frozenset(keys[i:j]) for i, j in pairwise(starts)],
            names=frozenset(t.key for t in tokens if t.kind == "name"),
            lone=lone,
            quantities=frozenset((t.key, t.unit) for t in tokens if t.kind == "number"),
            prefixes=frozenset(key[:_PREFIX] for key in places if len(key) >= _PREFIX),
            pairs=frozenset(pairwise(content)) | frozenset(pairwise(keys)),
            triples=frozenset(zip(content, content[1:], content[2:])),
            joined=_JOIN.join(["", *(t.key + t.unit for t in tokens), ""]),
            shape=passage(text, tokens, lone),
        )

    def supports(self, token: Token) -> bool:
        """Whether the source has this word or number; a stated unit must be the source's unit."""
        if token.kind == "number" and token.unit:
            return (token.key, token.unit) in self.quantities
        return token.key in self.places

    def resembles(self, key: str) -> bool:
        """Whether the source has a word with the same beginning."""
        return len(key) >= _PREFIX and key[:_PREFIX] in self.prefixes

    def copies(self, tokens: list[Token]) -> bool:
        """Whether the source has these tokens in a row."""
        return _JOIN.join(["", *(t.key + t.unit for t in tokens), ""]) in self.joined

    def weight(self, key: str) -> float:
        """How much a word says about where it comes from: rare in the source, heavy."""
        sentences = len(self.starts) - 1
        return math.log(1.5 + sentences / (len(self.places[key]) if key in self.places else 0.7))

    def fact(self, token: Token) -> str:
        """The kind of fact a token is: "number", "date", "name" or "" for a plain word."""
        if token.kind == "number":
            return "number"
        if token.key in DATES and token.kind != "function":
            return "date"
        return "name" if token.kind == "name" or token.key in self.names else ""

    def holders(self, weights: dict[str, float]) -> dict[int, float]:
        """The weight of these keys that each source sentence holds."""
        held: dict[int, float] = {}
        for key, weight in weights.items():
            places = self.places.get(key, ())
            if len(places) <= _COMMON:
                for place in places:
                    held[place] = held.get(place, 0.0) + weight
        return held

    def together(self, one: str, other: str) -> bool:
        """Whether some source sentence has both words."""
        first, second = self.places.get(one, ()), self.places.get(other, ())
        if len(first) > _COMMON or len(second) > _COMMON:
            return bool(first and second)
        return not set(first).isdisjoint(second)

    def context(self, key: str, around: dict[str, float], reach: int) -> float:
        """The most weight of these neighbours that stands within reach of one occurrence of the key."""
        best = 0.0
        for at in self.positions.get(key, ()):
            near = self.content[max(0, at - reach) : at + reach + 1]
            best = max(best, sum(weight for word, weight in around.items() if word in near))
        return best
