"""What attempts cost, with the unknown kept apart from zero; and the table of what is counted.

A row of TABLE is all that needs to be said of a resource: what it is made of, how it is shown, whether it counts in P
by default. Costs, budgets, settings, SQL columns, prompts, tables, charts and pages are derived from it.

An `Amount` is the sum of what is known, how many attempts that sum covers, how many attempts are unknown and what
those could have cost at worst. A `Spend` is one Amount for each measure beside the plain counts. Everything adds with
`+`; adding is exact for counts and tokens.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Self, cast

MAX_COST: Final = 1e18  # no cost is more; sums of such stay finite


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that is counted.

    `measures` are the amounts of an attempt that add up to it (none: it is a plain count). One with a `rate` is
    worked out from an attempt's tokens by what the configuration declares for the model under that key, or what is
    listed; without either it is unknown. `unit` and `digits` say how a number of it is shown; `weight` is what it
    counts in P unless the configuration says otherwise (0: not by default); `disclosed`: vision can show it.
    """

    name: str
    unit: str
    digits: int
    measures: tuple[str, ...] = ()
    rate: str = ""
    weight: float = 1.0
    disclosed: bool = True

    @property
    def rated(self) -> bool:
        """Whether it is worked out from tokens by a rate."""
        return bool(self.rate)

    def shown(self, amount: float) -> str:
        """An amount of it in words."""
        number = f"{amount:,.{self.digits}f}" if amount < 1e15 else f"{amount:.3e}"
        if abs(float(number.replace(",", "")) - amount) > abs(amount) / 10:  # most of it would be rounded away
            number = f"{amount:.3g}"
        return f"${number}" if self.unit == "$" else f"{number} {self.unit}"


TABLE: Final = {
    row.name: row
    for row in (
        Resource("tokens", "tokens", 0, ("tokens_in", "tokens_out")),
        Resource("calls", "calls", 0),
        Resource("reviews", "reviews", 0),
        Resource("seconds", "s", 1, ("seconds",)),
        Resource("dollars", "$", 4, ("dollars",), rate="price", weight=0, disclosed=False),
        Resource("joules", "J", 1, ("joules",), rate="energy", weight=0, disclosed=False),
    )
}
RESOURCES: Final = tuple(TABLE)
COUNTED: Final = tuple(row.name for row in TABLE.values() if row.weight)
DISCLOSED: Final = tuple(row.name for row in TABLE.values() if row.disclosed)
RATED: Final = tuple(row.name for row in TABLE.values() if row.rated)
MEASURES: Final = tuple(measure for row in TABLE.values() for measure in row.measures)
COUNTS: Final = ("calls", "unresolved", "failed", "unknown", "reviews")
PARTS: Final = ("total", "known", "unknown", "worst")
_PLACE = {name: at for at, name in enumerate(MEASURES)}
_IN, _OUT, _SECONDS = (_PLACE[name] for name in ("tokens_in", "tokens_out", "seconds"))


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
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
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


NOTHING: Final = Amount()
_NOTHING: Final = (NOTHING,) * len(MEASURES)


@dataclass(frozen=True, slots=True)
class Spend:
    """The cost of some attempts: counts, and an Amount for each of MEASURES, in their order.

    `calls` were closed with an outcome; `unresolved` were opened and never closed (the process died); both are
    charged, but a player is only ever shown what was closed.
    """

    calls: int = 0
    unresolved: int = 0
    failed: int = 0
    unknown: int = 0
    reviews: int = 0
    amounts: tuple[Amount, ...] = _NOTHING
    waited: float = 0.0

    @classmethod
    def of(
        cls,
        calls: int = 0,
        unresolved: int = 0,
        failed: int = 0,
        unknown: int = 0,
        reviews: int = 0,
        waited: float = 0.0,
        **amounts: Amount,
    ) -> Self:
        """A cost with some of its measures named; a KeyError for a name that is none."""
        row = list(_NOTHING)
        for name, amount in amounts.items():
            row[_PLACE[name]] = amount
        return cls(calls, unresolved, failed, unknown, reviews, tuple(row), waited)

    def __add__(self, other: "Spend") -> "Spend":
        if self is FREE:
            return other
        if other is FREE:
            return self
        return Spend(
            self.calls + other.calls,
            self.unresolved + other.unresolved,
            self.failed + other.failed,
            self.unknown + other.unknown,
            self.reviews + other.reviews,
            tuple([own if more is NOTHING else own + more for own, more in zip(self.amounts, other.amounts)]),
            self.waited + other.waited,
        )

    def put(self, measure: str, amount: Amount) -> "Spend":
        """With another amount of one of MEASURES."""
        at = _PLACE[measure]
        return replace(self, amounts=(*self.amounts[:at], amount, *self.amounts[at + 1 :]))

    @property
    def attempts(self) -> int:
        """All that were opened."""
        return self.calls + self.unresolved

    @property
    def tokens_in(self) -> Amount:
        """Tokens of prompts."""
        return self.amounts[_IN]

    @property
    def tokens_out(self) -> Amount:
        """Tokens of replies."""
        return self.amounts[_OUT]

    @property
    def seconds(self) -> Amount:
        """Time of service."""
        return self.amounts[_SECONDS]

    @property
    def tokens(self) -> Amount:
        """Tokens in and out together; an attempt of which either is unknown counts once as unknown."""
        way_in, way_out = self.amounts[_IN], self.amounts[_OUT]
        known = min(way_in.known, way_out.known)
        return Amount(way_in.total + way_out.total, known, self.unknown, way_in.worst + way_out.worst)

    def measured(self, measure: str) -> Amount:
        """One of MEASURES. Of a rated resource, an attempt that says nothing of it is unknown."""
        amount = self.amounts[_PLACE[measure]]
        if measure not in RATED:
            return amount
        silent = self.attempts - amount.known - amount.unknown
        if silent <= 0:
            return amount
        return Amount(amount.total, amount.known, amount.unknown + math.ceil(silent), math.inf)

    def amount(self, resource: str) -> Amount:
        """One of RESOURCES as an Amount."""
        if resource == "tokens":
            return self.tokens
        if resource == "calls":
            return Amount(self.attempts, known=1)
        if resource == "reviews":
            return Amount(self.reviews, known=1)
        return self.measured(TABLE[resource].measures[0])

    def to_json(self) -> dict[str, object]:
        """A compact, lossless form: fields at their default are left out, an unbounded worst case is null."""
        document: dict[str, object] = {}
        for name in COUNTS:
            count: int = getattr(self, name)
            if count:
                document[name] = count
        for name, amount in zip(MEASURES, self.amounts, strict=True):
            if amount != NOTHING:
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
        counts, amounts, waited = dict.fromkeys(COUNTS, 0), list(_NOTHING), 0.0
        for name, value in cast(dict[str, Any], document).items():
            if name in _PLACE and isinstance(value, list):
                amounts[_PLACE[name]] = _amount(cast(list[Any], value))
            elif name in counts and type(value) is int and value >= 0:
                counts[name] = value
            elif name == "waited" and is_number(value):
                waited = value
            else:
                raise ValueError(f"{name!r:.40} of a cost is {value!r:.40}")
        return cls(*counts.values(), amounts=tuple(amounts), waited=waited)


FREE: Final = Spend()


def _amount(parts: list[Any]) -> Amount:
    total, known, unknown, worst = parts
    worst = math.inf if worst is None else worst
    if not (is_number(total) and type(known) is int and type(unknown) is int and is_number(worst, math.inf)):
        raise ValueError(f"an amount of a cost is {parts!r:.80}")
    return Amount(total, known, unknown, worst)


def is_number(value: object, most: float = MAX_COST) -> bool:
    """Whether something read back is a number up to `most`: neither text, a truth value nor a NaN."""
    return type(value) in (int, float) and -most <= cast(float, value) <= most
