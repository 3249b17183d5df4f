"""`check_executor`: the same results as in this process, also for matches that were started elsewhere."""

import contextlib
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mashq.errors import MashqError
from mashq.protocol.moves import Move
from mashq.protocol.results import PlayerResult
from mashq.protocol.state import MatchState
from mashq.runs.open import Season
from mashq.runs.seasons import Fixture

if TYPE_CHECKING:
    from mashq.arena.executors.base import Executor

SETTINGS: Mapping[str, Any] = {
    "task": {"limit": 4},
    "players": [{"name": "A", "model": "simulated/a"}, {"name": "B", "model": "simulated/b"}],
}
MATCHES, MOVES = 3, 9
SEASON: Mapping[str, Any] = {"kind": "match", "trials": MATCHES}


async def check_executor(executor: object) -> None:
    """Play three simulated matches, from the start and resumed after an interruption; both must equal `local`'s."""
    from mashq.arena import match
    from mashq.arena.executors.local import LocalExecutor
    from mashq.config import check

    subject, config = cast("Executor", executor), check(dict(SETTINGS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        local = LocalExecutor()
        expected = _results(await match.run(config, folder / "local", season=SEASON, base=folder, executor=local))
        recorder = _Recorder()
        try:
            season = await match.run(
                config, folder / "theirs", season=SEASON, base=folder, executor=subject, show=recorder
            )
        except MashqError as error:
            raise AssertionError(f"the matches were not played to their end: {error}") from error
        assert _results(season) == expected, "the results differ from those of the local executor"
        assert sorted(recorder.ended_matches) == sorted(expected), "show.ended must be called once for each match"
        with contextlib.suppress(_Stop):
            await match.run(config, folder / "half", season=SEASON, base=folder, executor=local, show=_Stopping())
        season = await match.resume(folder / "half", executor=subject)
        assert _results(season) == expected, "matches that were begun elsewhere do not go on from where they stand"


def _results(season: Season) -> dict[str, list[PlayerResult]]:
    """Return the results of every match, without waiting times."""
    return {fixture.id: [*map(_without_waits, season.played(fixture).results)] for fixture in season.fixtures()}


def _without_waits(result: PlayerResult) -> PlayerResult:
    items = tuple(replace(item, spend=replace(item.spend, waited=0.0)) for item in result.items)
    return replace(result, items=items, shared=replace(result.shared, waited=0.0))


class _Recorder:
    """Progress display that records the matches that ended."""

    def __init__(self) -> None:
        self.ended_matches: list[str] = []

    def batch(self, matches: int, done: int) -> None:
        """Nothing to record."""

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """Nothing to record."""

    def ended(self, fixture: Fixture) -> None:
        """Record the match."""
        self.ended_matches.append(fixture.id)


class _Stop(Exception):
    """Interrupts a run."""


class _Stopping(_Recorder):
    """Interrupts a run after some moves."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MOVES

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """Count the move, and stop at the limit."""
        self._left -= 1
        if not self._left:
            raise _Stop
