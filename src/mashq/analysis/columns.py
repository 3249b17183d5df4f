"""Results of a match as columns: arrays with an entry for each item, where objects would be too many.

`scored` gives what `protocol.score.score` gives, to the last bit: costs are added in the order of the items and means
are exact sums, as there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.resources import MEASURES, TABLE, Amount, Spend
from mashq.protocol.score import ItemResult, PlayerResult, Refusals, ResultStatus, Score, ScoreRules, score

STATUSES: tuple[ResultStatus, ...] = ("ok", "refused", "failed", "unanswered")
OK, REFUSED, FAILED, UNANSWERED = range(len(STATUSES))
PARTS = ("", "_known", "_unknown", "_worst")
SCORES = ("h", "h_first", "guide", "guide_first")
COSTS = ("calls", "unresolved", "unknown", "reviews", *(name + part for name in MEASURES for part in PARTS))
EXACT = 2.0**53  # beyond it a float has no room for the last digit of a count

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One player's results. `status` holds places in STATUSES; `values` each of SCORES (NaN is none) and COSTS.

    What the table does not need, attempts that failed, time waited and lengths of answers, is not there.
    """

    name: str
    items: tuple[str, ...]
    status: NDArray[np.int8]
    values: Mapping[str, Array]
    shared: Spend = Spend()
    threshold: float = 0.0
    max_reviews: int = 0
    stopped: str | None = None

    def amount(self, resource: str) -> tuple[Array, NDArray[np.bool_]]:
        """What each item took of one of RESOURCES, and where that is known."""
        of = self.values
        if resource in ("calls", "reviews"):
            total = of["calls"] + of["unresolved"] if resource == "calls" else of["reviews"]
            return total, np.ones(len(total), dtype=bool)
        if resource == "tokens":
            known = np.minimum(of["tokens_in_known"], of["tokens_out_known"])
            return of["tokens_in"] + of["tokens_out"], np.asarray((known > 0) | (of["unknown"] == 0), dtype=bool)
        known, unknown = of[resource + "_known"], of[resource + "_unknown"]
        attempts = of["calls"] + of["unresolved"]
        if TABLE[resource].rated:  # an attempt that says nothing of it is unknown
            unknown = np.maximum(unknown, attempts - known)
            if attempts.any() and not known.any():  # no rate at all: an item without attempts tells nothing either
                return of[resource], np.zeros(len(known), dtype=bool)
        return of[resource], np.asarray((known > 0) | (unknown == 0), dtype=bool)

    def count(self, status: ResultStatus) -> int:
        """How many items ended so."""
        return int((self.status == STATUSES.index(status)).sum())


def columns_of(results: Sequence[PlayerResult]) -> tuple[Columns, ...]:
    """Results as columns."""
    return tuple(_columns(player) for player in results)


def _columns(player: PlayerResult) -> Columns:
    rows = player.items
    spends = [row.spend for row in rows]
    values: dict[str, Array] = {name: _scores([getattr(row, name) for row in rows]) for name in SCORES}
    for name in COSTS[:4]:
        values[name] = _costs([getattr(spend, name) for spend in spends])
    for at, name in enumerate(MEASURES):
        amounts: list[Amount] = [spend.amounts[at] for spend in spends]
        parts = zip(PARTS, ("total", "known", "unknown", "worst"), strict=True)
        values |= {name + end: _costs([getattr(amount, part) for amount in amounts]) for end, part in parts}
    status = np.array([STATUSES.index(row.status) for row in rows], dtype=np.int8)
    items = tuple(row.item for row in rows)
    return Columns(
        player.name, items, status, values, player.shared, player.threshold, player.max_reviews, player.stopped
    )


def _scores(values: Sequence[float | None]) -> Array:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _costs(values: Sequence[float]) -> Array:
    """As floats where those are exact, else as they are."""
    found = np.array(values, dtype=np.float64)
    return found if is_exact(found) else np.array(values, dtype=object)


def is_exact(values: Array) -> bool:
    """Whether floats can hold these and their sums to the last digit; those without a bound aside."""
    finite = values if np.isfinite(values).all() else values[np.isfinite(values)]
    return not len(finite) or float(np.abs(finite).max()) * len(finite) < EXACT


def scored(players: Sequence[Columns], rules: ScoreRules) -> Score:
    """The score of a match.

    Each player's items are put together into one that scores the same, which leaves the rules of scoring where they
    are written down.
    """
    items = players[0].items
    broken = np.stack([(own.status == REFUSED) | (own.status == FAILED) for own in players])
    lost = np.asarray(broken.any(axis=0))
    kept = ~lost if rules.refusals == "intersection" and lost.any() else None
    left = len(items) if kept is None else int(kept.sum())
    found = score([_one(own, kept, left, rules.refusals) for own in players], rules)
    dropped = tuple(
        (items[at], tuple(own.name for own, row in zip(players, broken, strict=True) if row[at]))
        for at in np.flatnonzero(lost).tolist()
    )
    rates = [own.count("ok") / len(items) if items else 0.0 for own in players]
    rows = tuple(replace(row, answer_rate=rate) for row, rate in zip(found.players, rates, strict=True))
    return replace(found, players=rows, items=left, dropped=dropped)


def _one(own: Columns, kept: NDArray[np.bool_] | None, left: int, rule: Refusals) -> PlayerResult:
    """A player with one item that stands for all it is scored by."""
    if not own.items:
        return PlayerResult(own.name, (), own.shared)
    h, before = _accuracy(own, kept, rule)
    status: ResultStatus = "failed" if h is None else "ok"
    row = ItemResult("all", status, h, before, _spend(own, kept))
    return PlayerResult(own.name, (row,), own.shared.share(left / len(own.items)) if left else own.shared)


def _accuracy(own: Columns, kept: NDArray[np.bool_] | None, rule: Refusals) -> tuple[float | None, float | None]:
    """Mean H after and before review over the items this rule scores."""
    if rule == "answered":
        kept = (own.status == OK) | (own.status == UNANSWERED)
    answered = own.status == OK
    means: list[float | None] = []
    for name in ("h", "h_first"):
        values = np.where(answered, np.nan_to_num(own.values[name]), 0.0)
        values = values if kept is None else values[kept]
        means.append(math.fsum(values.tolist()) / len(values) if len(values) else None)
    return means[0], means[1]


def _spend(own: Columns, kept: NDArray[np.bool_] | None) -> Spend:
    """All that the items took, added one after the other."""

    def total(name: str) -> float:
        values = own.values[name] if kept is None else own.values[name][kept]
        with np.errstate(over="ignore"):  # worst cases may add up to no bound
            return _whole(np.add.accumulate(values)[-1]) if len(values) else 0

    def amount(name: str) -> Amount:
        known, unknown = int(total(name + "_known")), int(total(name + "_unknown"))
        return Amount(total(name), known, unknown, total(name + "_worst"))

    counts = {name: int(total(name)) for name in COSTS[:4]}
    return Spend(**counts, amounts=tuple(amount(name) for name in MEASURES))


def _whole(value: Any) -> float:
    """A number as Python's own; a count that a float holds is one again."""
    if not hasattr(value, "item"):
        return value
    plain: float = value.item()
    return int(plain) if abs(plain) < EXACT and plain == int(plain) else plain
