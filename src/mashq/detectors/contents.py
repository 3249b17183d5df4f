"""Length, coverage and copying of one answer, by the kind of its task.

summarise   number of words, share of the passage's key words (`coverage`), and share copied word for word
qa          number of words, and whether the question is attempted at all: 1 or 0; a question has nothing to copy
rag         the same; whether an answer is an attempt is what was recorded of it, not how it is worded
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mashq.detectors.base import Pair
from mashq.detectors.coverage import Coverage
from mashq.detectors.simpleqa import declines
from mashq.protocol.content import LEADS
from mashq.protocol.texts import copied, first_sentences, words

SUMMARISE = "summarise"
_COVERAGE = Coverage()


@dataclass(frozen=True, slots=True)
class Content:
    """Measurements of one answer; `copied` is None where there is nothing to copy."""

    words: int
    coverage: float
    copied: float | None


@lru_cache(4096)
def content(kind: str, source: str, answer: str, attempted: bool | None = None) -> Content:
    """Measure an answer to an item of this kind of task; `attempted`: as recorded (None: its words tell)."""
    answer_words = words(answer)
    if kind != SUMMARISE:
        return Content(len(answer_words), float(not declines(answer) if attempted is None else attempted), None)
    return Content(
        len(answer_words), _COVERAGE.score([Pair(source, answer)])[0], copied(answer_words, _source_words(source))
    )


@lru_cache(64)
def _source_words(source: str) -> Sequence[str]:
    return words(source)


def floor(name: str, source: str) -> str:
    """Return the baseline answer that one of `protocol.content.LEADS` takes from a source."""
    sentences = LEADS[name]
    return source if sentences is None else first_sentences(source, sentences)
