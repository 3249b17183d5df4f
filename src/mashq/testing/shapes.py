"""The provider's wire formats: OpenAI-compatible chat completions and embeddings, Anthropic messages; those
of OpenAI's Responses and of Gemini are in `newer_shapes`.

Contract: a shape parses a request into a `Prompt` (or raises `Rejected` where the real service would refuse it)
and renders a `Turn` or an error as the JSON of its service, whole or as events. Shapes are stateless and know nothing
of faults.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from mashq.testing.documents import JsonObject, as_list, as_number, as_object, parse_object
from mashq.testing.events import chat_events, messages_events
from mashq.testing.replies import Message, Prompt, Spoken
from mashq.testing.tools import called, objects

Finish = Literal["stop", "length", "content_filter", "refusal"]


class Rejected(Exception):
    """A request the service would refuse: a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Turn:
    """The model's answer. If `text` is None, the service sends no content.

    `tools` are called instead of a text reply; `parts` is the number of inputs to embed; `unsaid` leaves out
    the message itself, as Azure does when its filter removes it.
    """

    id: str
    model: str
    text: str | None
    finish: Finish
    usage: JsonObject | None
    tools: tuple[tuple[str, str], ...] = ()
    parts: int = 1
    unsaid: bool = False


class Shape(Protocol):
    """One wire format."""

    filter_is_error: bool
    """Whether filtered output is an HTTP error rather than a way to finish."""

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """The prompt in a request."""
        ...

    def completion(self, turn: Turn) -> JsonObject:
        """A successful reply."""
        ...

    def usage(self, spoken: Spoken) -> JsonObject:
        """The honest usage of a reply."""
        ...

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """Usage of the right types whose numbers contradict each other."""
        ...

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """The body of an error reply."""
        ...

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """A successful reply as a stream of events."""
        ...


class OpenAI:
    """POST /v1/chat/completions."""

    filter_is_error = False

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """The prompt in a request; a key is not required, as with local servers."""
        request = body_in(body)
        options = as_object(request.get("stream_options")) or {}
        prompt = Prompt(model_in(request), _messages(request), _seed(request), bool(request.get("stream")))
        declared = [
            function for tool in objects(request.get("tools")) if (function := as_object(tool.get("function")))
        ]
        answered = prompt.messages[-1].role == "tool" or request.get("tool_choice") == "none"
        tools = called(declared, all_of_them=request.get("parallel_tool_calls") is True, answered=answered)
        return replace(
            prompt,
            usage_wanted=bool(options.get("include_usage")),
            tools=tools,
            temperature=as_number(request.get("temperature")),
            limit=limit_in(request, "max_tokens", "max_completion_tokens"),
        )

    def completion(self, turn: Turn) -> JsonObject:
        """A `chat.completion` object."""
        message: JsonObject = {"role": "assistant", "content": turn.text, "refusal": None}
        if turn.finish == "refusal":
            message |= {"content": None, "refusal": "I cannot help with that request."}
        finish: str = "stop" if turn.finish == "refusal" else turn.finish
        if turn.tools:
            functions = [{"name": name, "arguments": arguments} for name, arguments in turn.tools]
            calls = [
                {"id": f"call_{turn.id[:8]}{number}", "type": "function", "function": function}
                for number, function in enumerate(functions)
            ]
            message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        reply: JsonObject = {
            "id": f"chatcmpl-{turn.id}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": turn.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        }
        if turn.unsaid:
            reply["choices"] = [{"index": 0, "finish_reason": finish, "content_filter_results": {"error": {}}}]
        return reply if turn.usage is None else reply | {"usage": turn.usage}

    def usage(self, spoken: Spoken) -> JsonObject:
        """Return the usage; details appear only when they are known."""
        usage: JsonObject = {
            "prompt_tokens": spoken.prompt_tokens,
            "completion_tokens": spoken.completion_tokens,
            "total_tokens": spoken.prompt_tokens + spoken.completion_tokens,
        }
        if spoken.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": spoken.cached_tokens}
        if spoken.reasoning_tokens is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": spoken.reasoning_tokens}
        return usage

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """A total that is not the sum, and parts larger than their wholes."""
        return self.usage(spoken) | {
            "total_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": spoken.prompt_tokens + 100},
            "completion_tokens_details": {"reasoning_tokens": spoken.completion_tokens + 100},
        }

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """Return the chunks of the completion as events."""
        return chat_events(completion, usage_wanted=prompt.usage_wanted)

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """`{"error": {...}}`"""
        kind = code or ("server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code or str(status)}}


class Embeddings(OpenAI):
    """POST /v1/embeddings."""

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """Return a prompt with each input as a message."""
        request = body_in(body)
        input_ = request.get("input")
        inputs = as_list(input_) or [input_]
        return Prompt(model_in(request), tuple(Message("user", str(text)) for text in inputs))

    def completion(self, turn: Turn) -> JsonObject:
        """A list of short vectors."""
        vector = [int(digit, 16) / 16 for digit in turn.id[:8]]
        data = [{"object": "embedding", "index": index, "embedding": vector} for index in range(turn.parts)]
        reply: JsonObject = {"object": "list", "data": data, "model": turn.model}
        return reply if turn.usage is None else reply | {"usage": turn.usage}

    def usage(self, spoken: Spoken) -> JsonObject:
        """An embedding has no output tokens."""
        return {"prompt_tokens": spoken.prompt_tokens, "total_tokens": spoken.prompt_tokens}


class Anthropic:
    """POST /v1/messages."""

    filter_is_error = True

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """The prompt in a request; the key, the version and `max_tokens` are required."""
        if "x-api-key" not in headers:
            raise Rejected(401, "x-api-key header is required")
        if "anthropic-version" not in headers:
            raise Rejected(400, "anthropic-version: header is required")
        request = body_in(body)
        if not isinstance(request.get("max_tokens"), int):
            raise Rejected(400, "max_tokens: field required")
        system = text_in(request.get("system"))
        first = (Message("system", system),) if system else ()
        prompt = Prompt(model_in(request), first + _messages(request), _seed(request), bool(request.get("stream")))
        last = objects((objects(request.get("messages")) or [JsonObject()])[-1].get("content"))
        answered = any(block.get("type") == "tool_result" for block in last)
        return replace(
            prompt,
            tools=called(objects(request.get("tools")), all_of_them=False, answered=answered),
            temperature=as_number(request.get("temperature")),
            limit=limit_in(request, "max_tokens"),
        )

    def completion(self, turn: Turn) -> JsonObject:
        """A `message` object; no content is an empty list."""
        ends = {"stop": "end_turn", "length": "max_tokens"}
        reply: JsonObject = {
            "id": f"msg_{turn.id}",
            "type": "message",
            "role": "assistant",
            "model": turn.model,
            "content": [{"type": "text", "text": turn.text}] if turn.text else [],
            "stop_reason": ends.get(turn.finish, "refusal"),
            "stop_sequence": None,
        }
        if turn.tools:
            blocks = [
                {
                    "type": "tool_use",
                    "id": f"toolu_{turn.id[:8]}{number}",
                    "name": name,
                    "input": json.loads(arguments),
                }
                for number, (name, arguments) in enumerate(turn.tools)
            ]
            reply |= {"content": blocks, "stop_reason": "tool_use"}
        return reply if turn.usage is None else reply | {"usage": turn.usage}

    def usage(self, spoken: Spoken) -> JsonObject:
        """Return the usage; cached tokens are not included in `input_tokens`."""
        cached = spoken.cached_tokens or 0
        return {
            "input_tokens": spoken.prompt_tokens - cached,
            "output_tokens": spoken.completion_tokens,
            "cache_read_input_tokens": cached - cached // 4,
            "cache_creation_input_tokens": cached // 4,
        }

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """Return usage with no output tokens, and cache writes whose breakdown exceeds their total."""
        return self.usage(spoken) | {
            "output_tokens": 0,
            "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 0},
        }

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """Return the events from `message_start` to `message_stop`."""
        return messages_events(completion)

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """`{"type": "error", "error": {...}}`"""
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def body_in(body: bytes) -> JsonObject:
    """Parse the JSON object in a body."""
    try:
        document = parse_object(body)
    except ValueError as error:
        raise Rejected(400, str(error)) from None
    return document


def model_in(request: JsonObject) -> str:
    """Return the model that a request names."""
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise Rejected(400, "model: a non-empty string is required")
    return model


def _seed(request: JsonObject) -> int | None:
    seed = request.get("seed")
    if seed is not None and not isinstance(seed, int):
        raise Rejected(400, "seed: an integer is required")
    return seed


def limit_in(request: JsonObject, *names: str) -> int | None:
    """Return the output limit that a request sets."""
    limits = [value for name in names if isinstance(value := request.get(name), int)]
    return min(limits, default=None)


def _messages(request: JsonObject) -> tuple[Message, ...]:
    entries = [as_object(entry) for entry in as_list(request.get("messages")) or []]
    if not entries or None in entries:
        raise Rejected(400, "messages: a non-empty list of objects is required")
    return tuple(Message(text_in(entry.get("role")), text_in(entry.get("content"))) for entry in entries if entry)


def text_in(content: object) -> str:
    """Return the text of a message: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    texts = [(as_object(block) or {}).get("text") for block in as_list(content) or []]
    return "\n".join(text for text in texts if isinstance(text, str))
