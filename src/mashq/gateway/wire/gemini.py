"""The Gemini wire format: generateContent, and streamGenerateContent as events or as one list.

The model is in the path. Tool prompts are beside `promptTokenCount` and thoughts beside `candidatesTokenCount`;
cached tokens are part of the prompt; what is 0 is left out of the JSON. Names are accepted in both spellings.
"""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from mashq.gateway.types import CUT, Completion, Count, Details, Kind, Message, Request, Usage
from mashq.gateway.untrusted import added, as_list, as_object, child, count, kept, some
from mashq.gateway.wire.base import Answered, Asked, BadRequest, Decoded, Options, Route, RouteKind
from mashq.gateway.wire.foreign import (
    NOT_TEXT,
    body_of,
    bounded,
    drawing,
    entries,
    noted_messages,
    number,
    one_model,
    one_price,
    only_text,
)
from mashq.gateway.wire.spoken import FILTERED, completion
from mashq.gateway.wire.sse import Transcript, data_of, object_of
from mashq.protocol.resources import Unknown

__all__ = ["Gemini", "GeminiServed"]

PATH = r"/v1(?:beta|alpha)?/models/(?P<model>[^/:]+):"
CARRIED = frozenset({"contents", "generationConfig", "generation_config", "systemInstruction", "system_instruction"})
CARRIED_CONFIG = frozenset({"maxOutputTokens", "max_output_tokens", "temperature", "seed"})
JSON_CONFIG = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
TYPES = ("responseMimeType", "response_mime_type")
MODALITIES = ("responseModalities", "response_modalities")
DRAWING = ("cachedContent", "cached_content")
OWN_TOOLS = frozenset({"functionDeclarations", "function_declarations", "computerUse", "computer_use"})
ERRORS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


class Gemini:
    """POST models/M:generateContent, as a client."""

    served: "GeminiServed"

    def __init__(self) -> None:
        self.served = GeminiServed()

    def path(self, model: str) -> str:
        return f"/models/{model}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
        config: dict[str, object] = {} if request.max_tokens is None else {"maxOutputTokens": request.max_tokens}
        if request.temperature is not None:
            config["temperature"] = request.temperature
        if options.seed and request.seed is not None:
            config["seed"] = request.seed
        if request.schema is not None and options.json != "none":
            config["responseMimeType"] = "application/json"
            config |= {"responseJsonSchema": dict(request.schema)} if options.json == "schema" else {}
        body: dict[str, object] = {
            "contents": [
                {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.content}]}
                for m in request.messages
                if m.role != "system"
            ],
            "generationConfig": config,
        }
        system = [{"text": m.content} for m in request.messages if m.role == "system"]
        if system:
            body["systemInstruction"] = {"parts": system}
        return body | dict(options.extra or {})

    def decode(self, document: object) -> Decoded:
        return _decode(document, tools=False)

    def usage(self, document: object) -> Usage:
        return read_usage((as_object(document) or {}).get("usageMetadata"))


class GeminiServed:
    """POST models/M:generateContent and :streamGenerateContent, as the metering endpoint serves them."""

    format = "gemini"
    routes: tuple[Route, ...] = (
        Route("chat", "POST", PATH + "(?P<verb>generateContent|streamGenerateContent)", ("alt",)),
        Route("models", "GET", "/v1beta/models"),
    )
    token_headers: tuple[str, ...] = ("x-goog-api-key", "Authorization")
    passed_headers: tuple[str, ...] = ()

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": token}

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        document = body_of(body)
        one_model(document)
        one_price(document)
        config = _config(document)
        choices = max(_stated(config, "candidateCount", "candidate_count") or 1, 1)
        stated = _stated(config, "maxOutputTokens", "max_output_tokens")
        limit = None if stated is None else stated * choices
        streamed = groups.get("verb") == "streamGenerateContent"
        events = streamed and groups.get("alt") == "sse"
        model, draws_on = groups.get("model", ""), _draws_on(document)
        listed = streamed and not events
        return Asked(kind, document, limit, model, events, True, groups, choices, draws_on, listed)

    def target(self, asked: Asked, model: str) -> str:
        events = "?alt=sse" if asked.groups.get("alt") == "sse" else ""
        return f"/models/{model}:{asked.groups.get('verb') or 'generateContent'}{events}"

    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        body = dict(asked.document)
        if "model" in body:
            body["model"] = f"models/{model}"
        if limit is not None and asked.tokens_out is None:
            name = "generation_config" if "generation_config" in body else "generationConfig"
            body[name] = child(body, name) | {"maxOutputTokens": limit}
        return json.dumps(body | dict(options.extra or {})).encode()

    def noted(self, asked: Asked) -> Request:
        system = _system(asked.document)
        contents = [as_object(entry) or {} for entry in as_list(asked.document.get("contents")) or []]
        first = [{"role": "system", "content": _told(system)}] if system else []
        messages = [*first, *({"role": c.get("role") or "user", "content": _told(c)} for c in contents)]
        return Request(tuple(noted_messages(messages)), asked.tokens_out or 0)

    def as_request(self, asked: Asked, limit: int | None, temperature: float | None) -> Request:
        document, config = asked.document, _config(asked.document)
        only_text(document, CARRIED)
        plain = config.get(TYPES[0], config.get(TYPES[1])) in (None, "text/plain", "application/json")
        modes = config.get(MODALITIES[0], config.get(MODALITIES[1]))
        carried = {
            *CARRIED_CONFIG,
            *JSON_CONFIG,
            *(TYPES if plain else ()),
            *(MODALITIES if modes == ["TEXT"] else ()),
        }
        only_text(config, carried)
        messages = [_message(system)] if (system := _system(document)) else []
        messages = [Message("system", message.content) for message in messages]
        messages += [_message(as_object(entry) or {}) for entry in entries(document, "contents")]
        schema = next((found for name in JSON_CONFIG if (found := as_object(config.get(name)))), None)
        if schema is None and "application/json" in (config.get(TYPES[0]), config.get(TYPES[1])):
            only_text({TYPES[0]: "application/json"}, ())
        heat, seed = number(config.get("temperature"), temperature), config.get("seed")
        out = limit if asked.tokens_out is None else asked.tokens_out
        return Request(tuple(messages), out, heat, seed if isinstance(seed, int) else None, schema)

    def decode(self, asked: Asked, document: object) -> Decoded:
        return _decode(document, tools=True)

    def reader(self, asked: Asked) -> "ChunkReader":
        return ChunkReader()

    def reply(self, answered: Answered) -> dict[str, object]:
        said = answered.completion
        finish = "SAFETY" if said.refused else "MAX_TOKENS" if said.stop == CUT else "STOP"
        content = {"role": "model", "parts": [{"text": said.text}]}
        reply: dict[str, object] = {
            "candidates": [{"content": content, "finishReason": finish, "index": 0}],
            "modelVersion": answered.model,
            "responseId": answered.id,
        }
        usage = answered.usage
        if isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown):
            return reply
        total = usage.tokens_in + usage.tokens_out
        counts = {"promptTokenCount": usage.tokens_in, "candidatesTokenCount": usage.tokens_out}
        return reply | {"usageMetadata": counts | {"totalTokenCount": total}}

    def events(self, answered: Answered, asked: Asked) -> bytes:
        reply = self.reply(answered)
        usage = reply.pop("usageMetadata", None)
        first = as_object((as_list(reply["candidates"]) or [None])[0]) or {}
        begun = {**reply, "candidates": [{name: value for name, value in first.items() if name != "finishReason"}]}
        ending = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": first["finishReason"]}
        ended = {**reply, "candidates": [ending | {"index": 0}]} | ({} if usage is None else {"usageMetadata": usage})
        return b"".join(b"data: " + json.dumps(part).encode() + b"\r\n\r\n" for part in (begun, ended))

    def models(self, name: str) -> dict[str, object]:
        methods = ["generateContent", "streamGenerateContent"]
        return {"models": [{"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}]}

    def problem(self, status: int, message: str) -> dict[str, object]:
        kind = ERRORS.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION")
        return {"error": {"code": status, "message": message, "status": kind}}


class ChunkReader:
    """What the chunks of a stream amount to."""

    def __init__(self) -> None:
        self._billed: dict[str, object] = {}
        self._words, self._called = Transcript(), Transcript()
        self._stop = self._error = ""

    @property
    def usage(self) -> Usage:
        """As the last chunk states it: known when the stream has said why it stopped."""
        return read_usage(self._billed) if self._billed and self._stop else Usage()

    def take(self, event: bytes) -> bool:
        """The agent sees every event."""
        chunk = object_of(data_of(event))
        if chunk is not None:
            self.add(chunk)
        return True

    def add(self, chunk: Mapping[str, object]) -> None:
        """One more chunk."""
        stated = child(chunk, "usageMetadata")
        self._billed = stated if "totalTokenCount" in stated or "promptTokenCount" in stated else self._billed
        words = child(chunk, "error").get("message")
        if chunk.get("error"):
            self._error = words if isinstance(words, str) else json.dumps(chunk["error"])
        if child(chunk, "promptFeedback").get("blockReason"):
            self._stop = FILTERED
        for entry in as_list(chunk.get("candidates")) or []:
            candidate = as_object(entry) or {}
            self._stop = str(candidate.get("finishReason") or self._stop)
            text, calls = _spoken(child(candidate, "content"))
            self._words.add(text)
            for call in calls:
                self._called.add(call)

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """A stream that did not say why it stopped broke off."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if not self._stop:
            return "unparsable", None, "the stream broke off before its end"
        spoken = completion(self._words.text, self._stop, called=self._called.text)
        return "refused" if spoken.refused else "ok", spoken, ""


def read_usage(document: object) -> Usage:
    """Token counts as billed."""
    values = as_object(document)
    if not values:
        return Usage()
    tokens_in = _with(count(values.get("promptTokenCount")), values, "toolUsePromptTokenCount")
    made: Count = 0 if not isinstance(tokens_in, Unknown) else count(None)
    if "candidatesTokenCount" in values:
        made = count(values["candidatesTokenCount"])
    details = Details(
        audio_in=_audio(values, "promptTokensDetails") + _audio(values, "toolUsePromptTokensDetails"),
        audio_out=_audio(values, "candidatesTokensDetails"),
    )
    thought = count(values.get("thoughtsTokenCount"))
    cached = count(values.get("cachedContentTokenCount", None if isinstance(tokens_in, Unknown) else 0))
    return Usage(tokens_in, _with(made, values, "thoughtsTokenCount"), cached, thought, kept(values), details)


def _with(counted: Count, values: Mapping[str, object], name: str) -> Count:
    """A count and another beside it, where that is stated."""
    return added(counted, count(values[name])) if values.get(name) is not None else counted


def _audio(values: Mapping[str, object], name: str) -> int:
    if name not in values:
        return 0
    parts = [as_object(entry) or {} for entry in as_list(values[name]) or []]
    return sum(some(part.get("tokenCount")) for part in parts if part.get("modality") == "AUDIO")


def _decode(document: object, *, tools: bool) -> Decoded:
    """A reply, or the list of chunks that a stream without events is."""
    reply, chunks = as_object(document), as_list(document)
    if chunks:
        return _joined([as_object(chunk) or {} for chunk in chunks])
    if reply is None:
        return "the reply is not a JSON object"
    candidates = as_list(reply.get("candidates"))
    blocked = child(reply, "promptFeedback").get("blockReason")
    usage = read_usage(reply.get("usageMetadata"))
    candidate = as_object(candidates[0]) if candidates else None
    if candidate is None and blocked:
        return completion("", FILTERED), usage
    if candidate is None:
        words = child(reply, "error").get("message")
        return f"the reply is an error: {words[:300]}" if isinstance(words, str) else "the reply has no candidates"
    text, calls = _spoken(child(candidate, "content"))
    stop = FILTERED if blocked else str(candidate.get("finishReason") or "")
    return completion(text, stop, called=calls if tools else None), usage


def _joined(chunks: Sequence[Mapping[str, object]]) -> Decoded:
    reader = ChunkReader()
    for chunk in chunks:
        reader.add(chunk)
    _, spoken, error = reader.ending()
    return error if spoken is None else (spoken, reader.usage)


def _spoken(content: Mapping[str, object]) -> tuple[str, list[object]]:
    """The text of a content, and the calls and pictures in it; thoughts are neither."""
    parts = [as_object(part) or {} for part in as_list(content.get("parts")) or []]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    calls = [call for part in parts if (call := part.get("functionCall") or part.get("executableCode"))]
    calls += [{"mimeType": child(part, "inlineData").get("mimeType")} for part in parts if "inlineData" in part]
    return "".join(cast(list[str], texts)), calls


def _config(document: Mapping[str, object]) -> dict[str, object]:
    return child(document, "generationConfig") | child(document, "generation_config")


def _stated(config: Mapping[str, object], *names: str) -> int | None:
    """A count under whichever of its names, or BadRequest when it could be anything."""
    return next((bounded(config, name) for name in names if config.get(name) is not None), None)


def _system(document: Mapping[str, object]) -> dict[str, object]:
    """The instruction, which may be a bare string."""
    given = document.get("systemInstruction", document.get("system_instruction"))
    return {"parts": [{"text": given}]} if isinstance(given, str) else as_object(given) or {}


def _draws_on(document: Mapping[str, object]) -> str:
    """What a request has the provider read beside itself."""
    for entry in as_list(document.get("tools")) or []:
        hosted = next((name for name in as_object(entry) or {} if name not in OWN_TOOLS), None)
        if hosted is not None:
            return hosted[:40]
    return drawing(document, DRAWING)


def _told(content: Mapping[str, object]) -> object:
    """A content for the ledger: its text where it is nothing else."""
    parts = [as_object(part) or {} for part in as_list(content.get("parts")) or []]
    if all(set(part) == {"text"} and isinstance(part["text"], str) for part in parts):
        return "".join(cast(str, part["text"]) for part in parts)
    return content.get("parts")


def _message(content: Mapping[str, object]) -> Message:
    """A content that is text, or BadRequest."""
    text, role = _told(content), content.get("role") or "user"
    if not isinstance(text, str) or not content.get("parts") or role not in ("user", "model", "system"):
        raise BadRequest(NOT_TEXT)
    return Message("assistant" if role == "model" else "user", text)
