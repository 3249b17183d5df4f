"""What a match would cost: what `mashq plan` says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCost:
    """What a player would take."""

    calls: float
    """Calls."""
    tokens: float
    """Tokens, in and out."""
    dollars: float | None
    """Dollars; null is unknown."""
    hours: float
    """Hours of its calls, one after the other."""


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
