"""What attempts cost, with unknown kept distinct from zero, and the table of everything that is counted.

A row of TABLE is the complete definition of a resource: which measures it is made of, how it is displayed, and
whether it counts in P by default. Costs, budgets, settings, SQL columns, prompts, tables, charts and pages are
derived from it.

An `Amount` holds the known sum, how many attempts that sum covers, how many attempts are unknown and what those could
have cost at worst. A `Spend` is one Amount per measure plus the plain counts. Everything adds with `+`; addition is
exact for counts and tokens.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Self, cast

MAX_COST: Final = 1e18  # upper limit of any cost, so that sums stay finite


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that is counted.

    `measures` are the per-attempt amounts that add up to it (empty: it is a plain count). A resource with a `rate` is
    computed from an attempt's tokens, using what the configuration declares for the model under that key or a listed
    rate; without either it is unknown. `unit` and `digits` control how a number is formatted; `weight` is its weight
    in P unless the configuration says otherwise (0: not counted by default); `disclosed`: vision can show it.
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
        """Whether it is computed from tokens by a rate."""
        return bool(self.rate)

    def shown(self, amount: float) -> str:
        """An amount formatted with its unit."""
        number = f"{amount:,.{self.digits}f}" if amount < 1e15 else f"{amount:.3e}"
        if abs(float(number.replace(",", "")) - amount) > abs(amount) / 10:  # rounding would lose most of the value
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
_INDEX = {name: index for index, name in enumerate(MEASURES)}
_IN, _OUT, _SECONDS = (_INDEX[name] for name in ("tokens_in", "tokens_out", "seconds"))


class Unknown(Enum):
    """The type of the single value UNKNOWN: the value was not reported."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Amount:
    """A total over attempts: `total` covers `known` of them; `unknown` more cost at most `worst`."""

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
        """False only when there were attempts and none of them reported its cost."""
        return self.known > 0 or self.unknown == 0

    @property
    def value(self) -> float | Unknown:
        """The known sum, or UNKNOWN when nothing at all is known."""
        return self.total if self.is_known else UNKNOWN


NOTHING: Final = Amount()
_NOTHING: Final = (NOTHING,) * len(MEASURES)


@dataclass(frozen=True, slots=True)
class Spend:
    """The cost of a set of attempts: counts, plus one Amount per measure, in the order of MEASURES.

    `calls` were closed with an outcome; `unresolved` were opened and never closed (the process died). Both are
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
        """A cost with some of its measures given by name; raises KeyError for an unknown measure."""
        values = list(_NOTHING)
        for name, amount in amounts.items():
            values[_INDEX[name]] = amount
        return cls(calls, unresolved, failed, unknown, reviews, tuple(values), waited)

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
            tuple([left if right is NOTHING else left + right for left, right in zip(self.amounts, other.amounts)]),
            self.waited + other.waited,
        )

    def put(self, measure: str, amount: Amount) -> "Spend":
        """A copy with one measure set to another amount."""
        index = _INDEX[measure]
        return replace(self, amounts=(*self.amounts[:index], amount, *self.amounts[index + 1 :]))

    @property
    def attempts(self) -> int:
        """All attempts that were opened."""
        return self.calls + self.unresolved

    @property
    def tokens_in(self) -> Amount:
        """Prompt tokens."""
        return self.amounts[_IN]

    @property
    def tokens_out(self) -> Amount:
        """Reply tokens."""
        return self.amounts[_OUT]

    @property
    def seconds(self) -> Amount:
        """Service time."""
        return self.amounts[_SECONDS]

    @property
    def tokens(self) -> Amount:
        """Input and output tokens together; an attempt with either unknown counts once as unknown."""
        inputs, outputs = self.amounts[_IN], self.amounts[_OUT]
        known = min(inputs.known, outputs.known)
        return Amount(inputs.total + outputs.total, known, self.unknown, inputs.worst + outputs.worst)

    def measured(self, measure: str) -> Amount:
        """The amount of one measure. For a rated resource, an attempt that does not report it is unknown."""
        amount = self.amounts[_INDEX[measure]]
        if measure not in RATED:
            return amount
        unreported = self.attempts - amount.known - amount.unknown
        if unreported <= 0:
            return amount
        return Amount(amount.total, amount.known, amount.unknown + math.ceil(unreported), math.inf)

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
        """A compact, lossless form: fields at their default are omitted, an unbounded worst case is null."""
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
        """The inverse of `to_json`; raises ValueError if the document is not a cost."""
        if not isinstance(document, dict):
            raise ValueError(f"a cost is {document!r:.40}")
        counts, amounts, waited = dict.fromkeys(COUNTS, 0), list(_NOTHING), 0.0
        for name, value in cast(dict[str, Any], document).items():
            if name in _INDEX and isinstance(value, list):
                amounts[_INDEX[name]] = _amount(cast(list[Any], value))
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
    """Whether a value read back is a number of magnitude up to `most`: not text, a boolean or NaN."""
    return type(value) in (int, float) and -most <= cast(float, value) <= most
