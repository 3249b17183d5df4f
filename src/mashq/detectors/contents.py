"""What one answer carries, by the kind of its task.

summarise   how many words, how much of what matters in the passage (`coverage`), and how much of it word for word
qa, others  how many words, and whether the question is attempted at all: 1 or 0; a question has nothing to copy
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
    """What an answer carries; `copied` is None where there is nothing to copy."""

    words: int
    coverage: float
    copied: float | None


@lru_cache(4096)
def content(kind: str, source: str, answer: str) -> Content:
    """What an answer to an item of this kind of task carries."""
    own = words(answer)
    if kind != SUMMARISE:
        return Content(len(own), float(not declines(answer)), None)
    return Content(len(own), _COVERAGE.score([Pair(source, answer)])[0], copied(own, _words(source)))


@lru_cache(64)
def _words(source: str) -> Sequence[str]:
    return words(source)


def floor(name: str, source: str) -> str:
    """The text of one of `protocol.content.LEADS` on a source."""
    sentences = LEADS[name]
    return source if sentences is None else first_sentences(source, sentences)
