"""ReAct: one loop of thought, action and observation per item, under the same rules.

The actions are `answer` (the first one is an answer; later ones are reviews, of which there are R) and `end`. After
each answer the model observes the guide's score and whether a review is recommended. Every turn of the loop is one
call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from mashq.config import PlayerConfig
from mashq.gateway.model import Failure, Model
from mashq.gateway.types import Completion, Message
from mashq.players.base import AgentSpec, Calls, Draft, Workload, answers_and_reviews, on
from mashq.players.prompting import TEXT, Prompter, confidence_of, policy_fields, read, schema
from mashq.players.prompts import item_fields
from mashq.protocol.game import replaces
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer
from mashq.protocol.state import Observation

ACTIONS: Mapping[str, object] = {"type": "string", "enum": ["answer", "end"]}


@dataclass(slots=True)
class Loop:
    """The state of the loop."""

    first: Answer | None = None
    best: Answer | None = None
    reviews: int = 0


def _at_most(work: Workload) -> Calls:
    """One more turn per item than its answer and R reviews: a first reply without an answer gets one correction."""
    return Calls(2 * work.items, reviews=work.items * work.max_reviews)


class React:
    """Thinks, acts and observes in a loop."""

    spec: AgentSpec = AgentSpec(
        "one loop of thought, action (answer, end) and observation per item",
        "1 + reviews, and 1 where it ends by itself",
        calls=answers_and_reviews,
        at_most=_at_most,
        reviews="in a loop",
        settings=frozenset({"prompts"}),
        answer_prompt="react",
        review_prompt="react",
        simulated_as="react",
    )

    def __init__(self, prompter: Prompter) -> None:
        self._prompter = prompter
        self._schema = schema({"thought": TEXT, "action": ACTIONS, prompter.key: TEXT, **prompter.stated})

    @classmethod
    def configured(cls, _player: PlayerConfig, prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        return cls(prompter)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Run the whole loop when an item is to be answered; the decisions after it are free."""
        if seen.step == "decide" or seen.item is None:
            return on(seen, "the loop over this item is over")
        return await self._loop(seen, seen.item, model)

    async def _loop(self, seen: Observation, item: Item, model: Model) -> Answer:
        prompts, loop = self._prompter.prompts, Loop()
        fields = policy_fields(seen, prompts.task) | item_fields(item)
        messages = [Message("user", prompts.fill("react", fields))]
        for _ in range(seen.max_reviews + 2):
            purpose, n = ("answer", 0) if loop.first is None else ("review", loop.reviews)
            reply = await model.ask(messages, schema=self._schema, purpose=purpose, n=n)
            if isinstance(reply, Failure) or reply.refused:
                return loop.best or _unanswered(reply)
            if reply.cut and read(reply, "action") is None:
                return loop.best or Answer("cut", reply.text, error=reply.cut)
            observation = await self._act(reply, seen, model, loop)
            if observation is None:
                break
            messages += [
                Message("assistant", reply.text),
                Message("user", prompts.fill("observe", {"told": observation})),
            ]
        return loop.best or Answer("failed", error="the loop ended without an answer")

    async def _act(self, reply: Completion, seen: Observation, model: Model, loop: Loop) -> str | None:
        """Take one action; returns what the model observes, or None when the loop is over."""
        key = self._prompter.key
        document = read(reply, "action") or {}
        stated = document.get(key)
        text = stated.strip() if isinstance(stated, str) else ""
        ends = str(document.get("action", "")).strip().lower() == "end"
        abstained = self._prompter.abstained(document)
        if loop.best is not None and (ends or not (text or abstained == "yes")):
            return None
        if not text and abstained != "yes":
            return f'the action must be "answer", with your answer under "{key}"'
        draft = Answer("ok", text, reply.h, simulated=reply.h is not None, confidence=confidence_of(document))
        draft = replace(draft, abstained=abstained)
        h = reply.h if reply.h is not None else await model.score(text, draft.confidence, abstained)
        if loop.first is None:
            loop.first = replace(draft, h=h)
        else:
            loop.reviews += 1
            model.count_review()
        if replaces(seen.rules, None if loop.best is None else loop.best.h, h):
            first = loop.first
            loop.best = replace(draft, h=h, h_first=first.h, text_first=first.text, abstained_first=first.abstained)
        if h >= seen.threshold or loop.reviews == seen.max_reviews:
            return None
        left = seen.max_reviews - loop.reviews
        note = f"H = {h:.4f}, below {seen.threshold:g}: a rewrite is recommended; reviews left: {left}"
        if "costs" not in seen.rules.tell:
            return note
        spent = model.spend
        return (
            f"{note}; taken so far: {spent.tokens.total:.0f} tokens, {spent.calls} call(s), {loop.reviews} review(s)"
        )


def _unanswered(reply: Completion | Failure) -> Answer:
    if isinstance(reply, Failure):
        return Answer("failed", error=reply.error)
    return Answer("refused", reply.text, error=reply.stop or "empty reply")
