"""The metering server in other formats than OpenAI's: Anthropic messages, and one whose paths hold the model."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mashq.gateway.proxy import server
from mashq.gateway.types import Completion, Outcome, Usage
from mashq.gateway.wire.anthropic_messages import AnthropicMessages, AnthropicMessagesServed
from mashq.gateway.wire.base import Asked, Options, Route, RouteKind, Served
from mashq.gateway.wire.openai_chat import OpenAIChatServed
from mashq.testing import FakeProvider
from tests.gateway.fakes import FakeClock, Script, replied
from tests.gateway.proxy.metered import KEY, Table, table
from tests.gateway.proxy.test_server import STREAM, provider, raw_upstream, shared, until

__all__ = ["provider", "shared"]  # fixtures

ASKED: dict[str, Any] = {
    "model": "whatever",
    "max_tokens": 70,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Say something.\n\nThe ferry sails."}]}],
}


async def ask(at: Table, document: object = None, **headers: str) -> tuple[int, Any]:
    """Post as a client of Anthropic's does: the status and the body."""
    sent = headers or {"x-api-key": at.seat.token, "anthropic-version": "2023-06-01"}
    url = at.seat.variables["ANTHROPIC_BASE_URL"] + "/v1/messages"
    body = json.dumps(ASKED if document is None else document)
    async with at.session.post(url, data=body, headers=sent) as response:
        text = await response.text()
        return response.status, json.loads(text) if text.startswith("{") else text


def parts(text: str) -> list[dict[str, Any]]:
    """The events of a stream."""
    pairs = [event.split("\ndata: ") for event in text.strip().split("\n\n")]
    found = [json.loads(data) for _, data in pairs]
    assert [f"event: {part['type']}" for part in found] == [name for name, _ in pairs]
    return found


async def test_a_request_passes_to_a_model_of_the_same_format(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url, wire=AnthropicMessages()) as at:
        status, reply = await ask(at, {**ASKED, "system": "Be brief.", "metadata": {"odd": [1, None]}})
        assert (status, reply["type"], reply["model"]) == (200, "message", "alpha")
        ((_, request, _, worst, _),) = at.ledger.opened
        assert [message.role for message in request.messages] == ["system", "user"]
        assert request.messages[0].content == "Be brief." and "The ferry sails." in request.messages[1].content
        assert (worst.tokens_out, request.max_tokens) == (70, 70)
        outcome = at.ledger.closed[0][0]
        assert outcome.completion is not None and outcome.completion.text == reply["content"][0]["text"]
        assert outcome.usage.tokens_out == reply["usage"]["output_tokens"]
        assert (await ask(at, None, Authorization=f"Bearer {at.seat.token}"))[0] == 200
    hits = provider.hits()[before:]
    assert [(hit["model"], hit["path"]) for hit in hits] == [("alpha", "/v1/messages")] * 2


def test_the_body_goes_through_as_it_came() -> None:
    served, tools = AnthropicMessagesServed(), [{"name": "look_up"}]
    sent = {**ASKED, "tools": tools, "stream": True}
    asked = served.read("chat", {}, json.dumps(sent).encode())
    body = json.loads(served.upstream(asked, "alpha", 50, Options(extra={"odd": 1})))
    assert body == {**sent, "model": "alpha", "odd": 1} and asked.stream
    del sent["max_tokens"]
    asked = served.read("chat", {}, json.dumps(sent).encode())
    assert asked.tokens_out is None
    assert json.loads(served.upstream(asked, "a", None, Options())) == {**sent, "model": "a"}
    assert json.loads(served.upstream(asked, "a", 50, Options()))["max_tokens"] == 50


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


BEGIN = event(
    "message_start", message={"usage": {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1}}
)
WORDS = b"".join(
    [
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "A ferry "}),
        event("ping"),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": KEY}),
    ]
)
TOOL = b"".join(
    [
        event("content_block_start", index=0, content_block={"type": "tool_use", "name": "look_up"}),
        event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"word": 1}'}),
    ]
)


def ending(stop: str, **usage: object) -> bytes:
    return event("message_delta", delta={"stop_reason": stop}, usage=usage) + event("message_stop")


RAW = '{"cache_read_input_tokens": 4, "input_tokens": 9, "output_tokens": 7}'


@pytest.mark.parametrize(
    ("body", "kind", "text", "usage"),
    [
        (BEGIN + WORDS + ending("end_turn", output_tokens=7), "ok", "A ferry [key]", Usage(13, 7, 4, raw=RAW)),
        (
            BEGIN + TOOL + ending("tool_use", output_tokens=7),
            "ok",
            'look_up{"word": 1}',
            Usage(13, 7, 4, raw=RAW),
        ),
        (BEGIN + ending("refusal", output_tokens=7), "refused", "", Usage(13, 7, 4, raw=RAW)),
        (BEGIN + ending("end_turn", output_tokens=7), "refused", "", Usage(13, 7, 4, raw=RAW)),
        (WORDS + ending("end_turn"), "ok", "A ferry [key]", Usage()),
        (BEGIN + WORDS, "unparsable", None, None),
        (BEGIN + WORDS + event("error", error={"message": "overloaded"}), "unparsable", None, None),
    ],
)
async def test_streams_of_all_sorts(body: bytes, kind: str, text: str | None, usage: Usage | None) -> None:
    async for url in raw_upstream(STREAM + b"Content-Length: %d\r\n\r\n" % len(body) + body):
        async with table(url, wire=AnthropicMessages()) as at:
            status, received = await ask(at, {**ASKED, "stream": True})
            assert status == 200 and KEY not in received and len(parts(received)) == body.count(b"event: ")
            await until(lambda: at.ledger.closed)
            outcome = at.ledger.closed[0][0]
            assert outcome.kind == kind, outcome.error
            if outcome.completion is None:
                assert text is None and outcome.error
                assert outcome.usage.tokens_out == Usage().tokens_out, "how it began is not what it cost"
            else:
                assert outcome.completion.text == text
                assert outcome.usage == usage


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_of_another_format_is_asked_by_way_of_ours(provider: FakeProvider, stream: bool) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        status, reply = await ask(at, {**ASKED, "stream": stream})
        assert status == 200
        outcome = at.ledger.closed[0][0]
        assert outcome.completion is not None
        usage = {"input_tokens": outcome.usage.tokens_in, "output_tokens": outcome.usage.tokens_out}
        if stream:
            found = parts(reply)
            assert found[2]["delta"]["text"] == outcome.completion.text
            assert found[4]["usage"] == found[0]["message"]["usage"] == usage
            assert found[4]["delta"]["stop_reason"] == "end_turn"
        else:
            assert reply["content"] == [{"type": "text", "text": outcome.completion.text}]
            assert (reply["usage"], reply["stop_reason"], reply["model"]) == (usage, "end_turn", "my/alpha")
        assert [m.content for m in at.ledger.opened[0][1].messages] == [
            "Be brief.",
            "Say something.\n\nThe ferry sails.",
        ]
        image: Any = [{"role": "user", "content": [{"type": "image", "source": {}}]}]
        bad: list[dict[str, Any]] = [{"tools": [{"name": "x"}]}, {"messages": image}, {"messages": []}]
        for changes in [*bad, {"max_tokens": -1}]:
            status, reply = await ask(at, {**ASKED, **changes})
            assert (status, reply["type"], reply["error"]["type"]) == (400, "error", "invalid_request_error")
    assert [hit["path"] for hit in provider.hits()[before:]] == ["/v1/chat/completions"]


async def test_stops_and_unknowns_are_told() -> None:
    outcomes = [
        Outcome("ok", Completion("half", "length")),
        Outcome("refused", Completion("no", "", True), Usage(3, 4)),
    ]
    async with table(backend=Script(outcomes, FakeClock())) as at:
        _, reply = await ask(at)
        assert (reply["stop_reason"], "usage" in reply) == ("max_tokens", False)
        _, reply = await ask(at)
        assert (reply["stop_reason"], reply["usage"]["output_tokens"]) == ("refusal", 4)


async def test_what_is_turned_away_is_told_in_the_same_format() -> None:
    async with table(backend=Script([], FakeClock())) as at:
        status, reply = await ask(at, None, **{"x-api-key": "mashq-wrong"})
        assert (status, reply["error"]["type"]) == (401, "authentication_error")
        assert "given as ANTHROPIC_API_KEY" in reply["error"]["message"]
        await at.grant.close()
        status, reply = await ask(at)
        assert (status, "not active" in reply["error"]["message"]) == (401, True)
        assert not at.ledger.opened


class ModelInPath(OpenAIChatServed):
    """A format whose path names the model and says whether a stream is wanted."""

    format = "model-in-path"
    routes = (Route("chat", "POST", r"/v0/models/(?P<model>[^/:]+):(?P<verb>generate|stream)"),)
    token_headers = ("x-goog-api-key",)

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        asked = super().read(kind, groups, body)
        return Asked(kind, asked.document, asked.tokens_out, groups["model"], groups["verb"] == "stream")

    def variables(self, address: str, token: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": token}


async def test_a_path_may_hold_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    formats: list[Served] = [*server.formats(), ModelInPath()]
    monkeypatch.setattr(server, "formats", lambda: formats)
    document = {"messages": [{"role": "user", "content": "Say something."}]}
    async with table(backend=Script([replied(), replied()], FakeClock())) as at:
        assert at.seat.variables["GEMINI_API_KEY"] == at.seat.variables["OPENAI_API_KEY"] == at.seat.token
        found: dict[str, str] = {}
        for verb in ("generate", "stream", "delete"):
            url = f"{at.seat.variables['GOOGLE_GEMINI_BASE_URL']}/v0/models/gem-1.5:{verb}"
            async with at.session.post(
                url, data=json.dumps(document), headers={"x-goog-api-key": at.seat.token}
            ) as response:
                found[verb] = f"{response.status} {response.content_type}"
        assert found == {
            "generate": "200 application/json",
            "stream": "200 text/event-stream",
            "delete": "404 application/json",
        }
