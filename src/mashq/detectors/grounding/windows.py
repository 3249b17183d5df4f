"""The part of a long source that an answer is compared with: for each of its sentences the best window.

Contract: only sources of more than FITS characters are read so. One is cut into blocks at the ends of sentences; a
window is two blocks in a row. A sentence of the answer has the window that holds most of the weight of its words
(rare in the source, heavy), and a second one for what the first lacks. The part is these windows in the source's
order, so that what else the source holds changes little. Words are found without reading it all as evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mashq.detectors.grounding.features import sentences
from mashq.detectors.grounding.reading import Token, read, stem

__all__ = ["FITS", "Windows"]

FITS = 24_000  # characters, about 6,000 tokens
BLOCK = 800
ENOUGH = 0.15  # of a sentence's weight: with less than this left over, it needs no second window
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)*")
_END = re.compile(r"\n\s*|[.!?…]['\"”’)\]]*\s+|[。！？।]")
_START = 3  # letters in which a word and its stem agree


@dataclass(frozen=True, slots=True)
class Windows:
    """A source in blocks, and the words of each."""

    blocks: list[str]
    words: list[set[str]]

    @classmethod
    def of(cls, text: str) -> Windows:
        """A source in blocks of whole sentences."""
        blocks = list(_blocks(text))
        return cls(blocks, [set(_WORD.findall(block.lower())) for block in blocks])

    def part(self, answer: str) -> str:
        """What an answer is compared with."""
        parts = sentences(read(answer))
        places = self._places({token.key for part in parts for token in part if token.kind != "function"})
        kept: set[int] = set()
        for part in parts:
            kept |= self._best(part, places)
        return "\n".join(self.blocks[at] for at in sorted(kept)) or self.blocks[0]

    def _places(self, keys: set[str]) -> dict[str, set[int]]:
        """The windows that hold each of these keys; window n is block n and the next."""
        starts = {key[:_START] for key in keys}
        stems: dict[str, str] = {}
        places: dict[str, set[int]] = {}
        for at, words in enumerate(self.words):
            for word in words:
                if word[:_START] in starts:
                    key = stems.get(word) or stems.setdefault(word, _key(word))
                    if key in keys:
                        places.setdefault(key, set()).update((at, max(0, at - 1)))
        return places

    def _best(self, tokens: Sequence[Token], places: dict[str, set[int]]) -> set[int]:
        """The blocks of a sentence's window, and of a second one where much is left over."""
        count = len(self.blocks)
        weights = {t.key: math.log(1.5 + count / len(places[t.key])) for t in tokens if t.key in places}
        total = sum(weights.values())
        kept: set[int] = set()
        for _ in range(2):
            held: dict[int, float] = {}
            for key, weight in weights.items():
                for at in places[key]:
                    held[at] = held.get(at, 0.0) + weight
            if not held or sum(weights.values()) < ENOUGH * total:
                break
            best = max(held, key=lambda at: (held[at], -at))
            kept |= {best, min(best + 1, count - 1)}
            weights = {key: weight for key, weight in weights.items() if best not in places[key]}
        return kept


def _key(word: str) -> str:
    """A word as answers are read: a number by its digits, any other by its stem."""
    return word.replace(",", "") if word[0].isdigit() else stem(word.replace("’", "'"))


def _blocks(text: str) -> Iterable[str]:
    """Whole sentences up to BLOCK characters together; a longer one is a block of its own."""
    start, last = 0, 0
    for found in _END.finditer(text):
        if found.end() - start > BLOCK and last > start:
            yield text[start:last]
            start = last
        last = found.end()
    if len(text) - start > BLOCK and last > start:
        yield text[start:last]
        start = last
    yield text[start:]
