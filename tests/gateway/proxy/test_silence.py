"""A stream may not be silent for long, a reply that comes whole may; an agent that does not read has left."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest

from mashq.config import check
from mashq.gateway.backends.http import HttpBackend, Pool, Silence
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Outcome, Usage
from mashq.gateway.wire.openai_chat import OpenAIChat, Options
from mashq.protocol.resources import UNKNOWN
from tests.gateway.proxy.metered import CHAT, Table, table
from tests.gateway.raw import Speaks, saying, speaking

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
WORD = b'data: {"choices": [{"delta": {"content": "word "}}]}\n\n'
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}\n\ndata: [DONE]\n\n'
LONG = b'data: {"choices": [{"delta": {"content": "' + b"x" * 500_000 + b'"}}]}\n\n'
WHOLE = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}).encode()


@asynccontextmanager
async def asked(speaks: Speaks, silence: Silence, timeout: float = 20.0) -> AsyncGenerator[Table]:
    """A table whose model takes a request and then says what `speaks` says."""
    pool = Pool()
    async with speaking(speaks) as url:
        backend = HttpBackend(
            pool,
            RealClock(),
            OpenAIChat(),
            base_url=url,
            model="alpha",
            key=None,
            options=Options(),
            timeout=timeout,
            silence=silence,
        )
        async with table(backend=backend) as at:
            yield at
        await pool.close()


async def closed(at: Table) -> Outcome:
    async with asyncio.timeout(10):
        while not at.ledger.closed:
            await asyncio.sleep(0.01)
    return at.ledger.closed[0][0]


@pytest.mark.parametrize(
    ("parts", "silence"),
    [
        ((5.0,), Silence(0.2, 5)),
        ((HEAD, 5.0), Silence(0.2, 5)),
        ((HEAD, WORD, 5.0), Silence(5, 0.2)),
        ((HEAD, WORD, 0.05, WORD, 5.0), Silence(5, 0.2)),
    ],
    ids=["no headers", "no byte", "after one event", "after two"],
)
async def test_a_silent_stream_is_a_timeout_of_unknown_cost(
    parts: tuple[bytes | float, ...], silence: Silence
) -> None:
    async with asked(saying(*parts), silence) as at:
        try:
            status, _, _ = await at.ask({**CHAT, "stream": True})
            assert status == 504
        except aiohttp.ClientError:
            assert HEAD in parts
        outcome = await closed(at)
    assert (outcome.kind, outcome.error) == ("timeout", "the stream was silent for too long")
    assert outcome.usage.tokens_out is UNKNOWN
    assert isinstance(outcome.seconds, float) and outcome.seconds < 2


async def test_a_stream_that_is_never_silent_for_long_is_read_to_its_end() -> None:
    parts = [part for _ in range(8) for part in (WORD, 0.1)]
    async with asked(saying(HEAD, *parts, USAGE), Silence(0.4, 0.4)) as at:
        assert (await at.ask({**CHAT, "stream": True}))[0] == 200
        outcome = await closed(at)
    assert (outcome.kind, outcome.usage.tokens_out) == ("ok", 5)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_that_comes_whole_may_take_its_time(stream: bool) -> None:
    """Silence between its parts is none of a stream's, even where a stream was asked for."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(WHOLE)
    wait = 0.0 if stream else 0.6
    async with asked(saying(wait, head, 0.6, WHOLE[:10], 0.6, WHOLE[10:]), Silence(0.2, 0.2)) as at:
        assert (await at.ask({**CHAT, "stream": stream}))[0] == 200
        assert (await closed(at)).kind == "ok"
    async with asked(saying(5.0), Silence(0.2, 0.2), timeout=0.5) as at:
        assert (await at.ask())[0] == 504
        assert "no complete reply within 0.5 s" in (await closed(at)).error


async def test_an_agent_that_does_not_read_has_left_and_its_usage_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its standing still is no silence of the model's."""
    monkeypatch.setattr("mashq.gateway.proxy.relay.UNREAD", 0.3)
    async with asked(saying(HEAD, *([LONG] * 40), USAGE), Silence(5, 0.2)) as at:
        with await asking(at):
            outcome = await closed(at)
    assert (outcome.kind, outcome.usage.tokens_out) == ("ok", 5)


async def test_the_time_an_agent_takes_is_not_the_models() -> None:
    """It takes a little at a time: the model is read to its usage all the same, and long before the time-out."""
    async with asked(saying(HEAD, *([LONG] * 40), USAGE), Silence(5, 5), timeout=3.0) as at:
        with await asking(at) as connection:
            dripping = asyncio.create_task(drip(connection))
            outcome = await closed(at)
            dripping.cancel()
    assert (outcome.kind, outcome.usage.tokens_in, outcome.usage.tokens_out) == ("ok", 7, 5)
    assert isinstance(outcome.seconds, float) and outcome.seconds < 3.0


async def test_an_agent_that_takes_its_time_gets_all_of_it() -> None:
    async with asked(saying(HEAD, *([LONG] * 40), USAGE), Silence(5, 5), timeout=3.0) as at:
        with await asking(at) as connection:
            assert (await closed(at)).kind == "ok"
            text, loop = b"", asyncio.get_running_loop()
            async with asyncio.timeout(30):
                while not text.endswith(b"0\r\n\r\n"):
                    text += await loop.sock_recv(connection, 1_000_000)
    assert text.count(b'"content"') == 40 and b"[DONE]" in text


async def drip(connection: socket.socket) -> None:
    """Take a little, and then a little more."""
    while await asyncio.get_running_loop().sock_recv(connection, 2000):
        await asyncio.sleep(0.05)


async def test_a_stream_that_outlasts_the_time_allowed_is_charged_at_its_worst() -> None:
    """The agent has had its words, and the model was never silent: that the cost is unknown is not its doing."""
    parts = [part for _ in range(40) for part in (WORD, 0.05)]
    async with asked(saying(HEAD, *parts, USAGE), Silence(5, 5), timeout=0.5) as at:
        at.endpoint = at.grant.model.endpoint = replace(at.endpoint, timeout=0.5)
        with pytest.raises(aiohttp.ClientError):
            await at.ask({**CHAT, "stream": True})
        outcome = await closed(at)
    assert outcome.kind == "left"
    assert outcome.error == "the stream went on for longer than the 0.5 s that a reply may take"


@pytest.mark.parametrize(("first", "kind"), [((WORD, 0.1), "left"), ((b": wait\n\n", 0.1), "unparsable")])
async def test_a_stream_of_more_than_a_reply_may_have_is_charged_so_too(
    first: tuple[bytes | float, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mashq.gateway.proxy.relay.REPLY", 10_000)
    async with asked(saying(HEAD, *first, WORD * 1000), Silence(5, 5)) as at:
        with pytest.raises(aiohttp.ClientError):
            await at.ask({**CHAT, "stream": True})
        outcome = await closed(at)
    assert (outcome.kind, outcome.usage) == (kind, Usage())


async def asking(at: Table) -> socket.socket:
    """A connection that has asked for a stream, with little room for what comes."""
    host, _, port = at.seat.base_url.removeprefix("http://").partition("/")[0].partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect((host, int(port)))
    connection.setblocking(False)
    body = json.dumps({**CHAT, "stream": True}).encode()
    path = "/" + at.seat.base_url.split("/", 3)[3] + "/chat/completions"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {at.seat.token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    await asyncio.get_running_loop().sock_sendall(connection, head.encode() + body)
    return connection


def test_the_limits_are_settings_of_a_model() -> None:
    config = check(
        {
            "players": [{"name": "A", "model": "my/m"}],
            "models": {"my/m": {"base_url": "http://x", "first_byte_timeout": 600, "idle_timeout": 30}},
        }
    )
    assert (config.model("my/m").first_byte_timeout, config.model("my/m").idle_timeout) == (600, 30)
    assert Silence() == Silence(config.model("other").first_byte_timeout, config.model("other").idle_timeout)
