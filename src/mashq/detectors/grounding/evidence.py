"""A source text as evidence: an index of its words, their order and their positions.

Contract: `Source.of` indexes a text once, in linear time; lookups take time that
does not grow with the source, except `copies`, a plain substring search.
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
_PLACES = 24  # at most this many positions of a word are examined when its neighbours are compared
_PREFIX = 5  # two words with this many first letters in common count as forms of the same word
_JOIN = "\x1f"


@dataclass(frozen=True, slots=True)
class Source:
    """An indexed source text."""

    tokens: list[Token] = field(repr=False)
    keys: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)  # the first token of each sentence, and the end of the last
    content: list[str] = field(repr=False)
    places: dict[str, list[int]] = field(repr=False)  # the sentences that contain a key
    positions: dict[str, list[int]] = field(repr=False)  # the indices of a key in `content`
    held: list[frozenset[str]] = field(repr=False)  # the keys of each sentence
    names: frozenset[str] = field(repr=False)
    lone: frozenset[str] = field(repr=False)  # names that never occur next to another name
    quantities: frozenset[tuple[str, str]] = field(repr=False)
    prefixes: frozenset[str] = field(repr=False)
    pairs: frozenset[tuple[str, str]] = field(repr=False)
    triples: frozenset[tuple[str, str, str]] = field(repr=False)
    joined: str = field(repr=False)
    shape: tuple[float, ...] = ()  # style of the source, in the order of PASSAGE

    @classmethod
    def of(cls, text: str) -> Source:
        """Index a source text."""
        tokens = read(text)
        keys = [t.key for t in tokens]
        content = [t.key for t in tokens if t.kind != "function"]
        places: dict[str, list[int]] = {}
        for token in tokens:
            sentence_numbers = places.setdefault(token.key, [])
            if not sentence_numbers or sentence_numbers[-1] != token.sentence:
                sentence_numbers.append(token.sentence)
        positions: dict[str, list[int]] = {}
        for i, key in enumerate(content):
            indices = positions.setdefault(key, [])
            if len(indices) < _PLACES:
                indices.append(i)
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
        """Whether the source contains these tokens consecutively."""
        return _JOIN.join(["", *(t.key + t.unit for t in tokens), ""]) in self.joined

    def weight(self, key: str) -> float:
        """How strongly a word identifies the sentence it comes from: the rarer in the source, the heavier."""
        sentences = len(self.starts) - 1
        return math.log(1.5 + sentences / (len(self.places[key]) if key in self.places else 0.7))

    def fact(self, token: Token) -> str:
        """Return the kind of fact a token is: "number", "date", "name" or "" for a plain word."""
        if token.kind == "number":
            return "number"
        if token.key in DATES and token.kind != "function":
            return "date"
        return "name" if token.kind == "name" or token.key in self.names else ""

    def holders(self, weights: dict[str, float]) -> dict[int, float]:
        """Return the total weight of these keys in each source sentence that contains any."""
        held: dict[int, float] = {}
        for key, weight in weights.items():
            places = self.places.get(key, ())
            if len(places) <= _COMMON:
                for place in places:
                    held[place] = held.get(place, 0.0) + weight
        return held

    def together(self, one: str, other: str) -> bool:
        """Whether some source sentence has both words."""
        first_places, second_places = self.places.get(one, ()), self.places.get(other, ())
        if len(first_places) > _COMMON or len(second_places) > _COMMON:
            return bool(first_places and second_places)
        return not set(first_places).isdisjoint(second_places)

    def context(self, key: str, around: dict[str, float], reach: int) -> float:
        """Return the greatest weight of these neighbours within `reach` of a single occurrence of the key."""
        best = 0.0
        for position in self.positions.get(key, ()):
            nearby = self.content[max(0, position - reach) : position + reach + 1]
            best = max(best, sum(weight for word, weight in around.items() if word in nearby))
        return best
