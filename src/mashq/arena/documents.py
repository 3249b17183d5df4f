"""Score answers that are given from passages: by their support, and abstentions by whether there is an answer.

The judge knows whether the passages contain the answer; the guide never does. An abstention is judged 1 if they do
not, and `abstention` if they do or it is unknown; an answer to an unanswerable question is judged 0. The guide scores
an answer by its support and an abstention by the stated confidence, so a player cannot tell whether there is an
answer.
"""

from dataclasses import dataclass

from mashq.arena.referee import Scorer
from mashq.detectors.abstention import abstains as says_so
from mashq.detectors.base import Pair
from mashq.detectors.pairs import scoring_of, stated
from mashq.protocol.items import Item
from mashq.protocol.moves import Abstained, abstains

UNSTATED = 0.5  # the confidence assumed if a player was asked for it and stated none


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, its player's confidence in it, and whether it is an abstention."""

    text: str
    confidence: float | None = None
    abstained: Abstained = ""


def said_of(item: Item, text: str, stated: Abstained, *, drawn: bool = False) -> Abstained:
    """Whether an answer is an abstention: as stated, else judged by its words. Never for other tasks or drawn
    answers."""
    if not item.passages or drawn:
        return ""
    return stated or ("read" if says_so(text) else "")


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """The judge and the guide of a match; without a guide, players are told their own confidence."""

    judge: Scorer
    guide: Scorer | None
    abstention: float = 0.0
    by_reference: bool = False

    async def score(self, item: Item, said: Said, round_: int) -> tuple[float, float]:
        """The guide's score and the judge's."""
        guided_by = "confidence" if self.guide is None else "judge" if self.guide is self.judge else "guide"
        scoring = scoring_of(
            item,
            said.text,
            guided_by,
            abstained=abstains(said.abstained),
            abstention=self.abstention,
            by_reference=self.by_reference,
        )
        judged = scoring.judge
        if isinstance(judged, Pair):
            judged = await self.judge.score(judged, round_, item.id)
        if scoring.guide == "judge":
            return judged, judged
        if self.guide is None or scoring.guide == "confidence":
            return stated(said.confidence), judged
        return await self.guide.score(scoring.guide, round_, item.id), judged
