"""Parts shared by several results, and metadata that controls how a field is written as JSON.

A result is a frozen dataclass, and a field is written under its own name unless its metadata says otherwise: `flat`
merges the entries of a mapping or of another result into the parent object, `OPTIONAL` leaves the field out if it is
None, and `named` gives it a name that Python does not allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Costs = Mapping[str, float | None]


def flat(names: Sequence[str] | None = None, *, some: bool = False) -> dict[str, Any]:
    """Metadata of a field whose entries are merged into the parent object: those of another result, or of a mapping
    with these `names`, of which `some` may be missing."""
    return {"flat": True, "names": names, "some": some}


def named(name: str) -> dict[str, Any]:
    """Metadata of a field that is written under another name."""
    return {"name": name}


OPTIONAL: Final = {"optional": True}


@dataclass(frozen=True, slots=True)
class Lead:
    """How far one player is ahead of another in Q, with its 95% confidence interval."""

    a: str
    """The player that is ahead."""
    b: str
    """The player that it is ahead of."""
    dq: float
    """Q of the first less Q of the second."""
    low: float | None
    """Lower end of the interval; null where there are too few items."""
    high: float | None
    """Upper end of the interval; null where there are too few items."""
    all_low: float | None = None
    """Lower end of the interval that holds together with those of all other differences; null as above."""
    all_high: float | None = None
    """Upper end of that interval."""


@dataclass(frozen=True, slots=True)
class BetaStretch:
    """Who leads over a stretch of beta."""

    beta_from: float
    """Where the stretch begins."""
    beta_to: float | None
    """Where it ends; null: never."""
    winner: str | None
    """The player that leads there; null for a tie."""
    tied: Sequence[str] | None = field(default=None, metadata=OPTIONAL)
    """Who share the lead there; absent where one leads."""

    @property
    def names(self) -> Sequence[str]:
        """The leaders on this stretch."""
        return _leaders(self.winner, self.tied)


@dataclass(frozen=True, slots=True)
class WeightStretch:
    """Who leads over a stretch of the weight of one resource."""

    weight_from: float
    """Where the stretch begins."""
    weight_to: float | None
    """Where it ends; null: never."""
    winner: str | None
    """The player that leads there; null for a tie."""
    tied: Sequence[str] | None = field(default=None, metadata=OPTIONAL)
    """Who share the lead there; absent where one leads."""

    @property
    def names(self) -> Sequence[str]:
        """The leaders on this stretch."""
        return _leaders(self.winner, self.tied)


def shared(names: Sequence[str]) -> tuple[str | None, Sequence[str] | None]:
    """Split leaders into (winner, None) if there is one, else (None, all that are tied)."""
    return (names[0], None) if len(names) == 1 else (None, names)


def _leaders(winner: str | None, tied: Sequence[str] | None) -> Sequence[str]:
    return tied or ([] if winner is None else [winner])
