"""Citations in an answer: passage ids in square brackets, `[p1]` or `[p1, p3]`, after the text they support.

A bracket is a citation when each of its parts is the id of a passage, or looks like one (a few letters and a number),
which then cites a passage that does not exist. Other brackets are ordinary text.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

_BRACKET = re.compile(r"\s*\[([^\[\]\n]{1,400})\]")
_LIKE_AN_ID = re.compile(r"(?:passage |doc(?:ument)? |source )?[a-z]{0,4}[-_ ]?\d{1,4}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])(?=\s)|\n+")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence without its citation marks, its position in the answer, and the ids it cites."""

    text: str
    start: int
    end: int
    ids: tuple[str, ...]


def without_citations(text: str, known: Collection[str] = ()) -> str:
    """Return the answer without its citation marks."""
    return _BRACKET.sub(lambda bracket: bracket[0] if ids_in(bracket[1], known) is None else "", text)


def blanked(text: str, known: Collection[str] = ()) -> str:
    """Return the answer with spaces in place of its citation marks, so that character offsets stay the same."""
    return _BRACKET.sub(
        lambda bracket: bracket[0] if ids_in(bracket[1], known) is None else " " * len(bracket[0]), text
    )


def ids_in(inside: str, known: Collection[str] = ()) -> tuple[str, ...] | None:
    """Return the ids in a bracket, or None when it is not a citation."""
    parts = [part.strip() for part in re.split(r"[,;]", inside)]
    if not all(part in known or _LIKE_AN_ID.fullmatch(part) for part in parts):
        return None
    return tuple(parts)


def cited(text: str, known: Collection[str]) -> list[Cited]:
    """Return the sentences with the ids each cites; a mark after a full stop belongs to the sentence before it."""
    sentences: list[Cited] = []
    for start, end in _sentences(text):
        raw = text[start:end]
        ids = [name for mark in _BRACKET.finditer(raw) for name in ids_in(mark[1], known) or ()]
        plain = without_citations(raw, known).strip()
        if any(character.isalnum() for character in plain):
            sentences.append(Cited(plain, start, end, tuple(dict.fromkeys(ids))))
        elif ids and sentences:
            last = sentences[-1]
            sentences[-1] = Cited(last.text, last.start, end, tuple(dict.fromkeys((*last.ids, *ids))))
    return sentences


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence; marks after a full stop are a separate span or begin the next one."""
    ends = [*(match.start() for match in _SENTENCE.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        while (mark := _BRACKET.match(text, start)) is not None and mark.end() <= end and spans:
            spans.append((start, mark.end()))
            start = mark.end()
        if end > start:
            spans.append((start, end))
            start = end
    return spans
