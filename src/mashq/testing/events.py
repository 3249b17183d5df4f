"""A chat completion as the server-sent events of a stream.

Contract: the reply comes in pieces of a few words, then its end, then the usage in a chunk of its own when it is
wanted and known, then `[DONE]`.
"""

import json

from mashq.testing.documents import JsonObject, as_list, as_object

EVENTS = "text/event-stream"
_PIECE = 24


def events(completion: JsonObject, *, usage_wanted: bool) -> bytes:
    """The whole stream."""
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


def _deltas(message: JsonObject) -> list[JsonObject]:
    text = message.get("content")
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)] if isinstance(text, str) else []
    calls = [{"index": index, **(as_object(call) or {})} for index, call in enumerate(_calls(message))]
    first: JsonObject = {"role": "assistant", "content": ""}
    refusal: list[JsonObject] = [{"refusal": message["refusal"]}] if message.get("refusal") else []
    return [first, *({"content": piece} for piece in pieces), *refusal, *([{"tool_calls": calls}] if calls else [])]


def _calls(message: JsonObject) -> list[object]:
    return as_list(message.get("tool_calls")) or []
