"""A reply as a stream of server-sent events, in each service's format.

Contract: the reply comes in pieces of a few words, then its end, then the usage if known (for a chat only
when requested, in a separate chunk).
"""

import json
from collections.abc import Iterable

from mashq.testing.documents import JsonObject, as_list, as_object

EVENTS = "text/event-stream"
_PIECE = 24


def chat_events(completion: JsonObject, *, usage_wanted: bool) -> bytes:
    """Return the events of a chat completion."""
    head = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = as_object((as_list(completion["choices"]) or [None])[0]) or {}
    chunks: list[JsonObject] = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in _deltas(as_object(choice.get("message")) or {})
    ]
    end: JsonObject = {"index": 0, "delta": JsonObject(), "finish_reason": choice.get("finish_reason")}
    chunks.append(head | {"choices": [end]})
    if usage_wanted and "usage" in completion:
        chunks.append(head | {"choices": [], "usage": completion["usage"]})
    lines = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode("ascii")


def messages_events(completion: JsonObject) -> bytes:
    """Return the events of an Anthropic message."""
    usage = as_object(completion.get("usage"))
    start_usage: JsonObject = {} if usage is None else {"usage": usage | {"output_tokens": 1}}
    start = {name: value for name, value in completion.items() if name not in ("content", "stop_reason", "usage")}
    parts: list[JsonObject] = [
        {"type": "message_start", "message": start | {"content": [], "stop_reason": None} | start_usage},
        {"type": "ping"},
    ]
    for index, block in enumerate(objects_in(completion.get("content"))):
        parts += _block(index, block)
    end_usage: JsonObject = {} if usage is None else {"usage": {"output_tokens": usage.get("output_tokens")}}
    delta = {"stop_reason": completion.get("stop_reason"), "stop_sequence": None}
    parts.append({"type": "message_delta", "delta": delta, **end_usage})
    parts.append({"type": "message_stop"})
    return named(parts)


def responses_events(completion: JsonObject) -> bytes:
    """Return the events of an OpenAI response."""
    initial = completion | {"status": "in_progress", "output": list[object](), "usage": None}
    parts: list[JsonObject] = [
        {"type": "response.created", "response": initial},
        {"type": "response.in_progress", "response": initial},
    ]
    for index, item in enumerate(objects_in(completion.get("output"))):
        parts += _item(index, item)
    parts.append({"type": f"response.{completion['status']}", "response": completion})
    return named(part | {"sequence_number": number} for number, part in enumerate(parts))


def gemini_chunks(completion: JsonObject) -> list[JsonObject]:
    """Return the chunks of a Gemini reply; each states the usage so far."""
    candidate = (objects_in(completion.get("candidates")) or [JsonObject()])[0]
    usage = as_object(completion.get("usageMetadata"))
    head = {name: value for name, value in completion.items() if name not in ("candidates", "usageMetadata")}
    chunks: list[JsonObject] = []
    for part in objects_in((as_object(candidate.get("content")) or {}).get("parts")):
        pieces: list[JsonObject] = [{"text": piece} for piece in _pieces(part.get("text"))] or [part]
        for piece in pieces:
            so_far = {name: value for name, value in (usage or {}).items() if name == "promptTokenCount"}
            chunk: JsonObject = {"candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]}
            chunks.append(head | chunk | ({"usageMetadata": so_far} if so_far else {}))
    end: JsonObject = {"candidates": [{name: value for name, value in candidate.items() if name != "content"}]}
    return [*chunks, head | end | ({} if usage is None else {"usageMetadata": usage})]


def named(parts: Iterable[JsonObject]) -> bytes:
    """Encode events that name their type."""
    return "".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n" for part in parts).encode("ascii")


def objects_in(value: object) -> list[JsonObject]:
    """Return the objects in a list."""
    return [as_object(entry) or {} for entry in as_list(value) or []]


def _pieces(text: object) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)] if isinstance(text, str) else []


def _deltas(message: JsonObject) -> list[JsonObject]:
    calls = [{"index": index, **(as_object(call) or {})} for index, call in enumerate(_calls(message))]
    first: JsonObject = {"role": "assistant", "content": ""}
    refusal: list[JsonObject] = [{"refusal": message["refusal"]}] if message.get("refusal") else []
    content: list[JsonObject] = [{"content": piece} for piece in _pieces(message.get("content"))]
    return [first, *content, *refusal, *([{"tool_calls": calls}] if calls else [])]


def _calls(message: JsonObject) -> list[object]:
    return as_list(message.get("tool_calls")) or []


def _block(index: int, block: JsonObject) -> list[JsonObject]:
    """Return the events of one block of a message."""
    empty = {"input": JsonObject()} if block.get("type") == "tool_use" else {"text": ""}
    deltas: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in _pieces(block.get("text"))]
    if block.get("type") == "tool_use":
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}]
    return [
        {"type": "content_block_start", "index": index, "content_block": block | empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _item(index: int, item: JsonObject) -> list[JsonObject]:
    """Return the events of one item of a response."""
    ids: JsonObject = {"output_index": index, "item_id": item.get("id")}
    if item.get("type") != "message":
        opened = item | {"status": "in_progress", "arguments": ""}
        events: list[JsonObject] = [
            {"type": "response.function_call_arguments.delta", **ids, "delta": item.get("arguments")},
            {"type": "response.function_call_arguments.done", **ids, "arguments": item.get("arguments")},
        ]
    else:
        opened = item | {"status": "in_progress", "content": list[object]()}
        events = [
            event for number, part in enumerate(objects_in(item.get("content"))) for event in _part(ids, number, part)
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opened},
        *events,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _part(ids: JsonObject, number: int, part: JsonObject) -> list[JsonObject]:
    """Return the events of one part of a message: text, or a refusal."""
    kind = str(part.get("type"))
    field = "refusal" if kind == "refusal" else "text"
    location: JsonObject = {**ids, "content_index": number}
    extra: JsonObject = {} if kind == "refusal" else {"logprobs": []}
    return [
        {"type": "response.content_part.added", **location, "part": part | {field: ""}},
        *(
            {"type": f"response.{kind}.delta", **location, "delta": piece, **extra}
            for piece in _pieces(part.get(field))
        ),
        {"type": f"response.{kind}.done", **location, field: part.get(field), **extra},
        {"type": "response.content_part.done", **location, "part": part},
    ]
