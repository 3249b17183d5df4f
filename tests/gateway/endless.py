"""Replies that would take all the memory there is, to a program that says how much it took.

`python -m tests.gateway.endless NAME` asks a provider in a process of its own, and prints how the attempt ended and
the most memory this process had, in MB.
"""

import asyncio
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import aiohttp

from mashq.gateway.backends.http import Pool
from mashq.gateway.types import Call, Message, Outcome, Request
from tests.gateway.proxy.metered import CHAT, http_backend, table

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
WORD = b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n'
BLOCK = 1 << 16


def endless() -> Iterator[bytes]:
    """A body without an end."""
    yield HEAD + b'\r\n{"choices": ["'
    while True:
        yield b"a" * BLOCK


def packed() -> Iterator[bytes]:
    """The same, packed a thousand times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield HEAD + b"Content-Encoding: gzip\r\n\r\n" + packer.compress(b'{"choices": ["')
    while True:
        yield packer.compress(b"a" * (1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)


def objects() -> Iterator[bytes]:
    """Eight megabytes of objects."""
    yield HEAD + b'\r\n{"choices": [' + b"{}," * 2_700_000 + b"{}]}"


def wide() -> Iterator[bytes]:
    """Eight megabytes of text, of four bytes a letter once read."""
    text = json.dumps("a" * 8_000_000 + "😀", ensure_ascii=False).encode()
    yield HEAD + b'\r\n{"choices": [{"message": {"content": ' + text + b'}, "finish_reason": "stop"}]}'


def head() -> Iterator[bytes]:
    """Headers without an end."""
    yield HEAD
    while True:
        yield b"X-More: " + b"a" * 1000 + b"\r\n"


def line() -> Iterator[bytes]:
    """A stream of one event without an end."""
    yield STREAM + b"data: "
    while True:
        yield b"a" * BLOCK


def events() -> Iterator[bytes]:
    """A stream of events without an end."""
    yield STREAM
    while True:
        yield WORD % (b"a" * BLOCK)


def small_events() -> Iterator[bytes]:
    """The same of the smallest there are."""
    yield STREAM
    while True:
        yield b"\n" * BLOCK


SAID = {made.__name__: made for made in (endless, packed, objects, wide, head, line, events, small_events)}
STREAMS = ("line", "events", "small_events")


async def serve(name: str) -> None:
    """Say it to everyone who asks."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in SAID[name]():
                writer.write(piece)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


async def asked(name: str, url: str) -> Outcome:
    """What comes of asking."""
    pool = Pool()
    try:
        if name not in STREAMS:
            backend = http_backend(pool, url, 60.0)
            return await backend.attempt(Request((Message("user", "?"),), 9, None), Call("0", 1, "A", "i", "answer"))
        async with table(url, timeout=60.0) as at:
            with suppress(aiohttp.ClientError):
                await at.ask({**CHAT, "stream": True})
            while not at.ledger.closed:
                await asyncio.sleep(0.01)
            return at.ledger.closed[0][0]
    finally:
        await pool.close()


def main(name: str) -> None:
    """Ask, and say what came of it."""
    command = [sys.executable, "-m", "tests.gateway.endless", name, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        outcome = asyncio.run(asked(name, f"http://127.0.0.1:{int(server.stdout.readline())}"))
        server.stdin.close()
        server.kill()
    status = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
    sys.stdout.write(json.dumps({"kind": outcome.kind, "error": outcome.error, "memory": most}) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(serve(sys.argv[1]))
    else:
        main(sys.argv[1])
