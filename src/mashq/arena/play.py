"""Playing a match: the impure loop around the pure game.

Each player takes its turn at its own pace; a round ends when all have finished. A move is recorded before the state
changes, so the record is always a prefix of what was played, and folding it rebuilds the state. One player's failure
becomes a value in its own record and never affects another's.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from mashq.arena.documents import DocumentScores, Said, said_of
from mashq.arena.referee import Scorer
from mashq.detectors.base import NoVerdict
from mashq.detectors.pairs import pair_of, stated
from mashq.errors import ProviderError, StoreError
from mashq.gateway.budgets import BudgetState, OutOfBudget
from mashq.gateway.model import Endpoint, Model
from mashq.gateway.types import Call, Clock, Ledger
from mashq.players.base import Draft, Player, declared
from mashq.protocol.game import Ruling, apply, observe, ruling, to_move
from mashq.protocol.items import Item, Selection
from mashq.protocol.moves import ABSTAINED, CHOICES, ENDINGS, Abstained, Answer, Decision, Move, Rewrite, Stop
from mashq.protocol.persistent import replaced
from mashq.protocol.resources import Spend
from mashq.protocol.state import MatchState, Observation

PURPOSE = {"answer": "answer", "decide": "decision", "review": "review"}
Watcher = Callable[[MatchState, int | None, Move | None], None]
WANTED: dict[str, type[Draft]] = {"answer": Answer, "decide": Decision, "review": Rewrite}


class Recorder(Protocol):
    """Where the moves of a match are written: the store's MatchRecord."""

    def record(self, round_: int, player: str, item: str | None, move: Move, ruling: Ruling | None) -> None:
        """Append a move."""
        ...


@dataclass(frozen=True, slots=True)
class Contestant:
    """A player with the model it plays on, the model its reviews are sent to if different, and which passages of a
    question it is shown."""

    player: Player
    endpoint: Endpoint
    reviewer: Endpoint | None = None
    selection: Selection = Selection()


@dataclass(slots=True)
class Match:
    """One match being played."""

    id: str
    state: MatchState
    contestants: tuple[Contestant, ...]
    judge: Scorer
    guide: Scorer | None
    confidence: bool
    ledger: Ledger
    recorder: Recorder
    clock: Clock
    seed: int
    watch: Watcher
    ahead: int = 0
    documents: DocumentScores | None = None
    _prefetched: dict[tuple[int, int], asyncio.Task[Move]] = field(
        default_factory=dict[tuple[int, int], "asyncio.Task[Move]"]
    )
    _round_closed: "asyncio.Future[None]" = field(init=False)
    _provider_error: ProviderError | None = None

    async def play(self) -> MatchState:
        """Play to the end."""
        try:
            if self.state.rules.shared_budget.is_set:
                await self._in_order()
            else:
                await self._concurrently()
        finally:
            if self._provider_error is None:
                for task in self._prefetched.values():
                    task.cancel()
            await asyncio.gather(*self._prefetched.values(), return_exceptions=True)
        if self._provider_error is not None:
            raise self._provider_error
        return self.state

    async def _in_order(self) -> None:
        """Play in seat order, so that a shared budget is drawn on in that order regardless of the players' speed."""
        while steps := to_move(self.state):
            round_ = self.state.round
            for seat in steps:
                while self.state.round == round_ and seat in to_move(self.state):
                    await self._step(seat)

    async def _concurrently(self) -> None:
        self._round_closed = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as group:
                for seat in range(len(self.state.players)):
                    group.create_task(self._play_seat(seat))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _play_seat(self, seat: int) -> None:
        """Play all turns of one seat; the seat that makes the last move of a round wakes those that rest.

        If a provider refuses to serve anyone, every seat ends after the requests it has sent: they are paid for and
        recorded.
        """
        while (phase := self.state.players[seat].phase) != "done" and self._provider_error is None:
            if phase == "rest":
                await self._round_closed
                continue
            round_ = self.state.round
            try:
                await self._step(seat)
            except ProviderError as error:
                self._provider_error = error
            if self.state.round != round_ or self._provider_error is not None:
                closed, self._round_closed = self._round_closed, asyncio.get_running_loop().create_future()
                closed.set_result(None)

    async def _step(self, seat: int) -> None:
        seen = observe(self.state, seat)
        if self.ahead:
            self._prefetch(seat, seen)
        task = self._prefetched.pop((seat, seen.position), None) if seen.step == "answer" else None
        move = await (self._make_move(seat, seen) if task is None else task)
        item = None if seen.item is None else seen.item.id
        if isinstance(move, Decision) and move.advised != (seen.recommended and seen.rules.version > 1):
            move = replaced(move, advised=not move.advised)
        ruled = ruling(self.state, seat, move) if isinstance(move, Decision) else None
        self.recorder.record(seen.round, seen.player, item, move, ruled)
        self.state = apply(self.state, {seat: move})
        self.watch(self.state, seat, move)

    def _prefetch(self, seat: int, seen: Observation) -> None:
        """Request the next answers before their rounds: an answer depends on its item alone.

        Not done if a budget could run out in between, or if the round of an answer is not known in advance.
        """
        player, rules = self.state.players[seat], self.state.rules
        if rules.turn != "cycle" or player.budget.is_set or rules.shared_budget.is_set:
            return
        if not declared(self.contestants[seat].player).answers_alone:
            return
        last = min(player.position + self.ahead, len(self.state.items) - 1)
        for position in range(player.position + (seen.step == "answer"), last + 1):
            if (seat, position) not in self._prefetched:
                item = self.state.items[player.order[position]]
                observation = replaced(
                    seen, step="answer", round=position, item=item, position=position, answer="", h=None, reviews=0
                )
                self._prefetched[seat, position] = asyncio.create_task(self._make_move(seat, observation))

    async def _make_move(self, seat: int, seen: Observation) -> Move:
        """The player's move, with its cost."""
        model = self._model(seat, seen)
        move = await self._move(seat, seen, model)
        model.endpoint.despair()  # also stops external programs and agents that caught the error
        return replaced(move, spend=model.spend)

    async def _move(self, seat: int, seen: Observation, model: Model) -> Move:
        """The player's move, scored; any error in the player becomes its own failed move."""
        try:
            draft = await self.contestants[seat].player.move(self._visible(seat, seen), model)
        except OutOfBudget as reason:
            return Stop(str(reason))
        except (StoreError, ProviderError):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return failed(seen, f"{type(error).__name__}: {error}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code: an error costs it only the move
            return failed(seen, f"{type(error).__name__}: {error}")
        if model.exhausted is not None:
            return Stop(model.exhausted)
        problem = unusable(seen, draft)
        if problem:
            return failed(seen, problem)
        try:
            return await self._with_scores(seat, seen, draft)
        except NoVerdict as missing:
            return failed(seen, str(missing))

    def _visible(self, seat: int, seen: Observation) -> Observation:
        """The observation a player gets: for a question with passages, without the reference and whether there is an
        answer."""
        if seen.item is None or not seen.item.passages:
            return seen
        return replaced(seen, item=self.contestants[seat].selection.of(seen.item, self.seed))

    async def _with_scores(self, seat: int, seen: Observation, draft: Draft) -> Move:
        """The draft with the guide's score and, if it differs, the judge's."""
        if isinstance(draft, Decision):
            return draft
        if draft.status != "ok" or seen.item is None:
            return replaced(draft, h=None)
        draft = replaced(draft, abstained=said_of(seen.item, draft.text, draft.abstained, drawn=draft.simulated))
        drawn = draft.simulated and self.contestants[seat].endpoint.backend.simulated and draft.h is not None
        if isinstance(draft, Answer) and draft.text_first is not None and not drawn:
            abstained = said_of(seen.item, draft.text_first, draft.abstained_first)
            first = await self._scores(seen, seen.item, Said(draft.text_first, draft.confidence, abstained), None)
            draft = replaced(draft, h_first=first[0], judged_first=first[1], abstained_first=abstained)
        drawn_h = draft.h if drawn else None
        h, judged = await self._scores(seen, seen.item, Said(draft.text, draft.confidence, draft.abstained), drawn_h)
        return replaced(draft, h=h, judged=judged, simulated=bool(drawn))

    async def _scores(
        self, seen: Observation, item: Item, answer: Said, drawn: float | None
    ) -> tuple[float, float | None]:
        """The guide's score, and the judge's if the guide is not the judge. A drawn score needs no detector."""
        if self.documents is not None and drawn is None:
            return await self.documents.score(item, answer, seen.round)
        pair = pair_of(item, answer.text)
        judged = drawn if drawn is not None else await self.judge.score(pair, seen.round, item.id)
        if self.confidence:
            return stated(answer.confidence), judged
        if self.guide is None or drawn is not None:
            return judged, None
        return await self.guide.score(pair, seen.round, item.id), judged

    def _model(self, seat: int, seen: Observation) -> Model:
        rules, player = self.state.rules, self.state.players[seat]
        budget_states: list[BudgetState] = [("its", player.budget, player.spend)] if player.budget.is_set else []
        if rules.shared_budget.is_set:
            total = Spend()
            for other in self.state.players:
                total += other.spend
            budget_states.append(("the shared", rules.shared_budget, total))
        item = None if seen.item is None else seen.item.id
        contestant = self.contestants[seat]
        endpoint = contestant.endpoint
        if seen.step == "review" and contestant.reviewer is not None:
            endpoint = contestant.reviewer
        n = seen.reviews if seen.step == "review" else 0
        call = Call(self.id, seen.round, seen.player, item, PURPOSE[seen.step], n)

        async def guide(text: str, confidence: float | None, abstained: Abstained) -> float:
            if seen.item is None:
                raise LookupError("there is no item to score against")
            answer = Said(text, confidence, said_of(seen.item, text, abstained))
            return (await self._scores(seen, seen.item, answer, None))[0]

        return Model(endpoint, self.ledger, self.clock, call, self.seed, budget_states, guide=guide)


def unusable(seen: Observation, draft: object) -> str:
    """Why a player's return value cannot be its move, or an empty string."""
    if type(draft) is not WANTED[seen.step]:  # subclasses are rejected too
        return f"the player returned {type(draft).__name__} when asked to {seen.step}"
    given: Any = draft  # its fields may hold anything: a player is third-party code
    if isinstance(draft, Decision):
        texts = (given.reason, given.question_id or "", given.previous_id or "")
        legal = given.choice in CHOICES and all(isinstance(text, str) for text in texts)
    else:
        texts = (given.text, given.error)
        legal = given.status in ENDINGS and all(isinstance(text, str) for text in texts)
        if given.h is not None:
            legal = legal and isinstance(given.h, float | int) and 0 <= given.h <= 1
        legal = legal and given.abstained in ABSTAINED and getattr(given, "abstained_first", "") in ABSTAINED
        if given.confidence is not None:
            legal = legal and isinstance(given.confidence, float | int) and 0 <= given.confidence <= 1
    return "" if legal else f"the player's move has impossible fields: {given!r:.200}"


def failed(seen: Observation, why: str) -> Move:
    """The move of a player that could not make one."""
    if seen.step == "answer":
        return Answer("failed", error=why)
    if seen.step == "review":
        return Rewrite("failed", error=why)
    return Decision("continue", source="fallback", reason=why)
