"""The expected cost of a season: the document of `mashq plan`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mashq.analysis.parts import Costs, flat
from mashq.report.documents.base import COSTS


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCost:
    """What something would take: an amount of each resource. An unknown is null, never 0."""

    costs: Costs = field(metadata=flat(COSTS))
    """By resource; seconds are those of service, one call after the other."""
    service_hours: float | None
    """The same seconds as hours; null is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often a call can be sent at worst."""

    asks: int
    """How often a reply is asked for."""
    attempts: int
    """How many attempts each of these can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPlayer:
    """A player's plan, over all its matches."""

    name: str
    """Its name."""
    model: str
    """The model that it asks, or all of them where a sweep changes it."""
    matches: int
    """How many matches it plays at most."""
    expected: PlannedCost
    """What to expect."""
    worst: PlannedCost
    """The most that it can be."""
    repeats: Repeats | None
    """How often a call can be sent; null where that is known only when it plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedReferee:
    """What the judge and the guide ask a model, charged to no player."""

    expected: PlannedCost
    """What to expect."""
    worst: PlannedCost
    """The most that it can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPart:
    """Matches that are alike: of one variation, vision, condition or pairing."""

    name: str
    """What sets them apart."""
    matches: int
    """How many they are."""
    expected: PlannedCost
    """What to expect, the referee included."""
    worst: PlannedCost
    """The most that it can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WallTime:
    """Hours from the first call to the last, without the time of detectors that are no models."""

    expected: float | None
    """As the busiest player or place, with matches in parallel on this machine; null is unknown."""
    worst: float | None
    """With one call after the other, and every wait before one; null is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """What a season would cost, before anything is paid."""

    kind: ClassVar[str] = "plan"

    season: str
    """What is planned: a match, a sweep, a tournament, a game or a vision study."""
    items: int
    """How many items each match has."""
    trials: int
    """How often each is played."""
    matches: int
    """How many matches are played in all."""
    paired_later: bool
    """Whether who meets whom depends on the results, as in a Swiss tournament."""
    players: Sequence[PlannedPlayer]
    """By player."""
    referee: PlannedReferee | None
    """The judge's and the guide's calls; null: neither is a model."""
    parts: Sequence[PlannedPart]
    """By variation, vision, condition or pairing, where there is more than one."""
    expected: PlannedCost
    """All of it, as expected."""
    worst: PlannedCost
    """The most that all of it can be."""
    wall_hours: WallTime
    """How long it takes."""
    assumed: str
    """What the expectation rests on."""
