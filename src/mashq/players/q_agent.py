"""The Q-Agent: a policy, an answer and a review agent over one model.

The answer agent is told neither scores nor costs, so that saying less is no way to win. A reply that is not the JSON
asked for is asked for once more (and counted); after that a decision becomes `continue` and an answer its plain text.
"""

from collections.abc import Mapping
from typing import Literal, cast

from mashq.gateway.door import Failure, Model
from mashq.gateway.replies import cut_string, json_object
from mashq.gateway.types import Completion, Message
from mashq.players import rule_policy
from mashq.players.base import Draft
from mashq.players.prompts import Prompts
from mashq.protocol.moves import CHOICES, Answer, Choice, Decision, Rewrite
from mashq.protocol.state import Observation, Snapshot

SUMMARY: Mapping[str, object] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
DECISION: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "choice": {"type": "string", "enum": list(CHOICES)},
        "question_id": {"type": "string"},
        "previous_id": {"type": "string"},
    },
    "required": ["choice", "question_id", "previous_id"],
    "additionalProperties": False,
}
LABELS = {
    "average_h": "average H",
    "worst_h": "worst H",
    "items_done": "texts done",
    "tokens": "tokens",
    "calls": "calls",
    "reviews": "reviews",
    "seconds": "seconds",
}


class QAgent:
    """The reference player of the protocol."""

    def __init__(self, prompts: Prompts, policy: Literal["llm", "rule"] = "llm") -> None:
        self._prompts, self._policy = prompts, policy

    async def move(self, seen: Observation, model: Model) -> Draft:
        """The move for the step at hand."""
        if seen.step == "decide":
            return rule_policy.decide(seen) if self._policy == "rule" else await self._decide(seen, model)
        passage = seen.item.text if seen.item is not None else ""
        if seen.step == "answer":
            return await self._write(self._prompts.fill("answer", {"passage": passage}), model)
        h = "unknown" if seen.h is None else f"{seen.h:.4f}"
        prompt = self._prompts.fill("review", {"passage": passage, "answer": seen.answer, "h": h})
        new = await self._write(prompt, model)
        return Rewrite(new.status, new.text, new.h, new.plain, new.error, new.simulated)

    async def _write(self, prompt: str, model: Model) -> Answer:
        """A first answer; a rewrite is made in the same way."""
        reply, found = await self._ask(prompt, model, SUMMARY, "summary")
        if isinstance(reply, Failure):
            return Answer("failed", error=reply.error)
        if reply.refused:
            return Answer("refused", reply.text, error=reply.stop or "empty reply")
        summary = None if found is None else found["summary"]
        if isinstance(summary, str):
            if not summary.strip():
                return Answer("refused", error="empty summary")
            return Answer("ok", summary.strip(), reply.h, simulated=reply.h is not None)
        text = cut_string(reply.text, "summary") or reply.text
        return Answer("ok", text.strip(), reply.h, plain=True, simulated=reply.h is not None)

    async def _decide(self, seen: Observation, model: Model) -> Decision:
        facts = {
            "recommended": seen.recommended,
            "current_id": None if seen.item is None else seen.item.id,
            "worst_id": None if seen.worst is None else seen.worst[0],
        }
        prompt = self._prompts.fill("policy", policy_fields(seen))
        reply, found = await self._ask(prompt, model, DECISION, "choice", facts)
        if isinstance(reply, Failure):
            return Decision("continue", source="fallback", reason=reply.error)
        if reply.refused:
            return Decision("continue", source="fallback", reason=f"refused: {reply.stop or 'empty reply'}")
        choice = None if found is None else _choice(found)
        if found is None or choice is None:
            return Decision("continue", source="fallback", reason=f"not a decision: {reply.text[:200]}")
        return Decision(choice, _id(found.get("question_id")), _id(found.get("previous_id")))

    async def _ask(
        self,
        prompt: str,
        model: Model,
        schema: Mapping[str, object],
        key: str,
        facts: Mapping[str, object] | None = None,
    ) -> tuple[Completion | Failure, Mapping[str, object] | None]:
        """Ask; ask once more when the reply lacks the JSON; a refusal or a failure is final."""
        messages = [Message("user", prompt)]
        reply = await model.ask(messages, schema=schema, facts=facts)
        found = _read(reply, key)
        if found is None and isinstance(reply, Completion) and not reply.refused:
            keys = ", ".join(f'"{name}"' for name in cast(list[str], schema["required"]))
            again = self._prompts.fill("again", {"keys": keys})
            messages += [Message("assistant", reply.text), Message("user", again)]
            reply = await model.ask(messages, schema=schema, facts=facts)
            found = _read(reply, key)
        return reply, found


def policy_fields(seen: Observation) -> dict[str, str]:
    """What the policy prompt is filled with."""
    spend = seen.spend
    worst_id, worst_h = ("none", "none") if seen.worst is None else (seen.worst[0], f"{seen.worst[1]:.4f}")
    seconds = f"{spend.seconds.total:.1f}" if seen.show_seconds else "not shown"
    return {
        "player": seen.player,
        "rivals": str(seen.rivals),
        "total": str(seen.total),
        "done": str(seen.handled),
        "remaining": str(seen.total - seen.handled),
        "tokens": f"{spend.tokens.total:.0f}",
        "calls": str(spend.calls),
        "reviews": str(spend.reviews),
        "average_h": "none" if seen.average_h is None else f"{seen.average_h:.4f}",
        "seconds": seconds,
        "seconds_line": f"- seconds used: {seconds}\n" if seen.show_seconds else "",
        "current_id": "none" if seen.item is None else seen.item.id,
        "worst_id": worst_id,
        "worst_h": worst_h,
        "recommendation": f"yes, it is below {seen.threshold:g}" if seen.recommended else "no",
        "review_cost": f"{seen.review_cost:g}",
        "max_reviews": str(seen.max_reviews),
        "threshold": f"{seen.threshold:g}",
        "resources": ", ".join(seen.resources),
        "rivals_section": "".join(_snapshot(shown) for shown in seen.snapshots),
    }


def _snapshot(shown: Snapshot) -> str:
    """What a rival let slip, as a line of the prompt."""
    values = [f"{LABELS[name]} {_number(value)}" for name, value in shown.fields]
    stopped = " (it has stopped)" if shown.stopped else ""
    return f"- seen of rival {shown.player} after round {shown.round + 1}{stopped}: {', '.join(values)}\n"


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    return str(int(value)) if value == int(value) else f"{value:.4f}"


def _read(reply: Completion | Failure, key: str) -> Mapping[str, object] | None:
    """The JSON object asked for, when the reply holds it."""
    if isinstance(reply, Failure) or reply.refused:
        return None
    found = json_object(reply.text, key)
    if found is None or not isinstance(found[key], str):
        return None
    return None if key == "choice" and _choice(found) is None else found


def _choice(found: Mapping[str, object]) -> Choice | None:
    said = found.get("choice")
    word = said.strip().strip("\"'").lower() if isinstance(said, str) else ""
    return word if word in CHOICES else None


def _id(value: object) -> str | None:
    return None if value is None else str(value)[:200]
