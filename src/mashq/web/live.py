"""A match as it is played, to any number of viewers, at the price of one.

Contract: while somebody watches a match, one task looks at its file a few times a second (less often the more there
are; at the file's date first, which costs nothing when nothing was written), reads the new moves once and hands one
small frame to everybody. A viewer that is slow misses frames, never holds up the others: a frame says all there is,
so nothing is lost by it.
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
    """One match and those who watch it."""

    def __init__(self, cache: ReplayCache, run: str, match: str) -> None:
        self._cache, self._run, self._match = cache, run, match
        self.viewers: set[asyncio.Queue[bytes]] = set()
        self._task: asyncio.Task[None] | None = None
        self._last: bytes | None = None
        self._seen: tuple[Any, ...] = ()

    def join(self) -> asyncio.Queue[bytes]:
        """Watch: the queue gets the newest frame whenever there is one."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(1)
        if self._last is not None:
            queue.put_nowait(self._last)
        self.viewers.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        return queue

    def leave(self, queue: asyncio.Queue[bytes]) -> None:
        """Watch no longer."""
        self.viewers.discard(queue)

    async def _look(self) -> None:
        idle, log = 0.0, ()
        while self.viewers:
            try:
                path = self._cache.library.find(self._run).path
            except LookupError as gone:
                self._tell(message("trouble", {"error": str(gone)}))
                return
            now = tuple(plain_file(path / (DATABASE + end)) for end in ("", "-wal"))
            if now != log or idle >= ANYWAY or self._last is None:
                log, idle = now, 0.0
                told = await asyncio.to_thread(self._frame)
                if told is not None:
                    self._tell(told)
            pause = EVERY * max(1.0, len(self.viewers) / MANY)
            idle += pause
            await asyncio.sleep(pause)

    def _frame(self) -> bytes | None:
        """The newest frame, or None when nothing changed."""
        try:
            live = self._cache.match(self._run, self._match)
            live.advance(READ_FOR)
            now = playing(live.view.found)
            seen = (len(live.replay), live.total, live.ended, now)
            if seen == self._seen:
                return None
            self._seen = seen
            return message("frame", frame(live) | {"playing": now})
        except (MashqError, LookupError) as error:
            return message("trouble", {"error": str(error)})

    def _tell(self, told: bytes) -> None:
        self._last = told
        for queue in self.viewers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(told)


class Channels:
    """The matches that are watched."""

    def __init__(self, cache: ReplayCache) -> None:
        self._cache = cache
        self._open: dict[tuple[str, str], Channel] = {}

    @property
    def full(self) -> bool:
        """Whether there are as many viewers as there may be."""
        return sum(len(channel.viewers) for channel in self._open.values()) >= MAX_VIEWERS

    async def watch(self, run: str, match: str) -> AsyncIterator[bytes]:
        """Server-sent events: frames as they come, and a comment now and then to keep the line open."""
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
    """One server-sent event."""
    return f"event: {kind}\ndata: {dumped(document)}\n\n".encode("ascii")


def dumped(document: Any) -> str:
    """JSON in ASCII, whatever the texts hold."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
