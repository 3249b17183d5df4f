"""Requests that someone else wrote, passed on to a model: pure functions over the OpenAI wire format.

`read` checks only what the accounting rests on (how much output may be asked for, whether it is streamed) and refuses
what it cannot bound; everything else is the agent's business and goes through as it came, except that the model is
the one configured, an output limit is set where the agent set none, and a stream is asked for its usage.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

from mashq.gateway.types import Completion, Message, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child, count, kept, whole
from mashq.gateway.wire import openai_chat
from mashq.gateway.wire.openai_chat import Options
from mashq.protocol.resources import Unknown

Kind = Literal["chat", "embeddings"]
LIMITS = ("max_tokens", "max_completion_tokens")
MAX_OUT = 10**9
KEPT = 100_000
NOT_TEXT = "this model takes plain text messages only: send each message's content as a string"


class BadRequest(ValueError):
    """A request that is not passed on; the sentence goes back to the agent."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent asks for. `tokens_out` is the most it can be billed for; `usage_wanted`: in its stream, too."""

    kind: Kind
    document: Mapping[str, object]
    size: int
    tokens_out: int
    stream: bool = False
    usage_wanted: bool = False

    @property
    def model(self) -> str:
        """The model the agent named; not necessarily the one that answers."""
        named = self.document.get("model")
        return named if isinstance(named, str) else ""


def read(kind: Kind, body: bytes, default_out: int) -> Asked:
    """The request in a body, or BadRequest."""
    try:
        document = as_object(json.loads(body, parse_constant=_no_constant, parse_float=_finite))
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if document is None:
        raise BadRequest("the body must be a JSON object")
    if kind == "embeddings":
        return Asked(kind, document, len(body), 0)
    if not as_list(document.get("messages")):
        raise BadRequest("messages must be a list with at least one message")
    given = [_bounded(document, name) for name in LIMITS if document.get(name) is not None]
    choices = _bounded(document, "n") if document.get("n") is not None else 1
    usage = child(document, "stream_options").get("include_usage") is True
    stream = document.get("stream") is True
    return Asked(kind, document, len(body), max(given, default=default_out) * max(choices, 1), stream, usage)


def _no_constant(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadRequest(f"{text} is too large a number")
    return number


def _bounded(document: Mapping[str, object], name: str) -> int:
    value = count(document[name])
    if isinstance(value, Unknown) or value > MAX_OUT:
        raise BadRequest(f"{name} is {str(document[name])[:40]!r}, must be a whole number from 0 to {MAX_OUT}")
    return value


def upstream(asked: Asked, model: str, default_out: int, options: Options) -> bytes:
    """The body as it is sent on."""
    body = dict(asked.document)
    if asked.kind == "embeddings":
        return json.dumps(body).encode()
    body["model"] = model
    if all(body.get(name) is None for name in LIMITS):
        for name in LIMITS:
            body.pop(name, None)
        body[options.max_tokens_key] = default_out
    if asked.stream:
        body["stream_options"] = child(body, "stream_options") | {"include_usage": True}
    return json.dumps(body | dict(options.extra or {})).encode()


def noted(asked: Asked) -> Request:
    """The request as the ledger keeps it: every message as text, the longest cut."""
    if asked.kind == "embeddings":
        told = json.dumps(asked.document.get("input"))[:KEPT]
        return Request((Message("user", told),), 0)
    messages: list[Message] = []
    for entry in as_list(asked.document["messages"]) or []:
        message = as_object(entry) or {}
        role = str(message.get("role"))[:40]
        content = message.get("content")
        text = content if isinstance(content, str) and set(message) <= {"role", "content"} else json.dumps(entry)
        messages.append(Message(cast(Literal["user"], role), text[:KEPT]))
    return Request(tuple(messages), asked.tokens_out)


def as_request(asked: Asked, temperature: float | None) -> Request:
    """The request for a backend that takes our own, or BadRequest when it asks for more than text."""
    for name in ("tools", "functions"):
        if asked.document.get(name):
            raise BadRequest(
                f"this model takes no {name}: leave them out, or play on a model behind an HTTP endpoint"
            )
    if asked.document.get("n") not in (None, 1):
        raise BadRequest("this model gives one choice: leave n out")
    messages: list[Message] = []
    for entry in as_list(asked.document["messages"]) or []:
        message = as_object(entry) or {}
        role, content = message.get("role"), message.get("content")
        if role not in ("system", "developer", "user", "assistant") or not isinstance(content, str):
            raise BadRequest(NOT_TEXT)
        messages.append(Message("system" if role == "developer" else role, content))
    schema = child(child(asked.document, "response_format"), "json_schema").get("schema")
    heat, seed = asked.document.get("temperature"), asked.document.get("seed")
    return Request(
        tuple(messages),
        asked.tokens_out,
        float(heat) if isinstance(heat, int | float) and not isinstance(heat, bool) else temperature,
        seed if isinstance(seed, int) else None,
        as_object(schema),
    )


def decode(document: object) -> tuple[Completion, Usage] | str:
    """A chat reply; one that calls tools says no words and is no refusal."""
    decoded = openai_chat.decode(document)
    if isinstance(decoded, str):
        return decoded
    completion, usage = decoded
    choice = as_object((as_list((as_object(document) or {}).get("choices")) or [None])[0])
    calls = child(choice, "message").get("tool_calls")
    if calls and completion.refused and completion.stop not in openai_chat.REFUSING_STOPS:
        completion = Completion(whole(json.dumps(calls)), completion.stop)
    return completion, usage


def decode_embeddings(document: object) -> tuple[Completion, Usage] | str:
    """A list of embeddings, of which only the usage is kept."""
    reply = as_object(document) or {}
    if as_list(reply.get("data")) is None or not reply["data"]:
        return "the reply has no embeddings"
    told = as_object(reply.get("usage"))
    if told is None:
        return Completion("", "embeddings"), Usage(tokens_out=0)
    return Completion("", "embeddings"), Usage(count(told.get("prompt_tokens")), 0, raw=kept(told))


def completion_object(completion: Completion, usage: Usage, model: str, number: str) -> dict[str, object]:
    """A reply of our own backends as a `chat.completion`."""
    message: dict[str, object] = {"role": "assistant", "content": completion.text, "refusal": None}
    if completion.refused:
        message |= {"content": None, "refusal": completion.text or "refused"}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(completion)}
    reply = _head(model, number, "chat.completion") | {"choices": [choice]}
    told = _usage_object(usage)
    return reply if told is None else reply | {"usage": told}


def completion_chunks(
    completion: Completion, usage: Usage, model: str, number: str, *, usage_wanted: bool
) -> list[dict[str, object]]:
    """The same as the chunks of a stream: all of it at once, the end, and the usage where it is wanted."""
    head = _head(model, number, "chat.completion.chunk")
    said: dict[str, object] = {"role": "assistant", "refusal" if completion.refused else "content": completion.text}
    chunks: list[dict[str, object]] = [
        head | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        head | {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish(completion)}]},
    ]
    told = _usage_object(usage)
    return [*chunks, head | {"choices": [], "usage": told}] if usage_wanted and told is not None else chunks


def _head(model: str, number: str, kind: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": model}


def _finish(completion: Completion) -> str:
    return "length" if completion.stop == "length" else "stop"


def _usage_object(usage: Usage) -> dict[str, object] | None:
    if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
        return None
    total = usage.tokens_in + usage.tokens_out
    return {"prompt_tokens": usage.tokens_in, "completion_tokens": usage.tokens_out, "total_tokens": total}
