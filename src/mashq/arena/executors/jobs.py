"""One match as a job for another process: its input is sent as plain data, what it writes is sent back.

The worker plays with a sink that sends statements back in groups; the single writer is where the run directory is. A
worker that dies loses nothing that was acknowledged: the match is read from the store and continues elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mashq.arena.context import Begun, RunContext
from mashq.arena.executors.local import rarely_collecting
from mashq.config import Config
from mashq.protocol.items import Item
from mashq.protocol.moves import Move
from mashq.protocol.state import MatchState
from mashq.runs.file import Statement
from mashq.runs.seasons import Fixture
from mashq.runs.writer import MatchRecord

GROUP = 512


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What all the jobs of a season share."""

    config: dict[str, Any]
    items: tuple[Item, ...]
    prompts: Mapping[str, Any]
    rules_of_play: int


@dataclass(frozen=True, slots=True)
class MatchJob:
    """One match to play, from its current state."""

    id: str
    position: int
    config: dict[str, Any]
    trial: int
    begun: Begun

    @classmethod
    def of(cls, fixture: Fixture, begun: Begun) -> "MatchJob":
        """The job of a fixture."""
        return cls(fixture.id, fixture.position, fixture.config.model_dump(mode="json"), fixture.trial, begun)

    def fixture(self) -> Fixture:
        """The fixture of the job."""
        return Fixture(self.id, self.position, Config.model_validate(self.config), self.trial)


class Wire(Protocol):
    """The connection from a worker to the writer."""

    def send(self, statements: list[Statement]) -> None:
        """Send statements in order, without waiting."""
        ...

    async def settled(self, *, synced: bool) -> None:
        """Wait until all that was sent survives both processes or, if `synced`, the machine."""
        ...


class RemoteSink:
    """A sink whose statements go to the writer in another process; it waits only where durability is required."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._queued: list[Statement] = []

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Queue a statement."""
        self._queued.append((statement, values))
        if len(self._queued) >= GROUP:
            self._flush()

    async def durable(self) -> None:
        """Wait until all that was queued survives this process."""
        self._flush()
        await self._wire.settled(synced=False)

    async def synced(self) -> None:
        """Wait until all that was queued survives the machine."""
        self._flush()
        await self._wire.settled(synced=True)

    def _flush(self) -> None:
        queued, self._queued = self._queued, []
        self._wire.send(queued)


async def do(context: RunContext, job: MatchJob, kit: WorkerSetup, wire: Wire) -> None:
    """Play a job to its end."""
    record = MatchRecord(RemoteSink(wire), context.clock, job.id, job.position)
    with rarely_collecting():
        await context.play(job.fixture(), record, kit.prompts, job.begun, _unwatched)


def _unwatched(_state: MatchState, _seat: int | None, _move: Move | None) -> None:
    return
