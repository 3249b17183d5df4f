"""A server that says whatever it likes, and is gone at the end."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

Speaks = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def request(reader: asyncio.StreamReader) -> None:
    """Read one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line.lower() for line in head.split(b"\r\n")]
    await reader.readexactly(sum(int(line[15:]) for line in lines if line.startswith(b"content-length:")))


@contextlib.asynccontextmanager
async def speaking(speaks: Speaks) -> AsyncGenerator[str]:
    """The address of a server that speaks so on every connection."""
    under_way: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        under_way[task] = writer
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await speaks(reader, writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task, writer in under_way.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*under_way, return_exceptions=True)
        await asyncio.sleep(0.01)


def saying(*parts: bytes | float) -> Speaks:
    """Someone who says these bytes, and pauses where a number stands."""

    async def speaks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        for part in parts:
            if isinstance(part, bytes):
                writer.write(part)
                await writer.drain()
            else:
                await asyncio.sleep(part)

    return speaks
