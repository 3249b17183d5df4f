"""Where the matches of a season are played: in this process, several at once, by default."""

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
    """In this process, `at_once` matches at a time, under the endpoints' common limits."""

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
        """Play them, the first to come the first to start."""
        slots = asyncio.Semaphore(self._at_once or most_at_once(fixtures))
        there, over = read_matches(stored.path), list[ProviderError]()
        learnt_before = learnt(stored, context.config) if there else NOTHING_YET

        async def one(fixture: Fixture) -> None:
            async with slots:
                if over:
                    return

                def watch(state: MatchState, seat: int | None, move: Move | None) -> None:
                    if show is not None:
                        show.moved(fixture, state, seat, move)

                record = stored.record(fixture.id, fixture.position)
                known = begun(stored, fixture) if fixture.id in there else Begun(learnt=learnt_before)
                try:
                    await context.play(fixture, record, prompts, known, watch)
                except ProviderError as error:  # the others see it too, once what they have sent is back
                    over.append(error)
                    return
                if show is not None:
                    show.ended(fixture)

        try:
            with rarely_collecting():
                async with asyncio.TaskGroup() as group:
                    for fixture in fixtures:
                        group.create_task(one(fixture))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if over:
            raise over[0]


@contextmanager
def rarely_collecting() -> Generator[None]:
    """While matches are played: they make many objects that live and hardly a cycle, and looking for cycles as often
    as the interpreter does by itself takes a tenth of their time."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def most_at_once(fixtures: Sequence[Fixture]) -> int:
    """How many matches can go on side by side: one where players are programs or models of this machine."""
    players = [player for fixture in fixtures for player in fixture.config.players]
    alone = any(recorded_spec(player.agent).external or player.model.startswith("local/") for player in players)
    return 1 if alone else AT_ONCE


def begun(stored: Run, fixture: Fixture) -> Begun:
    """What is stored of a match that is to go on."""
    moves, left = list(read_moves(stored.path, fixture.id)), read_left(stored.path, fixture.id)
    return Begun(moves, left, learnt(stored, fixture.config))


def learnt(stored: Run, config: Config) -> Learnt:
    """What is stored of the models of a match: what they do not take, and which have answered."""
    asked = [name for name in models_of(config) if name.partition("/")[0] not in IN_PROCESS]
    return Learnt(read_lessons(stored.path), read_answering(stored.path, asked)) if asked else NOTHING_YET
