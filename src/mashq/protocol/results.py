"""What a match came to, by player and item: as objects, as columns, and as the arrays that are scored.

The unit is an item in a trial. What was not told is NaN, never 0. A cost is known, or the sum of what is known and of
a charge for the attempts that did not tell theirs; then it is marked by its bounds: the unknown at nothing, and at
its worst case.
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
COST_NAMES = (*(m for m in MEASURES if m not in RESOURCES), *RESOURCES)  # what a result has totals of

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """How one player did on one item. `guide` and `guide_first` are the guide's scores where it is not the judge.

    `charge` is what the attempts of unknown cost are charged: for each measure a sum, and of how many attempts.
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
    """A player's items, and what it spent on no item in particular (charged to all evenly)."""

    name: str
    items: tuple[ItemResult, ...]
    shared: Spend = FREE
    threshold: float = 0.0
    max_reviews: int = 0
    stopped: str | None = None
    shared_charge: Spend = FREE


def results_of(state: MatchState) -> tuple[PlayerResult, ...]:
    """The per-item results of a match as it stands, by the judge.

    An item that a stopped player did not come to is unanswered; one that a player has yet to come to is pending.
    """
    out: list[PlayerResult] = []
    for player in state.players:
        rows: list[ItemResult | None] = [None] * len(state.items)
        waiting: ResultStatus = "pending" if player.stopped is None else "unanswered"
        for at, work in zip(player.order, player.items, strict=True):
            apart = work.judged is not None
            rows[at] = ItemResult(
                state.items[at].id,
                waiting if work.status == "pending" else work.status,
                work.judge_h,
                work.judge_h_first,
                work.spend,
                work.h if apart else None,
                work.h_first if apart else None,
                len(work.text),
                abstained=work.abstained,
            )
        items = tuple(row for row in rows if row is not None)
        out.append(
            PlayerResult(player.name, items, player.shared, player.threshold, player.max_reviews, player.stopped)
        )
    return tuple(out)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One player's results in a match as arrays with an entry for each item, where objects would be too many.

    `status` holds places in STATUSES; `values` each of SCORES (NaN is none) and COSTS; `content` what the answers
    carry, in one row, where their texts are known.
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
        """How many items ended so."""
        return int((self.status == STATUSES.index(status)).sum())

    @property
    def has_unknown(self) -> bool:
        """Whether some attempt did not tell all of its cost."""
        of = self.values
        attempts = of["calls"] + of["unresolved"]
        spends = [self.shared.measured(name).unknown for name in MEASURES]
        return any(spends) or any(bool(_unknown(of, name, attempts).any()) for name in MEASURES)

    def cost(self, name: str) -> "Cost":
        """What each item took of one of COST_NAMES, with its share of what belongs to no item."""
        each = 1 / max(len(self.items), 1)
        if name in ("calls", "reviews"):
            of = self.values
            own = of["calls"] + of["unresolved"] if name == "calls" else of["reviews"]
            return Cost.known(own + self.shared.amount(name).total * each)
        measures = TABLE[name].measures if name in TABLE else (name,)
        parts = [self._measured(measure, each) for measure in measures]
        return parts[0] if len(parts) == 1 else Cost.total(parts)

    def _measured(self, measure: str, each: float) -> "Cost":
        of, shared = self.values, self.shared.measured(measure)
        unknown = _unknown(of, measure, of["calls"] + of["unresolved"])
        low = np.asarray(of[measure] + shared.total * each, dtype=np.float64)
        charge = self.shared_charge.measured(measure)
        if shared.unknown > charge.known:
            return Cost.known(np.full(len(low), np.nan))
        if not shared.unknown and not unknown.any():
            return Cost.known(low)
        more = np.where(unknown > 0, of[measure + "_charged"], 0.0) + charge.total * each
        value = np.where(unknown > of[measure + "_covered"], np.nan, low + more)
        worst = np.where(unknown > 0, of[measure + "_worst"], 0.0) + (shared.worst * each if shared.unknown else 0.0)
        return Cost(value, low, low + np.asarray(worst, dtype=np.float64))


def _unknown(of: Mapping[str, Array], measure: str, attempts: Array) -> Array:
    """How many attempts of each item did not tell; of a rated resource, one that says nothing of it did not."""
    unknown = of[measure + "_unknown"]
    rated = measure in TABLE and TABLE[measure].rated
    return np.maximum(unknown, attempts - of[measure + "_known"]) if rated else unknown


def columns_of(results: Sequence[PlayerResult]) -> tuple[Columns, ...]:
    """Results as columns."""
    return tuple(_columns(player) for player in results)


def _columns(player: PlayerResult) -> Columns:
    rows = player.items
    values: dict[str, Array] = {name: _floats([getattr(row, name) for row in rows]) for name in SCORES}
    values |= {name: _floats([getattr(row.spend, name) for row in rows]) for name in COUNTS}
    for at, name in enumerate(MEASURES):
        amounts = [row.spend.amounts[at] for row in rows]
        for part, field in zip(PARTS[:4], ("total", "known", "unknown", "worst"), strict=True):
            values[name + part] = _floats([getattr(amount, field) for amount in amounts])
        charges = [row.charge.amounts[at] for row in rows]
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

    `low` has the unknown attempts at nothing, `high` at their worst case; all three are one array where all is known.
    """

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def known(cls, value: Array) -> "Cost":
        """A cost that is all known, or not at all (NaN)."""
        floats = np.asarray(value, dtype=np.float64)
        return cls(floats, floats, floats)

    @classmethod
    def total(cls, parts: Sequence["Cost"]) -> "Cost":
        """The sum of several."""
        return cls(*(np.sum([getattr(part, at) for part in parts], axis=0) for at in ("value", "low", "high")))

    @property
    def estimated(self) -> bool:
        """Whether some of it is a charge."""
        return self.low is not self.value and bool((self.low != self.value).any() or (self.high != self.low).any())

    def take(self, rows: Any = slice(None), units: Any = slice(None)) -> "Cost":
        """Some players and units of it."""
        if self.low is self.value:
            return Cost.known(self.value[rows][:, units])
        return Cost(*(part[rows][:, units] for part in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Arrays of players x units, where a unit is an item in a trial; units stand in the order of their items.

    `item_of` says which item a unit is of and `trial_of` names its trial; `status` holds places in STATUSES, or
    ABSENT; `h` and `h_first` are NaN where there is no score; `unknown` counts attempts that did not tell their
    tokens. A table of totals is one item that stands for all of them, and has no intervals. `content` is what the
    answers carry, where their texts are known.
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
        """The most trials of an item."""
        return int(np.bincount(self.item_of).max()) if len(self.item_of) else 0

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Where there is an answer to score."""
        return self.status == OK

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where a player was asked and has come to it."""
        return (self.status != ABSENT) & (self.status != PENDING)

    @property
    def broken(self) -> NDArray[np.bool_]:
        """What was refused, failed or cut off."""
        return (self.status >= REFUSED) & (self.status <= CUT)

    @property
    def unfinished(self) -> bool:
        """Whether some player has yet to come to some item."""
        return bool((self.status == PENDING).any())

    def only(self, players: Sequence[str]) -> "Results":
        """The same results for some of the players, without what only others were asked."""
        rows = np.array([self.players.index(name) for name in players])
        found = replace(
            self,
            players=tuple(players),
            status=self.status[rows],
            h=self.h[rows],
            h_first=self.h_first[rows],
            costs={name: cost.take(rows) for name, cost in self.costs.items()},
            unknown=self.unknown[rows],
            content=None if self.content is None else self.content.take(rows),
        )
        asked = np.asarray((found.status != ABSENT).any(axis=0))
        if asked.all():
            return found
        found = found.some_units(asked)
        left: list[int] = sorted(set(found.item_of.tolist()))
        places = np.searchsorted(np.array(left), found.item_of)
        return replace(found, items=tuple(self.items[at] for at in left), item_of=places)

    def some_units(self, kept: NDArray[np.bool_]) -> "Results":
        """The same results without some of the units; items stay, with fewer trials or none."""
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
    """Results of one match; what belongs to no item is spread over all of them."""
    return from_matches([results])


def from_matches(trials: Iterable[Match], names: Sequence[str] | None = None) -> Results:
    """Results of the trials of a match: the same players and items in each. Raises ValueError when there is none.

    `names` are those of the trials; without them they are counted from 0, and one alone has none.
    """
    matches = [[own if isinstance(own, Columns) else columns_of([own])[0] for own in results] for results in trials]
    if not matches:
        raise ValueError("there are no results: play the match first")
    first = matches[0]
    count, repeats = len(first[0].items), len(matches)

    def stacked(each: Sequence[Sequence[Array]]) -> Array:
        """An array for each match and player, as players x units with the trials of an item side by side."""
        return np.array(each).transpose(1, 2, 0).reshape(len(first), count * repeats)

    def scores(name: str) -> Floats:
        return stacked([[np.where(own.status == OK, own.values[name], np.nan) for own in match] for match in matches])

    costs: dict[str, Cost] = {}
    for name in COST_NAMES:
        each = [[own.cost(name) for own in match] for match in matches]
        value = stacked([[own.value for own in match] for match in each])
        if any(own.estimated for match in each for own in match):
            low, high = ([[getattr(own, at) for own in match] for match in each] for at in ("low", "high"))
            costs[name] = Cost(value, stacked(low), stacked(high))
        else:
            costs[name] = Cost.known(value)
    unknown = [[own.values["unknown"] + own.shared.unknown / max(count, 1) for own in match] for match in matches]
    names = names or (list(map(str, range(repeats))) if repeats > 1 else [""])
    return Results(
        tuple(own.name for own in first),
        first[0].items,
        np.repeat(np.arange(count), repeats),
        tuple(names) * count,
        stacked([[own.status for own in match] for match in matches]).astype(np.int8),
        scores("h"),
        scores("h_first"),
        costs,
        stacked(unknown),
        content=_content(matches, stacked),
    )


def _content(
    matches: Sequence[Sequence[Columns]], stacked: Callable[[Sequence[Sequence[Array]]], Array]
) -> Contents | None:
    """What the answers carry, where it is known of every match."""
    each = [[own.content for own in match if own.content is not None] for match in matches]
    if any(len(known) < len(match) for known, match in zip(each, matches, strict=True)):
        return None
    answers = {name: stacked([[own.answers[name][0] for own in match] for match in each]) for name in ANSWERS}
    floors = {
        name: {of: np.array([match[0].floors[name][of] for match in each]).T.reshape(-1) for of in values}
        for name, values in each[0][0].floors.items()
    }
    return Contents(answers, floors)
