"""Asking a model for an answer, a rewrite or a decision, and reading what it says.

A reply that is not the JSON asked for is asked for once more (and counted); after that a decision becomes `continue`
and an answer its plain text. A refusal, blank text included, and a failure are final. So is a reply that an output
limit cut off before its JSON was whole: a decision becomes `continue`, an answer that has begun its JSON, or has no
text, is `cut`, and plain text is taken as it stands and marked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from mashq.gateway.model import Failure, Model
from mashq.gateway.replies import cut_string, json_object
from mashq.gateway.types import Completion, Message
from mashq.players.prompts import Prompts, item_fields
from mashq.players.telling import told_sections
from mashq.protocol.items import Item
from mashq.protocol.moves import CHOICES, Abstained, Answer, Choice, Decision
from mashq.protocol.resources import TABLE, Unknown
from mashq.protocol.state import Observation, Snapshot

TEXT: Mapping[str, object] = {"type": "string"}
LABELS = {
    "average_h": "average H",
    "worst_h": "worst H",
    "items_done": "texts done",
    "tokens": "tokens",
    "calls": "calls",
    "reviews": "reviews",
    "seconds": "seconds",
}


def schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """A JSON schema of an object with just these properties, all required."""
    names = list(properties)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def _key(task: str) -> str:
    return "summary" if task == "summarise" else "answer"


CONFIDENCE: Mapping[str, object] = {"confidence": {"type": "number"}}
STATED: Mapping[str, Mapping[str, object]] = {
    "summarise": {},
    "qa": CONFIDENCE,
    "rag": {"abstained": {"type": "boolean"}, **CONFIDENCE},
}
ASKED = {task: schema({_key(task): TEXT, **stated}) for task, stated in STATED.items()}
DECISION = schema({"choice": {"type": "string", "enum": list(CHOICES)}, "question_id": TEXT, "previous_id": TEXT})


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a step a question stands, for agents that ask several: its purpose and number."""

    purpose: str | None = None
    n: int | None = None


HERE = Place()


@dataclass(frozen=True, slots=True)
class Prompter:
    """The prompts of a player and the JSON its task asks for: `summary`, or `answer` with what is to be stated."""

    prompts: Prompts

    @property
    def key(self) -> str:
        """The key of an answer."""
        return _key(self.prompts.task)

    @property
    def stated(self) -> Mapping[str, object]:
        """What is to be stated beside an answer, by key."""
        return STATED[self.prompts.task]

    def abstained(self, found: Mapping[str, object]) -> Abstained:
        """Whether a reply states that the passages do not hold the answer, where that is asked."""
        return abstained_of(found) if "abstained" in self.stated else ""

    async def answer(self, item: Item, model: Model, place: Place = HERE) -> Answer:
        """A first answer: the model is told the item and nothing about scores or costs."""
        return await self._write(self.prompts.fill("answer", item_fields(item)), model, place)

    async def review(self, item: Item, answer: str, h: float | None, model: Model, place: Place = HERE) -> Answer:
        """A rewrite: the model is told the item, the answer and its score."""
        told = "unknown" if h is None else f"{h:.4f}"
        prompt = self.prompts.fill("review", {**item_fields(item), "answer": answer, "h": told})
        return await self._write(prompt, model, place)

    async def decide(self, seen: Observation, model: Model, place: Place = HERE) -> Decision:
        """What the policy agent makes of the state."""
        facts = {
            "recommended": seen.recommended,
            "current_id": None if seen.item is None else seen.item.id,
            "worst_id": None if seen.worst is None else seen.worst[0],
            "review_cost": seen.review_cost,
            "snapshots": len(seen.snapshots),
        }
        prompt = self.prompts.fill("policy", policy_fields(seen, self.prompts.task))
        reply, found = await self._ask(prompt, model, DECISION, "choice", place, facts)
        if isinstance(reply, Failure):
            return Decision("continue", source="fallback", reason=reply.error)
        if reply.refused:
            return Decision("continue", source="fallback", reason=f"refused: {reply.stop or 'empty reply'}")
        choice = None if found is None else _choice(found)
        if choice is None and reply.cut:
            return Decision("continue", source="fallback", reason=reply.cut, cut=True)
        if found is None or choice is None:
            return Decision("continue", source="fallback", reason=f"not a decision: {reply.text[:200]}")
        return Decision(choice, _id(found.get("question_id")), _id(found.get("previous_id")))

    async def _write(self, prompt: str, model: Model, place: Place) -> Answer:
        reply, found = await self._ask(prompt, model, ASKED[self.prompts.task], self.key, place)
        if isinstance(reply, Failure):
            return Answer("failed", error=reply.error)
        if reply.refused:
            return Answer("refused", reply.text, error=reply.stop or "empty reply")
        drawn = reply.h is not None
        if found is None and reply.cut:
            return cut_answer(reply)
        if found is None:
            text = cut_string(reply.text, self.key) or reply.text
            return Answer("ok", text.strip(), reply.h, plain=True, simulated=drawn)
        text = cast(str, found[self.key]).strip()
        abstained = self.abstained(found)
        if not text and abstained != "yes":
            return Answer("refused", error=f"empty {self.key}")
        return Answer("ok", text, reply.h, simulated=drawn, confidence=confidence_of(found), abstained=abstained)

    async def _ask(
        self,
        prompt: str,
        model: Model,
        wanted: Mapping[str, object],
        key: str,
        place: Place,
        facts: Mapping[str, object] | None = None,
    ) -> tuple[Completion | Failure, Mapping[str, object] | None]:
        """Ask; ask once more when the reply lacks the JSON and was not cut off."""
        messages = [Message("user", prompt)]
        reply = await model.ask(messages, schema=wanted, facts=facts, purpose=place.purpose, n=place.n)
        found = read(reply, key)
        if found is None and isinstance(reply, Completion) and not (reply.refused or reply.cut):
            keys = ", ".join(f'"{name}"' for name in cast(list[str], wanted["required"]))
            again = self.prompts.fill("again", {"keys": keys})
            messages += [Message("assistant", reply.text), Message("user", again)]
            reply = await model.ask(messages, schema=wanted, facts=facts, purpose=place.purpose, n=place.n)
            found = read(reply, key)
        return reply, found


def read(reply: Completion | Failure, key: str) -> Mapping[str, object] | None:
    """The JSON object asked for, when the reply holds it with a string under `key`."""
    if isinstance(reply, Failure) or reply.refused:
        return None
    found = json_object(reply.text, key)
    if found is None or not isinstance(found[key], str):
        return None
    return None if key == "choice" and _choice(found) is None else found


def cut_answer(reply: Completion) -> Answer:
    """An answer that an output limit cut off without the JSON asked for: its plain text, if that is what it is."""
    text = reply.text.strip()
    if not text or "{" in text or "```" in text:
        return Answer("cut", text, error=reply.cut)
    return Answer("ok", text, reply.h, plain=True, error=reply.cut, simulated=reply.h is not None, cut=True)


def confidence_of(found: Mapping[str, object]) -> float | None:
    """The confidence a player stated, from 0 to 1; a percentage is read as one."""
    said = found.get("confidence")
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    value = said / 100 if 1 < said <= 100 else float(said)
    return value if 0 <= value <= 1 else None


def abstained_of(found: Mapping[str, object]) -> Abstained:
    """Whether a reply states that the passages do not hold the answer; nothing when it does not say."""
    said = found.get("abstained")
    return ("yes" if said else "no") if isinstance(said, bool) else ""


def policy_fields(seen: Observation, task: str = "summarise") -> dict[str, str]:
    """What the policy is told, and `react`: its state, the rules, and what it saw of rivals."""
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
        "seconds_line": (f"- seconds used: {seconds}\n" if seen.show_seconds else "") + _rated_lines(seen),
        "current_id": "none" if seen.item is None else seen.item.id,
        "worst_id": worst_id,
        "worst_h": worst_h,
        "recommendation": f"yes, it is below {seen.threshold:g}" if seen.recommended else "no",
        "review_cost": f"{seen.review_cost:g}",
        "max_reviews": str(seen.max_reviews),
        "threshold": f"{seen.threshold:g}",
        "resources": ", ".join(seen.resources),
        "rivals_section": "".join(_snapshot(shown) for shown in seen.snapshots),
        **told_sections(seen, task),
    }


def _rated_lines(seen: Observation) -> str:
    """A line for each rated resource that counts."""
    amounts = {name: seen.spend.amount(name).value for name in seen.resources if TABLE[name].rated}
    return "".join(
        f"- {name} used: {'unknown' if isinstance(value, Unknown) else f'{value:.{TABLE[name].digits}f}'}\n"
        for name, value in amounts.items()
    )


def _snapshot(shown: Snapshot) -> str:
    """What a rival let slip, as a line of the prompt."""
    values = [f"{LABELS[name]} {_number(value)}" for name, value in shown.fields]
    stopped = " (it has stopped)" if shown.stopped else ""
    return f"- seen of rival {shown.player} after round {shown.round + 1}{stopped}: {', '.join(values)}\n"


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    return str(int(value)) if value == int(value) else f"{value:.4f}"


def _choice(found: Mapping[str, object]) -> Choice | None:
    said = found.get("choice")
    word = said.strip().strip("\"'").lower() if isinstance(said, str) else ""
    return word if word in CHOICES else None


def _id(value: object) -> str | None:
    return None if value is None else str(value)[:200]
