"""A running match streamed to any number of viewers at the cost of one.

Contract: while a match is watched, one task polls its file a few times a second (less often with many viewers; it
checks the file's timestamp first, which is cheap if nothing was written), reads the new moves once and sends one
small frame to all viewers. A slow viewer misses frames but never delays the others: each frame is complete, so
nothing is lost.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mashq.errors import MashqError
from mashq.runs.reading import DATABASE
from mashq.web.api.frames import frame
from mashq.web.library import plain_file, playing
from mashq.web.replay_cache import ReplayCache

EVERY, ANYWAY, HEARTBEAT, MANY, MAX_VIEWERS = 0.25, 2.0, 15.0, 8, 200
READ_FOR = 0.1


class Channel:
    """One match and its viewers."""

    def __init__(self, cache: ReplayCache, run: str, match: str) -> None:
        self._cache, self._run, self._match = cache, run, match
        self.viewers: set[asyncio.Queue[bytes]] = set()
        self._task: asyncio.Task[None] | None = None
        self._last: bytes | None = None
        self._seen: tuple[Any, ...] = ()

    def join(self) -> asyncio.Queue[bytes]:
        """Add a viewer; its queue gets the newest frame whenever there is one."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(1)
        if self._last is not None:
            queue.put_nowait(self._last)
        self.viewers.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        return queue

    def leave(self, queue: asyncio.Queue[bytes]) -> None:
        """Remove a viewer."""
        self.viewers.discard(queue)

    async def _poll(self) -> None:
        idle, stamps = 0.0, ()
        while self.viewers:
            try:
                path = self._cache.library.find(self._run).path
            except LookupError as error:
                self._broadcast(message("trouble", {"error": str(error)}))
                return
            current_stamps = tuple(plain_file(path / (DATABASE + suffix)) for suffix in ("", "-wal"))
            if current_stamps != stamps or idle >= ANYWAY or self._last is None:
                stamps, idle = current_stamps, 0.0
                event = await asyncio.to_thread(self._frame)
                if event is not None:
                    self._broadcast(event)
            pause = EVERY * max(1.0, len(self.viewers) / MANY)
            idle += pause
            await asyncio.sleep(pause)

    def _frame(self) -> bytes | None:
        """Return the newest frame, or None if nothing changed."""
        try:
            live = self._cache.match(self._run, self._match)
            live.advance(READ_FOR)
            is_playing = playing(live.view.found)
            progress = (len(live.replay), live.total, live.ended, is_playing)
            if progress == self._seen:
                return None
            self._seen = progress
            return message("frame", frame(live) | {"playing": is_playing})
        except (MashqError, LookupError) as error:
            return message("trouble", {"error": str(error)})

    def _broadcast(self, event: bytes) -> None:
        self._last = event
        for queue in self.viewers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)


class Channels:
    """All watched matches."""

    def __init__(self, cache: ReplayCache) -> None:
        self._cache = cache
        self._open: dict[tuple[str, str], Channel] = {}

    @property
    def full(self) -> bool:
        """Whether the maximum number of viewers is reached."""
        return sum(len(channel.viewers) for channel in self._open.values()) >= MAX_VIEWERS

    async def watch(self, run: str, match: str) -> AsyncIterator[bytes]:
        """Yield server-sent events: new frames, and a regular comment to keep the connection open."""
        channel = self._open.setdefault((run, match), Channel(self._cache, run, match))
        queue = channel.join()
        try:
            yield b"retry: 1000\n\n"
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            channel.leave(queue)
            if not channel.viewers:
                self._open.pop((run, match), None)


def message(kind: str, document: dict[str, Any]) -> bytes:
    """Encode one server-sent event."""
    return f"event: {kind}\ndata: {dumped(document)}\n\n".encode("ascii")


def dumped(document: Any) -> str:
    """Encode a document as ASCII JSON."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
