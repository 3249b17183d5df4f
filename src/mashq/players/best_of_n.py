"""Best-of-N: N full plays of an item, of which the guide picks the best. Every play is charged.

A play is what a Q-Agent does with one item: an answer, a decision (a call, under `policy: llm`), and reviews until
the score reaches T or R reviews have been made.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

from mashq.config import PlayerConfig
from mashq.errors import ConfigError
from mashq.gateway.model import Model
from mashq.gateway.types import PLAY
from mashq.players.base import AgentSpec, Calls, Draft, Workload, on
from mashq.players.policies import rule as rule_policy
from mashq.players.prompting import Place, Prompter
from mashq.protocol.game import replaces
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer
from mashq.protocol.state import Observation


@dataclass(frozen=True, slots=True)
class Play:
    """One play: the first and the last draft, each with its score; no scores if the item was not answered."""

    last: Answer
    h: float | None = None
    first: Answer | None = None
    h_first: float | None = None


def _calls(work: Workload) -> Calls:
    decisions = work.items if work.policy == "llm" else 0
    return Calls(work.items, decisions, work.items * work.reviews).times(work.n)


class BestOfN:
    """Plays every item N times."""

    spec: AgentSpec = AgentSpec(
        "`n` full plays (answer, decision, reviews), the guide picks the best, every play is charged",
        "n × (2 + reviews); n × (1 + reviews) with `policy: rule`",
        calls=_calls,
        reviews="in plays",
        asks_policy=True,
        asks_again=True,
        settings=frozenset({"prompts", "policy", "n"}),
        simulated_as="best-of-n",
    )

    def __init__(self, prompter: Prompter, plays: int, policy: Literal["llm", "rule", "bayes"] = "llm") -> None:
        if policy == "bayes":
            raise ConfigError(
                "policy: bayes plans the reviews of a whole match, and best-of-n plays item by item: use rule"
            )
        self._prompter, self._plays, self._policy = prompter, plays, policy

    @classmethod
    def configured(cls, player: PlayerConfig, prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        assert isinstance(player.n, int)  # as its spec has checked
        return cls(prompter, player.n, player.policy)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Make all plays when an item is to be answered; the decisions after it are free."""
        if seen.step == "decide" or seen.item is None:
            return on(seen, "all answers to this item are made")
        plays = [await self._play(seen, seen.item, model, PLAY * play) for play in range(self._plays)]
        scored = [play for play in plays if play.h is not None and play.first is not None]
        if not scored:
            return plays[-1].last
        best, opening = max(scored, key=lambda play: play.h or 0.0), scored[0]
        text, abstained = (None, "") if opening.first is None else (opening.first.text, opening.first.abstained)
        return replace(best.last, h=best.h, h_first=opening.h_first, text_first=text, abstained_first=abstained)

    async def _play(self, seen: Observation, item: Item, model: Model, start: int) -> Play:
        first = await self._prompter.answer(item, model, Place("answer", start))
        if first.status != "ok":
            return Play(first)
        h = h_first = await _score(first, model)
        last = first
        if await self._wants_review(seen, item, h, model, start):
            for review in range(seen.max_reviews):
                model.count_review()
                new = await self._prompter.review(item, last.text, h, model, Place("review", start + review))
                if new.status == "ok":
                    scored = await _score(new, model)
                    if replaces(seen.rules, h, scored):
                        last, h = new, scored
                if h >= seen.threshold:
                    break
        return Play(last, h, first, h_first)

    async def _wants_review(self, seen: Observation, item: Item, h: float, model: Model, start: int) -> bool:
        recommended = h < seen.threshold and seen.max_reviews > 0
        spend = seen.spend + model.spend if seen.rules.version > 1 else seen.spend
        state = replace(
            seen, step="decide", worst=(item.id, h), recommended=recommended, handled=seen.handled + 1, spend=spend
        )
        if self._policy == "rule":
            return rule_policy.decide(state).choice == "review"
        decision = await self._prompter.decide(state, model, Place("decision", start))
        return decision.choice == "review"


async def _score(answer: Answer, model: Model) -> float:
    return answer.h if answer.h is not None else await model.score(answer.text, answer.confidence, answer.abstained)
