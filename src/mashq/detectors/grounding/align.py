"""One answer sentence laid against the source sentences it comes from.

Contract: `align` finds the matching runs of a sentence and a source window and reads the holes between them:
a hole where both sides hold a fact of one kind is a substituted fact, a negation on one side alone a flipped
claim, a fact that stands elsewhere in the window a moved one. Linear for windows of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token

__all__ = ["NEGATIONS", "Alignment", "align", "doubts"]

_BEFORE, _WINDOW, _HOLE = 40, 160, 8

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
    """What matches and what the holes hold, as counts of the sentence's tokens."""

    matched: int
    runs: int
    longest: int
    substituted: int  # facts in a hole across from another fact of the kind
    replaced: int  # plain words in a small hole across from other plain words
    flipped: int  # negations or opposites on one side of a hole alone
    moved: int  # unmatched facts that the window has elsewhere


def align(source: Source, tokens: Sequence[Token], best: int) -> Alignment:
    """The tokens of one answer sentence against source sentence `best` and its neighbours."""
    window = _window(source, best)
    have = {t.key for t in window}
    substituted = replaced = flipped = moved = 0
    blocks = _blocks(source, tokens, window)
    for _, mine, theirs, inner in _holes(blocks, tokens, window):
        other = {source.fact(t) for t in theirs}
        for token in mine:
            kind = source.fact(token)
            substituted += bool(kind) and kind in other
            moved += bool(kind) and token.key in have
            replaced += not kind and token.kind != "function" and "" in other and len(mine) <= _HOLE
        if inner or mine:
            flipped += _flips(mine, theirs)
    sizes = [size for _, _, size in blocks]
    return Alignment(sum(sizes), len(sizes) - 1, max(sizes), substituted, replaced, flipped, moved)


def doubts(source: Source, tokens: Sequence[Token], best: int) -> set[int]:
    """Positions of the tokens that the aligned source speaks against: substituted facts and added negations."""
    found: set[int] = set()
    if best < 0:
        return found
    window = _window(source, best)
    for start, mine, theirs, _ in _holes(_blocks(source, tokens, window), tokens, window):
        other = {source.fact(t) for t in theirs} - {""}
        denied = bool({t.key for t in theirs} & NEGATIONS)
        for i, token in enumerate(mine, start):
            if source.fact(token) in other or (token.key in NEGATIONS and not denied):
                found.add(i)
    return found


def _window(source: Source, best: int) -> list[Token]:
    """The best source sentence with its neighbours, cut to a bounded length."""
    start = max(source.starts[max(0, best - 1)], source.starts[best] - _BEFORE)
    return source.tokens[start : min(source.starts[min(len(source.starts) - 1, best + 2)], start + _WINDOW)]


def _blocks(source: Source, tokens: Sequence[Token], window: Sequence[Token]) -> list[tuple[int, int, int]]:
    """Matching runs (place in the tokens, place in the window, length), then an empty one at both ends."""
    # A number whose unit the source does not have matches nothing.
    keys = [t.key if source.supports(t) else t.key + t.unit for t in tokens]
    matcher = SequenceMatcher(None, keys, [t.key for t in window], autojunk=False)
    return [(block.a, block.b, block.size) for block in matcher.get_matching_blocks()]


def _holes(
    blocks: list[tuple[int, int, int]], tokens: Sequence[Token], window: Sequence[Token]
) -> Iterator[tuple[int, Sequence[Token], Sequence[Token], bool]]:
    """(start, the answer's side, the source's side if short, whether runs lie on both sides) of each hole."""
    i = j = 0
    for a, b, size in blocks:
        mine, theirs = tokens[i:a], window[j:b]
        inner = i > 0 and size > 0
        if not inner:  # before the first run and after the last only the nearest words lie across
            theirs = theirs[-len(mine) - 1 :] if i == 0 else theirs[: len(mine) + 1]
        yield i, mine, theirs if len(theirs) <= _HOLE else [], inner
        i, j = a + size, b + size


def _flips(mine: Sequence[Token], theirs: Sequence[Token]) -> int:
    ours, others = {t.key for t in mine}, {t.key for t in theirs}
    negated = bool(ours & NEGATIONS) != bool(others & NEGATIONS)
    turned = bool(ours & _UP and others & _DOWN) or bool(ours & _DOWN and others & _UP)
    return int(negated) + int(turned)
