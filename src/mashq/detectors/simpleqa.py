"""SimpleQA-style grading without a model: correct, incorrect or not attempted.

An answer is correct when it equals the reference after normalisation, or when the reference stands in it whole (as
words) and the answer is not much longer: "It was Michio Sugeno" for "Michio Sugeno". An answer that declines ("I do
not know") was not attempted; it scores 0 like an incorrect one, and the grade says which it was. A strict grader: a
right answer in other words counts as incorrect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
    needs_reference: bool = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        return [float(grade(pair) == "correct") for pair in pairs]


def grade(pair: Pair) -> Grade:
    """The three-way grade of one answer."""
    if pair.reference is None:
        raise DetectorError("simpleqa needs a reference answer for every item: name its field with task.answer")
    said, wanted = normalise(pair.answer), normalise(pair.reference)
    if declines(pair.answer):
        return "not attempted"
    if said == wanted:
        return "correct"
    contained = f" {wanted} " in f" {said} "
    return "correct" if contained and len(said.split()) <= len(wanted.split()) + MAX_EXTRA else "incorrect"


def declines(answer: str) -> bool:
    """Whether an answer does not attempt its question: it is empty, or says that it does not know."""
    said = normalise(answer)
    return not said or said in DECLINES or any(said.startswith(phrase + " ") for phrase in DECLINES if " " in phrase)
