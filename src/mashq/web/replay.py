"""A match as columns: one row per move, with its player's totals after it.

Contract: `take` replays rows of the events table in order, in batches of any size. Afterwards the match after any
number of moves takes only a few look-ups, so that a slider can move freely in a match of any length. It holds numbers
only, no text: about two hundred bytes per move, plus the last state. All values come from the protocol's replay. H is
the judge's score; a snapshot has the guide's score, as it was shown.
"""

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from mashq.analysis.story.story import Story
from mashq.protocol.game import delivers
from mashq.protocol.moves import KINDS, Answer, Decision, Move, Rewrite, from_json
from mashq.protocol.replay import Delta, step
from mashq.protocol.resources import RESOURCES, TABLE, Amount
from mashq.protocol.score import ScoreRules
from mashq.protocol.state import ItemStatus, MatchState, PlayerState

MOVES = {kind: code for code, kind in enumerate(KINDS.values())}
STATUSES: dict[ItemStatus, int] = {"pending": 0, "ok": 1, "refused": 2, "failed": 3, "cut": 4}
PHASES = ("answer", "decide", "review", "rest", "done", "stopped")
PHASE_CODES = {name: code for code, name in enumerate(PHASES)}
COUNTS = ("seq", "round", "seat", "kind", "place", "status", "item_reviews", "handled", "answered", "unknown")
FIGURES = ("h", "h_first", "h_sum", "time")
TEXTS = ("text", "text_first")  # not needed by any rule
UNKNOWN = float("nan")

Row = tuple[int, str, str, str, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """A player's work on an item: its status, H, H of the first answer, and all its reviews."""

    status: ItemStatus = "pending"
    h: float | None = None
    h_first: float | None = None
    reviews: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """A player's totals: items done, mean H, and its known costs (None: unknown)."""

    done: int
    h: float | None
    costs: dict[str, float | None]
    unknown: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A snapshot that rivals see: its player, its round, its fields, and whether the player has left."""

    seat: int
    round: int
    fields: dict[str, float | None]
    stopped: bool


@dataclass(frozen=True, slots=True)
class _Snapshots:
    rounds: "array[int]"
    values: list[tuple[tuple[float | None, ...], bool]]


@dataclass(frozen=True, slots=True)
class _Changes:
    """The phases of a player: the number of moves at which each begins, and the phase."""

    since: "array[int]"
    phase: "array[int]"


class MatchReplay:
    """The columns of one match, its state after the last replayed move, and its story so far."""

    state: "MatchState"
    story: "Story"

    def __init__(self, first: MatchState, rules: ScoreRules) -> None:
        self.first = self.state = first
        self.rules = rules
        self.story = Story(first, rules)
        self._counts: dict[str, array[int]] = {name: array("q") for name in COUNTS}
        self._figures: dict[str, array[float]] = {name: array("d") for name in (*FIGURES, *RESOURCES)}
        self.moves: list[array[int]] = [array("i") for _ in first.players]
        self.cells: dict[tuple[int, int], array[int]] = {}
        self._phases = [_Changes(array("i", [0]), array("b", [phase_of(player)])) for player in first.players]
        self._snapshots = [_Snapshots(array("i"), []) for _ in first.players]
        self._fields: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._counts["seq"])

    @property
    def last(self) -> int:
        """The sequence number of the last replayed move; 0 before the first."""
        return self.seq(len(self))

    def take(self, rows: Iterable[Row]) -> int:
        """Replay more moves and return their number; an invalid move raises ValueError, those before it are kept."""
        new_rows: list[tuple[float, ...]] = []
        before = len(self)
        try:
            for seq, player, kind, move_json, time in rows:
                index = before + len(new_rows)
                delta = step(self.state, index + 1, player, _move(kind, move_json))
                self.story.hear(delta)
                new_rows.append(self._record_move(delta, index, seq, time))
                self.state = delta.after
        finally:
            columns = (*self._counts.values(), *self._figures.values())
            for column, values in zip(columns, zip(*new_rows, strict=True), strict=bool(new_rows)):
                column.extend(values)
        return len(new_rows)

    def seq(self, upto: int) -> int:
        """Return the sequence number of the last of the first `upto` moves; 0 before the first."""
        return self._counts["seq"][upto - 1] if upto else 0

    def seq_of(self, index: int) -> int:
        """Return the sequence number of a move by its index, from 0."""
        return self._counts["seq"][index]

    def round(self, upto: int) -> int:
        """Return the round of the last of the first `upto` moves."""
        return self._counts["round"][upto - 1] if upto else 0

    def time(self, upto: int) -> float | None:
        """Return the time of the last of the first `upto` moves."""
        return self._figures["time"][upto - 1] if upto else None

    def phase(self, seat: int, upto: int) -> str:
        """Return the phase of a player after `upto` moves."""
        changes = self._phases[seat]
        return PHASES[changes.phase[bisect_right(changes.since, upto) - 1]]

    def totals(self, seat: int, upto: int) -> Totals:
        """Return the totals of a player after `upto` moves."""
        index = self._last_move(seat, upto)
        if index is None:
            return Totals(0, None, dict.fromkeys(TABLE, 0), 0)
        counts = self._counts
        answered = counts["answered"][index]
        costs = {name: _known(self._figures[name][index], count=not row.measures) for name, row in TABLE.items()}
        h = self._figures["h_sum"][index] / answered if answered else None
        return Totals(counts["handled"][index], h, costs, counts["unknown"][index])

    def at_work(self, seat: int, upto: int) -> int:
        """Return the place of the item of a player's last move; -1 before the first."""
        index = self._last_move(seat, upto)
        return -1 if index is None else self._counts["place"][index]

    def cell(self, seat: int, place: int, upto: int) -> Cell:
        """Return a player's work on an item after `upto` moves."""
        move_indexes = self.cells.get((seat, place))
        count = 0 if move_indexes is None else bisect_left(move_indexes, upto)
        if move_indexes is None or not count:
            return Cell()
        index = move_indexes[count - 1]
        status, reviews = tuple(STATUSES)[self._counts["status"][index]], self._counts["item_reviews"][index]
        return Cell(status, _known(self._figures["h"][index]), _known(self._figures["h_first"][index]), reviews)

    def shown(self, round_: int) -> list[Shown]:
        """Return the snapshots that rivals see in a round."""
        visible: list[Shown] = []
        for seat, snapshots in enumerate(self._snapshots):
            index = bisect_left(snapshots.rounds, round_) - 1
            if index >= 0 and delivers(self.first.rules, snapshots.rounds[index], round_):
                values, stopped = snapshots.values[index]
                visible.append(
                    Shown(seat, snapshots.rounds[index], dict(zip(self._fields, values, strict=True)), stopped)
                )
        return visible

    def about(self, place: int) -> list[int]:
        """Return the moves about an item: answers, rewrites, the decisions after an answer and before a rewrite."""
        indexes: set[int] = set()
        kinds = self._counts["kind"]
        for seat, moves in enumerate(self.moves):
            for index in self.cells.get((seat, place), ()):
                indexes.add(index)
                neighbour = bisect_left(moves, index) + (1 if kinds[index] == MOVES[Answer] else -1)
                if 0 <= neighbour < len(moves) and kinds[moves[neighbour]] == MOVES[Decision]:
                    indexes.add(moves[neighbour])
        return sorted(indexes)

    def round_start(self, round_: int) -> int:
        """Return how many moves were made before a round."""
        return bisect_left(self._counts["round"], round_)

    def _last_move(self, seat: int, upto: int) -> int | None:
        count = bisect_left(self.moves[seat], upto)
        return self.moves[seat][count - 1] if count else None

    def _record_move(self, delta: Delta, index: int, seq: int, time: float) -> tuple[float, ...]:
        """Return a move as a row of the columns, and update the indexes."""
        seat, player, move, work = delta.seat, delta.player, delta.move, delta.work
        place = -1 if delta.place is None else delta.place
        item = (0, 0, UNKNOWN, UNKNOWN)
        if work is not None:
            h, first = work.judge_h, work.judge_h_first
            h, first = UNKNOWN if h is None else h, UNKNOWN if first is None else first
            item = (STATUSES[work.status], int(work.spend.reviews), h, first)
        self.moves[seat].append(index)
        if isinstance(move, Answer | Rewrite):
            self.cells.setdefault((seat, place), array("i")).append(index)
        self._record_phase(seat, player, index + 1)
        if delta.closed_round:
            self._record_round(delta, index + 1)
        spend = player.spend
        counts = (player.position, player.answered, spend.unknown)
        return (
            *(seq, delta.round, seat, MOVES[type(move)], place, *item[:2], *counts),
            *(*item[2:], player.judge_sum, time, *[_cost(spend.amount(name)) for name in RESOURCES]),
        )

    def _record_round(self, delta: Delta, upto: int) -> None:
        """Record what the end of a round changed."""
        for seat, player in enumerate(delta.after.players):
            self._record_phase(seat, player, upto)
        for seat, shot in delta.snapshots:
            self._fields = tuple(name for name, _ in shot.fields)
            self._snapshots[seat].rounds.append(shot.round)
            self._snapshots[seat].values.append((tuple(value for _, value in shot.fields), shot.stopped))

    def _record_phase(self, seat: int, player: PlayerState, upto: int) -> None:
        changes, phase = self._phases[seat], phase_of(player)
        if changes.phase[-1] != phase:
            changes.since.append(upto)
            changes.phase.append(phase)


def phase_of(player: PlayerState) -> int:
    """Return what a player is doing as an index of PHASES: its phase, unless it has left or ended its play."""
    if player.stopped is not None:
        return PHASE_CODES["stopped"]
    return PHASE_CODES["done" if player.ended else player.phase]


def _move(kind: str, move_json: str) -> Move:
    """Parse a move of the events table, without its texts."""
    document: object = json.loads(move_json)
    if isinstance(document, dict):
        fields = cast(dict[str, object], document)
        for name in TEXTS:
            fields.pop(name, None)
    return from_json(kind, cast(object, document))


def _cost(amount: Amount) -> float:
    return amount.total if amount.is_known else UNKNOWN


def _known(value: float, *, count: bool = False) -> float | None:
    if value != value:
        return None
    return int(value) if count else value
