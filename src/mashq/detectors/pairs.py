"""What a detector is given of an item and an answer, and who scores it.

`scoring_of` is the one place that says it: a match scores by it, `rescore` scores by it anew, `verify` checks by it.
"""

from dataclasses import dataclass
from typing import Literal

from mashq.detectors.base import Pair
from mashq.detectors.citations import without_citations
from mashq.protocol.items import Item, known_score

UNSTATED = 0.5  # the confidence of a player that was asked for one and stated none


def pair_of(item: Item, answer: str, *, by_reference: bool = True) -> Pair:
    """An answer to score. One from passages is scored without its citations, and by its support: only a judge that
    compares with references (`by_reference`) is given the reference."""
    if not item.passages:
        return Pair(item.text, answer, item.reference)
    plain = without_citations(answer, {passage.id for passage in item.passages})
    return Pair(item.source, plain, item.reference if by_reference else None)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How one answer gets its scores.

    judge    the pair that the judge reads, or the score that is known without reading
    guide    the pair that the guide reads, "judge" for the judge's own score, "confidence" for the player's
    """

    judge: Pair | float
    guide: Pair | Literal["judge", "confidence"]


def scoring_of(
    item: Item,
    answer: str,
    guide: str,
    *,
    abstained: bool = False,
    abstention: float = 0.0,
    by_reference: bool = True,
) -> Scoring:
    """How an answer is scored where players are guided by `guide`: `judge`, `confidence` or a detector of its own.

    The judge knows whether passages hold the answer; the guide never does, so an abstention is guided by the
    confidence that the player stated."""
    known = known_score(item, abstained=abstained, abstention=abstention)
    judge = pair_of(item, answer, by_reference=by_reference) if known is None else known
    if guide == "confidence" or (item.passages and abstained):
        return Scoring(judge, "confidence")
    if guide == "judge" and known is None:
        return Scoring(judge, "judge")
    return Scoring(judge, pair_of(item, answer, by_reference=False))


def stated(confidence: float | None) -> float:
    """A player's confidence as its guide's score."""
    return UNSTATED if confidence is None else confidence
