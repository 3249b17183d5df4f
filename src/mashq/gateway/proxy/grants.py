"""What a foreign agent may do in one turn: ask, at its own risk, until the turn ends.

A grant is bound to one step of one player, as a `Model` is. Every request it lets through is one attempt in the
ledger, opened before it leaves and closed with what came of it; nothing is tried again on the agent's behalf. The
worst case of a request is reserved while it is under way, so that many at once cannot overrun a budget together.
When the grant is closed nothing new leaves: what waits is turned away, what has left is waited for and recorded.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count

from mashq.gateway import budgets
from mashq.gateway.model import Endpoint, Model
from mashq.gateway.types import Call, Clock, Entry, Outcome, Request, Worst, spend_of
from mashq.protocol.resources import Amount, Spend, Unknown

Send = Callable[[Call], Awaitable[Outcome]]


class TurnOver(Exception):
    """The turn ended before the request left."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was turned away and never reached a model."""

    time: float
    player: str | None
    method: str
    path: str
    status: int
    reason: str


class Queue:
    """How long a player only waited for us: requests of its own were queued and none was being served."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queued = self._served = 0
        self._since = clock.tick()
        self._total = 0.0

    def change(self, queued: int = 0, served: int = 0) -> None:
        """So many more (or fewer) are queued, so many are served."""
        now = self._clock.tick()
        if self._queued and not self._served:
            self._total += now - self._since
        self._since, self._queued, self._served = now, self._queued + queued, self._served + served

    @property
    def seconds(self) -> float:
        """So far."""
        self.change()
        return self._total


class Grant:
    """The right of one player to ask one model for the length of a turn."""

    active: bool
    spend: "Spend"
    last_error: tuple[float, str]
    recalled: "Spend"

    def __init__(self, model: Model) -> None:
        self.model = model
        self.active = True
        self.exhausted: asyncio.Event = asyncio.Event()
        self.reason: str | None = None
        self.spend = Spend()
        self.refused: list[Refusal] = []
        self.h: float | None = None
        self.busy = 0
        self.last_error = 0.0, ""  # when, and what it was
        self._reserved: dict[object, Spend] = {}
        self._waiting: set[asyncio.Timeout] = set()
        self._away: set[asyncio.Future[None]] = set()
        self._started = model.clock.tick()
        self._queue = Queue(model.clock)
        self._virtual = 0.0
        self.recalled, first = self._recall()
        self._asks = count(first)

    @property
    def endpoint(self) -> Endpoint:
        """The model that answers."""
        return self.model.endpoint

    @property
    def seconds(self) -> float:
        """The length of the turn so far, less the waiting for us, plus the virtual time of simulated replies."""
        return self.model.clock.tick() - self._started - self._queue.seconds + self._virtual

    def charged(self, seconds: float) -> Spend:
        """What the turn cost: its attempts, with the time of the turn for theirs; a crashed turn's as recorded."""
        return self.spend.put("seconds", Amount(seconds, known=1)) + self.recalled

    async def attempt(self, endpoint: Endpoint, request: Request, worst: Worst, send: Send) -> Outcome:
        """One request: reserve, queue, open, send, close. Raises OutOfBudget, or TurnOver when it did not leave."""
        place = object()
        self._reserve(place, worst, endpoint)
        try:
            async with AsyncExitStack() as stack:
                waited = await self._slot(stack)
                async with self._leaving():
                    return await self._sent(endpoint, request, worst, waited, send)
        finally:
            del self._reserved[place]

    @property
    def bounded(self) -> bool:
        """Whether a budget needs every request to have a bound of its tokens."""
        return budgets.bounding(self.model.budget_states)

    def affordable(self, worst_of: Callable[[int], Worst], most: int) -> int:
        """The longest output, up to `most`, that can still be paid for; 1 when not even that can."""
        return budgets.affordable(self.model.budget_states, self.under_way, worst_of, most)

    async def close(self) -> None:
        """End the turn: turn away what waits, wait for what has left."""
        self.stop()
        while self._away:
            await asyncio.wait(self._away)

    def stop(self) -> None:
        """The same without waiting: what has left is recorded when it comes back."""
        self.active = False
        for alarm in self._waiting:
            alarm.reschedule(asyncio.get_running_loop().time())

    def _recall(self) -> tuple[Spend, int]:
        """What a crashed process spent on this step, and the first number that is free."""
        spent, ask = Spend(), 0
        while entries := self.model.ledger.history(replace(self.model.call, ask=ask)):
            spent, ask = sum(map(spend_of, entries), spent), ask + 1
        return spent, ask

    @property
    def under_way(self) -> Spend:
        """What was spent, and what may be spent by what is under way."""
        return sum(self._reserved.values(), self.spend + self.recalled)

    def _reserve(self, place: object, worst: Worst, endpoint: Endpoint) -> None:
        reason = self.reason or budgets.lacking(self.model.budget_states, self.under_way, worst)
        if reason is not None:
            self.reason = reason
            self.exhausted.set()
            raise budgets.OutOfBudget(reason)
        self._reserved[place] = spend_of(Entry(0, endpoint.name, worst))

    async def _slot(self, stack: AsyncExitStack) -> float:
        """Wait for a free slot, but no longer than the turn."""
        self._queue.change(queued=1)
        try:
            async with asyncio.timeout(None) as alarm:
                self._waiting.add(alarm)
                try:
                    waited = await stack.enter_async_context(self.endpoint.limiter.slot())
                finally:
                    self._waiting.discard(alarm)
        except TimeoutError:
            raise TurnOver from None
        finally:
            self._queue.change(queued=-1)
        if not self.active:
            raise TurnOver
        return waited

    @asynccontextmanager
    async def _leaving(self) -> AsyncGenerator[None]:
        """Under way: `close` waits until this ends."""
        back: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._away.add(back)
        self._queue.change(served=1)
        try:
            yield
        finally:
            self._queue.change(served=-1)
            self._away.discard(back)
            back.set_result(None)

    async def _sent(self, endpoint: Endpoint, request: Request, worst: Worst, waited: float, send: Send) -> Outcome:
        call = replace(self.model.call, ask=next(self._asks))
        ledger, durable = self.model.ledger, endpoint.backend.durable
        attempt = await ledger.open(call, request, endpoint.name, worst, durable=durable)
        started = self.model.clock.tick()
        if endpoint is self.endpoint:
            endpoint.experience.health.sent(started)
        outcome = endpoint.rated(await send(call))
        if endpoint is self.endpoint:
            endpoint.note(outcome, self.model.clock.tick(), foreign=True)
        ledger.close(attempt, outcome, waited)
        self.spend += spend_of(Entry(attempt, endpoint.name, worst, outcome, waited))
        if outcome.completion is not None:
            self.h = outcome.completion.h
        if outcome.error:
            self.last_error = self.model.clock.tick(), outcome.error
        if not durable and not isinstance(outcome.seconds, Unknown):
            self._virtual += max(0.0, outcome.seconds - (self.model.clock.tick() - started))
        return outcome
