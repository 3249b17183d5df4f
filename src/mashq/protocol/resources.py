"""What attempts cost, with the unknown kept apart from zero.

An `Amount` is the sum of what is known, how many attempts that sum covers, how many attempts are unknown and what
those could have cost at worst. A `Spend` is one Amount for each measured resource beside the plain counts.
Everything adds with `+`; adding is exact for counts and tokens.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self, cast

MAX_COST: Final = 1e18  # no cost is more; sums of such stay finite


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that is counted: a row of the table below, from which all else about it is derived.

    `measures` are the amounts of an attempt that add up to it (none: it is a plain count); `rated` resources are
    worked out from an attempt's tokens by a rate declared or listed for its model, and are unknown without one;
    `heading` and `digits` say how a table shows it, `unit` what a number of it is called; `weight` is what it counts
    in P unless the configuration says otherwise (0: not counted by default); `disclosed`: vision may show it.
    """

    name: str
    unit: str
    heading: str
    digits: int
    measures: tuple[str, ...] = ()
    rated: bool = False
    weight: float = 1.0
    disclosed: bool = True


TABLE: Final = {
    row.name: row
    for row in (
        Resource("tokens", "tokens", "tokens", 0, ("tokens_in", "tokens_out")),
        Resource("calls", "calls", "calls", 0),
        Resource("reviews", "reviews", "reviews", 0),
        Resource("seconds", "s", "seconds", 1, ("seconds",)),
        Resource("dollars", "$", "dollars", 4, ("dollars",), rated=True, weight=0.0, disclosed=False),
    )
}
RESOURCES: Final = tuple(TABLE)
COUNTED: Final = tuple(row.name for row in TABLE.values() if row.weight)
MEASURES: Final = tuple(measure for row in TABLE.values() for measure in row.measures)
RATED: Final = tuple(row.name for row in TABLE.values() if row.rated)


class Unknown(Enum):
    """The type of the one value that says: this was not told to us."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Amount:
    """A total over attempts: `total` over `known` of them, `unknown` more that cost at most `worst`."""

    total: float = 0
    known: int = 0
    unknown: int = 0
    worst: float = 0

    @classmethod
    def of(cls, value: float | Unknown, worst: float | Unknown) -> Self:
        """The amount of one attempt; without a known worst case the bound is infinite."""
        if isinstance(value, Unknown):
            return cls(0, 0, 1, math.inf if isinstance(worst, Unknown) else worst)
        return cls(value, 1)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.total + other.total,
            self.known + other.known,
            self.unknown + other.unknown,
            self.worst + other.worst,
        )

    @property
    def is_known(self) -> bool:
        """False only when there were attempts and not one told its cost."""
        return self.known > 0 or self.unknown == 0

    @property
    def value(self) -> float | Unknown:
        """The known sum, or UNKNOWN when nothing at all is known."""
        return self.total if self.is_known else UNKNOWN


@dataclass(frozen=True, slots=True)
class Spend:
    """The cost of some attempts. `calls` were closed with an outcome; `unresolved` were opened and never closed
    (the process died); both are charged, but a player is only ever shown what was closed."""

    calls: int = 0
    unresolved: int = 0
    failed: int = 0
    unknown: int = 0
    reviews: int = 0
    tokens_in: Amount = Amount()
    tokens_out: Amount = Amount()
    seconds: Amount = Amount()
    dollars: Amount = Amount()
    waited: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        if self is FREE:
            return other
        return Spend(
            self.calls + other.calls,
            self.unresolved + other.unresolved,
            self.failed + other.failed,
            self.unknown + other.unknown,
            self.reviews + other.reviews,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.seconds + other.seconds,
            self.dollars + other.dollars,
            self.waited + other.waited,
        )

    @property
    def tokens(self) -> Amount:
        """Tokens in and out together; an attempt of which either is unknown counts once as unknown."""
        both = self.tokens_in + self.tokens_out
        return Amount(both.total, min(self.tokens_in.known, self.tokens_out.known), self.unknown, both.worst)

    def amount(self, resource: str) -> Amount:
        """One of RESOURCES as an Amount."""
        if resource == "calls":
            return Amount(self.calls + self.unresolved, known=1)
        if resource == "reviews":
            return Amount(self.reviews, known=1)
        found = {"tokens": self.tokens, "seconds": self.seconds, "dollars": self.dollars}
        return found[resource]

    def to_json(self) -> dict[str, object]:
        """A compact, lossless form: fields at their default are left out, an unbounded worst case is null."""
        document: dict[str, object] = {}
        for name in ("calls", "unresolved", "failed", "unknown", "reviews"):
            count: int = getattr(self, name)
            if count:
                document[name] = count
        for name in ("tokens_in", "tokens_out", "seconds", "dollars"):
            amount: Amount = getattr(self, name)
            if amount.known or amount.unknown or amount.total or amount.worst:
                worst = None if math.isinf(amount.worst) else amount.worst
                document[name] = [amount.total, amount.known, amount.unknown, worst]
        if self.waited:
            document["waited"] = self.waited
        return document

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The inverse of `to_json`; a ValueError when it is no cost."""
        if not isinstance(document, dict):
            raise ValueError(f"a cost is {document!r:.40}")
        values: dict[str, Any] = {}
        for name, value in cast(dict[str, Any], document).items():
            if name in _AMOUNTS and isinstance(value, list):
                values[name] = _amount(cast(list[Any], value))
            elif is_number(value) if name == "waited" else name in _COUNTS and type(value) is int and value >= 0:
                values[name] = value
            else:
                raise ValueError(f"{name!r:.40} of a cost is {value!r:.40}")
        return cls(**values)


FREE: Final = Spend()
_COUNTS = frozenset({"calls", "unresolved", "failed", "unknown", "reviews"})
_AMOUNTS = frozenset({"tokens_in", "tokens_out", "seconds", "dollars"})


def _amount(parts: list[Any]) -> Amount:
    total, known, unknown, worst = parts
    amount = Amount(total, known, unknown, math.inf if worst is None else worst)
    if not (is_number(total) and type(known) is int and type(unknown) is int and is_number(amount.worst, math.inf)):
        raise ValueError(f"an amount of a cost is {parts!r:.80}")
    return amount


def is_number(value: object, most: float = MAX_COST) -> bool:
    """Whether something read back is a number up to `most`: neither text, a truth value nor a NaN."""
    return type(value) in (int, float) and -most <= cast(float, value) <= most
