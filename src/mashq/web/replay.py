"""A match as columns: every move once, with what its player had come to after it.

Contract: `take` replays rows of the events table in their order, as many at a time as there are. Afterwards the match
after any number of moves is a few look-ups, so that a slider can go anywhere in a match of any length. It holds
numbers only, no text: about two hundred bytes a move, beside the last state. All of it is the protocol's replay,
written down. H is the judge's score; what a snapshot shows is the guide's, as it was shown.
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
TEXTS = ("text", "text_first")  # not needed for any rule
UNKNOWN = float("nan")

Row = tuple[int, str, str, str, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """A player's work on an item: its status, H, H of the first answer, and reviews."""

    status: ItemStatus = "pending"
    h: float | None = None
    h_first: float | None = None
    reviews: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """What a player has come to: items done, mean H, its costs as far as known (None: not at all)."""

    done: int
    h: float | None
    costs: dict[str, float | None]
    unknown: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A snapshot that rivals see: whose, of which round, its fields, and whether the player has left."""

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
    """What a player is doing: from how many moves on, and what."""

    since: "array[int]"
    phase: "array[int]"


class MatchReplay:
    """The columns of one match, its state after the last move taken, and its story as far as it is known."""

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
        """The sequence number of the last move taken in; 0 before the first."""
        return self.seq(len(self))

    def take(self, rows: Iterable[Row]) -> int:
        """Replay more moves; how many there were. One that cannot follow is a ValueError, those before it are in."""
        taken: list[tuple[float, ...]] = []
        before = len(self)
        try:
            for seq, player, kind, body, time in rows:
                at = before + len(taken)
                delta = step(self.state, at + 1, player, _move(kind, body))
                self.story.hear(delta)
                taken.append(self._noted(delta, at, seq, time))
                self.state = delta.after
        finally:
            columns = (*self._counts.values(), *self._figures.values())
            for column, values in zip(columns, zip(*taken, strict=True), strict=bool(taken)):
                column.extend(values)
        return len(taken)

    def seq(self, upto: int) -> int:
        """The sequence number of the last of the first `upto` moves; 0 before the first."""
        return self._counts["seq"][upto - 1] if upto else 0

    def seq_of(self, at: int) -> int:
        """The sequence number of a move, counted from 0."""
        return self._counts["seq"][at]

    def round(self, upto: int) -> int:
        """The round of the last of the first `upto` moves."""
        return self._counts["round"][upto - 1] if upto else 0

    def time(self, upto: int) -> float | None:
        """When the last of the first `upto` moves was made."""
        return self._figures["time"][upto - 1] if upto else None

    def phase(self, seat: int, upto: int) -> str:
        """What a player is doing after `upto` moves."""
        changes = self._phases[seat]
        return PHASES[changes.phase[bisect_right(changes.since, upto) - 1]]

    def totals(self, seat: int, upto: int) -> Totals:
        """What a player has come to after `upto` moves."""
        at = self._last_move(seat, upto)
        if at is None:
            return Totals(0, None, dict.fromkeys(TABLE, 0), 0)
        counts = self._counts
        answered = counts["answered"][at]
        costs = {name: _known(self._figures[name][at], count=not row.measures) for name, row in TABLE.items()}
        h = self._figures["h_sum"][at] / answered if answered else None
        return Totals(counts["handled"][at], h, costs, counts["unknown"][at])

    def at_work(self, seat: int, upto: int) -> int:
        """The place of the item that a player's last move was about; -1 before the first."""
        at = self._last_move(seat, upto)
        return -1 if at is None else self._counts["place"][at]

    def cell(self, seat: int, place: int, upto: int) -> Cell:
        """A player's work on an item after `upto` moves."""
        made = self.cells.get((seat, place))
        known = 0 if made is None else bisect_left(made, upto)
        if made is None or not known:
            return Cell()
        at = made[known - 1]
        status, reviews = tuple(STATUSES)[self._counts["status"][at]], self._counts["item_reviews"][at]
        return Cell(status, _known(self._figures["h"][at]), _known(self._figures["h_first"][at]), reviews)

    def shown(self, round_: int) -> list[Shown]:
        """The snapshots that rivals see in a round."""
        every: list[Shown] = []
        for seat, own in enumerate(self._snapshots):
            at = bisect_left(own.rounds, round_) - 1
            if at >= 0 and delivers(self.first.rules, own.rounds[at], round_):
                values, stopped = own.values[at]
                every.append(Shown(seat, own.rounds[at], dict(zip(self._fields, values, strict=True)), stopped))
        return every

    def about(self, place: int) -> list[int]:
        """The moves about an item: answers, rewrites, the decision after an answer and the one before a rewrite."""
        every: set[int] = set()
        kinds = self._counts["kind"]
        for seat, moves in enumerate(self.moves):
            for at in self.cells.get((seat, place), ()):
                every.add(at)
                near = bisect_left(moves, at) + (1 if kinds[at] == MOVES[Answer] else -1)
                if 0 <= near < len(moves) and kinds[moves[near]] == MOVES[Decision]:
                    every.add(moves[near])
        return sorted(every)

    def round_start(self, round_: int) -> int:
        """How many moves were made before a round."""
        return bisect_left(self._counts["round"], round_)

    def _last_move(self, seat: int, upto: int) -> int | None:
        made = bisect_left(self.moves[seat], upto)
        return self.moves[seat][made - 1] if made else None

    def _noted(self, delta: Delta, at: int, seq: int, time: float) -> tuple[float, ...]:
        """A move as a row of the columns; the indexes are kept up with it."""
        seat, player, move, work = delta.seat, delta.player, delta.move, delta.work
        place = -1 if delta.place is None else delta.place
        item = (0, 0, UNKNOWN, UNKNOWN)
        if work is not None:
            h, first = work.judge_h, work.judge_h_first
            h, first = UNKNOWN if h is None else h, UNKNOWN if first is None else first
            item = (STATUSES[work.status], work.reviews, h, first)
        self.moves[seat].append(at)
        if isinstance(move, Answer | Rewrite):
            self.cells.setdefault((seat, place), array("i")).append(at)
        self._note_phase(seat, player, at + 1)
        if delta.closed_round:
            self._note_round(delta, at + 1)
        spend = player.spend
        counts = (player.position, player.answered, spend.unknown)
        return (
            *(seq, delta.round, seat, MOVES[type(move)], place, *item[:2], *counts),
            *(*item[2:], player.judge_sum, time, *[_cost(spend.amount(name)) for name in RESOURCES]),
        )

    def _note_round(self, delta: Delta, upto: int) -> None:
        """What the end of a round changed."""
        for seat, player in enumerate(delta.after.players):
            self._note_phase(seat, player, upto)
        for seat, shot in delta.snapshots:
            self._fields = tuple(name for name, _ in shot.fields)
            self._snapshots[seat].rounds.append(shot.round)
            self._snapshots[seat].values.append((tuple(value for _, value in shot.fields), shot.stopped))

    def _note_phase(self, seat: int, player: PlayerState, upto: int) -> None:
        changes, phase = self._phases[seat], phase_of(player)
        if changes.phase[-1] != phase:
            changes.since.append(upto)
            changes.phase.append(phase)


def phase_of(player: PlayerState) -> int:
    """What a player is doing, as an index of PHASES: its phase, but for one that has left or ended its play."""
    if player.stopped is not None:
        return PHASE_CODES["stopped"]
    return PHASE_CODES["done" if player.ended else player.phase]


def _move(kind: str, body: str) -> Move:
    """A move of the table, without its texts."""
    document: object = json.loads(body)
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
