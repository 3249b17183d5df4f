"""The Anthropic messages wire format.

`input_tokens` leaves out what was read from or written to the cache; all three are tokens in. Where one call ran the
model several times, or had it advised by another, `iterations` lists them all and the counts beside it do not.
"""

import json
from collections.abc import Mapping

from mashq.gateway.types import CUT, Completion, Details, Kind, Message, Request, Usage
from mashq.gateway.untrusted import added, as_list, as_object, child, count, kept, some
from mashq.gateway.wire.base import Answered, Asked, BadRequest, Decoded, Options, Route, RouteKind
from mashq.gateway.wire.foreign import (
    NOT_TEXT,
    body_of,
    bounded,
    drawing,
    entries,
    flag,
    noted_messages,
    number,
    one_model,
    one_price,
    only_text,
)
from mashq.gateway.wire.openai_chat import billed
from mashq.gateway.wire.spoken import completion
from mashq.gateway.wire.sse import Transcript, data_of, object_of
from mashq.protocol.resources import Unknown

__all__ = ["AnthropicMessages", "AnthropicMessagesServed"]

VERSION = "2023-06-01"
CARRIED = frozenset({"messages", "system", "max_tokens", "temperature", "output_config"})
DRAWING = ("container", "mcp_servers")
HOSTED = ("web_search", "web_fetch", "code_execution", "advisor", "mcp_toolset")  # run by the provider, unseen
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


class AnthropicMessages:
    """POST messages, as a client."""

    served: "AnthropicMessagesServed"

    def __init__(self) -> None:
        self.served = AnthropicMessagesServed()

    def path(self, model: str) -> str:
        return "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
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

    def decode(self, document: object) -> Decoded:
        return _decode(document, tools=False)

    def usage(self, document: object) -> Usage:
        return read_usage((as_object(document) or {}).get("usage"))


class AnthropicMessagesServed:
    """POST messages, as the metering endpoint serves it."""

    format = "anthropic-messages"
    routes: tuple[Route, ...] = (Route("chat", "POST", "/v1/messages", ("beta",)),)
    token_headers: tuple[str, ...] = ("x-api-key", "Authorization")
    passed_headers: tuple[str, ...] = ("anthropic-version", "anthropic-beta")

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": token}

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        document = body_of(body)
        one_model(document)
        one_price(document)
        limit = None if document.get("max_tokens") is None else bounded(document, "max_tokens")
        named, stream = document.get("model"), flag(document, "stream")
        model = named if isinstance(named, str) else ""
        return Asked(kind, document, limit, model, stream, groups=groups, draws_on=_draws_on(document))

    def target(self, asked: Asked, model: str) -> str:
        return "/messages?beta=true" if asked.groups.get("beta") == "true" else "/messages"

    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        body = dict(asked.document) | {"model": model}
        if limit is not None and body.get("max_tokens") is None:
            body["max_tokens"] = limit
        return json.dumps(body | dict(options.extra or {})).encode()

    def noted(self, asked: Asked) -> Request:
        system = asked.document.get("system")
        first = [] if not system else [{"role": "system", "content": system}]
        messages = [*first, *(as_list(asked.document.get("messages")) or [])]
        return Request(tuple(noted_messages(messages)), asked.tokens_out or 0)

    def as_request(self, asked: Asked, limit: int | None, temperature: float | None) -> Request:
        document = asked.document
        only_text(document, CARRIED)
        only_text(child(document, "output_config"), ("format",))
        messages: list[Message] = []
        if document.get("system"):
            messages.append(Message("system", _plain(document["system"])))
        for entry in entries(document, "messages"):
            message = as_object(entry) or {}
            role = message.get("role")
            if role not in ("user", "assistant"):
                raise BadRequest(NOT_TEXT)
            messages.append(Message(role, _plain(message.get("content"))))
        schema = as_object(child(child(document, "output_config"), "format").get("schema"))
        heat = number(document.get("temperature"), temperature)
        out = limit if asked.tokens_out is None else asked.tokens_out
        return Request(tuple(messages), out, heat, None, schema)

    def decode(self, asked: Asked, document: object) -> Decoded:
        return _decode(document, tools=True)

    def reader(self, asked: Asked) -> "EventReader":
        return EventReader()

    def reply(self, answered: Answered) -> dict[str, object]:
        text = {"type": "text", "text": answered.completion.text}
        reply = _head(answered) | {"content": [text], "stop_reason": _stop(answered.completion)}
        usage = _usage_object(answered.usage)
        return reply if usage is None else reply | {"usage": usage}

    def events(self, answered: Answered, asked: Asked) -> bytes:
        usage = _usage_object(answered.usage)
        billed: dict[str, object] = {} if usage is None else {"usage": usage}
        text = {"type": "text_delta", "text": answered.completion.text}
        ending: dict[str, object] = {"stop_reason": _stop(answered.completion), "stop_sequence": None}
        parts: list[dict[str, object]] = [
            {"type": "message_start", "message": _head(answered) | {"content": [], "stop_reason": None} | billed},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": text},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ending, **billed},
            {"type": "message_stop"},
        ]
        return b"".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n".encode() for part in parts)

    def models(self, name: str) -> dict[str, object]:
        model = {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
        return {"data": [model], "has_more": False, "first_id": name, "last_id": name}

    def problem(self, status: int, message: str) -> dict[str, object]:
        kind = ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


class EventReader:
    """What the events of a message stream amount to."""

    def __init__(self) -> None:
        self._billed: dict[str, object] = {}
        self._final = self._done = False
        self._stop = self._error = ""
        self._words, self._called = Transcript(), Transcript()

    @property
    def usage(self) -> Usage:
        """The output is known from the last `message_delta` on: before it, only how it began."""
        values = self._billed if self._final else {k: v for k, v in self._billed.items() if k != "output_tokens"}
        return read_usage(values or None)

    def take(self, event: bytes) -> bool:
        """The agent sees every event."""
        part = object_of(data_of(event)) or {}
        kind = part.get("type")
        if kind == "message_start":
            self._bill(child(part, "message").get("usage"))
        elif kind == "content_block_start":
            block = child(part, "content_block")
            self._words.add(block.get("text"))
            self._called.add(block.get("name") if block.get("type") in CALLS else None)
        elif kind == "content_block_delta":
            delta = child(part, "delta")
            self._words.add(delta.get("text"))
            self._called.add(delta.get("partial_json"))
        elif kind == "message_delta":
            self._stop = str(child(part, "delta").get("stop_reason") or self._stop)
            self._final |= self._bill(part.get("usage"))
        elif kind == "message_stop":
            self._done = True
        elif kind == "error":
            words = child(part, "error").get("message")
            self._error = words if isinstance(words, str) else json.dumps(part.get("error"))
        return True

    def _bill(self, usage: object) -> bool:
        """Add to the counts, which later events replace; whether the output is among them."""
        stated = {name: value for name, value in (as_object(usage) or {}).items() if value is not None}
        self._billed |= stated
        return "output_tokens" in stated

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """A stream without `message_stop` or a reason to stop broke off."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if not (self._done or self._stop):
            return "unparsable", None, "the stream broke off before its end"
        spoken = completion(self._words.text, self._stop, called=self._called.text)
        return "refused" if spoken.refused else "ok", spoken, ""


def read_usage(document: object) -> Usage:
    """Token counts as billed."""
    values = as_object(document)
    if values is None:
        return Usage()
    parts = [as_object(entry) or {} for entry in as_list(values.get("iterations")) or []]
    made = child(values, "output_tokens_details")
    searches = some(child(values, "server_tool_use").get("web_search_requests"))
    elsewhere = tuple((str(part["model"])[:200], _counted(part)) for part in parts if part.get("model"))
    counted = [_counted(part) for part in parts] or [_counted(values)]
    details = Details(
        written=sum(one.details.written for one in counted),
        written_hour=sum(one.details.written_hour for one in counted),
        searches=searches,
        elsewhere=elsewhere,
    )
    return Usage(
        added(*(one.tokens_in for one in counted)),
        added(*(one.tokens_out for one in counted)),
        added(*(one.cached for one in counted)),
        count(made.get("thinking_tokens")),
        kept(values),
        details,
        billed(values),
    )


def _counted(values: Mapping[str, object]) -> Usage:
    """The tokens of one run of a model."""
    caches = [values.get(f"cache_{way}_input_tokens") for way in ("read", "creation")]
    stated = [count(value) for value in caches if value is not None]
    hour = some(child(values, "cache_creation").get("ephemeral_1h_input_tokens"))
    written = Details(written=max(some(caches[1]), hour), written_hour=hour)
    tokens_in = added(count(values.get("input_tokens")), *stated)
    return Usage(tokens_in, count(values.get("output_tokens")), count(caches[0]), details=written)


def _decode(document: object, *, tools: bool) -> Decoded:
    """A reply; one that calls tools is no refusal where tools were offered."""
    reply = as_object(document)
    if reply is None:
        return "the reply is not a JSON object"
    blocks = as_list(reply.get("content"))
    if blocks is None:
        return "the reply has no content list"
    called = [block for block in blocks if (as_object(block) or {}).get("type") in CALLS] if tools else None
    spoken = completion("".join(_texts(blocks)), str(reply.get("stop_reason") or ""), called=called)
    return spoken, read_usage(reply.get("usage"))


def _draws_on(document: Mapping[str, object]) -> str:
    """What a request has the provider read beside itself."""
    for entry in as_list(document.get("tools")) or []:
        kind = (as_object(entry) or {}).get("type")
        if isinstance(kind, str) and kind.startswith(HOSTED):
            return kind
    return drawing(document, DRAWING)


def _texts(blocks: list[object]) -> list[str]:
    texts = [b.get("text") for block in blocks if (b := as_object(block) or {}).get("type") == "text"]
    return [text for text in texts if isinstance(text, str)]


def _plain(content: object) -> str:
    """Content that is text: a string, or a list of text blocks."""
    if isinstance(content, str):
        return content
    blocks = as_list(content) or []
    texts = _texts(blocks)
    if not blocks or len(texts) != len(blocks):
        raise BadRequest(NOT_TEXT)
    return "".join(texts)


def _head(answered: Answered) -> dict[str, object]:
    return {
        "id": f"msg_{answered.id}",
        "type": "message",
        "role": "assistant",
        "model": answered.model,
        "stop_sequence": None,
    }


def _stop(completion: Completion) -> str:
    if completion.refused:
        return "refusal"
    return "max_tokens" if completion.stop == CUT else "end_turn"


def _usage_object(usage: Usage) -> dict[str, object] | None:
    if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
        return None
    return {"input_tokens": usage.tokens_in, "output_tokens": usage.tokens_out}
