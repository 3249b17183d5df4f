"""Stand-ins for what the gateway is handed: a clock that only moves when slept on, a ledger in memory, a script."""

import asyncio
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from mashq.gateway.types import Call, Completion, Entry, Message, Outcome, Request, Usage, Worst

CALL = Call("match", 3, "A", "item", "answer")
EPOCH = 1_700_000_000.0


def asked(
    text: str = "What is it?",
    *,
    schema: Mapping[str, object] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Request:
    """A request as the door would make it."""
    return Request((Message("user", text),), 64, 0.0, 11, schema, facts or {})


def replied(text: str = "fine", tokens_in: int = 10, tokens_out: int = 5, seconds: float = 1.0) -> Outcome:
    """A good reply."""
    return Outcome("ok", Completion(text, "stop"), Usage(tokens_in, tokens_out, 0, 0), seconds, status=200)


def http_error(status: int, seconds: float = 0.25, retry_after: float | None = None) -> Outcome:
    """A complete error reply: nothing was billed."""
    nothing = Usage(0, 0, 0, 0)
    return Outcome("http", None, nothing, seconds, status=status, retry_after=retry_after, error=f"HTTP {status}")


class FakeClock:
    """Virtual time: everyone who sleeps is woken in order of time, once nobody else can move."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._driver: asyncio.Task[None] | None = None

    def now(self) -> float:
        return EPOCH + self.time

    def tick(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._order), woken))
        if self._driver is None:
            self._driver = asyncio.create_task(self._drive())
        await woken

    async def _drive(self) -> None:
        while self._sleepers:
            for _ in range(50):
                await asyncio.sleep(0)
            self.time, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
        self._driver = None


@dataclass
class FakeLedger:
    """Attempts in a list. `past` is what an earlier process left; `log` is the order of events."""

    past: list[Entry] = field(default_factory=list[Entry])
    opened: list[tuple[Call, Request, str, Worst, bool]] = field(
        default_factory=list[tuple[Call, Request, str, Worst, bool]]
    )
    closed: dict[int, tuple[Outcome, float]] = field(default_factory=dict[int, tuple[Outcome, float]])
    log: list[str] = field(default_factory=list[str])
    learnt: list[tuple[str, str, int | None, str]] = field(default_factory=list[tuple[str, str, int | None, str]])

    def history(self, call: Call) -> list[Entry]:
        return self.past

    async def open(self, call: Call, request: Request, model: str, worst: Worst, *, durable: bool) -> int:
        self.opened.append((call, request, model, worst, durable))
        self.log.append("open")
        number = len(self.opened) - 1
        await asyncio.sleep(0)
        return number

    def close(self, attempt: int, outcome: Outcome, waited: float) -> None:
        assert attempt not in self.closed, "an attempt is closed once"
        self.closed[attempt] = (outcome, waited)
        self.log.append("close")

    def learn(self, model: str, field: str, limit: int | None, why: str) -> None:
        self.learnt.append((model, field, limit, why))


class Script:
    """A backend that plays outcomes in turn; each takes its own seconds of the clock."""

    durable = True
    simulated = False

    def __init__(self, outcomes: Iterable[Outcome], clock: FakeClock, log: list[str] | None = None) -> None:
        self._outcomes = iter(outcomes)
        self._clock = clock
        self.sent: list[tuple[Request, Call]] = []
        self.log = [] if log is None else log
        self.now_running = self.most_running = 0

    async def attempt(self, request: Request, call: Call) -> Outcome:
        self.log.append("send")
        self.sent.append((request, call))
        self.now_running += 1
        self.most_running = max(self.most_running, self.now_running)
        outcome = next(self._outcomes)
        await self._clock.sleep(outcome.seconds if isinstance(outcome.seconds, float) else 0.0)
        self.now_running -= 1
        return outcome

    async def close(self) -> None:
        self.log.append("closed")
