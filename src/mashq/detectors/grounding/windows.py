"""The part of a long source that an answer is compared with: the best window for each answer sentence.

Contract: only sources of more than FITS characters are handled this way. The source is cut into blocks at the ends of
sentences; a window is two consecutive blocks. Each answer sentence gets the window that contains most of the weight
of its words (the rarer in the source, the heavier), and a second window for what the first lacks. The part is these
windows in the source's order, so that the rest of the source has little influence. Words are located without indexing
the whole source as evidence.
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
ENOUGH = 0.15  # of a sentence's weight: with less than this uncovered, it needs no second window
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)*")
_END = re.compile(r"\n\s*|[.!?…]['\"”’)\]]*\s+|[。！？।]")
_START = 3  # letters that a word and its stem have in common


@dataclass(frozen=True, slots=True)
class Windows:
    """The blocks of a source, and the words of each."""

    blocks: list[str]
    words: list[set[str]]

    @classmethod
    def of(cls, text: str) -> Windows:
        """Cut a source into blocks of whole sentences."""
        blocks = list(_blocks(text))
        return cls(blocks, [set(_WORD.findall(block.lower())) for block in blocks])

    def part(self, answer: str) -> str:
        """Return the part of the source that an answer is compared with."""
        parts = sentences(read(answer))
        places = self._places({token.key for part in parts for token in part if token.kind != "function"})
        kept: set[int] = set()
        for part in parts:
            kept |= self._best(part, places)
        return "\n".join(self.blocks[block] for block in sorted(kept)) or self.blocks[0]

    def _places(self, keys: set[str]) -> dict[str, set[int]]:
        """Return the windows that contain each of these keys; window n is block n and the next."""
        starts = {key[:_START] for key in keys}
        stems: dict[str, str] = {}
        places: dict[str, set[int]] = {}
        for block, words in enumerate(self.words):
            for word in words:
                if word[:_START] in starts:
                    key = stems.get(word) or stems.setdefault(word, _key(word))
                    if key in keys:
                        places.setdefault(key, set()).update((block, max(0, block - 1)))
        return places

    def _best(self, tokens: Sequence[Token], places: dict[str, set[int]]) -> set[int]:
        """Return the blocks of a sentence's best window, and of a second one where much is uncovered."""
        count = len(self.blocks)
        weights = {t.key: math.log(1.5 + count / len(places[t.key])) for t in tokens if t.key in places}
        total = sum(weights.values())
        kept: set[int] = set()
        for _ in range(2):
            held: dict[int, float] = {}
            for key, weight in weights.items():
                for window in places[key]:
                    held[window] = held.get(window, 0.0) + weight
            if not held or sum(weights.values()) < ENOUGH * total:
                break
            best = max(held, key=lambda window: (held[window], -window))
            kept |= {best, min(best + 1, count - 1)}
            weights = {key: weight for key, weight in weights.items() if best not in places[key]}
        return kept


def _key(word: str) -> str:
    """Return the key of a word as in answers: the digits of a number, the stem of any other word."""
    return word.replace(",", "") if word[0].isdigit() else stem(word.replace("’", "'"))


def _blocks(text: str) -> Iterable[str]:
    """Yield groups of whole sentences of up to BLOCK characters; a longer sentence is a separate block."""
    start, previous_end = 0, 0
    for sentence_end in _END.finditer(text):
        if sentence_end.end() - start > BLOCK and previous_end > start:
            yield text[start:previous_end]
            start = previous_end
        previous_end = sentence_end.end()
    if len(text) - start > BLOCK and previous_end > start:
        yield text[start:previous_end]
        start = previous_end
    yield text[start:]
