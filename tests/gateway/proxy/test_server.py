"""The metering server over real HTTP: what passes, what is counted, what is turned away."""

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from mashq.errors import StoreError
from mashq.gateway import prices
from mashq.gateway.backends.simulated import Parameters, SimulatedBackend
from mashq.gateway.proxy import server
from mashq.gateway.proxy.grants import Queue, Refusal
from mashq.gateway.types import Call, Completion, Entry, Outcome, Request, Usage, Worst
from mashq.protocol.resources import UNKNOWN, Spend
from mashq.protocol.rules import Budget
from mashq.testing import FakeProvider
from tests.gateway.fakes import FakeClock, FakeLedger, Script, http_error, replied
from tests.gateway.proxy.metered import CALL, CHAT, KEY, Table, table

TOOLS = [
    {
        "type": "function",
        "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"word": {"type": "string"}}}},
    }
]


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def provider(shared: FakeProvider) -> Iterator[FakeProvider]:
    shared.configure()
    yield shared
    shared.configure()


def events(text: str) -> list[Any]:
    """The chunks of a stream, the last of them [DONE]."""
    lines = [line[6:] for line in text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


async def until(true: Any, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


# ---- what passes


async def test_a_request_passes_and_is_one_attempt(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url, price=prices.fixed(1, 2)) as at:
        status, reply, headers = await at.ask(
            {**CHAT, "metadata": {"a": [1, None]}, "response_format": {"type": "text"}}
        )
        assert (status, reply["model"]) == (200, "alpha")
        assert headers["Content-Type"] == "application/json"
        ((call, request, model, worst, durable),) = at.ledger.opened
        assert (call, model, durable) == (CALL, "my/alpha", True)
        assert request.messages[0].content == CHAT["messages"][0]["content"]
        assert worst.tokens_out == 131_072 and worst.tokens_in > 100, "no limit was sent: the largest there could be"
        ((outcome, waited),) = at.ledger.closed.values()
        assert (outcome.kind, outcome.usage.tokens_in) == ("ok", reply["usage"]["prompt_tokens"])
        assert json.loads(outcome.usage.raw) == reply["usage"]
        assert waited >= 0
        await at.grant.close()
        assert (at.grant.spend.calls, at.grant.spend.tokens_in.total) == (1, reply["usage"]["prompt_tokens"])
        assert at.grant.spend.measured("dollars").total > 0
        charged = at.grant.charged(2.5)
        assert (charged.seconds.total, charged.seconds.known) == (2.5, 1)
    (hit,) = provider.hits()[before:]
    assert (hit["model"], hit["path"]) == ("alpha", "/v1/chat/completions")


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens"])
async def test_the_body_goes_through_as_it_came(key: str) -> None:
    from mashq.gateway.wire.openai_chat import OpenAIChatServed, Options

    sent = {**CHAT, "odd": {"x": 1.5}, "temperature": 0.3, "stream": True, "stream_options": {"odd": 1}}
    passthrough = OpenAIChatServed()
    asked = passthrough.read("chat", {}, json.dumps(sent).encode())
    assert asked.tokens_out is None
    unlimited = json.loads(passthrough.upstream(asked, "alpha", None, Options()))
    assert unlimited == {**sent, "model": "alpha", "stream_options": {"odd": 1, "include_usage": True}}
    assert json.loads(passthrough.upstream(asked, "alpha", None, Options(stream_usage=False))) == sent | {
        "model": "alpha"
    }
    body = json.loads(passthrough.upstream(asked, "alpha", 50, Options(max_tokens_key=key, extra={"route": "x"})))
    expected = {**sent, "model": "alpha", key: 50, "stream_options": {"odd": 1, "include_usage": True}, "route": "x"}
    assert body == expected
    given = passthrough.read("chat", {}, json.dumps({**sent, "max_tokens": 7, "n": 3}).encode())
    assert (given.tokens_out, given.choices) == (21, 3)
    assert json.loads(passthrough.upstream(given, "alpha", 50, Options()))["max_tokens"] == 7


async def test_tools_pass_both_ways_and_are_no_refusal(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at:
        _, reply, _ = await at.ask({**CHAT, "tools": TOOLS})
        assert reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look_up"
        result = {"role": "tool", "tool_call_id": "x", "content": "found"}
        asked = {**CHAT, "messages": [*CHAT["messages"], reply["choices"][0]["message"], result], "tools": TOOLS}
        _, reply, _ = await at.ask(asked)
        assert reply["choices"][0]["message"]["content"]
        _, text, _ = await at.ask({**CHAT, "tools": TOOLS, "stream": True})
        assert any("tool_calls" in chunk["choices"][0]["delta"] for chunk in events(text))
        assert at.outcomes() == ["ok", "ok", "ok"]
        assert "look_up" in at.ledger.closed[0][0].completion.text  # pyright: ignore[reportOptionalMemberAccess]
        assert "look_up" in at.ledger.opened[1][1].messages[1].content


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_stream_is_forwarded_and_its_usage_counted(provider: FakeProvider, wanted: bool) -> None:
    async with table(provider.base_url) as at:
        asked = {**CHAT, "stream": True} | ({"stream_options": {"include_usage": True}} if wanted else {})
        status, text, headers = await at.ask(asked)
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        chunks = events(text)
        assert [bool(chunk["choices"]) for chunk in chunks].count(False) == int(wanted)
        outcome = at.ledger.closed[0][0]
        words = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
        assert outcome.completion is not None and outcome.completion.text == words
        assert outcome.usage.tokens_in is not UNKNOWN and outcome.usage.raw
        provider.configure(script=["no_usage"])
        await at.ask(asked)
        assert at.ledger.closed[1][0].usage == Usage(), "no usage in the stream is unknown"
        assert at.outcomes() == ["ok", "ok"]


async def test_a_model_that_does_not_take_our_addition_is_asked_again_without_it() -> None:
    with FakeProvider(faults={"rates": {"no_stream_options": 1.0}}) as provider:
        async with table(provider.base_url) as at:
            for _ in range(2):
                status, text, _ = await at.ask({**CHAT, "stream": True})
                assert status == 200 and "data: [DONE]" in text
            assert [hit["status"] for hit in provider.hits()] == [400, 200, 200], "learnt once"
            assert at.outcomes() == ["http", "ok", "ok"], "each is an attempt"
            assert [(model, field) for model, field, _, _ in at.ledger.learnt] == [("my/alpha", "stream_options")]
            wanted = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
            assert (await at.ask(wanted))[0] == 400, "what the agent itself asks for is its own affair"
            assert [hit["status"] for hit in provider.hits()][3:] == [400]


@pytest.mark.parametrize(
    "own",
    [{"stream_options": {"bogus": True}}, {"stream_options": {"include_usage": True}}, {"user": "stream_options"}],
)
async def test_nothing_is_learnt_from_what_an_agent_sent(own: dict[str, Any]) -> None:
    """An error that names the field because the agent wrote it says nothing of what we add."""
    wrong = b'{"error": {"message": "Unknown parameter: stream_options.bogus", "type": "invalid_request_error"}}'
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(wrong)
    async for url in raw_upstream(head + wrong):
        async with table(url) as at:
            status, reply, _ = await at.ask({**CHAT, "stream": True, **own})
            assert (status, reply) == (400, json.loads(wrong))
            assert at.ledger.learnt == [] and at.endpoint.experience.lessons == {}


async def test_a_stream_comes_as_it_is_made(provider: FakeProvider) -> None:
    provider.configure(script=["slow_drip"], drip=0.002)
    async with table(provider.base_url) as at:
        headers = {"Authorization": f"Bearer {at.seat.token}"}
        async with at.session.post(
            at.seat.base_url + "/chat/completions", json={**CHAT, "stream": True}, headers=headers
        ) as response:
            first = await response.content.readuntil(b"\n\n")
            assert b"chat.completion.chunk" in first
            assert not at.ledger.closed, "the first piece is there long before the last"
            await response.read()
        await until(lambda: at.ledger.closed)
        assert at.outcomes() == ["ok"]


async def leave_early(at: Table, gone: asyncio.Event | None = None) -> Outcome:
    """Read one event of a stream and go; what the ledger says of it."""
    headers = {"Authorization": f"Bearer {at.seat.token}"}
    body = {**CHAT, "stream": True}
    response = await at.session.post(at.seat.base_url + "/chat/completions", json=body, headers=headers)
    await response.content.readuntil(b"\n\n")
    response.close()
    if gone is not None:
        gone.set()
    await until(lambda: at.ledger.closed)
    return at.ledger.closed[0][0]


async def test_an_agent_that_leaves_a_stream_pays_for_all_of_it(provider: FakeProvider) -> None:
    provider.configure(script=["slow_drip", "slow_drip"], drip=0.002)
    async with table(provider.base_url) as at:
        early = await leave_early(at)
        await at.ask({**CHAT, "stream": True})
        assert at.outcomes() == ["ok", "ok"]
        assert early.usage == at.ledger.closed[1][0].usage != Usage(), "read on to the usage event"
        assert at.grant.spend.unknown == 0


async def test_an_agent_that_leaves_a_stream_whose_usage_never_comes_is_told_apart() -> None:
    gone = asyncio.Event()

    async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        chunk = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]}
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n"
        writer.write(head + f"data: {json.dumps(chunk)}\n\n".encode())
        await gone.wait()
        for _ in range(20):
            writer.write(f"data: {json.dumps(chunk)}\n\n".encode())
            await asyncio.sleep(0.01)
        writer.transport.abort()

    async with await asyncio.start_server(breaks_off, "127.0.0.1") as provider:
        port = provider.sockets[0].getsockname()[1]
        async with table(f"http://127.0.0.1:{port}/v1") as at:
            outcome = await leave_early(at, gone)
            assert (outcome.kind, outcome.usage) == ("left", Usage())
            assert "agent left" in outcome.error
            assert at.grant.spend.unknown == 1


@pytest.mark.parametrize("stream", [1, "true", 0, [], {}])
async def test_whether_a_reply_is_a_stream_is_true_or_false(provider: FakeProvider, stream: object) -> None:
    async with table(provider.base_url) as at:
        status, body, _ = await at.ask({**CHAT, "stream": stream})
        assert status == 400 and "must be true or false" in str(body)
        assert not at.ledger.closed


async def test_an_agent_that_leaves_without_a_stream_still_pays(provider: FakeProvider) -> None:
    provider.configure(script=["slow_drip"], drip=0.0005)
    async with table(provider.base_url) as at:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await at.ask()
        await at.grant.close()
        outcome = at.ledger.closed[0][0]
        assert outcome.kind == "ok" and outcome.usage.tokens_in is not UNKNOWN


async def test_embeddings_pass_under_the_name_of_their_model(provider: FakeProvider) -> None:
    async with table(provider.base_url, price=prices.fixed(1, 1)) as at:
        status, reply, _ = await at.ask({"model": "small-embedder", "input": ["one", "two words"]}, "/embeddings")
        assert status == 200 and len(reply["data"]) == 2
        await at.ask({"model": "alpha", "input": "one"}, "/embeddings")
        provider.configure(script=["no_usage", "not_a_completion"])
        for _ in range(2):
            await at.ask({"model": "alpha", "input": "one"}, "/embeddings")
        assert [row[2] for row in at.ledger.opened] == ["my/small-embedder", "my/alpha", "my/alpha", "my/alpha"]
        first, second, third, fourth = (at.ledger.closed[n][0] for n in range(4))
        assert (first.usage.tokens_in, first.usage.tokens_out) == (reply["usage"]["prompt_tokens"], 0)
        assert "dollars" not in first.rated and "dollars" in second.rated
        assert third.usage == Usage(tokens_out=0)
        assert fourth.kind == "unparsable"


async def test_the_models_are_the_one(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        headers = {"Authorization": f"Bearer {at.seat.token}"}
        async with at.session.get(at.seat.base_url + "/models", headers=headers) as response:
            assert [model["id"] for model in (await response.json())["data"]] == ["my/alpha"]
        assert not at.ledger.opened
    assert len(provider.hits()) == before


# ---- errors of the upstream


@pytest.mark.parametrize("stream", [False, True])
async def test_every_fault_is_one_hit_one_row_and_no_key(provider: FakeProvider, stream: bool) -> None:
    faults = {
        "429": 429, "429_absurd": 429, "500": 500, "503": 503, "400": 400, "401": 401, "echo_key_500": 500,
        "reset_before": 502, "drop_headers": 502, "half_close": 502, "bad_gzip": 502, "html": 200,
        "not_a_completion": 200, "refusal": 200, "empty": 200, "hang": 504,
    }  # fmt: skip
    if not stream:
        faults |= {"drop_body": 502, "endless": 502, "truncated_json": 200, "bad_utf8": 200}
    provider.configure(script=list(faults), retry_after=3, hang=5)
    before = len(provider.hits())
    async with table(provider.base_url, timeout=2.5) as at:
        for fault, expected in faults.items():
            status, reply, headers = await at.ask({**CHAT, "stream": stream}, headers={"Accept-Encoding": "identity"})
            assert status == expected, fault
            assert KEY[:12] not in json.dumps(reply) + json.dumps(headers), fault
            if fault == "429":
                assert headers["Retry-After"] == "3"
        assert len(at.ledger.opened) == len(at.ledger.closed) == len(faults)
        assert KEY[:12] not in repr(at.ledger.closed)
        assert at.grant.spend.calls == len(faults)
    assert len(provider.hits()) == before + len(faults)


@pytest.mark.parametrize("fault", ["drop_body", "truncated_json", "slow_drip"])
async def test_a_stream_that_breaks_off_breaks_off_for_the_agent(provider: FakeProvider, fault: str) -> None:
    provider.configure(script=[fault], drip=0.005)
    async with table(provider.base_url, timeout=1.0) as at:
        if fault == "truncated_json":  # a complete reply with half a stream in it
            await at.ask({**CHAT, "stream": True})
        else:
            with pytest.raises(aiohttp.ClientError):
                await at.ask({**CHAT, "stream": True})
        await until(lambda: at.ledger.closed)
        expected = {"drop_body": "dropped", "truncated_json": "unparsable", "slow_drip": "timeout"}
        assert at.outcomes() == [expected[fault]]
        assert at.grant.spend.unknown == 1


async def test_a_server_that_is_not_there(provider: FakeProvider) -> None:
    async with table("http://127.0.0.1:9/v1") as at:
        status, reply, _ = await at.ask()
        assert status == 502 and "127.0.0.1" in reply["error"]["message"]
        assert at.ledger.closed[0][0].kind == "unreachable"
        assert at.grant.spend.tokens.total == 0 and at.grant.spend.unknown == 0


async def raw_upstream(reply: bytes) -> AsyncGenerator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b'data: {"error": {"message": "overloaded"}}\n\n', "unparsable", "overloaded"),
        (b'data: {"error": "sk-the-real-key-0123456789abcdef"}\n\n', "unparsable", "[key]"),
        (b": comment\r\n\r\ndata: junk\r\n\r\ndata: [DONE]", "refused", ""),
        (b'data: {"choices": [{"delta": {"refusal": "no"}, "finish_reason": "stop"}]}\n\n', "refused", ""),
        (b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "content_filter"}]}\n\n', "refused", ""),
        (
            b'data: {"choices": [7, {"delta": {"content": "' + b"x" * 1_100_000 + b'"}}]}\n\ndata: [DONE]\n\n',
            "ok",
            "",
        ),
        (b"data: " + b"x" * (5 * 1024 * 1024), "unparsable", "longer than"),
    ],
)
async def test_streams_of_all_sorts(body: bytes, kind: str, error: str) -> None:
    async for url in raw_upstream(STREAM + b"Content-Length: %d\r\n\r\n" % len(body) + body):
        async with table(url) as at:
            try:
                _, text, _ = await at.ask({**CHAT, "stream": True})
                assert KEY not in text
            except aiohttp.ClientError:
                assert "longer" in error
            await until(lambda: at.ledger.closed)
            outcome = at.ledger.closed[0][0]
            assert outcome.kind == kind and error in outcome.error


async def test_a_stream_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mashq.gateway.proxy.relay.REPLY", 10_000)
    piece = b'data: {"choices": [{"delta": {"content": "and so on"}}]}\n\n' * 1000
    async for url in raw_upstream(STREAM + b"\r\n" + piece):
        async with table(url) as at:
            with pytest.raises(aiohttp.ClientError):
                await at.ask({**CHAT, "stream": True})
            await until(lambda: at.ledger.closed)
            assert "the stream is longer" in at.ledger.closed[0][0].error


# ---- what is turned away


async def test_tokens(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        other = at.server.admit("B")
        at.server.issue(other, at.model(Call("0", 2, "B", "item-9", "answer")))
        assert (await at.ask(token="mashq-wrong"))[0] == 401
        assert (await at.ask(token=KEY))[0] == 401
        status, reply, _ = await at.ask(token=other.token)
        assert (status, "another player" in reply["error"]["message"]) == (401, True)
        assert (await at.ask(headers={"Authorization": at.seat.token}))[0] == 401
        assert (await at.ask(headers={"Authorization": "Bearer \xff\xfe"}))[0] == 401
        await at.grant.close()
        status, reply, _ = await at.ask()
        assert (status, "not active" in reply["error"]["message"]) == (401, True)
        third = at.server.admit("C")
        assert (await at.ask(token=third.token))[0] == 401, "admitted, but never granted a turn"
        assert {(refusal.player, refusal.status) for refusal in at.server.refused} == {("A", 401)}
        assert len(at.server.refused) == len(at.grant.refused) == 7
        assert not at.ledger.opened
    assert len(provider.hits()) == before


async def raw(url: str, data: bytes) -> bytes:
    host, port = url.split("/")[2].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    async with asyncio.timeout(10):
        reply = await reader.read()
    writer.close()
    return reply


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("POST /1/v1/../../__control HTTP/1.1", 404),
        ("POST /1/v1/chat/completions/../../../__control HTTP/1.1", 404),
        ("POST /1/v1/%2e%2e/__control HTTP/1.1", 404),
        ("POST //1/v1/chat/completions HTTP/1.1", 404),
        ("POST /v1/chat/completions HTTP/1.1", 404),
        ("POST /1/v1/completions HTTP/1.1", 404),
        ("POST /7/v1/chat/completions HTTP/1.1", 404),
        ("POST http://example.org/1/v1/chat/completions HTTP/1.1", 404),
        ("GET /1/v1/chat/completions HTTP/1.1", 405),
        ("DELETE /1/v1/models HTTP/1.1", 405),
        ("BREW /1/v1/models HTTP/1.1", 400),
        ("CONNECT example.org:443 HTTP/1.1", 404),
        ("POST /1/v1/chat/completions HTTP/9.9", 400),
        ("nonsense", 400),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nX: " + "x" * 20_000, 400),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2", 400),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nContent-Length: -1", 400),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer {token}\r\nAuthorization: x", 401),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Encoding: gzip", 415),
        ("POST /1/v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000000000", 413),
    ],
)
async def test_what_is_outside_the_api_is_turned_away(provider: FakeProvider, line: str, status: int) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        request = line.replace("{token}", at.seat.token) + "\r\nHost: x\r\nConnection: close\r\n\r\n"
        reply = await raw(at.seat.base_url, request.encode("latin-1"))
        assert reply.startswith(b"HTTP/1.") and int(reply.split()[1]) == status
        await until(lambda: at.server.refused)
        (refusal,) = at.server.refused
        assert refusal.status == status
        assert not at.ledger.opened
    assert len(provider.hits()) == before


async def test_a_flood_without_a_length_is_cut_off(provider: FakeProvider) -> None:
    sent = 0

    async def flood() -> AsyncGenerator[bytes]:
        nonlocal sent
        for _ in range(16384):  # 1 GB
            sent += 65536
            yield b"x" * 65536

    async with table(provider.base_url) as at:
        try:
            status, _, _ = await at.ask(data=flood())
            assert status == 413
        except aiohttp.ClientError:
            pass  # it was still sending when the connection was closed
        assert at.server.refused[0].status == 413
        assert sent < 1024**3
        assert (await at.ask())[0] == 200, "others are still served"


async def test_bodies_that_never_come(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    async with table(provider.base_url) as at:
        head = f"POST /1/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {at.seat.token}\r\n"
        reply = await raw(at.seat.base_url, f"{head}Content-Length: 10\r\n\r\n{{".encode())
        assert reply.startswith(b"HTTP/1.1 408")
        await raw(at.seat.base_url, f"{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode())
        host, port = at.seat.base_url.split("/")[2].split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"{head}Content-Length: 10\r\n\r\n{{".encode())
        await asyncio.sleep(0.05)
        writer.close()
        await until(lambda: len(at.server.refused) == 3)
        assert {refusal.status for refusal in at.server.refused} <= {400, 408}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[1]",
        b"[" * 200_000,
        b"{}",
        b'{"messages": [1], "temperature": NaN}',
        b'{"messages": [1], "temperature": 1e999}',
        b'{"messages": [1], "max_tokens": -1}',
        b'{"messages": [1], "max_completion_tokens": 1.5}',
        b'{"messages": [1], "n": "many"}',
        b'{"messages": [1], "max_tokens": 99999999999}',
    ],
)
async def test_bodies_that_cannot_be_bounded_are_refused(body: bytes) -> None:
    async with table("http://127.0.0.1:9/v1") as at:
        status, reply, _ = await at.ask(data=body)
        assert status == 400 and reply["error"]["message"]
        assert not at.ledger.opened


async def test_refusals_are_written_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_NOTED", 3)
    written: list[Refusal] = []
    async with table("http://127.0.0.1:9/v1") as at:
        await at.ask(token="wrong")
        at.server.record_to(written.append)
        assert len(written) == 1
        for _ in range(5):
            await at.ask(token="wrong")
        assert written == at.server.refused and len(written) == 3 == len(at.grant.refused)


# ---- limits and budgets


async def test_a_budget_is_kept_with_many_at_once(provider: FakeProvider) -> None:
    before = len(provider.hits())
    provider.configure(script=["slow_drip"] * 50, drip=0.0002)
    budget_states = [("its", Budget.of(calls=5), Spend(calls=1))]
    async with table(provider.base_url, budget_states=budget_states) as at:
        replies = await asyncio.gather(*(at.ask() for _ in range(20)))
        assert sorted(status for status, _, _ in replies) == [200] * 4 + [402] * 16
        message = next(reply for status, reply, _ in replies if status == 402)["error"]["message"]
        assert "budget of 5 calls" in message
        assert at.grant.exhausted.is_set() and at.grant.reason == message
        assert (await at.ask())[0] == 402, "once out of budget, always"
    assert len(provider.hits()) == before + 4


async def test_the_worst_case_is_reserved(provider: FakeProvider) -> None:
    async with table(provider.base_url, budget_states=[("its", Budget.of(tokens=1000), Spend())]) as at:
        assert (await at.ask())[0] == 200
        status, reply, _ = await at.ask({**CHAT, "max_tokens": 2000})
        assert status == 402 and "tokens" in reply["error"]["message"]


async def test_the_limiter_holds_and_waiting_is_kept_apart(provider: FakeProvider) -> None:
    provider.configure(script=["slow_drip"] * 3, drip=0.0005)
    async with table(provider.base_url, at_once=1) as at:
        await asyncio.gather(at.ask(), at.ask(), at.ask())
        assert at.grant.spend.waited > 0.2
        await at.grant.close()


async def test_closing_turns_the_waiting_away_and_waits_for_the_rest(provider: FakeProvider) -> None:
    provider.configure(script=["slow_drip"] * 3, drip=0.001)
    before = len(provider.hits())
    async with table(provider.base_url, at_once=1) as at:
        asking = [asyncio.create_task(at.ask()) for _ in range(3)]
        await until(lambda: len(provider.hits()) == before + 1)
        assert not at.ledger.closed
        await at.grant.close()
        assert at.outcomes() == ["ok"], "what had left is finished and recorded"
        assert at.grant.spend.calls == 1
        statuses = sorted(status for status, _, _ in await asyncio.gather(*asking))
        assert statuses == [200, 401, 401]
    assert len(provider.hits()) == before + 1


async def test_a_body_that_comes_after_the_turn_goes_nowhere(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        body = json.dumps(CHAT).encode()
        host, port = at.seat.base_url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /1/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {at.seat.token}\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:5])
        await until(lambda: at.grant.busy == 1)
        await at.grant.close()
        writer.write(body[5:])
        async with asyncio.timeout(10):
            assert (await reader.read()).startswith(b"HTTP/1.1 401")
        writer.close()
        assert not at.ledger.opened
    assert len(provider.hits()) == before


async def test_not_too_many_at_once(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_AT_ONCE", 2)
    provider.configure(script=["slow_drip"] * 9, drip=0.0005)
    async with table(provider.base_url) as at:
        replies = await asyncio.gather(*(at.ask() for _ in range(4)))
        assert sorted(status for status, _, _ in replies) == [200, 200, 429, 429]


async def test_not_too_many_connections(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A flood costs the one who floods: the longest idle is dropped, and who has few connections keeps them."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 5)
    async with table(provider.base_url) as at:
        host, port = at.seat.base_url.split("/")[2].split(":")
        kept = await asyncio.open_connection(host, int(port))
        assert await models(at, *kept)
        held = [await asyncio.open_connection(host, int(port)) for _ in range(40)]
        async with asyncio.timeout(10):
            for reader, _ in held[:36]:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
        assert not any(reader.at_eof() for reader, _ in held[36:]), "the latest are served"
        async with asyncio.timeout(10):
            assert await models(at, *kept), "on the connection that was there before the flood"
            assert (await at.ask())[0] == 200, "on a new one"
        for _, writer in (kept, *held):
            writer.close()
    gc.collect()
    await asyncio.sleep(0.05)
    assert caplog.messages == []


async def models(at: Table, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Ask for the models on a connection: whether they came."""
    writer.write(f"GET /1/v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {at.seat.token}\r\n\r\n".encode())
    return (await reader.readuntil(b"mashq")).startswith(b"HTTP/1.1 200") and bool(await reader.readuntil(b"]}"))


@pytest.mark.parametrize("sent", [b"", b"POST /1/v1/chat/completions HTTP/1.1\r\nHost:"])
async def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    async with table("http://127.0.0.1:9/v1") as at:
        host, port = at.seat.base_url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        async with asyncio.timeout(5):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_closing_the_server_leaves_what_is_under_way_unresolved(provider: FakeProvider) -> None:
    provider.configure(script=["hang"])
    async with table(provider.base_url) as at:
        asking = asyncio.create_task(at.ask())
        await until(lambda: at.ledger.opened)
        await at.server.close()
        with pytest.raises(aiohttp.ClientError):
            await asking
        assert not at.ledger.closed
        await at.server.close()


async def test_a_ledger_that_cannot_be_written_lets_nothing_out(provider: FakeProvider) -> None:
    before = len(provider.hits())

    class Full(FakeLedger):
        async def open(self, call: Call, request: Request, model: str, worst: Worst, *, durable: bool) -> int:
            raise StoreError("the disk is full")

    async with table(provider.base_url) as at:
        at.grant.model.ledger = Full()
        assert (await at.ask())[0] == 500
    assert len(provider.hits()) == before


async def test_sixty_four_in_flight_obey_the_law(provider: FakeProvider) -> None:
    provider.configure(rates={"429": 0.1, "500": 0.1, "reset_before": 0.1, "drop_body": 0.1, "no_usage": 0.1})
    before = len(provider.hits())
    async with table(provider.base_url, at_once=64) as at:

        async def one(stream: bool) -> None:
            for _ in range(5):
                try:
                    status, _, _ = await at.ask({**CHAT, "stream": stream})
                except aiohttp.ClientError:
                    continue
                if status == 200:
                    return

        await asyncio.gather(*(one(n % 2 == 0) for n in range(64)))
        await at.grant.close()
        hits = len(provider.hits()) - before
        opened, closed = len(at.ledger.opened), len(at.ledger.closed)
        replied_ = sum(outcome.status is not None for outcome, _ in at.ledger.closed.values())
        assert replied_ <= hits == opened == closed
        assert hits > 64
        assert len({call.ask for call, *_ in at.ledger.opened}) == opened
        assert at.grant.spend.calls == opened


async def test_a_crashed_turn_is_charged_again_but_not_lost(provider: FakeProvider) -> None:
    worst = Worst(10, 20, 30.0)

    class Remembering(FakeLedger):
        def history(self, call: Call) -> list[Entry]:
            told = {0: Entry(1, "m", worst, replied(tokens_in=4)), 1: Entry(2, "m", worst)}
            return [told[call.ask]] if call.ask in told else []

    async with table(provider.base_url) as at:
        model = replace(at.model(), ledger=Remembering())
        grant = at.server.issue(at.seat, model)
        await at.ask()
        assert model.ledger.opened[0][0].ask == 2  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType]
        charged = grant.charged(1.0)
        assert (charged.calls, charged.unresolved) == (2, 1)
        assert (charged.seconds.total, charged.seconds.worst) == (2.0, 30.0)


async def test_the_time_only_waited_for_us() -> None:
    clock = FakeClock()
    queue = Queue(clock)
    for queued, served, later in [(1, 0, 5), (1, 0, 2), (-1, 1, 3), (0, -1, 4), (-1, 1, 1), (0, -1, 9)]:
        queue.change(queued, served)
        clock.time += later
    assert queue.seconds == 5 + 2 + 4


# ---- backends in this process


async def test_a_backend_of_our_own_answers(provider: FakeProvider) -> None:
    backend = Script([replied("hello"), replied("hello"), http_error(503, retry_after=2.0)], FakeClock())
    async with table(backend=backend) as at:
        asked = {
            "messages": [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "hi"}],
            "max_tokens": 7,
            "temperature": 1,
            "seed": 3,
            "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
        }
        status, reply, _ = await at.ask(asked)
        assert (status, reply["choices"][0]["message"]["content"]) == (200, "hello")
        assert reply["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        request = backend.sent[0][0]
        assert (request.max_tokens, request.temperature, request.seed) == (7, 1.0, 3)
        assert request.schema == {"type": "object"} and request.messages[0].role == "system"
        _, text, _ = await at.ask({**CHAT, "stream": True, "stream_options": {"include_usage": True}})
        first, end, usage = events(text)
        assert first["choices"][0]["delta"]["content"] == "hello"
        assert end["choices"][0]["finish_reason"] == "stop" and usage["usage"]["total_tokens"] == 15
        status, _, headers = await at.ask()
        assert (status, headers["Retry-After"]) == (503, "2")


async def test_its_refusals_and_unknowns_are_told(provider: FakeProvider) -> None:
    refused = Outcome("refused", Completion("no", "refusal", refused=True), Usage(), 0.0)
    cut = Outcome("ok", Completion("half", "length"), Usage(), UNKNOWN)
    async with table(backend=Script([refused, refused, cut], FakeClock())) as at:
        _, reply, _ = await at.ask()
        assert reply["choices"][0]["message"] == {"role": "assistant", "content": None, "refusal": "no"}
        assert "usage" not in reply
        _, text, _ = await at.ask({**CHAT, "stream": True, "stream_options": {"include_usage": True}})
        assert events(text)[0]["choices"][0]["delta"]["refusal"] == "no" and len(events(text)) == 2
        _, reply, _ = await at.ask()
        assert reply["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"tools": TOOLS}, "/chat/completions"),
        ({"n": 2}, "/chat/completions"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "/chat/completions"),
        ({"messages": []}, "/chat/completions"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "text": "x"}]}]}, "/chat/completions"),
        ({"stop": ["x"]}, "/chat/completions"),
        ({"response_format": {"type": "json_object"}}, "/chat/completions"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "/responses"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "/responses"),
        ({"input": "x"}, "/embeddings"),
    ],
)
async def test_what_it_cannot_do_is_refused(changes: dict[str, Any], path: str) -> None:
    async with table(backend=Script([], FakeClock())) as at:
        status, reply, _ = await at.ask({**CHAT, **changes}, path)
        assert status == 400 and reply["error"]["message"]
        assert not at.ledger.opened


async def test_what_trips_it_is_the_agents_own_failure() -> None:
    class Tripping(Script):
        async def attempt(self, request: Request, call: Call) -> Outcome:
            raise KeyError("required")

    async with table(backend=Tripping([], FakeClock())) as at:
        status, _, _ = await at.ask()
        assert (status, at.outcomes()) == (400, ["missing"])


async def test_simulated_time_counts_as_time() -> None:
    backend = SimulatedBackend(Parameters(seconds=50.0, seconds_spread=0.0), 1)
    async with table(backend=backend) as at:
        assert (await at.ask())[0] == 200
        assert 49 < at.grant.seconds < 60
        assert at.grant.h is not None
