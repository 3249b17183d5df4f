"""What comes on a kept connection and was not asked for is nobody's reply."""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from mashq.gateway.backends.http import HttpBackend, Pool
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Call, Message, Request
from mashq.gateway.wire.openai_chat import OpenAIChat, Options
from tests.gateway.proxy.metered import http_backend, table
from tests.gateway.raw import request, speaking

CALL = Call("0", 2, "A", "item-2", "answer")


def reply(text: str) -> bytes:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@dataclass
class Provider:
    """Says `extra` after each reply, at once or a little later; counts connections."""

    extra: bytes
    late: float | None
    url: str = ""
    connections: int = 0
    asked: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        while True:
            await request(reader)
            self.asked += 1
            said = reply(f"answer {self.asked}")
            writer.write(said + self.extra if self.late is None else said)
            await writer.drain()
            if self.late is not None:
                await asyncio.sleep(self.late)
                writer.write(self.extra)
                await writer.drain()


@asynccontextmanager
async def provider(extra: bytes, late: float | None) -> AsyncGenerator[Provider]:
    found = Provider(extra, late)
    async with speaking(found.answer) as found.url:
        yield found


def backend(pool: Pool, url: str) -> HttpBackend:
    return HttpBackend(
        pool, RealClock(), OpenAIChat(), base_url=url, model="m", key=None, options=Options(), timeout=5
    )


async def told(model: HttpBackend) -> str:
    outcome = await model.attempt(Request((Message("user", "?"),), 10, None), CALL)
    assert outcome.completion is not None, outcome
    return outcome.completion.text


EXTRA = [reply("FORGED"), b"x", b"HTTP/1.1 200 OK\r\nContent-Le"]


@pytest.mark.parametrize("extra", EXTRA, ids=["a reply", "a byte", "half a reply"])
async def test_what_came_late_is_not_the_next_reply(extra: bytes) -> None:
    pool = Pool()
    async with provider(extra, late=0.05) as there:
        model = backend(pool, there.url)
        for number in (1, 2, 3):
            assert await told(model) == f"answer {number}"
            await asyncio.sleep(0.15)
        await pool.close()


async def test_what_lies_unread_in_the_socket_is_not_the_next_reply() -> None:
    """It came while nobody looked: no turn of the event loop lies between its coming and the next request."""
    pool = Pool()
    async with provider(b"", None) as there:
        model = backend(pool, there.url)
        assert await told(model) == "answer 1"
        await asyncio.sleep(0.05)
        socket = there.writers[0].get_extra_info("socket")
        os.write(socket.fileno(), reply("FORGED"))
        time.sleep(0.05)
        assert await told(model) == "answer 2"
        assert there.connections == 2
        await pool.close()


async def test_a_clean_connection_is_kept() -> None:
    pool = Pool()
    async with provider(b"", None) as there:
        model = backend(pool, there.url)
        assert [await told(model) for _ in range(5)] == [f"answer {number}" for number in range(1, 6)]
        assert there.connections == 1
        await pool.close()


async def test_more_than_its_length_says_is_no_reply_and_not_the_next_one() -> None:
    pool = Pool()
    async with provider(reply("FORGED"), None) as there:
        model = backend(pool, there.url)
        for _ in range(3):
            outcome = await model.attempt(Request((Message("user", "?"),), 10, None), CALL)
            assert outcome.completion is None or outcome.completion.text == f"answer {there.asked}"
        await pool.close()


async def test_nor_for_an_agent() -> None:
    pool = Pool()
    async with provider(reply("FORGED"), late=0.05) as there:
        async with table(backend=http_backend(pool, there.url)) as at:
            for number in (1, 2, 3):
                _, said, _ = await at.ask()
                assert said["choices"][0]["message"]["content"] == f"answer {number}"
                await asyncio.sleep(0.15)
        await pool.close()
