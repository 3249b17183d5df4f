"""The wire formats of OpenAI's Responses and of Gemini (`shapes` has the others), and the format of each path."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from mashq.testing.documents import JsonObject, as_list, as_number, as_object
from mashq.testing.events import gemini_chunks, objects_in, responses_events
from mashq.testing.replies import Message, Prompt, Spoken
from mashq.testing.shapes import (
    Anthropic,
    Embeddings,
    OpenAI,
    Rejected,
    Shape,
    Turn,
    body_in,
    limit_in,
    model_in,
    text_in,
)
from mashq.testing.tools import called

_GEMINI = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")
_SHAPES: Mapping[str, Shape] = {
    "/v1/chat/completions": OpenAI(),
    "/v1/embeddings": Embeddings(),
    "/v1/messages": Anthropic(),
}


def shape_of(path: str, query: str) -> Shape | None:
    """Return the format served at a path; None for an unknown path."""
    gemini = _GEMINI.fullmatch(path)
    if gemini is not None:
        return Gemini(gemini[1], gemini[2] == "streamGenerateContent", "alt=sse" in query)
    return Responses() if path == "/v1/responses" else _SHAPES.get(path)


class Responses(OpenAI):
    """POST /v1/responses."""

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """Return the prompt in a request: a string, or a list of items."""
        request = body_in(body)
        input_ = request.get("input")
        items = objects_in(input_) if as_list(input_) else [{"role": "user", "content": input_}]
        if not input_:
            raise Rejected(400, "input: a non-empty string or list is required")
        first = (Message("system", text_in(request.get("instructions"))),) if request.get("instructions") else ()
        history = tuple(
            Message(str(item.get("role")), text_in(item.get("content") or item.get("output"))) for item in items
        )
        declared = [tool for tool in objects_in(request.get("tools")) if tool.get("type") == "function"]
        answered = items[-1].get("type") == "function_call_output" or request.get("tool_choice") == "none"
        tools = called(declared, all_of_them=request.get("parallel_tool_calls") is True, answered=answered)
        return Prompt(
            model_in(request),
            first + history,
            stream=bool(request.get("stream")),
            tools=tools,
            temperature=as_number(request.get("temperature")),
            limit=limit_in(request, "max_output_tokens"),
        )

    def completion(self, turn: Turn) -> JsonObject:
        """Return a `response` object."""
        part: JsonObject = {"type": "output_text", "text": turn.text or "", "annotations": [], "logprobs": []}
        if turn.finish == "refusal":
            part = {"type": "refusal", "refusal": "I cannot help with that request."}
        message: JsonObject = {"id": f"msg_{turn.id}", "type": "message", "role": "assistant", "status": "completed"}
        output: list[JsonObject] = [message | {"content": [part]}]
        if turn.tools:
            output = [
                {
                    "id": f"fc_{turn.id[:8]}{number}",
                    "type": "function_call",
                    "call_id": f"call_{turn.id[:8]}{number}",
                    "name": name,
                    "arguments": arguments,
                    "status": "completed",
                }
                for number, (name, arguments) in enumerate(turn.tools)
            ]
        reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
        reason = reasons.get(turn.finish)
        return {
            "id": f"resp_{turn.id}",
            "object": "response",
            "created_at": 1700000000,
            "status": "completed" if reason is None else "incomplete",
            "error": None,
            "incomplete_details": None if reason is None else {"reason": reason},
            "instructions": None,
            "metadata": {},
            "model": turn.model,
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": turn.usage,
        }

    def usage(self, spoken: Spoken) -> JsonObject:
        """Return the usage, always with details, as OpenAI sends it."""
        return {
            "input_tokens": spoken.prompt_tokens,
            "input_tokens_details": {"cached_tokens": spoken.cached_tokens or 0},
            "output_tokens": spoken.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": spoken.reasoning_tokens or 0},
            "total_tokens": spoken.prompt_tokens + spoken.completion_tokens,
        }

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """Return usage with a total that is not the sum, and parts larger than their wholes."""
        return self.usage(spoken) | {
            "total_tokens": 1,
            "input_tokens_details": {"cached_tokens": spoken.prompt_tokens + 100},
        }

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """Return the events from `response.created` to `response.completed`."""
        return responses_events(completion)


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent, as events or as a list."""

    as_events: bool

    filter_is_error = False

    def __init__(self, model: str, streamed: bool, events: bool) -> None:
        self._model, self._streamed, self.as_events = model, streamed, events

    def prompt(self, headers: Mapping[str, str], body: bytes) -> Prompt:
        """Return the prompt in a request; a key is required."""
        if "x-goog-api-key" not in headers:
            raise Rejected(401, "Request is missing required authentication credential.")
        request = body_in(body)
        contents = objects_in(request.get("contents"))
        if not contents:
            raise Rejected(400, "contents is not specified")
        system = _words(as_object(request.get("systemInstruction")) or {})
        first = (Message("system", system),) if system else ()
        history = tuple(Message(str(content.get("role") or "user"), _words(content)) for content in contents)
        declared = [
            function
            for tool in objects_in(request.get("tools"))
            for function in objects_in(tool.get("functionDeclarations") or tool.get("function_declarations"))
        ]
        answered = any("functionResponse" in part for part in objects_in(contents[-1].get("parts")))
        prompt = Prompt(self._model, first + history, _seed(request), self._streamed)
        config = as_object(request.get("generationConfig")) or {}
        return replace(
            prompt,
            tools=called(declared, all_of_them=False, answered=answered),
            temperature=as_number(config.get("temperature")),
            limit=limit_in(config, "maxOutputTokens"),
        )

    def completion(self, turn: Turn) -> JsonObject:
        """Return a `GenerateContentResponse`."""
        ends = {"stop": "STOP", "length": "MAX_TOKENS"}
        finish = ends.get(turn.finish, "SAFETY")
        calls: list[JsonObject] = [
            {"functionCall": {"name": name, "args": json.loads(words)}} for name, words in turn.tools
        ]
        parts: list[JsonObject] = calls or ([{"text": turn.text}] if turn.text else [])
        content: JsonObject = {"content": {"role": "model", "parts": parts}} if parts else {}
        reply: JsonObject = {
            "candidates": [content | {"finishReason": finish, "index": 0}],
            "modelVersion": turn.model,
            "responseId": turn.id,
        }
        return reply if turn.usage is None else reply | {"usageMetadata": turn.usage}

    def usage(self, spoken: Spoken) -> JsonObject:
        """Return the usage; thoughts are not part of the candidates, and zero counts are left out."""
        thought = spoken.reasoning_tokens or 0
        counts: JsonObject = {
            "promptTokenCount": spoken.prompt_tokens,
            "candidatesTokenCount": spoken.completion_tokens - thought,
            "totalTokenCount": spoken.prompt_tokens + spoken.completion_tokens,
            "thoughtsTokenCount": thought,
            "cachedContentTokenCount": spoken.cached_tokens or 0,
        }
        return {name: value for name, value in counts.items() if value}

    def false_usage(self, spoken: Spoken) -> JsonObject:
        """Return usage with a total that is not the sum."""
        return self.usage(spoken) | {"totalTokenCount": 1, "cachedContentTokenCount": spoken.prompt_tokens + 100}

    def error(self, status: int, message: str, code: str | None = None) -> JsonObject:
        """`{"error": {...}}`"""
        kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": kinds.get(status, "INTERNAL")}}

    def events(self, completion: JsonObject, prompt: Prompt) -> bytes:
        """Return the chunks, as one event each or as a list."""
        chunks = gemini_chunks(completion)
        if not self.as_events:
            return json.dumps(chunks).encode("ascii")
        return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks).encode("ascii")


def _words(content: JsonObject) -> str:
    texts = [part.get("text") for part in objects_in(content.get("parts"))]
    return "\n".join(text for text in texts if isinstance(text, str))


def _seed(request: JsonObject) -> int | None:
    seed = (as_object(request.get("generationConfig")) or {}).get("seed")
    return seed if isinstance(seed, int) else None
