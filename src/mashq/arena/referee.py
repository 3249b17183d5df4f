"""The referee: scores answers with the detector, in batches, off the event loop.

A detector that takes less time than handing the answer to a thread is called directly.
"""

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from mashq.detectors.base import Detector, Pair
from mashq.errors import DetectorError

BATCH = 512
QUICK = 0.0002  # seconds per call: less than a round trip to a thread takes


class Scorer(Protocol):
    """The interface of judges and guides."""

    async def score(self, pair: Pair, round_: int = 0, item: str | None = None) -> float:
        """H of one answer."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


class Referee:
    """Scores for all players of a run; answers that arrive while a batch is scored form the next one."""

    def __init__(self, detector: Detector) -> None:
        self.detector = detector
        self._waiting: list[tuple[Pair, asyncio.Future[float]]] = []
        self._thread = ThreadPoolExecutor(1, "mashq-referee")
        self._busy: asyncio.Task[None] | None = None
        self._duration = math.inf

    async def score(self, pair: Pair, round_: int = 0, item: str | None = None) -> float:
        """H of one answer; a detector ignores the round and the item."""
        if self._duration < QUICK and self._busy is None:
            return self._score_all([pair])[0]
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append((pair, future))
        if self._busy is None:
            self._busy = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                scores = await loop.run_in_executor(self._thread, self._score_all, [pair for pair, _ in batch])
            except DetectorError as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), h in zip(batch, scores, strict=True):
                if not future.done():
                    future.set_result(h)
        self._busy = None

    def _score_all(self, pairs: list[Pair]) -> list[float]:
        name = self.detector.name
        start = time.perf_counter()
        try:
            scores = self.detector.score(pairs)
        except DetectorError:
            raise
        except Exception as error:
            raise DetectorError(f"the detector {name!r} failed ({type(error).__name__}: {error})") from error
        self._duration = time.perf_counter() - start
        if len(scores) != len(pairs):
            raise DetectorError(f"the detector {name!r} gave {len(scores)} scores for {len(pairs)} answers")
        for h in scores:
            if not (math.isfinite(h) and 0 <= h <= 1):
                raise DetectorError(f"the detector {name!r} gave {h}, which is not a score in [0, 1]")
        return scores

    def close(self) -> None:
        """Shut the thread down."""
        self._thread.shutdown(wait=True, cancel_futures=True)
