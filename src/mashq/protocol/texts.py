"""Plain text as words and sentences: how long it is, how it begins, and how much of it stands in another.

Words are told apart as the grounding detector does; scripts written without spaces count one character a word.
"""

import re
import unicodedata
from collections.abc import Sequence

__all__ = ["ABBREVIATIONS", "BREAK", "RUN", "WORD", "copied", "first_sentences", "normal", "words"]

RUN = 8  # words in a row that make a copy
_SHORTENED = "mr mrs ms dr prof st gen sen rep gov lt col sgt jr sr vs no inc ltd co corp"
ABBREVIATIONS = frozenset(_SHORTENED.split())

# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_LETTER = rf"(?![{_UNSPACED}])[^\W\d_]"
WORD = re.compile(rf"\d+(?:[.,]\d+)*|[{_UNSPACED}]|{_LETTER}(?:{_LETTER}|[{_MARKS}])*(?:['’](?:{_LETTER})+)*")
BREAK = re.compile(r"[\n\r\u2028\u2029]|[.!?…؟][\"'”’)\]]*\s|[。！？।]")


def normal(word: str) -> str:
    """A word as it is compared."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return folded or word


def words(text: str) -> list[str]:
    """The words and numbers of a text, as they are compared."""
    return [normal(found.group()) for found in WORD.finditer(text)]


def first_sentences(text: str, count: int) -> str:
    """The first sentences of a text as they stand, up to so many; a sentence has a word in it."""
    before: re.Match[str] | None = None
    for found in WORD.finditer(text):
        if before is not None and _ends(text, before, found.start()):
            count -= 1
            if not count:
                gap = text[before.end() : found.start()]
                closed = re.match(r"[.!?…؟。！？।]*[\"'”’)\]]*", gap)
                return text[: before.end() + (closed.end() if closed else 0)].strip()
        before = found
    return text.strip()


def copied(text: Sequence[str], source: Sequence[str]) -> float | None:
    """The share of a text's words that stand in runs of RUN or more as they do in the source; None without words."""
    if not text:
        return None
    there = {tuple(source[at : at + RUN]) for at in range(len(source) - RUN + 1)}
    inside = upto = 0
    for at in range(len(text) - RUN + 1):
        if tuple(text[at : at + RUN]) in there:
            inside += at + RUN - max(at, upto)
            upto = at + RUN
    return inside / len(text)


def _ends(text: str, before: re.Match[str], start: int) -> bool:
    """Whether a sentence ends between a word and the next, which is not so after an abbreviation or an initial."""
    gap = text[before.end() : start]
    if gap == " " or BREAK.search(gap) is None:
        return False
    word = before.group()
    return not (gap == ". " and (word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper())))
