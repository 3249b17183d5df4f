"""OpenAI's Responses: what is sent, what is made of replies and streams, and what the endpoint reads."""

import json
from typing import Any

import pytest

from mashq.gateway.types import Details, Message, Request
from mashq.gateway.wire.base import BadRequest
from mashq.gateway.wire.openai_responses import OpenAIResponses, OpenAIResponsesServed, Options
from mashq.protocol.resources import UNKNOWN

WIRE, SERVED = OpenAIResponses(), OpenAIResponsesServed()
SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}
USAGE = {
    "input_tokens": 90,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 30},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 140,
    "cost": 0.25,
}


THOUGHT = {
    "type": "reasoning",
    "summary": [{"text": "Hm.", "type": "summary_text"}],
    "content": [{"type": "reasoning_text", "text": "Hm."}],
}


def said(*texts: str, kind: str = "output_text") -> dict[str, Any]:
    field = "refusal" if kind == "refusal" else "text"
    return {"type": "message", "role": "assistant", "content": [{"type": kind, field: text} for text in texts]}


def reply(*items: object, status: str = "completed", **more: object) -> dict[str, Any]:
    return {"object": "response", "status": status, "output": list(items), "usage": USAGE, **more}


def test_a_request() -> None:
    asked = Request((Message("system", "Be brief."), Message("user", "Hi.")), 70, 0.5, 3, SCHEMA)
    body = WIRE.encode("gpt-9", asked, Options(json="schema", extra={"reasoning": {"effort": "low"}}))
    assert body == {
        "model": "gpt-9",
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}],
        "max_output_tokens": 70,
        "store": False,
        "temperature": 0.5,
        "text": {"format": {"type": "json_schema", "name": "reply", "strict": True, "schema": SCHEMA}},
        "reasoning": {"effort": "low"},
    }
    assert WIRE.encode("m", asked, Options(json="object"))["text"] == {"format": {"type": "json_object"}}
    assert WIRE.headers("k") == {"Authorization": "Bearer k"} and WIRE.path("m") == "/responses"


@pytest.mark.parametrize(
    ("document", "text", "stop", "refused"),
    [
        (reply(THOUGHT, said("One. ", "Two.")), "One. Two.", "completed", False),
        (reply(said("A."), said("B.")), "A.B.", "completed", False),
        (reply(said("No.", kind="refusal")), "No.", "completed", True),
        (reply(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "", "length", False),
        (reply(status="incomplete", incomplete_details={"reason": "content_filter"}), "", "content_filter", True),
        (reply(status="failed", error={"code": "content_filter", "message": "x"}), "", "content_filter", True),
        (reply(), "", "completed", True),
    ],
)  # fmt: skip
def test_replies(document: dict[str, Any], text: str, stop: str, refused: bool) -> None:
    decoded = WIRE.decode(document)
    assert not isinstance(decoded, str), decoded
    spoken, usage = decoded
    assert (spoken.text, spoken.stop, spoken.refused) == (text, stop, refused)
    assert (usage.tokens_in, usage.tokens_out, usage.cached, usage.reasoning) == (90, 50, 40, 20)
    assert (usage.details, usage.billed) == (Details(written=30), 0.25)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (reply(status="failed", error={"code": "server_error", "message": "It broke."}), "It broke."),
        (reply(status="queued"), "queued"),
        ({"status": "completed"}, "no output"),
        ([], "not a JSON object"),
    ],
)
def test_what_is_no_reply(document: object, words: str) -> None:
    decoded = WIRE.decode(document)
    assert isinstance(decoded, str) and words in decoded


def test_a_call_of_a_tool_is_no_refusal_where_tools_are_offered() -> None:
    document = reply({"type": "function_call", "name": "look_up", "arguments": "{}"})
    asked = SERVED.read("chat", {}, b'{"input": "Hi."}')
    served, own = SERVED.decode(asked, document), WIRE.decode(document)
    assert not isinstance(served, str) and not isinstance(own, str)
    assert ("look_up" in served[0].text, served[0].refused, own[0].refused) == (True, False, True)


def test_a_stream_ends_with_the_whole_reply() -> None:
    asked = SERVED.read("chat", {}, b'{"input": "Hi.", "stream": true}')

    def read(*parts: dict[str, Any]) -> Any:
        reader = SERVED.reader(asked)
        assert all(reader.take(b"data: " + json.dumps(part).encode()) for part in parts)
        return reader.ending(), reader.usage

    begun = {"type": "response.created", "response": reply(status="in_progress", usage=None)}
    delta = {"type": "response.output_text.delta", "delta": "Yes."}
    (kind, spoken, _), usage = read(begun, delta, {"type": "response.completed", "response": reply()})
    assert (kind, spoken.text, usage.tokens_out) == ("ok", "Yes.", 50), "the words of a server that leaves them out"
    cut = reply(said("Ha"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    (kind, spoken, _), _ = read(begun, delta, {"type": "response.incomplete", "response": cut})
    assert (kind, spoken.text, spoken.stop) == ("ok", "Ha", "length")
    (kind, spoken, error), usage = read(begun, delta)
    assert (kind, spoken, usage.tokens_in) == ("unparsable", None, UNKNOWN) and "broke off" in error
    (kind, _, error), _ = read(begun, {"type": "error", "message": "overloaded"})
    assert (kind, "overloaded" in error) == ("unparsable", True)
    failed = reply(status="failed", error={"message": "It broke."})
    (kind, _, error), usage = read(begun, {"type": "response.failed", "response": failed})
    assert (kind, "It broke." in error, usage.tokens_in) == ("unparsable", True, 90)


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({"store": True}, ""),
        ({"tools": [{"type": "function", "name": "f", "parameters": {"properties": {"file_id": {"x": 1}}}}]}, ""),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "mcp", "server_url": "x"}]}, "mcp"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "item_reference"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, "file_id"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x"}]}]}, "image_url"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]}, ""),
    ],
)
def test_what_a_request_draws_on(changes: dict[str, Any], drawn: str) -> None:
    assert SERVED.read("chat", {}, json.dumps({"input": "Hi.", **changes}).encode()).draws_on == drawn


@pytest.mark.parametrize("field", [{"models": ["a", "b"]}, {"route": "fallback"}, {"background": True}])
def test_what_would_escape_the_meter_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="leave it out"):
        SERVED.read("chat", {}, json.dumps({"input": "Hi.", **field}).encode())
    SERVED.read("chat", {}, json.dumps({"input": "Hi.", "background": False, "models": None}).encode())


def test_a_request_for_another_model_is_translated_or_refused() -> None:
    document: dict[str, Any] = {
        "instructions": "Be brief.",
        "input": [
            {"role": "developer", "content": "In English."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        ],
        "text": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "store": False,
        "tool_choice": "auto",
    }
    asked = SERVED.read("chat", {}, json.dumps(document).encode())
    found = SERVED.as_request(asked, 60, 0.5)
    assert [(m.role, m.content) for m in found.messages] == [
        ("system", "Be brief."), ("system", "In English."), ("user", "Hi.")]  # fmt: skip
    assert (found.max_tokens, found.temperature, found.schema) == (60, 0.5, SCHEMA)
    for change in ({"text": {"format": {"type": "json_object"}}}, {"top_p": 0.5}, {"reasoning": {"effort": "low"}}):
        asked = SERVED.read("chat", {}, json.dumps(document | change).encode())
        with pytest.raises(BadRequest, match="cannot be passed to this model"):
            SERVED.as_request(asked, 60, None)
