"""Gemini's generateContent: what is sent, what is made of replies and streams, and what the endpoint reads."""

import json
from typing import Any

import pytest

from mashq.gateway.types import Details, Message, Request
from mashq.gateway.wire.base import BadRequest
from mashq.gateway.wire.gemini import Gemini, GeminiServed, Options
from mashq.protocol.resources import UNKNOWN

WIRE, SERVED = Gemini(), GeminiServed()
SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}
HI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
USAGE = {
    "promptTokenCount": 90,
    "toolUsePromptTokenCount": 10,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 30,
    "thoughtsTokenCount": 20,
    "totalTokenCount": 150,
    "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 7}, {"modality": "TEXT", "tokenCount": 83}],
}


def reply(*parts: object, finish: str | None = "STOP", **more: object) -> dict[str, Any]:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    candidate |= {} if finish is None else {"finishReason": finish}
    return {"candidates": [candidate], "usageMetadata": USAGE, **more}


def ask(document: dict[str, Any] = HI, verb: str = "generateContent", alt: str = "") -> Any:
    return SERVED.read("chat", {"model": "theirs", "verb": verb, "alt": alt}, json.dumps(document).encode())


def test_a_request() -> None:
    asked = Request(
        (Message("system", "Be brief."), Message("user", "Hi."), Message("assistant", "Yes?")), 70, 0.5, 3, SCHEMA
    )
    assert WIRE.encode("g", asked, Options(json="schema", extra={"safetySettings": []})) == {
        "contents": [{"role": "user", "parts": [{"text": "Hi."}]}, {"role": "model", "parts": [{"text": "Yes?"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 70,
            "temperature": 0.5,
            "seed": 3,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
        "safetySettings": [],
    }
    assert WIRE.path("g") == "/models/g:generateContent" and WIRE.headers("k") == {"x-goog-api-key": "k"}


@pytest.mark.parametrize(
    ("document", "text", "stop", "refused"),
    [
        (
            reply({"text": "I wonder.", "thought": True}, {"text": "One. "}, {"text": "Two."}),
            "One. Two.",
            "STOP",
            False,
        ),
        (reply(finish="MAX_TOKENS"), "", "length", False),
        (reply(finish="SAFETY"), "", "content_filter", True),
        (reply(finish="MODEL_ARMOR"), "", "content_filter", True),
        ({"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": USAGE}, "", "content_filter", True),
        (reply(), "", "STOP", True),
    ],
)
def test_replies(document: dict[str, Any], text: str, stop: str, refused: bool) -> None:
    decoded = WIRE.decode(document)
    assert not isinstance(decoded, str), decoded
    spoken, usage = decoded
    assert (spoken.text, spoken.stop, spoken.refused) == (text, stop, refused)
    assert (usage.tokens_in, usage.tokens_out, usage.cached, usage.reasoning) == (100, 50, 40, 20)
    assert usage.details == Details(audio_in=7)


def test_what_is_0_is_left_out_of_the_usage_and_what_is_not_stated_is_unknown() -> None:
    usage = WIRE.usage({"usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}})
    assert (usage.tokens_in, usage.tokens_out, usage.cached) == (9, 0, 0)
    usage = WIRE.usage({"usageMetadata": {"trafficType": "ON_DEMAND"}})
    assert (usage.tokens_in, usage.tokens_out, usage.cached) == (UNKNOWN, UNKNOWN, UNKNOWN)


@pytest.mark.parametrize(
    ("document", "words"),
    [({}, "no candidates"), ({"error": {"message": "It broke."}}, "It broke."), (3, "not a JSON object")],
)
def test_what_is_no_reply(document: object, words: str) -> None:
    decoded = WIRE.decode(document)
    assert isinstance(decoded, str) and words in decoded


def test_a_call_is_no_refusal_where_tools_are_offered() -> None:
    document = reply({"functionCall": {"name": "look_up", "args": {}}})
    served, own = SERVED.decode(ask(), document), WIRE.decode(document)
    assert not isinstance(served, str) and not isinstance(own, str)
    assert ("look_up" in served[0].text, served[0].refused, own[0].refused) == (True, False, True)


def test_a_stream_as_events_and_as_a_list() -> None:
    early = {"promptTokenCount": 400, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "totalTokenCount": 404}
    chunks = [
        reply({"text": "<think>x</think>Ye"}, finish=None) | {"usageMetadata": early},
        reply({"text": "s.", "thought": False}),
    ]
    reader = SERVED.reader(ask(verb="streamGenerateContent", alt="sse"))
    for chunk in chunks:
        assert reader.take(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")
    kind, spoken, _ = reader.ending()
    assert spoken is not None and (kind, spoken.text) == ("ok", "Yes.")
    assert (reader.usage.tokens_in, reader.usage.tokens_out) == (100, 50), "as the last chunk states it"
    decoded = SERVED.decode(ask(verb="streamGenerateContent"), chunks)
    assert not isinstance(decoded, str) and (decoded[0].text, decoded[1]) == ("Yes.", reader.usage)
    reader = SERVED.reader(ask())
    reader.take(b"data: " + json.dumps(chunks[0]).encode())
    assert reader.ending()[0] == "unparsable" and reader.usage.tokens_out is UNKNOWN
    reader.take(b'data: {"error": {"message": "overloaded"}}')
    assert "overloaded" in reader.ending()[2]


def test_the_path_and_the_body_go_on_with_the_players_model() -> None:
    asked = ask({**HI, "model": "models/theirs"}, "streamGenerateContent", "sse")
    assert (asked.stream, asked.listed, asked.tokens_out) == (True, False, None)
    assert SERVED.target(asked, "ours") == "/models/ours:streamGenerateContent?alt=sse"
    assert json.loads(SERVED.upstream(asked, "ours", None, Options())) == {**HI, "model": "models/ours"}
    limited = json.loads(SERVED.upstream(ask({**HI, "generation_config": {"topK": 3}}), "ours", 50, Options()))
    assert limited == {**HI, "generation_config": {"topK": 3, "maxOutputTokens": 50}}
    asked = ask({**HI, "generationConfig": {"maxOutputTokens": 20, "candidateCount": 3}}, "streamGenerateContent")
    assert (asked.stream, asked.listed, asked.tokens_out, asked.choices) == (False, True, 60, 3)
    assert SERVED.target(asked, "ours") == "/models/ours:streamGenerateContent"
    for config in ({"maxOutputTokens": -1}, {"candidate_count": "many"}):
        with pytest.raises(BadRequest, match="whole number"):
            ask({**HI, "generationConfig": config})


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({"tools": [{"functionDeclarations": [{"name": "f"}]}]}, ""),
        ({"tools": [{"googleSearch": {"x": 1}}]}, "googleSearch"),
        ({"cachedContent": "cachedContents/x"}, "cachedContent"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "gs://x"}}]}]}, "fileUri"),
        ({"contents": [{"parts": [{"functionCall": {"args": {"file_id": "x"}}}]}]}, ""),
    ],
)
def test_what_a_request_draws_on(changes: dict[str, Any], drawn: str) -> None:
    assert ask({**HI, **changes}).draws_on == drawn


def test_a_request_for_another_model_is_translated_or_refused() -> None:
    config = {"maxOutputTokens": 20, "seed": 4, "responseMimeType": "application/json", "responseSchema": SCHEMA}
    document = {
        "system_instruction": "Be brief.",
        **HI,
        "generationConfig": {**config, "responseModalities": ["TEXT"]},
    }
    found = SERVED.as_request(ask(document), 60, 0.5)
    assert [(m.role, m.content) for m in found.messages] == [("system", "Be brief."), ("user", "Hi.")]
    assert (found.max_tokens, found.temperature, found.seed, found.schema) == (20, 0.5, 4, SCHEMA)
    refused: list[dict[str, Any]] = [
        {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 3}}},
        {"generationConfig": {"responseMimeType": "application/json"}},
        {"contents": [{"parts": [{"inlineData": {}}]}]},
        {"contents": []},
    ]
    for change in refused:
        with pytest.raises(BadRequest):
            SERVED.as_request(ask({**HI, **change}), 60, None)
