"""What an executor is: a place where the matches of a season are played, and who is told how it goes."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mashq.arena.context import RunContext
from mashq.protocol.moves import Move
from mashq.protocol.state import MatchState
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run


class Shown(Protocol):
    """Someone who is told how it goes."""

    def batch(self, matches: int, done: int) -> None:
        """So many matches come next, of which some were played before."""
        ...

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """A move was made; None before the first."""
        ...

    def ended(self, fixture: Fixture) -> None:
        """A match is over."""
        ...


@runtime_checkable
class Worried(Protocol):
    """Someone who is also told, every few seconds, what is wrong with the models; nothing when all is well."""

    def trouble(self, said: str) -> None:
        """What is wrong now."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """Someone who is also told how far the check of a run is that was not closed: a long one takes minutes."""

    def checked(self, done: int, whole: int) -> None:
        """So much of it."""
        ...


class Executor(Protocol):
    """Plays matches to their end; what it wrote when it fails stays written."""

    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        """Play them all."""
        ...
