"""The deterministic "model" behind the provider: its replies and the usage it claims.

Contract: `speak` depends on (provider seed, model, messages, request seed) and on nothing else. What is
requested is recognised by the JSON keys that the prompt names in double quotes, first in the last user message,
then in all messages: "choice" gives a decision, "summary" a few sentences of the longest text of the prompt
(some with a changed number or an invented sentence, so that scores differ), "answer" an answer with a
confidence. A prompt that names none of them gets plain sentences.
"""

import hashlib
import json
import math
import re
from dataclasses import dataclass
from random import Random

_KEYS = ("choice", "summary", "answer")
_BLOCKS = re.compile(r'\n[ \t]*\n|</?\w+>|"""|```\w*')
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_IDS = re.compile(r'\b(question_id|previous_id|item_id|id)"?\s*[:=]\s*"?(\w[\w.-]*)')
_PLACEHOLDERS = frozenset({"null", "none", "string", "str", "int", "integer", "number", "id", "the", "or"})
_INVENTED = (
    "The mayor of Larkhaven later confirmed the report.",
    "A second study in Orvieto found the opposite.",
    "It was the largest of its kind in the southern hemisphere.",
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message, its text blocks joined."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a reply may depend on, apart from the provider's seed, and how the reply is to be sent.

    `stream` and `usage_wanted` ask for events; `tools` are the names of tools and the arguments to call them with;
    `limit` is the output limit, in tokens.
    """

    model: str
    messages: tuple[Message, ...]
    seed: int | None = None
    stream: bool = False
    usage_wanted: bool = False
    tools: tuple[tuple[str, str], ...] = ()
    temperature: float | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply and its honest usage; cached is part of prompt, reasoning part of completion."""

    id: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    reasoning_tokens: int | None


def speak(seed: int, prompt: Prompt) -> Spoken:
    """Return the model's reply to `prompt`."""
    pairs = [(message.role, message.text) for message in prompt.messages]
    identity = json.dumps([seed, prompt.model, pairs, prompt.seed], sort_keys=True)
    digest = hashlib.sha256(identity.encode("ascii")).hexdigest()
    random = Random(digest)
    text = _text(prompt.messages, random)
    prompt_tokens = max(1, tokens(" ".join(message.text for message in prompt.messages)))
    reasoning = random.randint(5, 60) if random.random() < 0.25 else None
    cached = int(prompt_tokens * random.random()) if random.random() < 0.3 else None
    return Spoken(digest[:24], text, prompt_tokens, tokens(text) + (reasoning or 0), cached, reasoning)


def tokens(text: str) -> int:
    """Return a rough count: 1.3 tokens per word."""
    return math.ceil(len(text.split()) * 1.3)


def _text(messages: tuple[Message, ...], random: Random) -> str:
    key = _requested_key(messages)
    everything = "\n\n".join(message.text for message in messages)
    source = _longest(messages)
    if key == "choice":
        return json.dumps(_decision(everything, random))
    if key == "summary":
        return json.dumps({"summary": _summary(source, random)}, ensure_ascii=False)
    if key == "answer":
        reply = {"answer": _span(source, random), "confidence": round(0.3 + 0.69 * random.random(), 2)}
        return json.dumps(reply, ensure_ascii=False)
    return _summary(source, random)


def _requested_key(messages: tuple[Message, ...]) -> str | None:
    users = [message.text for message in messages if message.role == "user"]
    for text in (*users[-1:], "\n".join(message.text for message in messages)):
        for key in _KEYS:
            if f'"{key}"' in text:
                return key
    return None


def _longest(messages: tuple[Message, ...]) -> str:
    """Return the longest block of user text; system messages count only if there is no user message."""
    texts = [message.text for message in messages if message.role == "user"]
    blocks = [block.strip() for text in texts or [m.text for m in messages] for block in _BLOCKS.split(text)]
    return max(blocks, key=len, default="")


def _decision(text: str, random: Random) -> dict[str, str | None]:
    draw = random.random()
    choice = "review" if draw < 0.35 else "end" if draw < 0.40 else "continue"
    pairs = [pair for pair in _IDS.findall(text) if pair[1].lower() not in _PLACEHOLDERS]
    stated: dict[str, str] = dict(reversed(pairs))
    ids = list(dict.fromkeys(value for _, value in pairs))
    question = stated.get("question_id")
    if ids and (choice == "review" or question is None):
        question = random.choice(ids)
    return {"choice": choice, "question_id": question, "previous_id": stated.get("previous_id")}


def _summary(source: str, random: Random) -> str:
    sentences = [sentence for sentence in _SENTENCES.split(source) if sentence]
    if not sentences:
        return "There is nothing to summarise."
    count = min(len(sentences), random.randint(1, 3))
    kept = sorted(random.sample(range(len(sentences)), count))
    chosen = [sentences[index] for index in kept]
    draw = random.random()
    if draw < 0.25:
        chosen = [_changed_number(" ".join(chosen), random)]
    elif draw < 0.45:
        chosen.append(random.choice(_INVENTED))
    return " ".join(chosen)


def _changed_number(text: str, random: Random) -> str:
    numbers = list(re.finditer(r"\d{1,9}", text))
    if not numbers:
        return text
    match = random.choice(numbers)
    return f"{text[: match.start()]}{int(match[0]) + random.randint(1, 9)}{text[match.end() :]}"


def _span(source: str, random: Random) -> str:
    words = source.split()
    if not words:
        return "unknown"
    start = random.randrange(len(words))
    return " ".join(words[start : start + random.randint(1, 4)]).strip(".,;:!?\"'()") or "unknown"
