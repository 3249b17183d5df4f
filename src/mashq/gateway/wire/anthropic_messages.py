"""The Anthropic messages wire format, as pure functions.

`input_tokens` leaves out what was read from or written to the cache; all three are tokens in.
"""

from mashq.gateway.types import Completion, Count, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, count, kept, whole
from mashq.gateway.wire.openai_chat import Options
from mashq.protocol.resources import UNKNOWN, Unknown

VERSION = "2023-06-01"


def path() -> str:
    """Where requests go, below the base URL."""
    return "/messages"


def headers(key: str | None) -> dict[str, str]:
    """The headers of a request."""
    return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def encode(model: str, request: Request, options: Options) -> dict[str, object]:
    """The JSON body of a request."""
    body: dict[str, object] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"],
    }
    system = "\n\n".join(m.content for m in request.messages if m.role == "system")
    if system:
        body["system"] = system
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.schema is not None and options.json == "schema":
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    return body | dict(options.extra or {})


def decode(document: object) -> tuple[Completion, Usage] | str:
    """The reply and its usage, or a sentence saying what is wrong with it."""
    reply = as_object(document)
    if reply is None:
        return "the reply is not a JSON object"
    blocks = as_list(reply.get("content"))
    if blocks is None:
        return "the reply has no content list"
    texts = [b.get("text") for block in blocks if (b := as_object(block) or {}).get("type") == "text"]
    text = "".join(t for t in texts if isinstance(t, str))
    stop = str(reply.get("stop_reason") or "")
    return Completion(whole(text), whole(stop), stop == "refusal" or not text.strip()), read_usage(reply.get("usage"))


def read_usage(document: object) -> Usage:
    """Token counts as billed."""
    values = as_object(document)
    if values is None:
        return Usage()
    tokens_in = count(values.get("input_tokens"))
    for cache in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        if values.get(cache) is not None:
            tokens_in = _sum(tokens_in, count(values[cache]))
    cached = count(values.get("cache_read_input_tokens"))
    return Usage(tokens_in, count(values.get("output_tokens")), cached, raw=kept(values))


def _sum(one: Count, other: Count) -> Count:
    return UNKNOWN if isinstance(one, Unknown) or isinstance(other, Unknown) else one + other
