"""The embedded model's tokeniser: byte-pair encoding, merged in the order of the file's list.

Contract: `ids(text)` gives the token ids of any text, and `offsets(text)` also the (start, end) characters of each
token; a character that two tokens share belongs to both. Control tokens written out in a text are
read as plain characters, so no text can inject control tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

__all__ = ["Tokens", "signs"]

# Each digit is separate; a word includes the space before it.
_WORDS = re.compile(r"\d|'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+|.", re.DOTALL)
_LONGEST_WORD = 256  # characters that are merged together: a longer run is not a word, and would take quadratic time
_MOST_KEPT = 100_000  # words whose tokens are cached


def signs() -> dict[int, str]:
    """Return the printable character that represents each byte in the vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    signs = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in signs:
            signs[byte] = chr(256 + len(signs) - len(plain))
    return signs


class Tokens:
    """One vocabulary."""

    def __init__(self, vocabulary: Sequence[str], merges: Sequence[str]) -> None:
        self._ids = {token: i for i, token in enumerate(vocabulary)}
        self._ranks = {(a, b): n for n, (a, _, b) in enumerate(merge.partition(" ") for merge in merges)}
        self._signs = signs()
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        return [token for word in _WORDS.findall(text) for token, _ in self._word(word)]

    def offsets(self, text: str) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of each token."""
        return list(self._with_offsets(text))

    def _with_offsets(self, text: str) -> Iterator[tuple[int, int, int]]:
        for match in _WORDS.finditer(text):
            word, start = match.group(), match.start()
            tokens = self._word(word)
            if word.isascii():
                for token, size in tokens:
                    yield token, start, start + size
                    start += size
                continue
            char_of_byte = [start + i for i, letter in enumerate(word) for _ in _bytes(letter)]
            byte_index = 0
            for token, size in tokens:
                yield token, char_of_byte[byte_index], char_of_byte[byte_index + size - 1] + 1
                byte_index += size

    def _word(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return (id, bytes) of each token of a word."""
        known = self._known.get(word)
        if known is None:
            pieces = (word[start : start + _LONGEST_WORD] for start in range(0, len(word), _LONGEST_WORD))
            known = tuple((self._ids[part], len(part)) for piece in pieces for part in self._merged(piece))
            if len(self._known) < _MOST_KEPT:
                self._known[word] = known
        return known

    def _merged(self, word: str) -> list[str]:
        parts = [self._signs[byte] for byte in _bytes(word)]
        last = len(self._ranks)
        while len(parts) > 1:
            rank, index = min((self._ranks.get(pair, last), i) for i, pair in enumerate(pairwise(parts)))
            if rank == last:
                break
            parts[index : index + 2] = [parts[index] + parts[index + 1]]
        return parts


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
