"""The OpenAI-compatible chat wire format.

Cached tokens are part of `prompt_tokens` and reasoning tokens of `completion_tokens`; endpoints that leave reasoning
out of the latter show it in a larger `total_tokens`, and what it exceeds the parts by is output.
"""

import json
from collections.abc import Mapping

from mashq.gateway.types import CUT, Completion, Kind, Message, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child, count, kept, whole
from mashq.gateway.wire.base import Answered, Asked, BadRequest, Decoded, Options, Route, RouteKind
from mashq.gateway.wire.foreign import KEPT, NOT_TEXT, body_of, bounded, no_tools, noted_messages, number
from mashq.gateway.wire.sse import Transcript, data_of, object_of
from mashq.protocol.resources import Unknown

__all__ = ["OpenAIChat", "OpenAIChatServed", "Options"]

REFUSING_STOPS = frozenset({"content_filter", "refusal", "safety", "SAFETY"})
LIMITS = ("max_tokens", "max_completion_tokens")
DONE = b"[DONE]"


class OpenAIChat:
    """POST chat/completions, as a client."""

    def __init__(self) -> None:
        self.served = OpenAIChatServed()

    def path(self, model: str) -> str:
        return "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
        body: dict[str, object] = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if request.max_tokens is not None:
            body[options.max_tokens_key] = request.max_tokens
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

    def decode(self, document: object) -> Decoded:
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
        refused = bool(refusal) or stop in REFUSING_STOPS or not (text.strip() or stop == CUT)
        spoken = refusal if isinstance(refusal, str) and not text.strip() else text
        return Completion(whole(spoken), whole(stop), refused), self.usage(reply)

    def usage(self, document: object) -> Usage:
        return read_usage((as_object(document) or {}).get("usage"))


class OpenAIChatServed:
    """POST chat/completions and embeddings and GET models, as the metering endpoint serves them."""

    format = "openai-chat"
    routes = (
        Route("chat", "POST", "/v1/chat/completions"),
        Route("embeddings", "POST", "/v1/embeddings"),
        Route("models", "GET", "/v1/models"),
    )
    token_headers = ("Authorization",)

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": token}

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes, default_out: int) -> Asked:
        document = body_of(body)
        named = document.get("model")
        model = named if isinstance(named, str) else ""
        if kind == "embeddings":
            return Asked(kind, document, 0, model)
        if not as_list(document.get("messages")):
            raise BadRequest("messages must be a list with at least one message")
        given = [bounded(document, name) for name in LIMITS if document.get(name) is not None]
        choices = bounded(document, "n") if document.get("n") is not None else 1
        usage = child(document, "stream_options").get("include_usage") is True
        stream = document.get("stream") is True
        return Asked(kind, document, max(given, default=default_out) * max(choices, 1), model, stream, usage)

    def target(self, asked: Asked, model: str) -> str:
        return "/chat/completions" if asked.kind == "chat" else "/embeddings"

    def upstream(self, asked: Asked, model: str, default_out: int, options: Options) -> bytes:
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

    def noted(self, asked: Asked) -> Request:
        if asked.kind == "embeddings":
            return Request((Message("user", json.dumps(asked.document.get("input"))[:KEPT]),), 0)
        return Request(tuple(noted_messages(as_list(asked.document["messages"]) or [])), asked.tokens_out)

    def as_request(self, asked: Asked, temperature: float | None) -> Request:
        document = asked.document
        no_tools(document, "tools", "functions")
        if document.get("n") not in (None, 1):
            raise BadRequest("this model gives one choice: leave n out")
        messages: list[Message] = []
        for entry in as_list(document["messages"]) or []:
            message = as_object(entry) or {}
            role, content = message.get("role"), message.get("content")
            if role not in ("system", "developer", "user", "assistant") or not isinstance(content, str):
                raise BadRequest(NOT_TEXT)
            messages.append(Message("system" if role == "developer" else role, content))
        schema = as_object(child(child(document, "response_format"), "json_schema").get("schema"))
        seed = document.get("seed")
        heat = number(document.get("temperature"), temperature)
        return Request(tuple(messages), asked.tokens_out, heat, seed if isinstance(seed, int) else None, schema)

    def decode(self, asked: Asked, document: object) -> Decoded:
        if asked.kind == "embeddings":
            return _embeddings(document)
        decoded = OpenAIChat().decode(document)
        if isinstance(decoded, str):
            return decoded
        completion, usage = decoded
        choice = as_object((as_list((as_object(document) or {}).get("choices")) or [None])[0])
        calls = child(choice, "message").get("tool_calls")
        if calls and completion.refused and completion.stop not in REFUSING_STOPS:
            completion = Completion(whole(json.dumps(calls)), completion.stop)
        return completion, usage

    def reader(self, asked: Asked) -> "ChunkReader":
        return ChunkReader(usage_wanted=asked.usage_wanted)

    def reply(self, answered: Answered) -> dict[str, object]:
        completion = answered.completion
        message: dict[str, object] = {"role": "assistant", "content": completion.text, "refusal": None}
        if completion.refused:
            message |= {"content": None, "refusal": completion.text or "refused"}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(completion)}
        reply = _head(answered, "chat.completion") | {"choices": [choice]}
        usage = _usage_object(answered.usage)
        return reply if usage is None else reply | {"usage": usage}

    def events(self, answered: Answered, asked: Asked) -> bytes:
        completion, head = answered.completion, _head(answered, "chat.completion.chunk")
        words = {"role": "assistant", "refusal" if completion.refused else "content": completion.text}
        chunks: list[dict[str, object]] = [
            head | {"choices": [{"index": 0, "delta": words, "finish_reason": None}]},
            head | {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish(completion)}]},
        ]
        usage = _usage_object(answered.usage)
        if asked.usage_wanted and usage is not None:
            chunks.append({**head, "choices": list[object](), "usage": usage})
        lines = [*(json.dumps(chunk).encode() for chunk in chunks), DONE]
        return b"".join(b"data: " + line + b"\n\n" for line in lines)

    def models(self, name: str) -> dict[str, object]:
        return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "mashq"}]}

    def problem(self, status: int, message: str) -> dict[str, object]:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class ChunkReader:
    """What the chunks of a chat stream amount to."""

    def __init__(self, *, usage_wanted: bool) -> None:
        self.usage = Usage()
        self._usage_wanted = usage_wanted
        self._done, self._stop, self._error = False, "", ""
        self._words = Transcript()
        self._tools = self._refusal = False

    def take(self, event: bytes) -> bool:
        """An event that holds nothing but the usage is only for an agent that asked for it."""
        data = data_of(event)
        if data == DONE:
            self._done = True
            return True
        chunk = object_of(data)
        return chunk is None or not self._only_usage(chunk) or self._usage_wanted

    def _only_usage(self, chunk: dict[str, object]) -> bool:
        usage = chunk.get("usage")
        if usage is not None:
            self.usage = read_usage(usage)
        words = child(chunk, "error").get("message")
        if chunk.get("error"):
            self._error = words if isinstance(words, str) else json.dumps(chunk["error"])
        choices = as_list(chunk.get("choices")) or []
        for entry in choices:
            choice = as_object(entry) or {}
            delta = child(choice, "delta")
            self._stop = str(choice.get("finish_reason") or self._stop)
            self._tools |= bool(delta.get("tool_calls"))
            self._refusal |= bool(delta.get("refusal"))
            for name in ("content", "refusal", "tool_calls"):
                self._words.add(delta.get(name))
        return usage is not None and not choices

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """A stream that neither said [DONE] nor why it stopped broke off."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if not (self._done or self._stop):
            return "unparsable", None, "the stream broke off before its end"
        text = self._words.text
        refused = (
            self._refusal or self._stop in REFUSING_STOPS or not (text.strip() or self._tools or self._stop == CUT)
        )
        return "refused" if refused else "ok", Completion(text, whole(self._stop), refused), ""


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


def _embeddings(document: object) -> Decoded:
    """A list of embeddings, of which only the usage is kept."""
    reply = as_object(document) or {}
    if as_list(reply.get("data")) is None or not reply["data"]:
        return "the reply has no embeddings"
    values = as_object(reply.get("usage"))
    if values is None:
        return Completion("", "embeddings"), Usage(tokens_out=0)
    return Completion("", "embeddings"), Usage(count(values.get("prompt_tokens")), 0, raw=kept(values))


def _text(content: object) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    texts = [(as_object(part) or {}).get("text") for part in as_list(content) or []]
    return "".join(text for text in texts if isinstance(text, str))


def _head(answered: Answered, kind: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{answered.id}", "object": kind, "created": 0, "model": answered.model}


def _finish(completion: Completion) -> str:
    return "length" if completion.stop == "length" else "stop"


def _usage_object(usage: Usage) -> dict[str, object] | None:
    if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
        return None
    total = usage.tokens_in + usage.tokens_out
    return {"prompt_tokens": usage.tokens_in, "completion_tokens": usage.tokens_out, "total_tokens": total}
