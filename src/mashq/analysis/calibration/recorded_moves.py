"""What each player did in a recorded match, move by move: the data that simulations are fitted to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from mashq.gateway.types import Call, Entry
from mashq.players.base import AgentSpec
from mashq.protocol.game import observe
from mashq.protocol.moves import Answer, Decision, Rewrite
from mashq.protocol.replay import Delta
from mashq.protocol.results import ItemResult, PlayerResult


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer with the judge's H and the guide's score; None unless its status is ok."""

    item: str
    status: str
    h: float | None
    guide: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """One rewrite: H before and after, and the number of earlier reviews. A refused rewrite changes nothing."""

    item: str
    n: int
    before: float
    after: float
    guide: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision of a model: whether a review was recommended, possible, and made."""

    recommended: bool
    possible: bool
    review: bool


@dataclass(slots=True)
class RecordedPlayer:
    """What one player did in a match. `loops` counts the reviews made within the steps of an agent that loops."""

    answers: list[Draft] = field(default_factory=list[Draft])
    changes: list[Change] = field(default_factory=list[Change])
    choices: list[Choice] = field(default_factory=list[Choice])
    loops: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """One match (a trial) of a player: its moves, its attempts, its results by item, and the items that are
    scored."""

    moves: RecordedPlayer
    entries: Sequence[tuple[Call, Entry]]
    result: PlayerResult
    scored: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One player of a recorded match: its settings, and its record in each trial."""

    name: str
    agent: str
    spec: AgentSpec
    asks_policy: bool
    threshold: float
    max_reviews: int
    keeps_better: bool
    guided_apart: bool
    trials: Sequence[Seen]

    @property
    def followed(self) -> bool:
        """Whether its steps are those of the protocol, so that they can be simulated one by one."""
        return self.spec.simulated_as is not None

    @property
    def entries(self) -> list[tuple[Call, Entry]]:
        """Its attempts in all trials."""
        return [entry for trial in self.trials for entry in trial.entries]

    @property
    def rows(self) -> list[ItemResult]:
        """Its results in all trials, without the items it did not reach."""
        unreached = ("unanswered", "pending")
        return [row for trial in self.trials for row in trial.result.items if row.status not in unreached]

    @property
    def scores(self) -> list[float]:
        """H of its first answers to scored units only, because refusals (also a rival's) can bias which units are
        scored."""
        trials = ((trial, replace(self, trials=(trial,)).answers) for trial in self.trials)
        known = [
            (draft.h, draft.item in trial.scored)
            for trial, drafts in trials
            for draft in drafts
            if draft.h is not None
        ]
        return [h for h, scored in known if scored] or [h for h, _ in known]

    @property
    def answers(self) -> list[Draft]:
        """Its first answers; the final ones if its steps cannot be followed."""
        if self.followed:
            return [draft for trial in self.trials for draft in trial.moves.answers]
        return [Draft(row.item, row.status, row.h if row.status == "ok" else None, None) for row in self.rows]


def recorded_moves(players: Sequence[str], deltas: Iterable[Delta]) -> tuple[RecordedPlayer, ...]:
    """What each player of a match did, from its replay."""
    records = tuple(RecordedPlayer() for _ in players)
    for delta in deltas:
        _record(records[delta.seat], delta)
    return records


def _record(player: RecordedPlayer, delta: Delta) -> None:
    move, item, before = delta.move, delta.item, delta.work_before
    if isinstance(move, Decision):
        if move.source in ("llm", "fallback"):
            observation = observe(delta.before, delta.seat)
            review = delta.ruling is not None and delta.ruling.choice == "review"
            player.choices.append(Choice(observation.recommended, bool(observation.memory.reviewable), review))
    elif isinstance(move, Answer) and item is not None:
        _record_answer(player, item.id, delta)
    elif (
        isinstance(move, Rewrite) and item is not None and before is not None and move.status not in ("failed", "cut")
    ):
        current = before.judge_h or 0.0
        after = current if move.status == "refused" else _judged(move)
        player.changes.append(
            Change(item.id, before.reviews, current, after, move.h if move.status == "ok" else None)
        )


def _record_answer(player: RecordedPlayer, item: str, delta: Delta) -> None:
    """Record a first answer; for an agent that made several drafts within the step, also the rewrites from first to
    last.

    The scores in between are not recorded: H is assumed to move evenly, below T until the last rewrite.
    """
    move, work = delta.move, delta.work
    if not isinstance(move, Answer) or work is None or work.status != "ok":
        status = "failed" if work is None else work.status
        player.answers.append(Draft(item, status, None, None))
        return
    first, last = work.judge_h_first or 0.0, work.judge_h or 0.0
    player.answers.append(Draft(item, "ok", first, work.h_first))
    reviews = move.spend.reviews if move.h_first is not None else 0
    player.loops += reviews
    path = [min(first + (last - first) * n / reviews, delta.player.threshold - 1e-6) for n in range(1, reviews)]
    for n, (before, after) in enumerate(pairwise([first, *path, last] if reviews else [])):
        player.changes.append(Change(item, n, before, max(0.0, after), None))


def _judged(move: Rewrite) -> float:
    """The judge's score of a rewrite, kept or not; the guide's score if the guide is the judge."""
    h = move.h if move.judged is None else move.judged
    return 0.0 if h is None else h
