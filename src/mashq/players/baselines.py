"""The baselines that cost-aware evaluation needs: `plain`, `retry` and `escalate`."""

from dataclasses import replace
from typing import Self

from mashq.config import PlayerConfig
from mashq.errors import ConfigError
from mashq.gateway.model import Model
from mashq.players.base import AgentSpec, Calls, Draft, answers_and_reviews, on, rewrite
from mashq.players.prompting import Prompter
from mashq.protocol.moves import Decision
from mashq.protocol.state import Observation


class Plain:
    """Answers every item once and never reviews."""

    spec: AgentSpec = AgentSpec(
        "one answer, no policy",
        "1",
        calls=lambda work: Calls(work.items),
        reviews="never",
        asks_again=True,
        answers_alone=True,
        settings=frozenset({"prompts"}),
        simulated_as="plain",
    )

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    @classmethod
    def configured(cls, _player: PlayerConfig, prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        return cls(prompter)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Answer, or continue."""
        if seen.step == "decide" or seen.item is None:
            return on(seen, "a plain player never reviews")
        return await self._prompter.answer(seen.item, model)


class Retry:
    """Asks again if the guide's score is below T, with the same question and without showing the old answer."""

    spec: AgentSpec = AgentSpec(
        "the same question again until H reaches T or R is used up; a resample counts as a review",
        "1 + reviews",
        calls=answers_and_reviews,
        asks_again=True,
        answers_alone=True,
        settings=frozenset({"prompts"}),
        review_prompt="answer",
        simulated_as="retry",
    )

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter

    @classmethod
    def configured(cls, _player: PlayerConfig, prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        return cls(prompter)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Answer, decide without a call, or answer again."""
        if seen.step == "decide" or seen.item is None:
            if not seen.recommended:
                return on(seen, "no answer is below the threshold")
            worst = None if seen.worst is None else seen.worst[0]
            return Decision("review", previous_id=worst, source="rule", reason="an answer is below the threshold")
        answer = await self._prompter.answer(seen.item, model)
        return answer if seen.step == "answer" else rewrite(answer)


def _has_stronger_model(player: PlayerConfig) -> None:
    if player.to is None:
        raise ConfigError(f"player {player.name!r} escalates to no model: name the stronger one with 'to'")


class Escalate(Retry):
    """Like Retry, but its reviews are sent to a stronger model; the arena selects it."""

    spec: AgentSpec = replace(
        Retry.spec,
        about="asks the stronger model `to` where H is below T (R is 1 unless set)",
        max_reviews=1,
        settings=frozenset({"prompts", "to"}),
        check=_has_stronger_model,
        simulated_as="escalate",
    )
