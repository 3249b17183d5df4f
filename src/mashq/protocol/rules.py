"""The rules of a match and its seats."""

from dataclasses import dataclass
from typing import Literal, Self

from mashq.protocol.resources import COUNTED, DISCLOSED

Turn = Literal["cycle", "single"]
Keep = Literal["latest", "better"]
# The version that new runs start with. In version 1 a cut reply was a refusal, every model had a limit, players were
# not told how they are scored, and only a review by decision was shown to rivals.
RULES_OF_PLAY = 2
TELLS = ("formula", "costs", "disclosure")
LABELS = {  # the fields of a state that can be shown, and what players are told that they are
    "average_h": "average H",
    "worst_h": "worst H",
    "items_done": "items done",
    **{name: name for name in DISCLOSED},
}
SHOWABLE = tuple(LABELS)


@dataclass(frozen=True, slots=True)
class Vision:
    """When a rival's state is shown, which fields of it, and for how long."""

    when: Literal["never", "review", "always"] = "review"
    show: tuple[str, ...] = SHOWABLE
    keep: Literal["fresh", "latest"] = "fresh"


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limits: the limited resources, each with its limit."""

    limits: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, **limits: float | None) -> Self:
        """A budget from limits by resource; None means no limit."""
        return cls(tuple((name, limit) for name, limit in limits.items() if limit is not None))

    def limit(self, resource: str) -> float | None:
        """The limit of a resource, or None."""
        return dict(self.limits).get(resource) if self.limits else None

    @property
    def is_set(self) -> bool:
        """Whether any limit is set."""
        return bool(self.limits)


@dataclass(frozen=True, slots=True)
class Payoff:
    """What players may be told about how they are scored; a `reference` replaces the largest totals of the match."""

    alpha: float = 1.0
    beta: float = 0.1
    weights: tuple[tuple[str, float], ...] = tuple((name, 1.0) for name in COUNTED)
    reference: tuple[tuple[str, float], ...] = ()
    per_item: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that apply to every player of the match.

    `tell` lists which of TELLS the players are told: the score formula, what a review costs and does, and what it
    reveals to rivals. `confidence`: the H shown to a player is the confidence it stated in its own answer. `version`
    is the version of the rules of play.
    """

    turn: Turn = "cycle"
    threshold: float = 0.85
    max_reviews: int = 3
    keep: Keep = "latest"
    review_cost: float = 0.01
    vision: Vision = Vision()
    budget: Budget = Budget()
    shared_budget: Budget = Budget()
    resources: tuple[str, ...] = COUNTED
    show_seconds: bool = True
    tell: tuple[str, ...] = TELLS
    payoff: Payoff = Payoff()
    confidence: bool = False
    version: int = RULES_OF_PLAY

    @property
    def shown(self) -> tuple[str, ...]:
        """The fields of a state that rivals are shown when they are shown it."""
        return tuple(name for name in self.vision.show if name != "seconds" or self.show_seconds)


@dataclass(frozen=True, slots=True)
class Seat:
    """A player's place: its name, its item order, and the rules it overrides for itself."""

    name: str
    order: tuple[int, ...]
    threshold: float | None = None
    max_reviews: int | None = None
    review_cost: float | None = None
    budget: Budget | None = None


def order_of(kind: str, count: int, shuffled: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The order named `forward`, `reverse`, `rotate K` or `shuffle` (whose permutation the caller draws)."""
    forward = tuple(range(count))
    if kind == "forward":
        return forward
    if kind == "reverse":
        return forward[::-1]
    if kind == "shuffle" and shuffled is not None:
        return shuffled
    name, _, offset = kind.partition(" ")
    if name == "rotate" and offset.strip().lstrip("-").isdigit():
        start = int(offset) % count if count else 0
        return forward[start:] + forward[:start]
    raise ValueError(f"unknown order {kind!r}: use forward, reverse, shuffle or 'rotate K'")


def default_order(seat: int, seats: int, count: int) -> str:
    """The default order of a seat: forward, then reverse, then rotations spread over the items."""
    if seat == 0:
        return "forward"
    if seat == 1:
        return "reverse"
    return f"rotate {seat * count // seats}"
