"""The effect of a fault on a reply: (shape, prompt, fault) to status, headers and body.

Contract: `outcome` returns the complete HTTP reply that belongs to the fault. Wire faults start from
the good reply; `delivery` damages it in transit. Faults that come in variants choose the
variant by the number of the request, so that three in a row show all three.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import formatdate

from mashq.testing.documents import JsonObject
from mashq.testing.events import EVENTS
from mashq.testing.faults import BODIES, ERRORS, THOUGHT, Fault, Timing
from mashq.testing.newer_shapes import Gemini
from mashq.testing.replies import Prompt, Spoken, speak
from mashq.testing.shapes import Shape, Turn
from mashq.testing.wire import Reply

_HTML = b"<!doctype html>\n<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>\n"
_WRONG = ("I would rather talk about the weather.", '{"verdict": "fine", "items": [1, 2]}', "[1, 2, 3]")
_DRAFT = 'A first draft: {"summary": "draft", "answer": "draft", "choice": "end"}. No, better:'
_MESSAGES = {
    "429": "Rate limit reached. Please try again later.",
    "500": "The server had an error while processing your request.",
    "503": "The engine is currently overloaded.",
    "insufficient_quota": "You exceeded your current quota, please check your plan and billing details.",
    "no_temperature": "`temperature` is deprecated for this model.",
    "no_stream_options": "Unrecognized request argument supplied: stream_options",
    "401": "Incorrect API key provided.",
    "404": "The model does not exist or you do not have access to it.",
}


def outcome(shape: Shape, prompt: Prompt, fault: Fault, key: str, timing: Timing, seed: int) -> Reply:
    """Return the reply to `prompt` under `fault`; `key` is what a leaky provider would echo."""
    unwanted = {"no_temperature": prompt.temperature is not None, "no_stream_options": prompt.usage_wanted}
    if fault.kind in ERRORS and unwanted.get(fault.kind, True):
        return _error(shape, fault.kind, key, timing)
    if fault.kind in ("content_filter", "unsaid") and shape.filter_is_error:
        return error(shape, 400, "Output blocked by content filtering policy")
    spoken = speak(seed, prompt)
    if fault.kind == "thinks" and prompt.limit is not None and prompt.limit < THOUGHT:
        spoken = replace(spoken, text="", completion_tokens=prompt.limit, reasoning_tokens=prompt.limit)
    usage, parts = shape.usage(spoken), len(prompt.messages)
    good = Turn(spoken.id, prompt.model, spoken.text, "stop", usage, prompt.tools, parts)
    document = shape.completion(_changed(fault.kind, shape, good, spoken, fault.number))
    body, kind = (shape.events(document, prompt), EVENTS) if prompt.stream else _plain(document)
    if isinstance(shape, Gemini) and not shape.as_events:
        kind = "application/json"
    return _spoilt(fault.kind, body, kind) if fault.kind in BODIES else Reply(200, body, kind)


def error(
    shape: Shape, status: int, message: str, headers: Mapping[str, str] | None = None, code: str | None = None
) -> Reply:
    """Return an error reply of the service."""
    return Reply(status, _encode(shape.error(status, message, code)), headers=headers or {})


def _plain(document: JsonObject) -> tuple[bytes, str]:
    return _encode(document), "application/json"


def _encode(document: JsonObject) -> bytes:
    return json.dumps(document).encode("ascii")


def _error(shape: Shape, kind: str, key: str, timing: Timing) -> Reply:
    if kind == "400":
        return error(shape, 400, f"Invalid request with the header Authorization: Bearer {key}")
    if kind == "echo_key_500":
        return error(shape, 500, f"Internal error while handling the request of key {key}")
    if kind == "insufficient_quota":
        return error(shape, 429, _MESSAGES[kind], code=kind)
    if kind in ("no_temperature", "no_stream_options"):
        return error(shape, 400, _MESSAGES[kind])
    if kind.startswith("429"):
        headers = {"Retry-After": _retry_after(kind, timing.retry_after)}
        return error(shape, 429, _MESSAGES["429"], headers)
    return error(shape, int(kind), _MESSAGES[kind])


def _retry_after(kind: str, seconds: float) -> str:
    if kind == "429_date":
        return formatdate(math.ceil(time.time() + seconds), usegmt=True)
    return "99999999" if kind == "429_absurd" else f"{seconds:.12g}"


def _spoilt(kind: str, body: bytes, content_type: str) -> Reply:
    if kind == "bad_gzip":
        garbage = b"\x1f\x8b\x08\x00" + b"not deflate at all" * 4
        return Reply(200, garbage, headers={"Content-Encoding": "gzip"})
    if kind == "bad_utf8":
        return Reply(200, body[:-1] + b', "note": "\xff\xfe\xc3\x28"}', "application/json; charset=utf-8")
    if kind == "html":
        return Reply(200, _HTML, "text/html; charset=utf-8")
    if kind == "truncated_json":
        return Reply(200, body[: len(body) // 2], content_type)
    return Reply(200, b'{"object": "list", "data": []}')


def _bad_usage(shape: Shape, spoken: Spoken, number: int) -> JsonObject:
    honest = shape.usage(spoken)
    variants: tuple[JsonObject, ...] = (
        {name: -7 if isinstance(value, int) else value for name, value in honest.items()},
        {name: f"{value} tokens" if isinstance(value, int) else value for name, value in honest.items()},
        shape.false_usage(spoken),
    )
    return variants[number % 3]


def _fenced(text: str) -> str:
    return f"Sure! Here is the JSON you asked for:\n\n```json\n{text}\n```\n\nAnything else?"


def _changed(kind: str, shape: Shape, good: Turn, spoken: Spoken, number: int) -> Turn:
    """Return the turn under a fault of the model itself; any other kind leaves it unchanged."""
    changes: Mapping[str, Callable[[], Turn]] = {
        "no_usage": lambda: replace(good, usage=None),
        "bad_usage": lambda: replace(good, usage=_bad_usage(shape, spoken, number)),
        "wrong_json": lambda: replace(good, text=_WRONG[number % 3]),
        "refusal": lambda: replace(good, text=None, finish="refusal"),
        "content_filter": lambda: replace(good, text="", finish="content_filter"),
        "empty": lambda: replace(good, text=""),
        "length": lambda: replace(good, text=spoken.text[: max(1, len(spoken.text) // 2)], finish="length"),
        "think": lambda: replace(good, text=f"<think>\n{_DRAFT}\n</think>\n\n{spoken.text}"),
        "unsaid": lambda: replace(good, text="", finish="content_filter", unsaid=True),
        "fenced": lambda: replace(good, text=_fenced(spoken.text)),
        "thinks": lambda: good if spoken.text else replace(good, finish="length"),
    }
    return changes[kind]() if kind in changes else good
