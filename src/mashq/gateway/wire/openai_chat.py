"""The OpenAI-compatible chat wire format.

Cached tokens are part of `prompt_tokens` and reasoning tokens of `completion_tokens`; endpoints that leave reasoning
out of the latter show it in a larger `total_tokens`, and what it exceeds the parts by is output. Providers have four
names for cached tokens; Groq states the usage of a stream in `x_groq`; OpenRouter states what it bills.
"""

import json
from collections.abc import Mapping

from mashq.gateway.types import CUT, PLAIN, Completion, Count, Details, Kind, Measure, Message, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child, count, dollars, kept, some
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
from mashq.gateway.wire.spoken import FILTERED, REFUSING, completion, filtered
from mashq.gateway.wire.sse import Transcript, data_of, object_of
from mashq.protocol.resources import UNKNOWN, Unknown

__all__ = ["OpenAIChat", "OpenAIChatServed", "Options"]

LIMITS = ("max_tokens", "max_completion_tokens")
CARRIED = frozenset({"messages", "temperature", "seed", "response_format", "stream_options", *LIMITS})
DRAWING = ("web_search_options", "search_parameters", "enable_search", "compound_custom", "plugins")
OWN_TOOLS = frozenset({"function", "custom"})
WORDS = frozenset({"text", "output_text", None})  # types of parts that are said; others are thought, or no text
CACHED = ("num_cached_tokens", "prompt_cache_hit_tokens", "cached_tokens")
DONE = b"[DONE]"


class OpenAIChat:
    """POST chat/completions, as a client."""

    served: "OpenAIChatServed"

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
        return _decode(document, tools=False)

    def usage(self, document: object) -> Usage:
        return read_usage(_stated(as_object(document) or {}))


class OpenAIChatServed:
    """POST chat/completions and embeddings and GET models, as the metering endpoint serves them."""

    format = "openai-chat"
    routes: tuple[Route, ...] = (
        Route("chat", "POST", "/v1/chat/completions"),
        Route("embeddings", "POST", "/v1/embeddings"),
        Route("models", "GET", "/v1/models"),
    )
    token_headers: tuple[str, ...] = ("Authorization",)
    passed_headers: tuple[str, ...] = ("OpenAI-Beta",)

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_BASE": f"{address}/v1", "OPENAI_API_KEY": token}

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        document = body_of(body)
        named = document.get("model")
        model = named if isinstance(named, str) else ""
        if kind == "embeddings":
            return Asked(kind, document, 0, model)
        one_model(document)
        one_price(document)
        given = [bounded(document, name) for name in LIMITS if document.get(name) is not None]
        choices = max(bounded(document, "n"), 1) if document.get("n") is not None else 1
        return Asked(
            kind,
            document,
            max(given) * choices if given else None,
            model,
            flag(document, "stream"),
            flag(child(document, "stream_options"), "include_usage"),
            choices=choices,
            draws_on=_draws_on(document),
        )

    def target(self, asked: Asked, model: str) -> str:
        return "/chat/completions" if asked.kind == "chat" else "/embeddings"

    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        body = dict(asked.document)
        if asked.kind == "embeddings":
            return json.dumps(body).encode()
        body["model"] = model
        if limit is not None and all(body.get(name) is None for name in LIMITS):
            for name in LIMITS:
                body.pop(name, None)
            body[options.max_tokens_key] = limit
        if asked.stream and options.stream_usage:
            body["stream_options"] = child(body, "stream_options") | {"include_usage": True}
        return json.dumps(body | dict(options.extra or {})).encode()

    def noted(self, asked: Asked) -> Request:
        if asked.kind == "embeddings":
            return Request((Message("user", json.dumps(asked.document.get("input"))[:KEPT]),), 0)
        return Request(tuple(noted_messages(as_list(asked.document.get("messages")) or [])), asked.tokens_out or 0)

    def as_request(self, asked: Asked, limit: int | None, temperature: float | None) -> Request:
        document = asked.document
        only_text(document, CARRIED)
        messages: list[Message] = []
        for entry in entries(document, "messages"):
            message = as_object(entry) or {}
            role, content = message.get("role"), message.get("content")
            text = content if isinstance(content, str) else _plain(content)
            if role not in ("system", "developer", "user", "assistant") or text is None:
                raise BadRequest(NOT_TEXT)
            messages.append(Message("system" if role == "developer" else role, text))
        wanted = child(document, "response_format")
        schema = as_object(child(wanted, "json_schema").get("schema"))
        if schema is None and wanted.get("type") not in (None, "text"):
            only_text({"response_format": wanted}, ())
        seed = document.get("seed")
        heat = number(document.get("temperature"), temperature)
        out = limit if asked.tokens_out is None else asked.tokens_out
        return Request(tuple(messages), out, heat, seed if isinstance(seed, int) else None, schema)

    def decode(self, asked: Asked, document: object) -> Decoded:
        return _embeddings(document) if asked.kind == "embeddings" else _decode(document, tools=True)

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


def _draws_on(document: Mapping[str, object]) -> str:
    """What a request has the provider read beside itself."""
    kinds = [(as_object(entry) or {}).get("type") for entry in as_list(document.get("tools")) or []]
    hosted = [str(kind)[:40] for kind in kinds if kind is not None and str(kind) not in OWN_TOOLS]
    return hosted[0] if hosted else drawing(document, DRAWING)


class ChunkReader:
    """What the chunks of a chat stream amount to."""

    usage: "Usage"

    def __init__(self, *, usage_wanted: bool) -> None:
        self.usage = Usage()
        self._usage_wanted = usage_wanted
        self._done, self._stop, self._error = False, "", ""
        self._words, self._called = Transcript(), Transcript()
        self._refusal = False

    def take(self, event: bytes) -> bool:
        """An event that holds nothing but the usage is only for an agent that asked for it."""
        data = data_of(event)
        if data == DONE:
            self._done = True
            return True
        chunk = object_of(data)
        return chunk is None or not self._only_usage(chunk) or self._usage_wanted

    def _only_usage(self, chunk: dict[str, object]) -> bool:
        usage = _stated(chunk)
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
            self._refusal |= bool(delta.get("refusal"))
            self._words.add(_text(delta.get("content")))
            self._words.add(delta.get("refusal"))
            for name in ("tool_calls", "function_call"):
                self._called.add(delta.get(name))
        return chunk.get("usage") is not None and not choices

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """A stream that neither said [DONE] nor why it stopped broke off."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if not (self._done or self._stop):
            return "unparsable", None, "the stream broke off before its end"
        spoken = completion(self._words.text, self._stop, refused=self._refusal, called=self._called.text)
        return "refused" if spoken.refused else "ok", spoken, ""


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
    read, made = child(values, "prompt_tokens_details"), child(values, "completion_tokens_details")
    reasoning = count(made.get("reasoning_tokens"))
    details = parts_of(read, made) if read or made else PLAIN
    return Usage(tokens_in, tokens_out, _cached(values, read), reasoning, kept(values), details, billed(values))


def parts_of(read: Mapping[str, object], made: Mapping[str, object]) -> Details:
    """What of the tokens read and made has a price of its own, as OpenAI names it."""
    written, heard = some(read.get("cache_write_tokens")), some(read.get("audio_tokens"))
    spoken = some(made.get("audio_tokens"))
    return Details(written, 0, heard, spoken) if written or heard or spoken else PLAIN


def billed(values: Mapping[str, object]) -> Measure:
    """What the provider bills, in dollars: with a key of the user's own, its fee and what the model's maker takes."""
    if "cost" not in values:
        return UNKNOWN
    cost = values["cost"]
    total = dollars(child(values, "cost").get("total_cost", cost))
    upstream = dollars(child(values, "cost_details").get("upstream_inference_cost"))
    if values.get("is_byok") is True and not isinstance(total, Unknown) and not isinstance(upstream, Unknown):
        return total + upstream
    return total


def _stated(reply: Mapping[str, object]) -> object:
    """The usage in a reply or a chunk; Groq's streams have it in a place of their own."""
    usage = reply.get("usage")
    return usage if usage is not None else child(reply, "x_groq").get("usage")


def _cached(values: Mapping[str, object], read: Mapping[str, object]) -> Count:
    """Cached tokens by whichever name: OpenAI's, Mistral's, DeepSeek's, Moonshot's."""
    found = count(read.get("cached_tokens"))
    for name in CACHED:
        if name in values and not isinstance(own := count(values[name]), Unknown):
            found = own if isinstance(found, Unknown) else max(found, own)
    return found


def _decode(document: object, *, tools: bool) -> Decoded:
    """A reply; one that calls tools, today's way or the old one, is no refusal where tools were offered."""
    reply = as_object(document)
    if reply is None:
        return "the reply is not a JSON object"
    choices, usage = as_list(reply.get("choices")), read_usage(_stated(reply))
    choice = as_object(choices[0]) if choices else None
    words = child(reply, "error").get("message")
    if choice is None and (barred := filtered(reply)) is not None:
        return completion(barred, FILTERED), usage
    if choice is None and isinstance(words, str):
        return f"the reply is an error: {words[:300]}"
    if choice is None and choices == [] and not isinstance(usage.tokens_out, Unknown):
        return completion("", ""), usage
    if choice is None:
        return "the reply has no choices"
    message, stop = child(choice, "message"), str(choice.get("finish_reason") or "")
    refusal = message.get("refusal")
    said = _text(message.get("content")) or _text(child(message, "audio").get("transcript"))
    spoken = refusal if isinstance(refusal, str) and not said.strip() else said
    called = (message.get("tool_calls") or message.get("function_call")) if tools else None
    found = completion(spoken, stop, refused=bool(refusal), called=called)
    if not message and found.stop not in (CUT, *REFUSING):
        return "the reply's choice has no message"
    return found, usage


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
    parts = [as_object(part) or {} for part in as_list(content) or []]
    texts = [part.get("text") for part in parts if part.get("type") in WORDS]
    return "".join(text for text in texts if isinstance(text, str))


def _plain(content: object) -> str | None:
    """A list of nothing but texts as one text; None for anything else."""
    parts = as_list(content) or []
    texts = [part.get("text") if (part := as_object(entry) or {}).get("type") == "text" else None for entry in parts]
    return "".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None


def _head(answered: Answered, kind: str) -> dict[str, object]:
    return {"id": f"chatcmpl-{answered.id}", "object": kind, "created": 0, "model": answered.model}


def _finish(completion: Completion) -> str:
    return CUT if completion.stop == CUT else "stop"


def _usage_object(usage: Usage) -> dict[str, object] | None:
    if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
        return None
    total = usage.tokens_in + usage.tokens_out
    return {"prompt_tokens": usage.tokens_in, "completion_tokens": usage.tokens_out, "total_tokens": total}
