"""The wire formats the provider speaks: OpenAI-compatible chat completions and embeddings, Anthropic messages; those
of OpenAI's Responses and of Gemini are in `newer_shapes`.

Contract: a shape reads a request into a `Prompt` (or raises `Rejected`, as the real service would refuse it)
and renders a `Turn` or an error as the JSON of its service, whole or as events. Shapes hold no state and know nothing
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
    """A request the service would refuse: a status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model is said to have answered. `text` None: the service sends no content.

    `tools` are called instead of speaking; `parts` is how many inputs an embedding was asked for; `unsaid` leaves out
    the message itself, as Azure does when its filter takes it.
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
        asked = body_in(body)
        options = as_object(asked.get("stream_options")) or {}
        prompt = Prompt(model_in(asked), _messages(asked), _seed(asked), bool(asked.get("stream")))
        offered = [found for tool in objects(asked.get("tools")) if (found := as_object(tool.get("function")))]
        answered = prompt.messages[-1].role == "tool" or asked.get("tool_choice") == "none"
        tools = called(offered, all_of_them=asked.get("parallel_tool_calls") is True, answered=answered)
        return replace(
            prompt,
            usage_wanted=bool(options.get("include_usage")),
            tools=tools,
            temperature=as_number(asked.get("temperature")),
            limit=limit_in(asked, "max_tokens", "max_completion_tokens"),
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
        """The details appear only when there is something to say."""
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
        """Chunks."""
        return chat_events(completion, usage_wanted=prompt.usage_wanted)

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """`{"error": {...}}`"""
        kind = code or ("server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code or str(status)}}


class Embeddings(OpenAI):
    """POST /v1/embeddings."""

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """Each input as a message."""
        asked = body_in(body)
        given = asked.get("input")
        inputs = as_list(given) or [given]
        return Prompt(model_in(asked), tuple(Message("user", str(text)) for text in inputs))

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
        asked = body_in(body)
        if not isinstance(asked.get("max_tokens"), int):
            raise Rejected(400, "max_tokens: field required")
        system = text_in(asked.get("system"))
        first = (Message("system", system),) if system else ()
        prompt = Prompt(model_in(asked), first + _messages(asked), _seed(asked), bool(asked.get("stream")))
        last = objects((objects(asked.get("messages")) or [JsonObject()])[-1].get("content"))
        answered = any(block.get("type") == "tool_result" for block in last)
        return replace(
            prompt,
            tools=called(objects(asked.get("tools")), all_of_them=False, answered=answered),
            temperature=as_number(asked.get("temperature")),
            limit=limit_in(asked, "max_tokens"),
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
        """Here cached tokens are beside `input_tokens`, not within them."""
        cached = spoken.cached_tokens or 0
        return {
            "input_tokens": spoken.prompt_tokens - cached,
            "output_tokens": spoken.completion_tokens,
            "cache_read_input_tokens": cached - cached // 4,
            "cache_creation_input_tokens": cached // 4,
        }

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """Output without tokens, and cache writes whose breakdown exceeds their total."""
        return self.usage(spoken) | {
            "output_tokens": 0,
            "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 0},
        }

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """Blocks, from `message_start` to `message_stop`."""
        return messages_events(completion)

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """`{"type": "error", "error": {...}}`"""
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def body_in(body: bytes) -> JsonObject:
    """The JSON object in a body."""
    try:
        asked = parse_object(body)
    except ValueError as problem:
        raise Rejected(400, str(problem)) from None
    return asked


def model_in(asked: JsonObject) -> str:
    """The model that a request names."""
    model = asked.get("model")
    if not isinstance(model, str) or not model:
        raise Rejected(400, "model: a non-empty string is required")
    return model


def _seed(asked: JsonObject) -> int | None:
    seed = asked.get("seed")
    if seed is not None and not isinstance(seed, int):
        raise Rejected(400, "seed: an integer is required")
    return seed


def limit_in(asked: JsonObject, *names: str) -> int | None:
    """The output limit that a request sets."""
    given = [value for name in names if isinstance(value := asked.get(name), int)]
    return min(given, default=None)


def _messages(asked: JsonObject) -> tuple[Message, ...]:
    found = [as_object(entry) for entry in as_list(asked.get("messages")) or []]
    if not found or None in found:
        raise Rejected(400, "messages: a non-empty list of objects is required")
    return tuple(Message(text_in(entry.get("role")), text_in(entry.get("content"))) for entry in found if entry)


def text_in(content: object) -> str:
    """The text of a message: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    texts = [(as_object(block) or {}).get("text") for block in as_list(content) or []]
    return "\n".join(text for text in texts if isinstance(text, str))
