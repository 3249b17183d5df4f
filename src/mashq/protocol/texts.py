"""Plain text as words and sentences: how long it is, how it begins, and how much of it is copied from another text.

Words are split the same way as in the grounding detector; scripts written without spaces count one word per
character.
"""

import re
import unicodedata
from collections.abc import Sequence

__all__ = ["ABBREVIATIONS", "BREAK", "RUN", "WORD", "copied", "first_sentences", "normal", "words"]

RUN = 8  # consecutive words that count as copied
_SHORTENED = "mr mrs ms dr prof st gen sen rep gov lt col sgt jr sr vs no inc ltd co corp"
ABBREVIATIONS = frozenset(_SHORTENED.split())

# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_LETTER = rf"(?![{_UNSPACED}])[^\W\d_]"
WORD = re.compile(rf"\d+(?:[.,]\d+)*|[{_UNSPACED}]|{_LETTER}(?:{_LETTER}|[{_MARKS}])*(?:['’](?:{_LETTER})+)*")
BREAK = re.compile(r"[\n\r\u2028\u2029]|[.!?…؟][\"'”’)\]]*\s|[。！？।]")


def normal(word: str) -> str:
    """A word in the form used for comparison."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return folded or word


def words(text: str) -> list[str]:
    """The words and numbers of a text, in the form used for comparison."""
    return [normal(match.group()) for match in WORD.finditer(text)]


def first_sentences(text: str, count: int) -> str:
    """The first `count` sentences of a text, unchanged; a sentence contains at least one word."""
    previous: re.Match[str] | None = None
    for match in WORD.finditer(text):
        if previous is not None and _sentence_ends(text, previous, match.start()):
            count -= 1
            if not count:
                gap = text[previous.end() : match.start()]
                closed = re.match(r"[.!?…؟。！？।]*[\"'”’)\]]*", gap)
                return text[: previous.end() + (closed.end() if closed else 0)].strip()
        previous = match
    return text.strip()


def copied(text: Sequence[str], source: Sequence[str]) -> float | None:
    """The share of a text's words in runs of RUN or more that also occur in the source; None without words."""
    if not text:
        return None
    source_runs = {tuple(source[start : start + RUN]) for start in range(len(source) - RUN + 1)}
    count = end = 0
    for start in range(len(text) - RUN + 1):
        if tuple(text[start : start + RUN]) in source_runs:
            count += start + RUN - max(start, end)
            end = start + RUN
    return count / len(text)


def _sentence_ends(text: str, previous: re.Match[str], start: int) -> bool:
    """Whether a sentence ends between a word and the next; never after an abbreviation or an initial."""
    gap = text[previous.end() : start]
    if gap == " " or BREAK.search(gap) is None:
        return False
    word = previous.group()
    return not (gap == ". " and (word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper())))
