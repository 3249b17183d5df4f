"""The default executor: plays matches in this process, several at once."""

import asyncio
import gc
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mashq.arena.context import Begun, RunContext
from mashq.arena.endpoints import NOTHING_YET, Learnt, models_of
from mashq.arena.executors.base import Shown
from mashq.config import Config
from mashq.errors import ProviderError
from mashq.gateway.providers import IN_PROCESS
from mashq.players.registry import recorded_spec
from mashq.protocol.moves import Move
from mashq.protocol.state import MatchState
from mashq.runs.reading import read_answering, read_left, read_lessons, read_matches, read_moves
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run

AT_ONCE = 16
COLLECT = 20_000


class LocalExecutor:
    """Plays in this process, `at_once` matches at a time, under the endpoints' shared limits."""

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once

    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        """Play them in order of submission."""
        slots = asyncio.Semaphore(self._at_once or most_at_once(fixtures))
        recorded, provider_errors = read_matches(stored.path), list[ProviderError]()
        learnt_before = learnt(stored, context.config) if recorded else NOTHING_YET

        async def play_one(fixture: Fixture) -> None:
            async with slots:
                if provider_errors:
                    return

                def watch(state: MatchState, seat: int | None, move: Move | None) -> None:
                    if show is not None:
                        show.moved(fixture, state, seat, move)

                record = stored.record(fixture.id, fixture.position)
                progress = begun(stored, fixture) if fixture.id in recorded else Begun(learnt=learnt_before)
                try:
                    await context.play(fixture, record, prompts, progress, watch)
                except ProviderError as error:  # the other matches see it too, after their pending requests
                    provider_errors.append(error)
                    return
                if show is not None:
                    show.ended(fixture)

        try:
            with rarely_collecting():
                async with asyncio.TaskGroup() as group:
                    for fixture in fixtures:
                        group.create_task(play_one(fixture))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if provider_errors:
            raise provider_errors[0]


@contextmanager
def rarely_collecting() -> Generator[None]:
    """Collect garbage less often while matches are played: they make many long-lived objects and few cycles, and the
    default thresholds cost a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def most_at_once(fixtures: Sequence[Fixture]) -> int:
    """How many matches can be played at once: one if players are programs or models on this machine."""
    players = [player for fixture in fixtures for player in fixture.config.players]
    alone = any(recorded_spec(player.agent).external or player.model.startswith("local/") for player in players)
    return 1 if alone else AT_ONCE


def begun(stored: Run, fixture: Fixture) -> Begun:
    """What is stored of a match that is to be continued."""
    moves, left = list(read_moves(stored.path, fixture.id)), read_left(stored.path, fixture.id)
    return Begun(moves, left, learnt(stored, fixture.config))


def learnt(stored: Run, config: Config) -> Learnt:
    """What is stored about the models of a match: what they do not accept, and which have answered."""
    models = [name for name in models_of(config) if name.partition("/")[0] not in IN_PROCESS]
    return Learnt(read_lessons(stored.path), read_answering(stored.path, models)) if models else NOTHING_YET
