"""What a match would cost: what `mashq plan` says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCost:
    """What a player would take."""

    calls: float | None
    """Calls; null is unknown."""
    tokens: float | None
    """Tokens, in and out; null is unknown."""
    dollars: float | None
    """Dollars; null is unknown."""
    hours: float | None
    """Hours of its calls, one after the other; null is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often a call can be sent at worst."""

    asks: int
    """How often a reply is asked for."""
    attempts: int
    """How many attempts each of these can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPlayer:
    """A player's plan."""

    name: str
    """Its name."""
    model: str
    """The model that it asks."""
    expected: PlannedCost
    """What to expect."""
    worst: PlannedCost
    """The most that it can be."""
    repeats: Repeats | None
    """How often a call can be sent; null where that is known only when it plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """What a match would cost, before anything is paid."""

    kind: ClassVar[str] = "plan"

    items: int
    """How many items it has."""
    players: Sequence[PlannedPlayer]
    """By player."""
    assumed: str
    """What the expectation rests on."""
