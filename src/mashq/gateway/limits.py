"""How fast an endpoint may be asked: so many at once, so many a minute. Waiting here is never service time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mashq.gateway.types import Clock


class Limiter:
    """The queue before one endpoint, in order of arrival."""

    def __init__(self, clock: Clock, concurrency: int, per_minute: float | None = None) -> None:
        self._clock = clock
        self._slots = asyncio.Semaphore(concurrency)
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[float]:
        """Hold a slot; yields the seconds waited for it."""
        asked = self._clock.tick()
        async with self._slots:
            if self._gap:
                now = self._clock.tick()
                start = max(now, self._next)
                self._next = start + self._gap
                if start > now:
                    await self._clock.sleep(start - now)
            yield self._clock.tick() - asked
