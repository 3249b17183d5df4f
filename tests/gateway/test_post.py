"""A document to a service and back, within limits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mashq.gateway.post import ServiceError, answer_in, post_json


@asynccontextmanager
async def service(reply: bytes) -> AsyncGenerator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(reply)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


def reply(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_reply() -> None:
    async with service(reply(b'{"answer": "x"}')) as url:
        assert await post_json(url, {"item": "1"}, 100) == b'{"answer": "x"}'


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (reply(b"x" * 101), "more than 100 bytes"),
        (reply(b"no", "302 Found"), "HTTP 302"),
        (b"nonsense", "could not be asked"),
        (b"", "could not be asked"),
    ],
)
async def test_what_goes_wrong(said: bytes, words: str) -> None:
    async with service(said) as url:
        with pytest.raises(ServiceError, match=words):
            await post_json(url, {"item": "1"}, 100)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"answer": 7}', b"\xff", b"[" * 100_000])
def test_what_is_no_answer(data: bytes) -> None:
    document, wrong = answer_in(data)
    assert document is None and wrong


def test_what_is_one() -> None:
    assert answer_in(b'{"answer": "x", "more": 1}') == ({"answer": "x", "more": 1}, "")
