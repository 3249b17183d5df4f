"""What a story tracks about each player beside the match state: habits, problems, streaks.

Pure; mutable because a match is long. Scores, costs, reviews and the snapshots shown are part of the match state.
"""

from array import array
from dataclasses import dataclass, field

from mashq.protocol.game import is_usable
from mashq.protocol.moves import Answer, Decision, Rewrite
from mashq.protocol.replay import Delta

STEADY = 3  # rounds in a row that make a habit


@dataclass(slots=True)
class Cycle:
    """Consecutive rewrites of one item, with the judge's score before them and now."""

    item: str
    round: int
    before: float
    h: float
    rewrites: int = 0
    unusable: int = 0


@dataclass(frozen=True, slots=True)
class ItemReviews:
    """The reviews a player spent on one item in one round."""

    item: str
    count: int


@dataclass(slots=True)
class Trouble:
    """A recurring problem: how often, from which round to which, and the round with the most (for failed
    attempts)."""

    kind: str
    first: int
    last: int
    why: str
    item: str | None = None
    count: int = 0
    here: int = 0
    most: int = 0
    most_round: int = 0


@dataclass(frozen=True, slots=True)
class Reaction:
    """A habit broken in the round in which a rival's snapshot was shown; `decided` is how many decisions the player
    had made."""

    round: int
    reviews: bool
    streak: int
    decided: int
    shown: tuple[tuple[str, ItemReviews], ...] = ()


@dataclass(frozen=True, slots=True)
class Reign:
    """A period in the lead: its first round, and how many rounds ended with the player in the lead."""

    player: str
    first: int
    rounds: int
    q: float
    second: float
    rival: str


@dataclass(slots=True)
class PlayerMemory:
    """One player so far. `changed_in` holds, by position in the player's own order, the round in which its answer
    last changed; `guided_apart` says that a judge separate from the guide scores its answers."""

    name: str
    threshold: float
    guided_apart: bool = False
    opening: float | None = None
    decided: int = 0
    last_review: int = -1
    streak: int = 0
    habit: bool | None = None
    cycle: Cycle | None = None
    last_work: ItemReviews | None = None
    changed_in: "array[int]" = field(default_factory=lambda: array("q"))
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    _reviews: dict[str, int] = field(default_factory=dict[str, int])

    def charge(self, delta: Delta) -> None:
        """Record the costs of a move: failed attempts, and reviews of its item."""
        if isinstance(delta.move, Rewrite) or delta.move.spend.reviews:
            item = "" if delta.item is None else delta.item.id
            self._reviews[item] = self._reviews.get(item, 0) + delta.cost.reviews
            self.last_review = delta.round
        if delta.move.spend.failed:
            self._record_failures(delta.move.spend.failed, delta.round)

    def answer(self, delta: Delta, move: Answer) -> None:
        """Record a first answer."""
        self.changed_in.append(delta.round)
        work, item = delta.work, delta.item
        if work is None or item is None or not is_usable(move):
            kind = move.status if move.status in ("refused", "cut") else "failed"
            self.trouble(kind, delta.round, move.error, None if item is None else item.id)
            return
        self.guided_apart = self.guided_apart or work.judged is not None
        if delta.round == 0:
            self.opening = work.judge_h_first

    def rewrite(self, delta: Delta, move: Rewrite) -> None:
        """Record one review of an existing answer."""
        before, work, item, position = delta.work_before, delta.work, delta.item, delta.position
        if before is None or work is None or item is None or position is None:
            raise ValueError("a rewrite is of an item")
        if self.cycle is None or self.cycle.item != item.id:
            standing = before.judge_h or 0.0
            self.cycle = Cycle(item.id, delta.round, standing, standing)
        self.cycle.rewrites += 1
        self.cycle.unusable += not is_usable(move)
        if delta.kept:
            self.cycle.h = work.judge_h or 0.0
            self.changed_in[position] = delta.round

    def reaction(self, delta: Delta, move: Decision) -> Reaction | None:
        """The habit broken by this decision, or None; only a model's decision can depend on what it was shown."""
        reviews = _reviews(delta)
        if move.source != "llm" or self.habit in (None, reviews) or self.streak < STEADY:
            return None
        return Reaction(delta.round, reviews, self.streak, self.decided + 1)

    def decide(self, delta: Delta) -> None:
        """Record a decision that took effect."""
        reviews = _reviews(delta)
        self.streak = self.streak + 1 if self.habit == reviews else 1
        self.habit = reviews
        self.decided += 1
        if reviews:
            self.last_review = delta.round

    def close_round(self) -> None:
        """End the round: the item reviewed most is what a rival may have seen."""
        self.last_work = None
        if self._reviews:
            item = max(self._reviews, key=lambda name: self._reviews[name])
            self.last_work = ItemReviews(item, self._reviews[item])
        self._reviews.clear()

    def trouble(self, kind: str, round_: int, why: str, item: str | None = None) -> None:
        """Record a problem."""
        record = self.troubles.setdefault(kind, Trouble(kind, round_, round_, why, item))
        record.count += 1
        record.last = round_

    def _record_failures(self, count: int, round_: int) -> None:
        record = self.troubles.setdefault("attempts", Trouble("attempts", round_, round_, "", most_round=round_))
        record.here = count + (record.here if record.last == round_ else 0)
        record.count += count
        record.last = round_
        if record.here > record.most:
            record.most, record.most_round = record.here, round_


def _reviews(delta: Delta) -> bool:
    return delta.ruling is not None and delta.ruling.choice == "review"
