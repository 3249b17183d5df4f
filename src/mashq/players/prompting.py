"""Ask a model for an answer, a rewrite or a decision, and parse its reply.

If a reply is not the JSON asked for, it is asked for once more (and counted); after that a decision becomes
`continue` and an answer its plain text. A refusal (including blank text) and a failure are final. So is a reply that
an output limit cut off before its JSON was complete: a decision becomes `continue`, an answer that contains the start
of JSON, or no text, is `cut`, and plain text is used as it is and marked as cut.
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
from mashq.protocol.rules import LABELS
from mashq.protocol.state import Observation, Snapshot

TEXT: Mapping[str, object] = {"type": "string"}


def schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """A JSON schema of an object with exactly these properties, all required."""
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
    """Where in a step a question belongs, for agents that ask several: its purpose and number."""

    purpose: str | None = None
    n: int | None = None


HERE = Place()


@dataclass(frozen=True, slots=True)
class Prompter:
    """A player's prompts and the JSON its task asks for: `summary`, or `answer` with further stated values."""

    prompts: Prompts

    @property
    def key(self) -> str:
        """The JSON key of an answer."""
        return _key(self.prompts.task)

    @property
    def stated(self) -> Mapping[str, object]:
        """The values to be stated with an answer, by key."""
        return STATED[self.prompts.task]

    def abstained(self, document: Mapping[str, object]) -> Abstained:
        """Whether a reply states that the passages do not contain the answer, if the task asks for it."""
        return abstained_of(document) if "abstained" in self.stated else ""

    async def answer(self, item: Item, model: Model, place: Place = HERE) -> Answer:
        """A first answer: the model is told the item and nothing about scores or costs."""
        return await self._write(self.prompts.fill("answer", item_fields(item)), model, place)

    async def review(self, item: Item, answer: str, h: float | None, model: Model, place: Place = HERE) -> Answer:
        """A rewrite: the model is told the item, the answer and its score."""
        score = "unknown" if h is None else f"{h:.4f}"
        prompt = self.prompts.fill("review", {**item_fields(item), "answer": answer, "h": score})
        return await self._write(prompt, model, place)

    async def decide(self, seen: Observation, model: Model, place: Place = HERE) -> Decision:
        """The decision of the policy agent for a state."""
        facts = {
            "recommended": seen.recommended,
            "current_id": None if seen.item is None else seen.item.id,
            "worst_id": None if seen.worst is None else seen.worst[0],
            "review_cost": seen.review_cost,
            "snapshots": len(seen.snapshots),
        }
        prompt = self.prompts.fill("policy", policy_fields(seen, self.prompts.task))
        reply, document = await self._ask(prompt, model, DECISION, "choice", place, facts)
        if isinstance(reply, Failure):
            return Decision("continue", source="fallback", reason=reply.error)
        if reply.refused:
            return Decision("continue", source="fallback", reason=f"refused: {reply.stop or 'empty reply'}")
        choice = None if document is None else _choice(document)
        if choice is None and reply.cut:
            return Decision("continue", source="fallback", reason=reply.cut, cut=True)
        if document is None or choice is None:
            return Decision("continue", source="fallback", reason=f"not a decision: {reply.text[:200]}")
        return Decision(choice, _id(document.get("question_id")), _id(document.get("previous_id")))

    async def _write(self, prompt: str, model: Model, place: Place) -> Answer:
        reply, document = await self._ask(prompt, model, ASKED[self.prompts.task], self.key, place)
        if isinstance(reply, Failure):
            return Answer("failed", error=reply.error)
        if reply.refused:
            return Answer("refused", reply.text, error=reply.stop or "empty reply")
        drawn = reply.h is not None
        if document is None and reply.cut:
            return cut_answer(reply)
        if document is None:
            text = cut_string(reply.text, self.key) or reply.text
            return Answer("ok", text.strip(), reply.h, plain=True, simulated=drawn)
        text = cast(str, document[self.key]).strip()
        abstained = self.abstained(document)
        if not text and abstained != "yes":
            return Answer("refused", error=f"empty {self.key}")
        return Answer("ok", text, reply.h, simulated=drawn, confidence=confidence_of(document), abstained=abstained)

    async def _ask(
        self,
        prompt: str,
        model: Model,
        wanted: Mapping[str, object],
        key: str,
        place: Place,
        facts: Mapping[str, object] | None = None,
    ) -> tuple[Completion | Failure, Mapping[str, object] | None]:
        """Ask; ask once more if the reply lacks the JSON and was not cut off."""
        messages = [Message("user", prompt)]
        reply = await model.ask(messages, schema=wanted, facts=facts, purpose=place.purpose, n=place.n)
        document = read(reply, key)
        if document is None and isinstance(reply, Completion) and not (reply.refused or reply.cut):
            keys = ", ".join(f'"{name}"' for name in cast(list[str], wanted["required"]))
            again = self.prompts.fill("again", {"keys": keys})
            messages += [Message("assistant", reply.text), Message("user", again)]
            reply = await model.ask(messages, schema=wanted, facts=facts, purpose=place.purpose, n=place.n)
            document = read(reply, key)
        return reply, document


def read(reply: Completion | Failure, key: str) -> Mapping[str, object] | None:
    """The JSON object asked for, if the reply contains it with a string under `key`."""
    if isinstance(reply, Failure) or reply.refused:
        return None
    document = json_object(reply.text, key)
    if document is None or not isinstance(document[key], str):
        return None
    return None if key == "choice" and _choice(document) is None else document


def cut_answer(reply: Completion) -> Answer:
    """An answer that an output limit cut off without the JSON asked for: its plain text, if it is plain text."""
    text = reply.text.strip()
    if not text or "{" in text or "```" in text:
        return Answer("cut", text, error=reply.cut)
    return Answer("ok", text, reply.h, plain=True, error=reply.cut, simulated=reply.h is not None, cut=True)


def confidence_of(document: Mapping[str, object]) -> float | None:
    """The confidence a player stated, from 0 to 1; a percentage is converted."""
    stated = document.get("confidence")
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return None
    value = stated / 100 if 1 < stated <= 100 else float(stated)
    return value if 0 <= value <= 1 else None


def abstained_of(document: Mapping[str, object]) -> Abstained:
    """Whether a reply states that the passages do not contain the answer; empty if it does not say."""
    stated = document.get("abstained")
    return ("yes" if stated else "no") if isinstance(stated, bool) else ""


def policy_fields(seen: Observation, task: str = "summarise") -> dict[str, str]:
    """The fields of the `policy` and `react` prompts: the player's state, the rules, and what it saw of rivals."""
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
        "rivals_section": "".join(_snapshot_line(snapshot) for snapshot in seen.snapshots),
        **told_sections(seen, task),
    }


def _rated_lines(seen: Observation) -> str:
    """One line per rated resource that counts."""
    amounts = {name: seen.spend.amount(name).value for name in seen.resources if TABLE[name].rated}
    return "".join(
        f"- {name} used: {'unknown' if isinstance(value, Unknown) else f'{value:.{TABLE[name].digits}f}'}\n"
        for name, value in amounts.items()
    )


def _snapshot_line(snapshot: Snapshot) -> str:
    """What was disclosed of a rival, as one line of the prompt."""
    values = [f"{LABELS[name]} {_number(value)}" for name, value in snapshot.fields]
    stopped = " (it has stopped)" if snapshot.stopped else ""
    return f"- seen of rival {snapshot.player} after round {snapshot.round + 1}{stopped}: {', '.join(values)}\n"


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    return str(int(value)) if value == int(value) else f"{value:.4f}"


def _choice(document: Mapping[str, object]) -> Choice | None:
    stated = document.get("choice")
    word = stated.strip().strip("\"'").lower() if isinstance(stated, str) else ""
    return word if word in CHOICES else None


def _id(value: object) -> str | None:
    return None if value is None else str(value)[:200]
