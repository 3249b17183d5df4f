"""What the story remembers of each player while it hears the moves. Pure; mutable because a match is long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STEADY = 3  # so many rounds alike make a habit


@dataclass(slots=True)
class Work:
    """One answer as it stands: the judge's score, the guide's, the first one, and the round it was last changed."""

    h: float
    guide: float
    first: float
    round: int


@dataclass(slots=True)
class Cycle:
    """Rewrites of one item in a row."""

    item: str
    round: int
    before: float
    h: float
    rewrites: int = 0
    unusable: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """The reviews a player spent on one item in one round."""

    item: str
    count: int


@dataclass(slots=True)
class Trouble:
    """The same thing going wrong: how often, from which round to which."""

    kind: str
    first: int
    last: int
    why: str
    item: str | None = None
    count: int = 0
    here: int = 0
    most: int = 0
    most_round: int = 0


@dataclass(slots=True)
class Reaction:
    """A habit broken in the round in which a rival's snapshot was shown; `decided` is how often it had decided."""

    round: int
    reviews: bool
    streak: int
    decided: int
    shown: tuple[tuple[str, Spent], ...]


@dataclass(slots=True)
class Reign:
    """A time in the lead: its first round, and how many rounds ended with it in the lead."""

    player: str
    first: int
    rounds: int
    q: float
    second: float
    rival: str


def _no_totals() -> dict[str, float]:
    return dict.fromkeys(("tokens", "calls", "reviews", "seconds", "dollars"), 0.0)


@dataclass(slots=True)
class Part:
    """One player's part in the match so far."""

    name: str
    threshold: float | None
    keep: str
    handled: int = 0
    answers: int = 0
    h_sum: float = 0.0
    before_sum: float = 0.0
    reviews: int = 0
    review_tokens: float = 0.0
    unknown: int = 0
    apart: bool = False
    stopped: bool = False
    opening: float | None = None
    decided: int = 0
    last_review: int = -1
    streak: int = 0
    habit: bool | None = None
    cycle: Cycle | None = None
    shown_at: int | None = None
    last_work: Spent | None = None
    totals: dict[str, float] = field(default_factory=_no_totals)
    work: dict[str, Work] = field(default_factory=dict[str, Work])
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    _moved: bool = False
    _reviewed: bool = False
    _spent: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def h(self) -> float | None:
        """The mean of the judge's scores over its answers."""
        return self.h_sum / self.answers if self.answers else None

    @property
    def h_before(self) -> float | None:
        """The same of the first answers."""
        return self.before_sum / self.answers if self.answers else None

    def charge(self, kind: str, spend: Mapping[str, Any], round_: int) -> None:
        """What a move cost; a rewrite is a review."""
        self._moved = True
        totals = self.totals
        tokens = _total(spend, "tokens_in") + _total(spend, "tokens_out")
        totals["tokens"] += tokens
        totals["calls"] += spend.get("calls", 0) + spend.get("unresolved", 0)
        totals["seconds"] += _total(spend, "seconds")
        totals["dollars"] += _total(spend, "dollars")
        reviews = spend.get("reviews", 0) + (kind == "rewrite")
        totals["reviews"] += reviews
        self.reviews += reviews
        self.unknown += spend.get("unknown", 0)
        if kind == "rewrite":
            self.review_tokens += tokens
        if failed := spend.get("failed", 0):
            self._fail(failed, round_)

    def answer(self, round_: int, item: str | None, move: Mapping[str, Any]) -> None:
        """A first answer."""
        self.handled += 1
        status, guide = move.get("status"), move.get("h")
        if status != "ok" or guide is None or item is None:
            self.trouble("refused" if status == "refused" else "failed", round_, str(move.get("error", "")), item)
            return
        judged = move.get("judged")
        self.apart = self.apart or judged is not None
        h = guide if judged is None else judged
        first = move.get("judged_first") if judged is not None else move.get("h_first")
        first = h if first is None else first
        self.work[item] = Work(h, guide, first, round_)
        if round_ == 0:
            self.opening = first
        self.answers += 1
        self.h_sum += h
        self.before_sum += first

    def rewrite(self, round_: int, item: str | None, move: Mapping[str, Any]) -> None:
        """One review of an answer it has."""
        own = self.work.get(item or "")
        if own is None or item is None:
            return
        self._spent[item] = self._spent.get(item, 0) + 1
        self.last_review = round_
        if self.cycle is None or self.cycle.item != item:
            self.cycle = Cycle(item, round_, own.h, own.h)
        self.cycle.rewrites += 1
        guide = move.get("h")
        if move.get("status") != "ok" or guide is None:
            self.cycle.unusable += 1
        elif self.keep == "latest" or guide > own.guide:
            judged = move.get("judged")
            h = guide if judged is None else judged
            self.h_sum = self.h_sum - own.h + h
            self.work[item] = Work(h, guide, own.first, round_)
            self.cycle.h = h

    def decide(self, round_: int, reviews: bool, asked: bool, shown: Sequence[tuple[str, "Spent | None"]]) -> None:
        """A decision that took effect; `asked` when a model made it, which may have read what was shown."""
        saw = tuple((rival, work) for rival, work in shown if work is not None)
        if asked and saw and self.habit is not None and self.habit != reviews and self.streak >= STEADY:
            self.reactions.append(Reaction(round_, reviews, self.streak, self.decided + 1, saw))
        self.streak = self.streak + 1 if self.habit == reviews else 1
        self.habit = reviews
        self.decided += 1
        self._reviewed = self._reviewed or reviews
        if reviews:
            self.last_review = round_

    def close_cycle(self) -> None:
        """The rewrites in a row are over."""
        self.cycle = None

    def close_round(self, round_: int, vision: str) -> None:
        """The round is over: is its snapshot shown in the next?"""
        self.last_work = None
        if self._spent:
            item = max(self._spent, key=lambda name: self._spent[name])
            self.last_work = Spent(item, self._spent[item])
        if (vision == "always" and self._moved and not self.stopped) or (vision != "never" and self._reviewed):
            self.shown_at = round_
        self._moved = False
        self._reviewed = False
        self._spent.clear()

    def trouble(self, kind: str, round_: int, why: str, item: str | None = None) -> None:
        """Note that something went wrong."""
        own = self.troubles.setdefault(kind, Trouble(kind, round_, round_, why, item))
        own.count += 1
        own.last = round_

    def _fail(self, count: int, round_: int) -> None:
        own = self.troubles.setdefault("attempts", Trouble("attempts", round_, round_, "", most_round=round_))
        own.here = count + (own.here if own.last == round_ else 0)
        own.count += count
        own.last = round_
        if own.here > own.most:
            own.most, own.most_round = own.here, round_


def named(text: str, longest: int = 60) -> str:
    """Someone's name or words, not endless, on one line."""
    flat = " ".join(text[: 4 * longest].split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def plural(count: float, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return (
        f"{count:,g} {one if count == 1 else many or one + 's'}"
        if count < 1e6
        else f"{count:,.0f} {many or one + 's'}"
    )


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _total(spend: Mapping[str, Any], name: str) -> float:
    amount = spend.get(name)
    return amount[0] if amount else 0.0
