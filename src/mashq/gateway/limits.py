"""How fast an endpoint may be asked: so many at once, so many a minute. Waiting here is never service time."""

from mashq.gateway.types import Clock


class Limiter:
    """The queue before one endpoint, in order of arrival."""

    def __init__(self, clock: Clock, concurrency: int, per_minute: float | None = None) -> None:
        import asyncio  # slow to import; who only reads a run waits for nobody

        self._clock = clock
        self._slots = asyncio.Semaphore(concurrency)
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    def slot(self) -> "Slot":
        """A slot to hold while asking."""
        return Slot(self)

    async def enter(self) -> float:
        """Wait for a slot; the seconds waited. Whoever enters must leave."""
        asked = self._clock.tick()
        await self._slots.acquire()
        try:
            if self._gap:
                now = self._clock.tick()
                start = max(now, self._next)
                self._next = start + self._gap
                if start > now:
                    await self._clock.sleep(start - now)
        except BaseException:
            self._slots.release()
            raise
        return self._clock.tick() - asked

    def leave(self) -> None:
        """Give the slot to the next."""
        self._slots.release()


class Slot:
    """Holds a slot of a limiter; gives the seconds waited for it."""

    __slots__ = ("_limiter",)

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def __aenter__(self) -> float:
        return await self._limiter.enter()

    async def __aexit__(self, *_: object) -> None:
        self._limiter.leave()
