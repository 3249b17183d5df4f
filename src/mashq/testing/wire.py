"""A minimal HTTP/1.1 server on asyncio streams: requests in, replies out.

Contract: `Connection.receive` returns every request of which at least one byte arrived: whole, or with
`partial` set when the client disconnected before its end (or when the rest is refused: `refused` is the status).
It returns None when the client closed between requests. Requests follow one another on a connection; a client
that sends the next one before it has the reply (pipelining) may see it dropped. Bytes are kept in our own buffer,
so that a connection reset in the middle of a request does not hide what had arrived.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

_HEAD_LIMIT = 64 * 1024
_BODY_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request, or the part of it that arrived. Header names are lower case; the path has no query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    partial: bool = False
    refused: int | None = None
    last: bool = False
    query: str = ""

    @property
    def key(self) -> str | None:
        """The API key: x-api-key, x-goog-api-key, or the Authorization header without its scheme."""
        api_key = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        value = api_key or self.headers.get("authorization", "")
        return value.strip().rpartition(" ")[2] or None


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete reply; Content-Length and Connection are added when it is sent."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def head(self, length: int | None, *, close: bool) -> bytes:
        """Return the header block; with `length` None, the body ends with the connection."""
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"Content-Type: {self.content_type}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [] if length is None else [f"Content-Length: {length}"]
        lines += ["Connection: close"] if close else []
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Connection:
    """One client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()

    async def receive(self) -> Request | None:
        """Return the next request."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > _HEAD_LIMIT:
                return _cut(self._take(len(self._buffer)), refused=431)
            if not await self._fill():
                return _cut(self._take(len(self._buffer))) if self._buffer else None
            self._buffer[:] = self._buffer.lstrip(b"\r\n")
        head = _parse(self._take(end + 4))
        return head if head.refused else await self._with_body(head)

    async def _with_body(self, head: Request) -> Request:
        length = int(head.headers.get("content-length", "0"))
        if head.headers.get("expect", "").lower() == "100-continue" and len(self._buffer) < length:
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(self._buffer) < length:
            if not await self._fill():
                arrived = self._take(len(self._buffer))
                return Request(head.method, head.path, head.headers, arrived, partial=True, last=True)
        return replace(head, body=self._take(length))

    async def _fill(self) -> bool:
        """Read more input; return False at the end, however the client disconnected."""
        data = b""
        with contextlib.suppress(OSError):
            data = await self._reader.read(_HEAD_LIMIT)
        self._buffer += data
        return bool(data)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def send(self, data: bytes) -> None:
        """Write and flush; raises OSError when the client has disconnected."""
        self._writer.write(data)
        await self._writer.drain()

    def finish(self) -> None:
        """Send FIN and keep the other direction open."""
        if self._writer.can_write_eof():
            self._writer.write_eof()

    async def until_gone(self, limit: float) -> None:
        """Discard input until the client closes, for at most `limit` seconds."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(limit):
                while await self._reader.read(_HEAD_LIMIT):
                    pass

    def reset(self) -> None:
        """Close with RST: unsent data is discarded."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def abort(self) -> None:
        """Close at once, without flushing."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Flush and close; a client that has already disconnected is not an error."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _cut(data: bytes, refused: int | None = None) -> Request:
    """Return a request whose header block is incomplete, with what can be parsed of it."""
    head = _parse(data)
    return Request(head.method, head.path, head.headers, b"", partial=True, refused=refused, last=True)


def _parse(head: bytes) -> Request:
    """Parse the header block as a request without a body; `refused` is set when it cannot be served."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    path, _, query = target.partition("?")
    last = version != "HTTP/1.1" or "close" in headers.get("connection", "").lower()
    refused = _refusal(version, headers)
    partial = refused in (411, 413)
    return Request(method, path, headers, b"", partial=partial, refused=refused, last=last, query=query)


def _refusal(version: str, headers: Mapping[str, str]) -> int | None:
    length = headers.get("content-length", "0")
    if version not in ("HTTP/1.0", "HTTP/1.1") or not (length.isascii() and length.isdigit()):
        return 400
    if "transfer-encoding" in headers:
        return 411
    return 413 if len(length) > 12 or int(length) > _BODY_LIMIT else None
