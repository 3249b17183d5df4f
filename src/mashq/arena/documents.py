"""Score answers that are given from passages: by their support, and abstentions by whether there is an answer.

The judge knows whether the passages contain the answer; the guide never does. An abstention is judged 1 if they do
not, and `abstention` if they do or it is unknown; an answer to an unanswerable question is judged 0. The guide scores
an answer by its support and an abstention by the stated confidence, so a player cannot tell whether there is an
answer.
"""

from dataclasses import dataclass

from mashq.arena.referee import Scorer
from mashq.detectors.abstention import abstains as says_so
from mashq.detectors.pairs import pair_of
from mashq.protocol.items import Item, known_score
from mashq.protocol.moves import Abstained, abstains

UNSTATED = 0.5  # the confidence assumed if a player was asked for it and stated none


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, its player's confidence in it, and whether it is an abstention."""

    text: str
    confidence: float | None = None
    abstained: Abstained = ""

    @property
    def felt(self) -> float:
        """The stated confidence, or the default."""
        return UNSTATED if self.confidence is None else self.confidence


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
        abstained = abstains(said.abstained)
        judged = known_score(item, abstained=abstained, abstention=self.abstention)
        if judged is None:
            pair = pair_of(item, said.text, by_reference=self.by_reference)
            judged = await self.judge.score(pair, round_, item.id)
            if self.guide is self.judge:
                return judged, judged
        if self.guide is None or abstained:
            return said.felt, judged
        return await self.guide.score(pair_of(item, said.text, by_reference=False), round_, item.id), judged
