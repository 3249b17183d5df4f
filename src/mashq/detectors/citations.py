"""What an answer cites: passage ids in square brackets, `[p1]` or `[p1, p3]`, after what they support.

A bracket is a citation when each of its parts is the id of a passage, or looks like one (a few letters and a number):
that one is a citation of a passage that is not there. Other brackets are text.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

_BRACKET = re.compile(r"\s*\[([^\[\]\n]{1,400})\]")
_LIKE_AN_ID = re.compile(r"(?:passage |doc(?:ument)? |source )?[a-z]{0,4}[-_ ]?\d{1,4}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])(?=\s)|\n+")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence without its marks, where it stands in the answer, and the ids that it cites."""

    text: str
    start: int
    end: int
    ids: tuple[str, ...]


def without_citations(text: str, known: Collection[str] = ()) -> str:
    """The answer without its marks."""
    return _BRACKET.sub(lambda found: found[0] if ids_in(found[1], known) is None else "", text)


def blanked(text: str, known: Collection[str] = ()) -> str:
    """The answer with blanks in the place of its marks, so that everything stands where it stood."""
    return _BRACKET.sub(lambda found: found[0] if ids_in(found[1], known) is None else " " * len(found[0]), text)


def ids_in(inside: str, known: Collection[str] = ()) -> tuple[str, ...] | None:
    """The ids of a bracket, or None when it is no citation."""
    parts = [part.strip() for part in re.split(r"[,;]", inside)]
    if not all(part in known or _LIKE_AN_ID.fullmatch(part) for part in parts):
        return None
    return tuple(parts)


def cited(text: str, known: Collection[str]) -> list[Cited]:
    """The sentences of an answer with what each cites; a mark right after a full stop belongs to the one before."""
    found: list[Cited] = []
    for start, end in _sentences(text):
        said = text[start:end]
        ids = [name for mark in _BRACKET.finditer(said) for name in ids_in(mark[1], known) or ()]
        plain = without_citations(said, known).strip()
        if any(character.isalnum() for character in plain):
            found.append(Cited(plain, start, end, tuple(dict.fromkeys(ids))))
        elif ids and found:
            last = found[-1]
            found[-1] = Cited(last.text, last.start, end, tuple(dict.fromkeys((*last.ids, *ids))))
    return found


def _sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences stand. Marks that follow a full stop make a piece of their own, or begin the next one."""
    ends = [*(found.start() for found in _SENTENCE.finditer(text)), len(text)]
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
