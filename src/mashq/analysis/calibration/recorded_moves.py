"""What each player did in a recorded match, move by move, and the state it was in: what simulations are fitted to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from mashq.gateway.types import Call, Entry
from mashq.players.base import AgentSpec
from mashq.protocol.game import apply, initial, observe, ruling
from mashq.protocol.moves import Answer, Decision, Move, Rewrite
from mashq.protocol.rules import Seat
from mashq.protocol.score import ItemResult, PlayerResult
from mashq.protocol.state import MatchState


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer: the judge's H of it and the guide's; None unless its status is ok."""

    item: str
    status: str
    h: float | None
    guide: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """One rewrite: H before it and after, and the number of reviews before it. A refused one changes nothing."""

    item: str
    n: int
    before: float
    after: float
    guide: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision of a model: whether a review was recommended, was possible at all, and was made."""

    recommended: bool
    possible: bool
    review: bool


@dataclass(slots=True)
class Tape:
    """All that one player did. `loops` counts the reviews made within the steps of an agent that loops by itself."""

    answers: list[Draft] = field(default_factory=list[Draft])
    changes: list[Change] = field(default_factory=list[Change])
    choices: list[Choice] = field(default_factory=list[Choice])
    loops: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a player did in one match (a trial), its attempts, its results by item, and which items were scored."""

    tape: Tape
    entries: Sequence[tuple[Call, Entry]]
    result: PlayerResult
    scored: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One player of a recorded match: what it is, and what was seen of it in each trial."""

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
        return [one for seen in self.trials for one in seen.entries]

    @property
    def rows(self) -> list[ItemResult]:
        """Its results in all trials, without the items it did not come to."""
        return [row for seen in self.trials for row in seen.result.items if row.status != "unanswered"]

    @property
    def scores(self) -> list[float]:
        """H of its first answers to the items that were scored: refusals, also a rival's, can choose among items."""
        trials = ((seen, replace(self, trials=(seen,)).answers) for seen in self.trials)
        known = [(draft.h, draft.item in seen.scored) for seen, own in trials for draft in own if draft.h is not None]
        return [h for h, scored in known if scored] or [h for h, _ in known]

    @property
    def answers(self) -> list[Draft]:
        """Its first answers; the last ones where it cannot be followed."""
        if self.followed:
            return [draft for seen in self.trials for draft in seen.tape.answers]
        return [Draft(row.item, row.status, row.h if row.status == "ok" else None, None) for row in self.rows]


def tapes(state: MatchState, moves: Iterable[tuple[str, Move]]) -> tuple[Tape, ...]:
    """The tapes of a match that ended in `state` by these moves."""
    seats = [Seat(p.name, p.order, p.threshold, p.max_reviews, p.review_cost, p.budget) for p in state.players]
    now = initial(state.items, state.rules, seats)
    found = tuple(Tape() for _ in seats)
    for name, move in moves:
        seat = now.seat_of(name)
        _note(found[seat], now, seat, move)
        now = apply(now, {seat: move})
    return found


def _note(tape: Tape, now: MatchState, seat: int, move: Move) -> None:
    player = now.players[seat]
    if isinstance(move, Decision):
        if move.source in ("llm", "fallback"):
            seen = observe(now, seat)
            review = ruling(now, seat, move).choice == "review"
            tape.choices.append(Choice(seen.recommended, bool(player.reviewable), review))
    elif isinstance(move, Answer):
        _answer(tape, now.items[player.order[player.position]].id, player.threshold, move)
    elif isinstance(move, Rewrite) and player.reviewing is not None and move.status != "failed":
        work = player.items[player.reviewing]
        before = _judged(work.h, work.judged)
        after = before if move.status == "refused" else _judged(move.h, move.judged)
        item = now.items[player.order[player.reviewing]].id
        guide = move.h if move.status == "ok" else None
        tape.changes.append(Change(item, work.reviews, before, after, guide))


def _answer(tape: Tape, item: str, threshold: float, move: Answer) -> None:
    """A first answer; of an agent that made several drafts within the step, its first and the way to its last.

    The scores in between are not recorded: H is taken to move evenly, below T until the last rewrite.
    """
    if move.status != "ok":
        tape.answers.append(Draft(item, move.status, None, None))
        return
    last = _judged(move.h, move.judged)
    looped = move.h_first is not None
    first = _judged(move.h_first, move.judged_first) if looped else last
    tape.answers.append(Draft(item, "ok", first, move.h_first if looped else move.h))
    reviews = move.spend.reviews if looped else 0
    tape.loops += reviews
    path = [min(first + (last - first) * n / reviews, threshold - 1e-6) for n in range(1, reviews)]
    for n, (before, after) in enumerate(pairwise([first, *path, last] if reviews else [])):
        tape.changes.append(Change(item, n, before, max(0.0, after), None))


def _judged(h: float | None, judged: float | None) -> float:
    """The judge's score; the guide's where the guide is the judge."""
    found = h if judged is None else judged
    return 0.0 if found is None else found
