"""Recorded exchanges with real providers: every usage is read exactly, every request passes on as it came.

What is expected is worked out here from the recorded JSON, by the providers' documents and not by our readers. The
recordings are in ../shared; without them these tests skip.
"""

# pyright: basic

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mashq.extensions import WIRES
from mashq.gateway.types import Completion, Usage
from mashq.gateway.wire.base import Asked, BadRequest, Options, Served
from mashq.gateway.wire.sse import Cutter
from mashq.protocol.resources import Unknown

RECORDINGS = Path(__file__).parents[4] / "shared" / "data" / "wire" / "recordings.jsonl.gz"
NAMES = {"chat": "openai", "embeddings": "openai", "messages": "anthropic"}
NAMES |= {"responses": "responses", "gemini": "gemini"}
pytestmark = pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")


@cache
def recordings() -> list[dict[str, Any]]:
    with gzip.open(RECORDINGS, "rt") as file:
        return [json.loads(line) for line in file]


def of(wire: str) -> list[dict[str, Any]]:
    return [recorded for recorded in recordings() if recorded["wire"] == wire]


def streamed(recorded: Mapping[str, Any]) -> bool:
    return "event-stream" in recorded["content_type"]


REFUSED = {
    "background": "background would answer after",
    "preset": "preset could choose another model",
    "service_tier": "service_tier 'priority' has a speed and a price of its own",
}
EXPECTED = {
    "chat": {REFUSED["preset"]: 1},
    "responses": {REFUSED["background"]: 5, REFUSED["service_tier"]: 2},
}


def refusal(recorded: Mapping[str, Any]) -> str:
    """Why the endpoint refuses a request, or nothing: it sets what lets another model or a dearer service answer."""
    request = recorded["request"]
    set_by = [
        name for name in REFUSED if request.get(name) and (name != "service_tier" or request[name] == "priority")
    ]
    return REFUSED[set_by[0]] if set_by else ""


def asked_of(served: Served, recorded: Mapping[str, Any]) -> Asked:
    groups: dict[str, str] = {}
    if recorded["wire"] == "gemini":
        verb, alt = ("streamGenerateContent", "sse") if streamed(recorded) else ("generateContent", "")
        groups = {"model": recorded["model"], "verb": verb, "alt": alt}
    kind = "embeddings" if recorded["wire"] == "embeddings" else "chat"
    return served.read(kind, groups, json.dumps(recorded["request"]).encode())


def served_of(wire: str) -> Served:
    served = WIRES.create(NAMES[wire]).served
    assert served is not None
    return served


def documents(recorded: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply; none of one whose bytes were stored compressed."""
    lines = [line[5:] for line in recorded["body"].splitlines() if line.startswith("data:")]
    for text in lines if streamed(recorded) else [recorded["body"]]:
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def stated(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The usage in a reply: of a stream, what its events come to."""
    found: list[dict[str, Any]] = []
    for document in documents(recorded):
        inner = [document.get("message"), document.get("response"), document.get("x_groq"), document]
        uses = [part.get("usage") or part.get("usageMetadata") for part in inner if isinstance(part, dict)]
        found += [use for use in uses if use]
    if recorded["wire"] == "gemini":
        return found[-1] if found else {}
    return {name: value for use in found for name, value in use.items() if value is not None}


def expected(wire: str, use: Mapping[str, Any]) -> tuple[int, int, int]:
    """In, out and cached, as billed."""
    if wire == "gemini":
        made = use.get("candidatesTokenCount", 0) + use.get("thoughtsTokenCount", 0)
        read = use.get("promptTokenCount", 0) + use.get("toolUsePromptTokenCount", 0)
        return read, made, use.get("cachedContentTokenCount", 0)
    if wire == "messages":
        runs = use.get("iterations") or [use]
        read, written, cached = (
            sum(run.get(name) or 0 for run in runs)
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        return read + written + cached, sum(run["output_tokens"] for run in runs), cached
    if wire == "responses":
        return use["input_tokens"], use["output_tokens"], use["input_tokens_details"]["cached_tokens"] or 0
    names = ("num_cached_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    details = use.get("prompt_tokens_details") or {}
    cached = max(details.get("cached_tokens") or 0, *(use.get(name) or 0 for name in names))
    return use["prompt_tokens"], use.get("completion_tokens") or 0, cached


def metered(served: Served, asked: Asked, recorded: Mapping[str, Any]) -> tuple[Completion | None, Usage]:
    """What the endpoint makes of a reply."""
    if not streamed(recorded):
        decoded = served.decode(asked, json.loads(recorded["body"]))
        return (None, Usage()) if isinstance(decoded, str) else decoded
    reader, cutter = served.reader(asked), Cutter()
    for event in [*cutter.feed(recorded["body"].encode()), cutter.rest]:
        reader.take(event)
    return reader.ending()[1], reader.usage


@pytest.mark.parametrize("wire", NAMES)
def test_usage_is_metered_exactly(wire: str) -> None:
    served, wrong, count = served_of(wire), list[object](), 0
    for recorded in of(wire):
        use = stated(recorded)
        if recorded["status"] >= 300 or not use or refusal(recorded):
            continue
        _, usage = metered(served, asked_of(served, recorded), recorded)
        cached = 0 if isinstance(usage.cached, Unknown) else usage.cached
        count += 1
        if (usage.tokens_in, usage.tokens_out, cached) != expected(wire, use):
            wrong.append((recorded["source"], usage, expected(wire, use)))
    assert count >= (5 if wire == "embeddings" else 100)
    assert len(wrong) <= 0.005 * count, wrong


@pytest.mark.parametrize("wire", NAMES)
def test_every_request_passes_on_as_it_came(wire: str) -> None:
    """But for those that another model, or a dearer service, could answer, and for one that is answered too late."""
    served, refused = served_of(wire), Counter[str]()
    for recorded in of(wire):
        if reason := refusal(recorded):
            with pytest.raises(BadRequest, match=reason):
                asked_of(served, recorded)
            refused[reason] += 1
            continue
        asked = asked_of(served, recorded)
        sent = json.loads(served.upstream(asked, "another", None, Options()))
        came = dict(recorded["request"])
        for body in (sent, came):
            body.pop("model", None)
            options = body.pop("stream_options", None) or {}
            body["stream_options"] = {name: value for name, value in options.items() if name != "include_usage"}
        assert sent == came, recorded["source"]
        assert asked.tokens_out is None or asked.kind == "embeddings" or asked.tokens_out > 0
    assert refused == EXPECTED.get(wire, {})


def test_what_was_thought_is_never_said() -> None:
    seen = 0
    for recorded in recordings():
        if recorded["status"] >= 300 or not list(documents(recorded)) or refusal(recorded):
            continue
        served = served_of(recorded["wire"])
        spoken, _ = metered(served, asked_of(served, recorded), recorded)
        thoughts = [thought for document in documents(recorded) for thought in thinking(document)]
        seen += bool(thoughts)
        assert spoken is None or not any(thought in spoken.text for thought in thoughts if len(thought) > 60)
    assert seen > 50


def thinking(value: Any) -> Iterator[str]:
    """Every text of a document that is a thought."""
    if isinstance(value, list):
        for entry in value:
            yield from thinking(entry)
    if not isinstance(value, dict):
        return
    told = value.get("thought") is True or value.get("type") in ("summary_text", "reasoning_text")
    for name, inner in value.items():
        if isinstance(inner, str):
            if name in ("thinking", "reasoning_content", "reasoning") or (name == "text" and told):
                yield inner
        else:
            yield from thinking(inner)
