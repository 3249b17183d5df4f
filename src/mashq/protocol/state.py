"""The state of a match and what a player may see of it. Immutable: every move makes a new state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mashq.protocol.items import Item
from mashq.protocol.persistent import EMPTY_SORTED, PersistentList, PersistentSorted, persistent_list
from mashq.protocol.resources import FREE, Spend
from mashq.protocol.rules import Budget, Keep, Rules, Seat, Turn, Vision

ItemStatus = Literal["pending", "ok", "refused", "failed", "cut"]
Phase = Literal["answer", "decide", "review", "rest", "done"]
Step = Literal["answer", "decide", "review"]
BINS = 20
NONE_YET = (0,) * BINS


@dataclass(frozen=True, slots=True)
class ItemState:
    """One player's work on one item: `h_first` is the score of its first answer, `spend` the total cost.

    `judged` and `judged_first` are the judge's scores, if the judge is not the guide.
    """

    status: ItemStatus = "pending"
    text: str = ""
    h: float | None = None
    text_first: str = ""
    h_first: float | None = None
    judged: float | None = None
    judged_first: float | None = None
    reviews: int = 0
    spend: Spend = FREE
    abstained: bool = False
    abstained_first: bool = False

    @property
    def judge_h(self) -> float | None:
        """The judge's score, which is the guide's score if the guide is the judge."""
        return self.h if self.judged is None else self.judged

    @property
    def judge_h_first(self) -> float | None:
        """The judge's score of the first answer."""
        return self.h_first if self.judged_first is None else self.judged_first


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What rivals may see of a player: the fields that the rules disclose, as of the end of `round`."""

    player: str
    round: int
    fields: tuple[tuple[str, float | None], ...]
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The effect of a player's reviews, as sums over them.

    `room` sums (1 - H before)^2, `gained` sums (1 - H before) x the change in H, `spend` is their cost; `rounds`
    counts the closed rounds with at least one review.
    """

    count: int = 0
    room: float = 0.0
    gained: float = 0.0
    spend: Spend = FREE
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class PlayerState:
    """The complete state of one player.

    `items` is in the player's own order; `ranked` holds (h, position) of the answered items in ascending order, and
    `reviewable` of those with reviews left, so that the worst comes first; `shared` is the cost of decisions after
    the last item; `firsts` counts the first answers by H, in BINS. `h_sum` adds up the guide's scores of the answers,
    `judge_sum` the judge's, and `judge_first_sum` the judge's scores of the first answers.
    """

    name: str
    order: tuple[int, ...]
    threshold: float
    max_reviews: int
    review_cost: float
    budget: Budget
    items: PersistentList[ItemState]
    phase: Phase
    position: int = 0
    reviewing: int | None = None
    reviewed: bool = False
    ranked: PersistentSorted = EMPTY_SORTED
    reviewable: PersistentSorted = EMPTY_SORTED
    answered: int = 0
    h_sum: float = 0.0
    spend: Spend = FREE
    shared: Spend = FREE
    snapshot: Snapshot | None = None
    ended: bool = False
    stopped: str | None = None
    firsts: tuple[int, ...] = NONE_YET
    past: Reviewed = Reviewed()
    judge_sum: float = 0.0
    judge_first_sum: float = 0.0

    @property
    def average_h(self) -> float | None:
        """The guide's mean score over the answered items; None before the first."""
        return self.h_sum / self.answered if self.answered else None

    @property
    def average_judge_h(self) -> float | None:
        """The judge's mean score over the answered items; None before the first."""
        return self.judge_sum / self.answered if self.answered else None

    @property
    def average_judge_h_first(self) -> float | None:
        """The judge's mean score of the first answers; None before the first."""
        return self.judge_first_sum / self.answered if self.answered else None


@dataclass(frozen=True, slots=True)
class MatchState:
    """A match between two moves."""

    items: tuple[Item, ...]
    rules: Rules
    players: tuple[PlayerState, ...]
    round: int = 0

    def seat_of(self, name: str) -> int:
        """The seat of the player called `name`."""
        return next(seat for seat, player in enumerate(self.players) if player.name == name)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was shown of a rival so far: its last snapshot, and in how many rounds it was seen to review (None if the
    rules do not reveal that)."""

    last: Snapshot | None = None
    review_rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """What a player that forgets nothing knows before a decision, in addition to the current observation.

    `turn` and `vision` are rules of the match; `reviewable` holds (h, position) of the items that can be reviewed,
    worst first; `firsts` and `past` are its own history, `shown` is the round in which rivals last saw it.
    """

    turn: Turn = "cycle"
    vision: Vision = Vision()
    reviewable: Sequence[tuple[float, int]] = ()
    firsts: tuple[int, ...] = NONE_YET
    past: Reviewed = Reviewed()
    shown: int | None = None
    rivals: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything a player is told before a move: its own state, its task, and the snapshots delivered to it.

    `item` is the item to answer or rewrite, and for a decision the current one (None when none is left).
    `rules` are those of the match; the player's own threshold and the like are separate fields.
    `worst` is the item that a review would take, or the worst of all when none can be reviewed.
    `memory` is empty except for decisions; no prompt quotes it.
    Costs cover closed attempts only: what a crash left unresolved is charged but not shown.
    """

    step: Step
    round: int
    player: str
    item: Item | None
    position: int
    total: int
    handled: int
    spend: Spend
    average_h: float | None
    worst: tuple[str, float] | None
    recommended: bool
    threshold: float
    max_reviews: int
    review_cost: float
    resources: tuple[str, ...]
    show_seconds: bool
    rivals: int
    snapshots: tuple[Snapshot, ...]
    answer: str = ""
    h: float | None = None
    reviews: int = 0
    budget: Budget = Budget()
    keep: Keep = "latest"
    rules: Rules = Rules()
    memory: Memory = Memory()


def fresh_player(seat: Seat, rules: Rules, count: int) -> PlayerState:
    """A player before the first round."""
    return PlayerState(
        name=seat.name,
        order=seat.order,
        threshold=rules.threshold if seat.threshold is None else seat.threshold,
        max_reviews=rules.max_reviews if seat.max_reviews is None else seat.max_reviews,
        review_cost=rules.review_cost if seat.review_cost is None else seat.review_cost,
        budget=rules.budget if seat.budget is None else seat.budget,
        items=persistent_list([ItemState()] * count),
        phase="answer" if rules.turn == "cycle" else "decide",
    )
