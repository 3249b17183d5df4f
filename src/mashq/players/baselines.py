"""The baselines that cost-aware work asks for.

plain       one call an item, no policy
retry       the same question again until H >= T or R reviews are used; a resample counts as a review
escalate    a stronger model answers again where the first one's H is below T
"""

from mashq.gateway.model import Model
from mashq.players.base import Draft, on, rewrite
from mashq.players.prompting import Prompter
from mashq.protocol.moves import Decision
from mashq.protocol.state import Observation


class Plain:
    """Answers and goes on."""

    answers_alone = True

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    async def move(self, seen: Observation, model: Model) -> Draft:
        """An answer, or on to the next."""
        if seen.step == "decide" or seen.item is None:
            return on(seen, "a plain player never reviews")
        return await self._prompter.answer(seen.item, model)


class Again:
    """Asks again where the guide's score is below T: the same model (retry), or a stronger one (escalate).

    Which model a review is asked of is the arena's doing; the question is the same, and the old answer is not shown.
    """

    answers_alone = True

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    async def move(self, seen: Observation, model: Model) -> Draft:
        """An answer, a decision for free, or an answer again."""
        if seen.step == "decide" or seen.item is None:
            if not seen.recommended:
                return on(seen, "no answer is below the threshold")
            worst = None if seen.worst is None else seen.worst[0]
            return Decision("review", previous_id=worst, source="rule", reason="an answer is below the threshold")
        answer = await self._prompter.answer(seen.item, model)
        return answer if seen.step == "answer" else rewrite(answer)
