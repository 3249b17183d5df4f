"""Alignment of one answer sentence with the source sentences it comes from.

Contract: `align` finds the matching runs of a sentence and a source window and examines the gaps between them:
a gap where both sides have a fact of the same kind is a substituted fact, a negation on one side only a flipped
claim, a fact that occurs elsewhere in the window a moved one. Linear for windows of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token

__all__ = ["NEGATIONS", "Alignment", "align", "doubts"]

_BEFORE, _WINDOW, _GAP = 40, 160, 8

_NEGATIONS_WORDS = """
not no never nor neither none nobody nothing without isn't aren't wasn't weren't don't doesn't didn't won't
wouldn't can't cannot couldn't shouldn't hasn't haven't hadn't deny deni denied fail failed refus refuse reject
unlik unable
"""
NEGATIONS = frozenset(_NEGATIONS_WORDS.split())
_UP_WORDS = """
increas ris rose grow grew gain win won more higher up above after support accept begin begun start open mor
high best first most increase rise raise success successful agre allow pass
"""
_UP = frozenset(_UP_WORDS.split())
_DOWN_WORDS = """
decreas fall fell drop declin loss lost lose less lower down below before oppos reject end ended close clos
fewer low worst last least decrease cut fail unsuccessful disagre ban block
"""
_DOWN = frozenset(_DOWN_WORDS.split())


class Alignment(NamedTuple):
    """What matches and what the gaps contain, as counts of the sentence's tokens."""

    matched: int
    runs: int
    longest: int
    substituted: int  # facts in a gap opposite another fact of the same kind
    replaced: int  # plain words in a small gap opposite other plain words
    flipped: int  # negations or opposites on one side of a gap only
    moved: int  # unmatched facts that occur elsewhere in the window


def align(source: Source, tokens: Sequence[Token], best: int) -> Alignment:
    """Align the tokens of one answer sentence with source sentence `best` and its neighbours."""
    window = _window(source, best)
    window_keys = {t.key for t in window}
    substituted = replaced = flipped = moved = 0
    blocks = _blocks(source, tokens, window)
    for _, answer_side, source_side, enclosed in _gaps(blocks, tokens, window):
        source_kinds = {source.fact(t) for t in source_side}
        for token in answer_side:
            kind = source.fact(token)
            substituted += bool(kind) and kind in source_kinds
            moved += bool(kind) and token.key in window_keys
            replaced += not kind and token.kind != "function" and "" in source_kinds and len(answer_side) <= _GAP
        if enclosed or answer_side:
            flipped += _flips(answer_side, source_side)
    sizes = [size for _, _, size in blocks]
    return Alignment(sum(sizes), len(sizes) - 1, max(sizes), substituted, replaced, flipped, moved)


def doubts(source: Source, tokens: Sequence[Token], best: int) -> set[int]:
    """Return the positions of tokens the aligned source contradicts: substituted facts and added negations."""
    positions: set[int] = set()
    if best < 0:
        return positions
    window = _window(source, best)
    for start, answer_side, source_side, _ in _gaps(_blocks(source, tokens, window), tokens, window):
        source_kinds = {source.fact(t) for t in source_side} - {""}
        denied = bool({t.key for t in source_side} & NEGATIONS)
        for i, token in enumerate(answer_side, start):
            if source.fact(token) in source_kinds or (token.key in NEGATIONS and not denied):
                positions.add(i)
    return positions


def _window(source: Source, best: int) -> list[Token]:
    """The best source sentence with its neighbours, cut to a bounded length."""
    start = max(source.starts[max(0, best - 1)], source.starts[best] - _BEFORE)
    return source.tokens[start : min(source.starts[min(len(source.starts) - 1, best + 2)], start + _WINDOW)]


def _blocks(source: Source, tokens: Sequence[Token], window: Sequence[Token]) -> list[tuple[int, int, int]]:
    """Return matching runs (index in the tokens, index in the window, length), then an empty run at both ends."""
    # A number with a unit that the source does not have matches nothing.
    keys = [t.key if source.supports(t) else t.key + t.unit for t in tokens]
    matcher = SequenceMatcher(None, keys, [t.key for t in window], autojunk=False)
    return [(block.a, block.b, block.size) for block in matcher.get_matching_blocks()]


def _gaps(
    blocks: list[tuple[int, int, int]], tokens: Sequence[Token], window: Sequence[Token]
) -> Iterator[tuple[int, Sequence[Token], Sequence[Token], bool]]:
    """Yield (start, answer tokens, source tokens if few, whether runs lie on both sides) for each gap."""
    i = j = 0
    for a, b, size in blocks:
        answer_side, source_side = tokens[i:a], window[j:b]
        enclosed = i > 0 and size > 0
        if not enclosed:  # before the first run and after the last, only the nearest words are opposite
            source_side = source_side[-len(answer_side) - 1 :] if i == 0 else source_side[: len(answer_side) + 1]
        yield i, answer_side, source_side if len(source_side) <= _GAP else [], enclosed
        i, j = a + size, b + size


def _flips(answer_side: Sequence[Token], source_side: Sequence[Token]) -> int:
    answer_keys, source_keys = {t.key for t in answer_side}, {t.key for t in source_side}
    negated = bool(answer_keys & NEGATIONS) != bool(source_keys & NEGATIONS)
    opposed = bool(answer_keys & _UP and source_keys & _DOWN) or bool(answer_keys & _DOWN and source_keys & _UP)
    return int(negated) + int(opposed)
