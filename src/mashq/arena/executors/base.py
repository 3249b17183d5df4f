"""What an executor is: a place where the matches of a season are played; and the observers that are told its
progress."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mashq.arena.context import RunContext
from mashq.protocol.moves import Move
from mashq.protocol.state import MatchState
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run


class Shown(Protocol):
    """An observer that is told the progress."""

    def batch(self, matches: int, done: int) -> None:
        """`matches` come next, of which `done` were played before."""
        ...

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """A move was made; None before the first."""
        ...

    def ended(self, fixture: Fixture) -> None:
        """A match is over."""
        ...


@runtime_checkable
class Worried(Protocol):
    """An observer that is also told, every few seconds, what is wrong with the models; empty when all is well."""

    def trouble(self, said: str) -> None:
        """What is wrong now."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """An observer that is also told the progress of checking a run that was not closed, which can take minutes."""

    def checked(self, done: int, whole: int) -> None:
        """`done` of `whole` has been checked."""
        ...


class Executor(Protocol):
    """Plays matches to their end; if it fails, what it wrote is kept."""

    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        """Play all of them."""
        ...
