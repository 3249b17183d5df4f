"""The Q-Agent: a policy, an answer and a review agent over one model.

The answer agent is told neither scores nor costs, so it cannot win by saying less.
"""

from typing import Literal, Self

from mashq.config import PlayerConfig
from mashq.gateway.model import Model
from mashq.players.base import AgentSpec, Calls, Draft, Workload, rewrite
from mashq.players.policies import bayes as bayes_policy
from mashq.players.policies import rule as rule_policy
from mashq.players.prompting import Prompter
from mashq.protocol.moves import Decision
from mashq.protocol.state import Observation


def _calls(work: Workload) -> Calls:
    return Calls(work.items, work.decisions if work.policy == "llm" else 0, work.items * work.reviews)


class QAgent:
    """The reference player of the protocol."""

    spec: AgentSpec = AgentSpec(
        "the reference: policy, answer and review agents over one model",
        "2 + reviews; 1 + reviews with `policy: rule` or `bayes`; in `turn: single` 2 × (1 + reviews), and 1 to end",
        calls=_calls,
        asks_policy=True,
        asks_again=True,
        answers_alone=True,
        settings=frozenset({"prompts", "policy"}),
        simulated_as="q-agent",
    )

    def __init__(self, prompter: Prompter, policy: Literal["llm", "rule", "bayes"] = "llm") -> None:
        self._prompter, self._policy = prompter, policy
        self._assumed = bayes_policy.QUESTIONS if prompter.prompts.task == "qa" else bayes_policy.ASSUMED

    @classmethod
    def configured(cls, player: PlayerConfig, prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        return cls(prompter, player.policy)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """The move for the current step."""
        if seen.step == "decide" or seen.item is None:
            return await self._decide(seen, model)
        if seen.step == "answer":
            return await self._prompter.answer(seen.item, model)
        return rewrite(await self._prompter.review(seen.item, seen.answer, seen.h, model))

    async def _decide(self, seen: Observation, model: Model) -> Decision:
        if self._policy == "rule":
            return rule_policy.decide(seen)
        if self._policy == "bayes":
            return bayes_policy.decide(seen, self._assumed)
        return await self._prompter.decide(seen, model)
