"""Results as arrays: players by items, from a match or from anyone's rows.

Trials of an item are averaged first, so that items stay the unit. What is absent or unknown is NaN, never 0. A table
of totals is one item that stands for all of them, and has no intervals.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.columns import OK, STATUSES, UNANSWERED, Columns, columns_of
from mashq.errors import DataError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import PlayerResult

Floats = NDArray[np.float64]
Match = Sequence[PlayerResult] | Sequence[Columns]


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: `h` is None unless its status is ok; a cost that is not there is unknown."""

    player: str
    item: str
    trial: str
    h: float | None
    status: str
    costs: Mapping[str, float]
    where: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Arrays of players x items, averaged over trials.

    `h` is the mean of the usable answers (an unanswered one counts 0), NaN where there is none; `h_penalised` counts
    refused and failed ones as 0; `answered` is the share of trials that gave an answer; `present` says whether the
    player was asked at all; `costs` by resource, NaN where unknown.
    """

    players: tuple[str, ...]
    items: tuple[str, ...]
    h: Floats
    h_penalised: Floats
    answered: Floats
    present: NDArray[np.bool_]
    costs: Mapping[str, Floats]
    trials: int = 1
    totals: bool = False

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Where there is an answer to score."""
        return ~np.isnan(self.h)

    def only(self, players: Sequence[str]) -> "Results":
        """The same results for some of the players."""
        rows = np.array([self.players.index(name) for name in players])
        return Results(
            tuple(players),
            self.items,
            self.h[rows],
            self.h_penalised[rows],
            self.answered[rows],
            self.present[rows],
            {name: values[rows] for name, values in self.costs.items()},
            self.trials,
            self.totals,
        )


def from_rows(rows: Iterable[Row], *, totals: bool = False) -> Results:
    """Results from rows; the same (player, item, trial) twice is an error."""
    players: dict[str, int] = {}
    items: dict[str, int] = {}
    seen: dict[tuple[str, str, str], str] = {}
    kept: list[Row] = []
    for row in rows:
        key = (row.player, row.item, row.trial)
        if key in seen:
            trial = f", trial {row.trial!r}" if row.trial else ""
            what = f"player {row.player!r}" + ("" if totals else f", item {row.item!r}")
            raise DataError(
                f"{row.where}: {what}{trial} is there already ({seen[key]}): "
                "give repeats a 'trial' column, or keep one"
            )
        seen[key] = row.where
        players.setdefault(row.player, len(players))
        items.setdefault(row.item, len(items))
        kept.append(row)
    shape = (len(players), len(items))
    count, usable, answered = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    h_sum = np.zeros(shape)
    sums = {name: np.zeros(shape) for name in RESOURCES}
    known = {name: np.zeros(shape) for name in RESOURCES}
    for row in kept:
        at = players[row.player], items[row.item]
        count[at] += 1
        answered[at] += row.status == "ok"
        usable[at] += row.status in ("ok", "unanswered")
        h_sum[at] += row.h if row.h is not None else 0.0
        for name, value in row.costs.items():
            sums[name][at] += value
            known[name][at] += 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return Results(
            tuple(players),
            tuple(items),
            h=h_sum / np.where(usable > 0, usable, np.nan),
            h_penalised=h_sum / np.where(count > 0, count, np.nan),
            answered=answered / np.where(count > 0, count, np.nan),
            present=count > 0,
            costs={name: sums[name] / np.where(known[name] > 0, known[name], np.nan) for name in RESOURCES},
            trials=int(count.max()) if kept else 0,
            totals=totals,
        )


def from_match(results: Match) -> Results:
    """Results of a played match; what belongs to no item is spread over all of them."""
    return from_matches([results])


def from_matches(trials: Iterable[Match]) -> Results:
    """Results of the trials of a match, added up one at a time: the same players and items in each."""
    tally: _Tally | None = None
    for results in trials:
        players = tuple(own if isinstance(own, Columns) else columns_of([own])[0] for own in results)
        tally = tally or _Tally(tuple(own.name for own in players), players[0].items)
        tally.add(players)
    if tally is None:
        raise DataError("there are no results: play the match first")
    return tally.results()


class _Tally:
    """Sums over trials, players x items."""

    def __init__(self, players: tuple[str, ...], items: tuple[str, ...]) -> None:
        self._players, self._items, self._trials = players, items, 0
        shape = (len(players), len(items))
        self._h, self._usable, self._answered = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._sums = {name: np.zeros(shape) for name in RESOURCES}
        self._known = {name: np.zeros(shape) for name in RESOURCES}

    def add(self, players: Sequence[Columns]) -> None:
        self._trials += 1
        for seat, own in enumerate(players):
            cells = seat, slice(len(own.items))
            answered = own.status == OK
            self._answered[cells] += answered
            self._usable[cells] += answered | (own.status == UNANSWERED)
            self._h[cells] += np.where(answered, np.nan_to_num(own.values["h"]), 0.0)
            for name in RESOURCES:
                total, known = own.amount(name)
                share = own.shared.amount(name).total / max(len(own.items), 1)
                self._sums[name][cells] += np.where(known, np.asarray(total + share, dtype=np.float64), 0.0)
                self._known[name][cells] += known

    def results(self) -> Results:
        usable = np.where(self._usable > 0, self._usable, np.nan)
        known = {name: np.where(count > 0, count, np.nan) for name, count in self._known.items()}
        return Results(
            self._players,
            self._items,
            h=self._h / usable,
            h_penalised=self._h / self._trials,
            answered=self._answered / self._trials,
            present=np.ones(self._h.shape, dtype=bool),
            costs={name: total / known[name] for name, total in self._sums.items()},
            trials=self._trials,
        )


def check(h: float | None, status: str, costs: Mapping[str, float], where: str) -> None:
    """Refuse what no result can be, in one sentence."""
    if status not in STATUSES:
        raise DataError(f"{where}: status is {status!r}, must be one of {', '.join(STATUSES)}")
    if status == "ok" and (h is None or not (math.isfinite(h) and 0 <= h <= 1)):
        raise DataError(f"{where}: h is {h}, must be a number from 0 to 1")
    if status != "ok" and h is not None:
        raise DataError(f"{where}: h is {h} but the status is {status}: leave h empty unless the status is ok")
    for name, value in costs.items():
        if not (math.isfinite(value) and value >= 0):
            raise DataError(f"{where}: {name} is {value}, must be a number that is not negative")
