"""`check_executor`: the same results as in this process, also of matches that were begun elsewhere."""

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
    """Play three simulated matches with it, afresh and from where another stopped; both as `local` plays them."""
    from mashq.arena import match
    from mashq.arena.executors.local import LocalExecutor
    from mashq.config import check

    subject, config = cast("Executor", executor), check(dict(SETTINGS))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        local = LocalExecutor()
        expected = _results(await match.run(config, folder / "local", season=SEASON, base=folder, executor=local))
        told = _Told()
        try:
            season = await match.run(
                config, folder / "theirs", season=SEASON, base=folder, executor=subject, show=told
            )
        except MashqError as error:
            raise AssertionError(f"the matches were not played to their end: {error}") from error
        assert _results(season) == expected, "the results differ from those of the local executor"
        assert sorted(told.ended_matches) == sorted(expected), "show.ended must be called once for each match"
        with contextlib.suppress(_Stop):
            await match.run(config, folder / "half", season=SEASON, base=folder, executor=local, show=_Stopping())
        season = await match.resume(folder / "half", executor=subject)
        assert _results(season) == expected, "matches that were begun elsewhere do not go on from where they stand"


def _results(season: Season) -> dict[str, list[PlayerResult]]:
    """The results of every match, without how long anyone waited."""
    return {fixture.id: [*map(_unhurried, season.played(fixture).results)] for fixture in season.fixtures()}


def _unhurried(result: PlayerResult) -> PlayerResult:
    items = tuple(replace(item, spend=replace(item.spend, waited=0.0)) for item in result.items)
    return replace(result, items=items, shared=replace(result.shared, waited=0.0))


class _Told:
    """Someone who is told how it goes, and remembers."""

    def __init__(self) -> None:
        self.ended_matches: list[str] = []

    def batch(self, matches: int, done: int) -> None:
        """Nothing to remember."""

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """Nothing to remember."""

    def ended(self, fixture: Fixture) -> None:
        """Which."""
        self.ended_matches.append(fixture.id)


class _Stop(Exception):
    """Here a run is broken off."""


class _Stopping(_Told):
    """Breaks a run off after some moves."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MOVES

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """Count, and stop."""
        self._left -= 1
        if not self._left:
            raise _Stop
