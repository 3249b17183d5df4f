"""SimpleQA-style grading without a model: correct, incorrect or not attempted.

An answer is correct when it equals the reference after normalisation, or when it contains the whole reference (as
words) and is not much longer: "It was Michio Sugeno" for "Michio Sugeno". An answer that declines ("I do
not know") was not attempted; it scores 0 like an incorrect one, and the grade says which it was. A strict grader: a
right answer in other words counts as incorrect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from mashq.detectors.base import Pair
from mashq.detectors.exact_match import normalise
from mashq.errors import DetectorError

Grade = Literal["correct", "incorrect", "not attempted"]
DECLINES = (
    "i do not know",
    "i dont know",
    "i dont have",
    "i am not sure",
    "im not sure",
    "not sure",
    "unknown",
    "i cannot answer",
    "i cant answer",
    "no idea",
)
MAX_EXTRA = 12


@dataclass(frozen=True, slots=True)
class SimpleQA:
    """1.0 for a correct answer, else 0.0."""

    name: str = "simpleqa"
    version: str = "1"
    needs_reference: ClassVar[bool] = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        return [float(grade(pair) == "correct") for pair in pairs]


def grade(pair: Pair) -> Grade:
    """Return the three-way grade of one answer."""
    if pair.reference is None:
        raise DetectorError("simpleqa needs a reference answer for every item: name its field with task.answer")
    answer, reference = normalise(pair.answer), normalise(pair.reference)
    if declines(pair.answer):
        return "not attempted"
    if answer == reference:
        return "correct"
    contained = f" {reference} " in f" {answer} "
    return "correct" if contained and len(answer.split()) <= len(reference.split()) + MAX_EXTRA else "incorrect"


def declines(answer: str) -> bool:
    """Whether an answer does not attempt its question: it is empty, or says that it does not know."""
    text = normalise(answer)
    return not text or text in DECLINES or any(text.startswith(phrase + " ") for phrase in DECLINES if " " in phrase)
