"""The real clock."""

import asyncio
import time


class RealClock:
    """Time as the machine tells it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def tick(self) -> float:
        """A monotonic reading in seconds."""
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
