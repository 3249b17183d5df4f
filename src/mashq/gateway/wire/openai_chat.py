"""The OpenAI-compatible chat wire format, as pure functions.

`encode` makes the body of a request; `decode` reads a reply, or says why it cannot. Cached tokens are part of
`prompt_tokens` and reasoning tokens of `completion_tokens`; endpoints that leave reasoning out of the latter show
it in a larger `total_tokens`, and what it exceeds the parts by is output.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mashq.gateway.types import Completion, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child, count, kept, whole
from mashq.protocol.resources import Unknown

REFUSING_STOPS = frozenset({"content_filter", "refusal", "safety", "SAFETY"})


@dataclass(frozen=True, slots=True)
class Options:
    """Where endpoints differ: how JSON is asked for, what the output limit is called, whether a seed is taken."""

    json: Literal["schema", "object", "none"] = "none"
    max_tokens_key: str = "max_tokens"
    seed: bool = True
    extra: Mapping[str, object] | None = None


def path() -> str:
    """Where requests go, below the base URL."""
    return "/chat/completions"


def headers(key: str | None) -> dict[str, str]:
    """The headers of a request."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def encode(model: str, request: Request, options: Options) -> dict[str, object]:
    """The JSON body of a request."""
    body: dict[str, object] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        options.max_tokens_key: request.max_tokens,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if options.seed and request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None and options.json == "schema":
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": dict(request.schema)},
        }
    elif request.schema is not None and options.json == "object":
        body["response_format"] = {"type": "json_object"}
    return body | dict(options.extra or {})


def decode(document: object) -> tuple[Completion, Usage] | str:
    """The reply and its usage, or a sentence saying what is wrong with it."""
    reply = as_object(document)
    if reply is None:
        return "the reply is not a JSON object"
    choices = as_list(reply.get("choices"))
    choice = as_object(choices[0]) if choices else None
    if choice is None:
        words = child(reply, "error").get("message")
        return f"the reply is an error: {words[:300]}" if isinstance(words, str) else "the reply has no choices"
    message = child(choice, "message")
    if not message:
        return "the reply's choice has no message"
    text = _text(message.get("content"))
    stop = str(choice.get("finish_reason") or "")
    refusal = message.get("refusal")
    refused = bool(refusal) or stop in REFUSING_STOPS or not text.strip()
    spoken = refusal if isinstance(refusal, str) and not text.strip() else text
    return Completion(whole(spoken), whole(stop), refused), read_usage(reply.get("usage"))


def read_usage(document: object) -> Usage:
    """Token counts as billed."""
    values = as_object(document)
    if values is None:
        return Usage()
    tokens_in = count(values.get("prompt_tokens"))
    tokens_out = count(values.get("completion_tokens"))
    total = count(values.get("total_tokens"))
    if not (isinstance(tokens_in, Unknown) or isinstance(tokens_out, Unknown) or isinstance(total, Unknown)):
        tokens_out = max(tokens_out, total - tokens_in)
    cached = count(child(values, "prompt_tokens_details").get("cached_tokens"))
    reasoning = count(child(values, "completion_tokens_details").get("reasoning_tokens"))
    return Usage(tokens_in, tokens_out, cached, reasoning, kept(values))


def _text(content: object) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    texts = [(as_object(part) or {}).get("text") for part in as_list(content) or []]
    return "".join(text for text in texts if isinstance(text, str))
