"""The results of a match, by player and item: as objects, as columns, and as the arrays that are scored.

The unit is an item in a trial. What was not reported is NaN, never 0. A cost is either known, or the sum of the known
part and a charge for the attempts that did not report theirs; it then differs from its bounds, which put the unknown
attempts at zero and at their worst case.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.content import ANSWERS, Contents
from mashq.protocol.resources import FREE, MEASURES, RESOURCES, TABLE, Spend
from mashq.protocol.state import MatchState

ResultStatus = Literal["ok", "refused", "failed", "cut", "unanswered", "pending"]
STATUSES: tuple[ResultStatus, ...] = get_args(ResultStatus)
OK, REFUSED, FAILED, CUT, UNANSWERED, PENDING = range(len(STATUSES))
ABSENT = -1  # a player that was not asked
PARTS = ("", "_known", "_unknown", "_worst", "_charged", "_covered")
SCORES = ("h", "h_first", "guide", "guide_first")
COUNTS = ("calls", "unresolved", "unknown", "reviews")
COSTS = (*COUNTS, *(name + part for name in MEASURES for part in PARTS))
COST_NAMES = (*(m for m in MEASURES if m not in RESOURCES), *RESOURCES)  # the costs that a result has totals for

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One player's result on one item. `guide` and `guide_first` are the guide's scores, if it is not the judge.

    `charge` is what attempts of unknown cost are charged: a sum per measure, and the number of attempts it covers.
    """

    item: str
    status: ResultStatus
    h: float | None
    h_first: float | None
    spend: Spend
    guide: float | None = None
    guide_first: float | None = None
    length: int = 0
    charge: Spend = FREE
    abstained: bool = False


@dataclass(frozen=True, slots=True)
class PlayerResult:
    """A player's item results, and what it spent on no item in particular (charged to all items evenly)."""

    name: str
    items: tuple[ItemResult, ...]
    shared: Spend = FREE
    threshold: float = 0.0
    max_reviews: int = 0
    stopped: str | None = None
    shared_charge: Spend = FREE


def results_of(state: MatchState) -> tuple[PlayerResult, ...]:
    """The per-item results of a match in its current state, scored by the judge.

    An item that a stopped player did not reach is unanswered; one that a player has not reached yet is pending.
    """
    results: list[PlayerResult] = []
    for player in state.players:
        rows: list[ItemResult | None] = [None] * len(state.items)
        waiting: ResultStatus = "pending" if player.stopped is None else "unanswered"
        for index, work in zip(player.order, player.items, strict=True):
            separate = work.judged is not None
            rows[index] = ItemResult(
                state.items[index].id,
                waiting if work.status == "pending" else work.status,
                work.judge_h,
                work.judge_h_first,
                work.spend,
                work.h if separate else None,
                work.h_first if separate else None,
                len(work.text),
                abstained=work.abstained,
            )
        items = tuple(row for row in rows if row is not None)
        results.append(
            PlayerResult(player.name, items, player.shared, player.threshold, player.max_reviews, player.stopped)
        )
    return tuple(results)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One player's results in a match as arrays with one entry per item, for when objects would be too many.

    `status` holds indices into STATUSES; `values` holds each of SCORES (NaN means none) and COSTS; `content` is what
    the answers contain, in one row, if their texts are known.
    """

    name: str
    items: tuple[str, ...]
    status: NDArray[np.int8]
    values: Mapping[str, Array]
    shared: Spend = FREE
    threshold: float = 0.0
    max_reviews: int = 0
    stopped: str | None = None
    shared_charge: Spend = FREE
    content: Contents | None = None

    def count(self, status: ResultStatus) -> int:
        """How many items have this status."""
        return int((self.status == STATUSES.index(status)).sum())

    @property
    def has_unknown(self) -> bool:
        """Whether some attempt did not report all of its cost."""
        values = self.values
        attempts = values["calls"] + values["unresolved"]
        shared = [self.shared.measured(name).unknown for name in MEASURES]
        return any(shared) or any(bool(_unknown(values, name, attempts).any()) for name in MEASURES)

    def cost(self, name: str) -> "Cost":
        """The cost of each item for one of COST_NAMES, including its share of costs that belong to no item."""
        share = 1 / max(len(self.items), 1)
        if name in ("calls", "reviews"):
            values = self.values
            counts = values["calls"] + values["unresolved"] if name == "calls" else values["reviews"]
            return Cost.known(counts + self.shared.amount(name).total * share)
        measures = TABLE[name].measures if name in TABLE else (name,)
        parts = [self._measured(measure, share) for measure in measures]
        return parts[0] if len(parts) == 1 else Cost.total(parts)

    def _measured(self, measure: str, share: float) -> "Cost":
        values, shared = self.values, self.shared.measured(measure)
        unknown = _unknown(values, measure, values["calls"] + values["unresolved"])
        low = np.asarray(values[measure] + shared.total * share, dtype=np.float64)
        charge = self.shared_charge.measured(measure)
        if shared.unknown > charge.known:
            return Cost.known(np.full(len(low), np.nan))
        if not shared.unknown and not unknown.any():
            return Cost.known(low)
        charged = np.where(unknown > 0, values[measure + "_charged"], 0.0) + charge.total * share
        value = np.where(unknown > values[measure + "_covered"], np.nan, low + charged)
        worst = np.where(unknown > 0, values[measure + "_worst"], 0.0) + (
            shared.worst * share if shared.unknown else 0.0
        )
        return Cost(value, low, low + np.asarray(worst, dtype=np.float64))


def _unknown(values: Mapping[str, Array], measure: str, attempts: Array) -> Array:
    """How many attempts of each item did not report the measure; for a rated resource, those without any value count
    too."""
    unknown = values[measure + "_unknown"]
    rated = measure in TABLE and TABLE[measure].rated
    return np.maximum(unknown, attempts - values[measure + "_known"]) if rated else unknown


def columns_of(results: Sequence[PlayerResult]) -> tuple[Columns, ...]:
    """Results as columns."""
    return tuple(_columns(player) for player in results)


def _columns(player: PlayerResult) -> Columns:
    rows = player.items
    values: dict[str, Array] = {name: _floats([getattr(row, name) for row in rows]) for name in SCORES}
    values |= {name: _floats([getattr(row.spend, name) for row in rows]) for name in COUNTS}
    for index, name in enumerate(MEASURES):
        amounts = [row.spend.amounts[index] for row in rows]
        for part, field in zip(PARTS[:4], ("total", "known", "unknown", "worst"), strict=True):
            values[name + part] = _floats([getattr(amount, field) for amount in amounts])
        charges = [row.charge.amounts[index] for row in rows]
        values[name + "_charged"] = _floats([charge.total for charge in charges])
        values[name + "_covered"] = _floats([charge.known for charge in charges])
    status = np.array([STATUSES.index(row.status) for row in rows], dtype=np.int8)
    return Columns(
        player.name,
        tuple(row.item for row in rows),
        status,
        values,
        player.shared,
        player.threshold,
        player.max_reviews,
        player.stopped,
        player.shared_charge,
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """A resource by unit, players x units: `value` is NaN where neither a cost nor a charge is known.

    `low` puts the unknown attempts at zero, `high` at their worst case; all three are the same array if all is known.
    """

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def known(cls, value: Array) -> "Cost":
        """A cost that is fully known, or not known at all (NaN)."""
        floats = np.asarray(value, dtype=np.float64)
        return cls(floats, floats, floats)

    @classmethod
    def total(cls, parts: Sequence["Cost"]) -> "Cost":
        """The sum of several costs."""
        return cls(*(np.sum([getattr(part, name) for part in parts], axis=0) for name in ("value", "low", "high")))

    @property
    def estimated(self) -> bool:
        """Whether some of it is a charge."""
        return self.low is not self.value and bool((self.low != self.value).any() or (self.high != self.low).any())

    def take(self, rows: Any = slice(None), units: Any = slice(None)) -> "Cost":
        """A selection of players and units."""
        if self.low is self.value:
            return Cost.known(self.value[rows][:, units])
        return Cost(*(part[rows][:, units] for part in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Arrays of players x units, where a unit is an item in a trial; units are in the order of their items.

    `item_of` gives the item index of a unit and `trial_of` the name of its trial; `status` holds indices into
    STATUSES, or ABSENT; `h` and `h_first` are NaN where there is no score; `unknown` counts attempts that did not
    report their tokens. A table of totals is a single item that stands for all of them, and has no intervals.
    `content` is what the answers contain, if their texts are known.
    """

    players: tuple[str, ...]
    items: tuple[str, ...]
    item_of: NDArray[np.intp]
    trial_of: tuple[str, ...]
    status: NDArray[np.int8]
    h: Floats
    h_first: Floats
    costs: Mapping[str, Cost]
    unknown: Floats
    totals: bool = False
    content: Contents | None = None

    @property
    def trials(self) -> int:
        """The largest number of trials of any item."""
        return int(np.bincount(self.item_of).max()) if len(self.item_of) else 0

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Where there is an answer to score."""
        return self.status == OK

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where a player was asked and has reached the item."""
        return (self.status != ABSENT) & (self.status != PENDING)

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Where an answer was refused, failed or cut off."""
        return (self.status >= REFUSED) & (self.status <= CUT)

    @property
    def unfinished(self) -> bool:
        """Whether some player has not reached some item yet."""
        return bool((self.status == PENDING).any())

    def only(self, players: Sequence[str]) -> "Results":
        """The results of some of the players, without the units that only others were asked."""
        rows = np.array([self.players.index(name) for name in players])
        results = replace(
            self,
            players=tuple(players),
            status=self.status[rows],
            h=self.h[rows],
            h_first=self.h_first[rows],
            costs={name: cost.take(rows) for name, cost in self.costs.items()},
            unknown=self.unknown[rows],
            content=None if self.content is None else self.content.take(rows),
        )
        asked = np.asarray((results.status != ABSENT).any(axis=0))
        if asked.all():
            return results
        results = results.some_units(asked)
        remaining: list[int] = sorted(set(results.item_of.tolist()))
        indices = np.searchsorted(np.array(remaining), results.item_of)
        return replace(results, items=tuple(self.items[index] for index in remaining), item_of=indices)

    def some_units(self, kept: NDArray[np.bool_]) -> "Results":
        """The results restricted to the units in `kept`; items remain, with fewer trials or none."""
        return replace(
            self,
            item_of=self.item_of[kept],
            trial_of=tuple(trial for trial, keep in zip(self.trial_of, kept.tolist(), strict=True) if keep),
            status=self.status[:, kept],
            h=self.h[:, kept],
            h_first=self.h_first[:, kept],
            costs={name: cost.take(units=kept) for name, cost in self.costs.items()},
            unknown=self.unknown[:, kept],
            content=None if self.content is None else self.content.take(units=kept),
        )


Match = Sequence[PlayerResult] | Sequence[Columns]


def from_match(results: Match) -> Results:
    """The results of one match; costs that belong to no item are spread over all of them."""
    return from_matches([results])


def from_matches(trials: Iterable[Match], names: Sequence[str] | None = None) -> Results:
    """The results of the trials of a match: the same players and items in each. Raises ValueError if there are none.

    `names` are the names of the trials; without them trials are numbered from 0, and a single one has no name.
    """
    matches = [
        [player if isinstance(player, Columns) else columns_of([player])[0] for player in results]
        for results in trials
    ]
    if not matches:
        raise ValueError("there are no results: play the match first")
    first = matches[0]
    count, repeats = len(first[0].items), len(matches)

    def stacked(player_costs: Sequence[Sequence[Array]]) -> Array:
        """Arrays per match and player as one array of players x units, with the trials of an item side by side."""
        return np.array(player_costs).transpose(1, 2, 0).reshape(len(first), count * repeats)

    def scores(name: str) -> Floats:
        return stacked(
            [[np.where(player.status == OK, player.values[name], np.nan) for player in match] for match in matches]
        )

    costs: dict[str, Cost] = {}
    for name in COST_NAMES:
        player_costs = [[player.cost(name) for player in match] for match in matches]
        value = stacked([[player.value for player in match] for match in player_costs])
        if any(player.estimated for match in player_costs for player in match):
            low, high = (
                [[getattr(player, bound) for player in match] for match in player_costs] for bound in ("low", "high")
            )
            costs[name] = Cost(value, stacked(low), stacked(high))
        else:
            costs[name] = Cost.known(value)
    unknown = [
        [player.values["unknown"] + player.shared.unknown / max(count, 1) for player in match] for match in matches
    ]
    names = names or (list(map(str, range(repeats))) if repeats > 1 else [""])
    return Results(
        tuple(player.name for player in first),
        first[0].items,
        np.repeat(np.arange(count), repeats),
        tuple(names) * count,
        stacked([[player.status for player in match] for match in matches]).astype(np.int8),
        scores("h"),
        scores("h_first"),
        costs,
        stacked(unknown),
        content=_content(matches, stacked),
    )


def _content(
    matches: Sequence[Sequence[Columns]], stacked: Callable[[Sequence[Sequence[Array]]], Array]
) -> Contents | None:
    """What the answers contain, if it is known for every match."""
    contents = [[content.content for content in match if content.content is not None] for match in matches]
    if any(len(present) < len(match) for present, match in zip(contents, matches, strict=True)):
        return None
    answers = {
        name: stacked([[content.answers[name][0] for content in match] for match in contents]) for name in ANSWERS
    }
    floors = {
        name: {key: np.array([match[0].floors[name][key] for match in contents]).T.reshape(-1) for key in values}
        for name, values in contents[0][0].floors.items()
    }
    return Contents(answers, floors)
