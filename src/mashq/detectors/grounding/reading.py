"""Text as tokens: words, names and numbers with their offsets, sentence by sentence.

Contract: `read` accepts any string, keeps character offsets of the text as given, takes time linear in its
length and never raises. Keys are comparable between texts: casefolded NFKC words with light English suffix
stripping, numbers by value. Scripts written without spaces give one token per character.
"""

from __future__ import annotations

from typing import NamedTuple

from mashq.detectors.grounding import numbers
from mashq.detectors.grounding.numbers import Raw
from mashq.protocol.texts import ABBREVIATIONS, BREAK, WORD, normal

__all__ = ["Token", "read", "stem"]

_FUNCTION = """
a about above after again against all also am an and any are aren't as at be because been before being
below between both but by can can't could couldn't did didn't do does doesn't doing don't down during each
few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him
himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let's like may me might more
most must my myself no nor not now of off on once one only or other our ours ourselves out over own per same
she she'd she'll she's should shouldn't so some such than that that's the their theirs them themselves then
there there's these they they'd they'll they're they've this those through to too under until up upon us very
was wasn't we we'd we'll we're we've were weren't what when where which while who whom whose why will with
within without won't would wouldn't yet you you'd you'll you're you've your yours yourself s t
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


class Token(NamedTuple):
    """One word or number: its offsets, its sentence, its key, and what kind of evidence it is."""

    start: int
    end: int
    sentence: int
    key: str
    kind: str  # "function", "word", "name" or "number"
    unit: str = ""  # of a number: "%", a currency sign or ""


def read(text: str) -> list[Token]:
    """Return all tokens of the text, in order."""
    raw = [Raw(m.start(), m.end(), normal(m.group())) for m in WORD.finditer(text)]
    tokens: list[Token] = []
    sentence, i = 0, 0
    while i < len(raw):
        first = i > 0 and _breaks(text, raw[i - 1], raw[i])
        sentence += first
        number = numbers.read(text, raw, i)
        if number is not None:
            end = raw[i + number.taken - 1].end
            tokens.append(Token(raw[i].start, end, sentence, number.value, "number", number.unit))
            i += number.taken
            continue
        start, end, norm = raw[i]
        if norm in _FUNCTION_WORDS:
            kind = "function"
        else:
            opens = i == 0 or (first and not _abbreviated(text, raw[i - 1], raw[i]))
            kind = "name" if text[start].isupper() and not opens else "word"
            norm = stem(norm)
        tokens.append(Token(start, end, sentence, norm, kind))
        i += 1
    return tokens


def stem(word: str) -> str:
    """Return the word without common English endings; short words are unchanged."""
    for ending in ("'s", "s'"):
        word = word.removesuffix(ending)
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.removesuffix("e") if len(word) > 3 else word


def _breaks(text: str, before: Raw, after: Raw) -> bool:
    """Whether a sentence may end between two neighbouring raw words.

    An abbreviation ("Mr. ", "U.S. ") counts too: the source is split the same way, so nothing is lost, and an answer
    that a simpler rule cut there from its source still counts as a copy.
    """
    gap = text[before.end : after.start]
    return gap != " " and BREAK.search(gap) is not None


def _abbreviated(text: str, before: Raw, after: Raw) -> bool:
    """Whether the break probably belongs to an abbreviation, so that a capital after it marks a name."""
    initial = len(before.norm) == 1 and before.norm.isascii()
    return text[before.end : after.start] == ". " and (initial or before.norm in ABBREVIATIONS)
