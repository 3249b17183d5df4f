"""The metering server on all four wires: what passes, what is translated, what a budget makes of a request."""

import json
from typing import Any

import pytest

from mashq.extensions import WIRES
from mashq.gateway import prices
from mashq.gateway.types import Completion, Outcome, Usage
from mashq.gateway.wire.openai_chat import OpenAIChat
from mashq.protocol.resources import Spend
from mashq.protocol.rules import Budget
from mashq.testing import FakeProvider
from tests.gateway.fakes import FakeClock, Script
from tests.gateway.proxy.metered import CHAT, KEY, Table, table
from tests.gateway.proxy.test_server import provider, raw, shared

__all__ = ["provider", "shared"]  # fixtures

TEXT = "Say something.\n\nThe ferry sails on Monday. It costs 4 dollars."
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/theirs:generateContent",
}
BODIES: dict[str, dict[str, Any]] = {
    "openai": {"model": "theirs", "messages": [{"role": "user", "content": TEXT}]},
    "responses": {"model": "theirs", "input": TEXT},
    "anthropic": {"model": "theirs", "messages": [{"role": "user", "content": TEXT}], "max_tokens": 70},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]},
}
LIMITS = {"openai": "max_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}


async def ask(
    at: Table,
    wire: str,
    stream: bool = False,
    path: str | None = None,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> tuple[int, bytes]:
    """Post as a client of that wire does."""
    body, place = BODIES[wire] | more, path or PATHS[wire]
    if stream and wire == "gemini":
        place = place.replace("generateContent", "streamGenerateContent?alt=sse")
    elif stream:
        body = body | {"stream": True}
    sent = {"Authorization": f"Bearer {at.seat.token}"} if headers is None else headers
    async with at.session.post(at.seat.address + place, data=json.dumps(body), headers=sent) as response:
        return response.status, await response.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", PATHS)
async def test_a_reply_passes_byte_for_byte_and_is_metered(provider: FakeProvider, wire: str, stream: bool) -> None:
    root = provider.base_url.removesuffix("/v1")
    base = root + "/v1beta" if wire == "gemini" else provider.base_url
    async with table(base, wire=WIRES.create(wire)) as at:
        status, received = await ask(at, wire, stream)
        path = PATHS[wire].replace("theirs", "alpha")
        body = BODIES[wire] | {"model": "alpha"}
        if stream and wire == "gemini":
            path = path.replace("generateContent", "streamGenerateContent?alt=sse")
        elif stream:
            body |= {"stream": True} | ({"stream_options": {"include_usage": True}} if wire == "openai" else {})
        headers = {"x-api-key": KEY, "x-goog-api-key": KEY, "anthropic-version": "2023-06-01"}
        async with at.session.post(root + path, json=body, headers=headers) as direct:
            expected = await direct.read()
        if stream and wire == "openai":  # its usage is asked for on the agent's behalf, and kept back
            expected = b"\n\n".join(event for event in expected.split(b"\n\n") if b'"usage"' not in event)
        assert (status, received) == (200, expected)
        ((_, request, model, worst, _),) = at.ledger.opened
        assert TEXT in [message.content for message in request.messages] and model == "my/alpha"
        assert worst.tokens_out == (70 if wire == "anthropic" else 131_072)
        outcome = at.ledger.closed[0][0]
        assert outcome.kind == "ok" and outcome.completion is not None and outcome.completion.text in TEXT
        assert isinstance(outcome.usage.tokens_in, int) and isinstance(outcome.usage.tokens_out, int)
    assert [hit["path"] for hit in provider.hits()[-2:]] == [path.partition("?")[0]] * 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", PATHS)
async def test_a_model_of_our_own_answers_on_every_wire(wire: str, stream: bool) -> None:
    said = Outcome("ok", Completion("The ferry sails.", "length"), Usage(12, 5), 0.0)
    async with table(backend=Script([said, said], FakeClock())) as at:
        status, received = await ask(at, wire, stream)
        served = WIRES.create(wire).served
        assert served is not None and status == 200
        groups = {"verb": "generateContent"}
        asked = served.read("chat", groups, json.dumps(BODIES[wire] | {"stream": stream}).encode())
        if stream:
            reader = served.reader(asked)
            for event in received.replace(b"\r\n", b"\n").split(b"\n\n"):
                reader.take(event)
            _, spoken, _ = reader.ending()
            usage = reader.usage
        else:
            decoded = served.decode(asked, json.loads(received))
            assert not isinstance(decoded, str)
            spoken, usage = decoded
        assert spoken is not None and (spoken.text, spoken.stop) == ("The ferry sails.", "length")
        if not (stream and wire == "openai"):
            assert (usage.tokens_in, usage.tokens_out) == (12, 5)
        request = at.ledger.opened[0][1]
        assert [message.content for message in request.messages] == [TEXT]
        assert request.max_tokens == (70 if wire == "anthropic" else 99)
        if wire == "gemini":
            path = PATHS[wire].replace("generateContent", "streamGenerateContent")
            _, received = await ask(at, wire, path=path)
            (chunk,) = json.loads(received)
            assert chunk["candidates"][0]["finishReason"] == "MAX_TOKENS", "without alt=sse it is a list"


@pytest.mark.parametrize("wire", PATHS)
async def test_the_token_is_taken_wherever_a_client_puts_it(wire: str) -> None:
    said = Outcome("ok", Completion("Yes.", "stop"), Usage(1, 1), 0.0)
    async with table(backend=Script([said] * 4, FakeClock())) as at:
        token = at.seat.token
        for headers in ({"Authorization": f"Bearer {token}"}, {"x-api-key": token}, {"x-goog-api-key": token}):
            assert (await ask(at, wire, headers=headers))[0] == 200
        assert (await ask(at, wire, path=f"{PATHS[wire]}/?key={token}", headers={}))[0] == 200
        for headers, path in (({}, ""), ({"x-api-key": "mashq-wrong"}, ""), ({}, "?key=mashq-wrong")):
            assert (await ask(at, wire, path=PATHS[wire] + path, headers=headers))[0] == 401
        assert len(at.ledger.opened) == 4
        assert "mashq-wrong" not in "".join(refusal.path for refusal in at.server.refused)


async def test_the_program_is_told_where_and_with_which_token() -> None:
    async with table(backend=Script([], FakeClock())) as at:
        address, token = at.seat.address, at.seat.token
        assert at.seat.variables == {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_BASE": f"{address}/v1",
            "OPENAI_API_KEY": token,
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": token,
            "GOOGLE_GEMINI_BASE_URL": address,
            "GEMINI_API_KEY": token,
        }


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(
    "field",
    [
        {"models": ["a"]},
        {"route": "fallback"},
        {"background": True},
        {"fallbacks": [{"model": "a"}]},
        {"preset": "a"},
    ],
)
async def test_what_would_escape_the_meter_is_refused_and_noted(wire: str, field: dict[str, Any]) -> None:
    async with table("http://127.0.0.1:9/v1", wire=WIRES.create(wire)) as at:
        status, reply = await ask(at, wire, **field)
        assert status == 400 and b"leave it out" in reply
        assert [refusal.status for refusal in at.server.refused] == [400] and not at.ledger.opened


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(
    "field",
    [
        {"Stream": True},
        {"\u017ftream": True},  # a long s, which folds to an s
        {"MODEL": "another"},
        {"N": 8},
        {"Max_Tokens": 9},
        {"stream_options": {"Include_Usage": False}},
        {"generationConfig": {"maxoutputtokens": 9}},
        {"generationConfig": {"maxOutputTokens": 9, "max_output_tokens": 90}},
        {"generationConfig": {}, "generation_config": {}},
        {"tools": [{"Type": "web_search"}]},
        {"service_tier": "priority"},
        {"serviceTier": "FLEX"},
        {"speed": "fast"},
        {"inference_geo": "us"},
    ],
    ids=str,
)
async def test_what_a_server_could_read_otherwise_is_refused(wire: str, field: dict[str, Any]) -> None:
    async with table("http://127.0.0.1:9/v1", wire=WIRES.create(wire)) as at:
        status, reply = await ask(at, wire, **field)
        assert status == 400 and (b"leave it out" in reply or b"leave one out" in reply)
        assert [refusal.status for refusal in at.server.refused] == [400] and not at.ledger.opened


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"search_parameters": {"mode": "on"}}, "search_parameters"),
        ({"enable_search": True}, "enable_search"),
        ({"tools": [{"type": "function"}, {"type": "browser_search"}]}, "browser_search"),
        ({"messages": [{"role": "user", "content": [{"video_url": {"url": "http://x/v"}}]}]}, "video_url"),
        ({"messages": [{"role": "user", "content": [{"Document_URL": "http://x/d"}]}]}, "Document_URL"),
        ({"tools": [{"type": "function"}, {"type": "custom"}]}, ""),
    ],
    ids=str,
)
def test_what_a_chat_has_the_provider_read_is_named(field: dict[str, Any], named: str) -> None:
    body = json.dumps(BODIES["openai"] | field).encode()
    assert OpenAIChat().served.read("chat", {}, body).draws_on == named


@pytest.mark.parametrize("name", ["model", "stream"])
async def test_a_key_that_stands_twice_is_refused(name: str) -> None:
    body = b'{"messages": [{"role": "user", "content": "x"}], "%b": 1, "%b": 2}' % ((name.encode(),) * 2)
    async with table("http://127.0.0.1:9/v1") as at:
        status, reply, _ = await at.ask(data=body)
        assert (status, reply["error"]["message"]) == (
            400,
            f"the body can be read in two ways (the key {name!r} stands in it twice): send every key once",
        )
        assert not at.ledger.opened


async def test_names_that_are_the_agents_own_are_passed_on(provider: FakeProvider) -> None:
    own: dict[str, Any] = {
        "service_tier": "default",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": {"properties": {"Model": {}, "model": {}}}},
        },
        "Vendor_Setting": 1,
    }
    async with table(provider.base_url) as at:
        status, _, _ = await at.ask({**CHAT, **own})
        assert status == 200


@pytest.mark.parametrize("wire", PATHS)
async def test_under_a_budget_a_limit_is_sent_that_can_be_paid(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    sent: list[dict[str, Any]] = []
    base = provider.base_url.replace("/v1", "/v1beta") if wire == "gemini" else provider.base_url
    states = [("its", Budget.of(dollars=0.01), Spend())]
    async with table(base, wire=WIRES.create(wire), budget_states=states, price=prices.fixed(1, 100)) as at:
        backend: Any = at.endpoint.backend
        exchange = backend.exchange

        async def watched(path: str, body: bytes, *rest: Any) -> Any:
            sent.append(json.loads(body))
            return await exchange(path, body, *rest)

        monkeypatch.setattr(backend, "exchange", watched)
        assert (await ask(at, wire))[0] == 200
        worst = at.ledger.opened[0][3]
        limit = sent[0]["generationConfig"]["maxOutputTokens"] if wire == "gemini" else sent[0][LIMITS[wire]]
        assert limit == worst.tokens_out
        dollars = worst.cost("dollars")
        assert isinstance(dollars, float)
        if wire == "anthropic":
            assert limit == 70, "its own"
        else:
            assert 0.0098 < dollars <= 0.01, "all that is left, and no more"
        drawn: dict[str, dict[str, Any]] = {
            "openai": {"web_search_options": {"x": 1}},
            "responses": {"previous_response_id": "x"},
            "anthropic": {"container": "x"},
            "gemini": {"cachedContent": "x"},
        }
        status, reply = await ask(at, wire, **drawn[wire])
        assert status == 400 and b"cannot bound" in reply


async def test_without_a_budget_what_is_fetched_counts_as_the_whole_context(provider: FakeProvider) -> None:
    async with table(provider.base_url, wire=WIRES.create("responses")) as at:
        assert (await ask(at, "responses", previous_response_id="resp_1"))[0] == 200
        assert at.ledger.opened[0][3].tokens_in == 1_048_576


async def test_a_provider_that_speaks_two_wires_is_asked_in_the_agents(provider: FakeProvider) -> None:
    async with table(
        provider.base_url, wire=OpenAIChat(), also=[(WIRES.create("responses"), provider.base_url)]
    ) as at:
        for wire in ("responses", "openai", "anthropic"):
            assert (await ask(at, wire))[0] == 200
    paths = [hit["path"] for hit in provider.hits()[-3:]]
    assert paths == ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]


async def test_what_a_provider_bills_beats_the_price_list() -> None:
    from mashq.gateway.limits import Limiter
    from mashq.gateway.model import Endpoint

    backend, clock = Script([], FakeClock()), FakeClock()
    usage = Usage(1000, 100, billed=0.5)
    for rates in ({}, {"dollars": prices.fixed(1, 1)}):
        endpoint = Endpoint("my/x", backend, Limiter(clock, 1), rates=rates)
        assert endpoint.rated(Outcome("ok", usage=usage)).rated == {"dollars": 0.5}
    assert OpenAIChat().usage({"usage": {"cost": 0.25}}).billed == 0.25
    byok = {"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 1.0}}
    assert OpenAIChat().usage({"usage": byok}).billed == 1.25
    assert OpenAIChat().usage({"usage": {"cost": {"total_cost": 0.75}}}).billed == 0.75


async def test_a_client_that_names_itself_twice_is_served(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at:
        body = json.dumps(BODIES["openai"])
        lines = ["POST /1/v1/chat/completions HTTP/1.1", "Host: x", "Connection: close", "User-Agent: one",
                 "user-agent: two", f"x-api-key: {at.seat.token}", f"Content-Length: {len(body)}"]  # fmt: skip
        lines += ["", body]
        reply = await raw(at.seat.base_url, "\r\n".join(lines).encode())
        assert reply.startswith(b"HTTP/1.1 200")
