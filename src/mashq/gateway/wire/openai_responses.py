"""The OpenAI Responses wire format.

A reply is a list of items: messages, reasoning, calls of tools. Only the text of its messages is said. Cached tokens
are part of `input_tokens` and reasoning tokens of `output_tokens`. A stream ends with the whole reply.
"""

import json
from collections.abc import Mapping
from typing import cast

from mashq.gateway.types import CUT, Completion, Kind, Message, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child, count, kept
from mashq.gateway.wire.base import Answered, Asked, BadRequest, Decoded, Options, Route, RouteKind
from mashq.gateway.wire.foreign import (
    KEPT,
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
from mashq.gateway.wire.openai_chat import OpenAIChatServed, billed, parts_of
from mashq.gateway.wire.spoken import FILTERED, completion
from mashq.gateway.wire.sse import Transcript, data_of, object_of
from mashq.protocol.resources import Unknown

__all__ = ["OpenAIResponses", "OpenAIResponsesServed"]

CARRIED = frozenset({"input", "instructions", "max_output_tokens", "temperature", "text"})
DRAWING = ("previous_response_id", "conversation", "prompt")
OWN_TOOLS = frozenset({"function", "custom", "namespace", "tool_search", "local_shell", "apply_patch"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
TEXTS = frozenset({"input_text", "output_text", "text"})


class OpenAIResponses:
    """POST responses, as a client."""

    served: "OpenAIResponsesServed"

    def __init__(self) -> None:
        self.served = OpenAIResponsesServed()

    def path(self, model: str) -> str:
        return "/responses"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
        body: dict[str, object] = {
            "model": model,
            "input": [{"role": m.role, "content": m.content} for m in request.messages],
            "store": False,
        }
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None and options.json == "schema":
            wanted = {"type": "json_schema", "name": "reply", "strict": True, "schema": dict(request.schema)}
            body["text"] = {"format": wanted}
        elif request.schema is not None and options.json == "object":
            body["text"] = {"format": {"type": "json_object"}}
        return body | dict(options.extra or {})

    def decode(self, document: object) -> Decoded:
        return _decode(document, tools=False)

    def usage(self, document: object) -> Usage:
        return read_usage((as_object(document) or {}).get("usage"))


class OpenAIResponsesServed:
    """POST responses, as the metering endpoint serves it."""

    format = "openai-responses"
    routes: tuple[Route, ...] = (Route("chat", "POST", "/v1/responses"),)
    token_headers: tuple[str, ...] = ("Authorization",)
    passed_headers: tuple[str, ...] = ("OpenAI-Beta",)

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": token}

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        document = body_of(body)
        one_model(document)
        one_price(document)
        limit = None if document.get("max_output_tokens") is None else bounded(document, "max_output_tokens")
        named, stream = document.get("model"), flag(document, "stream")
        model = named if isinstance(named, str) else ""
        return Asked(kind, document, limit, model, stream, usage_wanted=True, draws_on=_draws_on(document))

    def target(self, asked: Asked, model: str) -> str:
        return "/responses"

    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        body = dict(asked.document) | {"model": model}
        if limit is not None and body.get("max_output_tokens") is None:
            body["max_output_tokens"] = limit
        return json.dumps(body | dict(options.extra or {})).encode()

    def noted(self, asked: Asked) -> Request:
        instructions, given = asked.document.get("instructions"), asked.document.get("input")
        first = [{"role": "system", "content": instructions}] if instructions else []
        items = as_list(given)
        if items is None:
            items = [{"role": "user", "content": given if isinstance(given, str) else json.dumps(given)[:KEPT]}]
        return Request(tuple(noted_messages([*first, *items])), asked.tokens_out or 0)

    def as_request(self, asked: Asked, limit: int | None, temperature: float | None) -> Request:
        document = asked.document
        only_text(document, CARRIED)
        only_text(child(document, "text"), ("format", "verbosity"))
        messages: list[Message] = []
        instructions, given = document.get("instructions"), document.get("input")
        if isinstance(instructions, str) and instructions:
            messages.append(Message("system", instructions))
        if isinstance(given, str):
            messages.append(Message("user", given))
        else:
            messages += [_message(entry) for entry in entries(document, "input")]
        wanted = child(child(document, "text"), "format")
        schema = as_object(wanted.get("schema"))
        if schema is None and wanted.get("type") not in (None, "text"):
            only_text({"text.format": wanted}, ())
        heat = number(document.get("temperature"), temperature)
        out = limit if asked.tokens_out is None else asked.tokens_out
        return Request(tuple(messages), out, heat, None, schema)

    def decode(self, asked: Asked, document: object) -> Decoded:
        return _decode(document, tools=True)

    def reader(self, asked: Asked) -> "EventReader":
        return EventReader()

    def reply(self, answered: Answered) -> dict[str, object]:
        return _response(
            answered, "incomplete" if answered.completion.stop == CUT else "completed", [_said(answered)]
        )

    def events(self, answered: Answered, asked: Asked) -> bytes:
        said, whole, text = _said(answered), self.reply(answered), answered.completion.text
        begun = _response(answered, "in_progress", []) | {"usage": None}
        kind = "refusal" if answered.completion.refused else "output_text"
        empty: dict[str, object] = {"type": kind, "refusal": ""} if kind == "refusal" else _text_part("")
        full = cast(list[object], said["content"])[0]
        opened: dict[str, object] = said | {"status": "in_progress", "content": list[object]()}
        at: dict[str, object] = {"output_index": 0, "item_id": said["id"], "content_index": 0}
        done: dict[str, object] = {"refusal": text} if kind == "refusal" else {"text": text, "logprobs": []}
        parts: list[dict[str, object]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            _item("response.output_item.added", opened),
            {"type": "response.content_part.added", **at, "part": empty},
            {"type": f"response.{kind}.delta", **at, "delta": text, "logprobs": []},
            {"type": f"response.{kind}.done", **at, **done},
            {"type": "response.content_part.done", **at, "part": full},
            _item("response.output_item.done", said),
            {"type": f"response.{whole['status']}", "response": whole},
        ]
        numbered = ({**part, "sequence_number": number} for number, part in enumerate(parts))
        return b"".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n".encode() for part in numbered)

    def models(self, name: str) -> dict[str, object]:
        return OpenAIChatServed().models(name)

    def problem(self, status: int, message: str) -> dict[str, object]:
        return OpenAIChatServed().problem(status, message)


class EventReader:
    """What the events of a stream of responses amount to."""

    usage: "Usage"

    def __init__(self) -> None:
        self.usage = Usage()
        self._last: dict[str, object] | None = None
        self._error = ""
        self._words = Transcript()

    def take(self, event: bytes) -> bool:
        """The agent sees every event."""
        part = object_of(data_of(event)) or {}
        kind = part.get("type")
        if kind in ENDS:
            self._last = child(part, "response")
            self.usage = read_usage(self._last.get("usage"))
        elif kind == "response.output_text.delta":
            self._words.add(part.get("delta"))
        elif kind == "error" or part.get("error"):
            words = part.get("message") or child(part, "error").get("message")
            self._error = words if isinstance(words, str) else json.dumps(part)
        return True

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """A stream without the whole reply at its end broke off."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if self._last is None:
            return "unparsable", None, "the stream broke off before its end"
        decoded = _decode(self._last, tools=True, words=self._words.text)
        if isinstance(decoded, str):
            return "unparsable", None, decoded
        return "refused" if decoded[0].refused else "ok", decoded[0], ""


def read_usage(document: object) -> Usage:
    """Token counts as billed."""
    values = as_object(document)
    if values is None:
        return Usage()
    read, made = child(values, "input_tokens_details"), child(values, "output_tokens_details")
    return Usage(
        count(values.get("input_tokens")),
        count(values.get("output_tokens")),
        count(read.get("cached_tokens")),
        count(made.get("reasoning_tokens")),
        kept(values),
        parts_of(read, made),
        billed(values),
    )


def _decode(document: object, *, tools: bool, words: str = "") -> Decoded:
    """A reply; `words` is what its stream said, for servers that leave it out at the end."""
    reply = as_object(document)
    if reply is None:
        return "the reply is not a JSON object"
    output, error = as_list(reply.get("output")), reply.get("error")
    usage = read_usage(reply.get("usage"))
    if error:
        stated = child(reply, "error")
        if stated.get("code") == FILTERED:
            return completion("", FILTERED), usage
        return f"the reply is an error: {str(stated.get('message', error))[:300]}"
    if output is None:
        return "the reply has no output list"
    if reply.get("status") in ("queued", "in_progress"):
        return f"the reply is {reply['status']}: it will be made later"
    items = [as_object(item) or {} for item in output]
    parts = [as_object(part) or {} for item in items for part in _content(item)]
    texts = [part["text"] for part in parts if part.get("type") in TEXTS and isinstance(part.get("text"), str)]
    refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    called = [item for item in items if str(item.get("type")).endswith("_call")] if tools else None
    stop = str(child(reply, "incomplete_details").get("reason") or reply.get("status") or "")
    text = "".join(cast(list[str], texts)) or words or "".join(cast(list[str], refusals))
    return completion(text, stop, refused=bool(refusals), called=called), usage


def _content(item: Mapping[str, object]) -> list[object]:
    """The parts of a message; reasoning has parts too, but says nothing."""
    return as_list(item.get("content")) or [] if item.get("type") == "message" else []


def _draws_on(document: Mapping[str, object]) -> str:
    """What a request has the provider read beside itself."""
    for entry in as_list(document.get("tools")) or []:
        kind = (as_object(entry) or {}).get("type")
        if kind not in OWN_TOOLS:
            return str(kind)[:40]
    return drawing(document, DRAWING)


def _message(entry: object) -> Message:
    """An item of the input that is a message of text, or BadRequest."""
    item = as_object(entry) or {}
    role, content = item.get("role"), item.get("content")
    if item.get("type", "message") != "message" or role not in ("system", "developer", "user", "assistant"):
        raise BadRequest(NOT_TEXT)
    name = "system" if role == "developer" else role
    if isinstance(content, str):
        return Message(name, content)
    parts = [as_object(part) or {} for part in as_list(content) or []]
    texts = [part.get("text") for part in parts if part.get("type") in TEXTS]
    if not parts or len(texts) != len(parts) or not all(isinstance(text, str) for text in texts):
        raise BadRequest(NOT_TEXT)
    return Message(name, "".join(cast(list[str], texts)))


def _text_part(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _said(answered: Answered) -> dict[str, object]:
    """The one message of a reply."""
    text = answered.completion.text
    part = {"type": "refusal", "refusal": text or "refused"} if answered.completion.refused else _text_part(text)
    return {
        "id": f"msg_{answered.id}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _item(kind: str, item: Mapping[str, object]) -> dict[str, object]:
    return {"type": kind, "output_index": 0, "item": dict(item)}


def _response(answered: Answered, status: str, output: list[object]) -> dict[str, object]:
    return {
        "id": f"resp_{answered.id}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": answered.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _usage_object(answered.usage),
    }


def _usage_object(usage: Usage) -> dict[str, object] | None:
    if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
        return None
    cached = 0 if isinstance(usage.cached, Unknown) else usage.cached
    reasoning = 0 if isinstance(usage.reasoning, Unknown) else usage.reasoning
    return {
        "input_tokens": usage.tokens_in,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": usage.tokens_out,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": usage.tokens_in + usage.tokens_out,
    }
