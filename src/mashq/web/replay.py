"""A match as columns: every move once, with what its player had come to after it.

Contract: `take` folds rows of the events table in their order, as many at a time as there are. Afterwards the state
after any number of moves is a few look-ups, so that a slider can go anywhere in a match of any length. It holds
numbers only, no text: about two hundred bytes a move. What it says is what the protocol's own fold says; the tests
hold the two together. H is the judge's score; what a snapshot shows is the guide's, as it was shown.
"""

import json
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mashq.analysis.story.tell import Event, Scene, Teller
from mashq.web.player_totals import Own

KINDS = {"answer": 0, "decision": 1, "rewrite": 2, "stop": 3}
STATUSES = ("ok", "refused", "failed")
PHASES = ("answer", "decide", "review", "rest", "done", "stopped")
ANSWER, DECIDE, REVIEW, REST, DONE, STOPPED = range(6)
WHOLE = (
    *("seq", "round", "seat", "kind", "position", "status", "phase", "handled", "answered", "calls", "reviews"),
    *("tokens_known", "tokens_unknown", "seconds_known", "seconds_unknown", "dollars_known", "dollars_unknown"),
)
REAL = ("h", "first", "h_sum", "tokens", "seconds", "dollars", "time")

Row = tuple[int, int, str, str, str | None, str, str | None, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """What must be known of a match before its first move."""

    scene: Scene
    turn: str
    orders: tuple[tuple[int, ...], ...]
    reviews: tuple[int, ...]
    show: tuple[str, ...]
    positions: dict[str, int]


class Reel:
    """The columns of one match, and its story as far as it is known."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.teller = Teller(shape.scene)
        self.columns: dict[str, array[Any]] = {name: array("q") for name in WHOLE}
        self.columns |= {name: array("d") for name in REAL}
        scene = shape.scene
        start = ANSWER if shape.turn == "cycle" else DECIDE
        self._own = [
            Own(name, seat, scene.thresholds[name], shape.reviews[seat], start if scene.items else DONE)
            for seat, name in enumerate(scene.players)
        ]
        self._seats = {own.name: own for own in self._own}
        self.moves: list[array[int]] = [array("q") for _ in self._own]
        self.cells: dict[tuple[int, int], array[int]] = {}
        self.snapshots: list[tuple[array[int], list[tuple[list[float | None], bool]]]] = [
            (array("q"), []) for _ in self._own
        ]
        self._round = 0

    def __len__(self) -> int:
        return len(self.columns["seq"])

    @property
    def last(self) -> int:
        """The sequence number of the last move taken in; 0 before the first."""
        return self.columns["seq"][-1] if len(self) else 0

    def take(self, rows: Iterable[Row]) -> int:
        """Fold more moves; how many there were."""
        before, taken = len(self), list[tuple[float, ...]]()
        for seq, round_, player, kind, item, body, ruled, time in rows:
            own = self._seats.get(player)
            if own is None or kind not in KINDS:
                continue
            move: dict[str, Any] = json.loads(body)
            ruling: dict[str, Any] | None = json.loads(ruled) if ruled else None
            if round_ > self._round:
                self._close_round(round_)
            self.teller.hear(Event(round_, player, kind, item, move, ruling))
            position = self.shape.positions.get(item, -1) if item is not None else -1
            status, h, first = self._moved(own, kind, position, move, ruling)
            at = before + len(taken)
            self.moves[own.seat].append(at)
            if position >= 0 and kind in ("answer", "rewrite"):
                self.cells.setdefault((own.seat, position), array("q")).append(at)
            place = (seq, round_, own.seat, KINDS[kind], position, status, own.phase)
            taken.append((*place, *own.counts(), h, first, own.h_sum, *own.amounts(), time))
        for column, values in zip(self.columns.values(), zip(*taken, strict=True), strict=bool(taken)):
            column.extend(values)
        return len(taken)

    def state(self, seat: int, upto: int) -> int | None:
        """The last move of a seat among the first `upto`; None before it has made one."""
        found = bisect_left(self.moves[seat], upto)
        return self.moves[seat][found - 1] if found else None

    def cell(self, seat: int, position: int, upto: int) -> tuple[str, float | None, float | None, int]:
        """A player's work on an item after `upto` moves: status, H, H of the first answer, reviews."""
        made = self.cells.get((seat, position))
        known = 0 if made is None else bisect_left(made, upto)
        if made is None or not known:
            return "pending", None, None, 0
        columns = self.columns
        first, last = made[0], made[known - 1]
        status = STATUSES[int(columns["status"][first])]
        if status != "ok":
            return status, None, None, known - 1
        return status, columns["h"][last], columns["first"][first], known - 1

    def shown(self, round_: int) -> list[tuple[int, int, list[float | None], bool]]:
        """The snapshots that rivals see in a round: seat, round it was taken in, the fields shown, left or not."""
        found: list[tuple[int, int, list[float | None], bool]] = []
        for seat, (rounds, values) in enumerate(self.snapshots):
            at = bisect_right(rounds, round_ - 1) - 1
            if at >= 0 and (self.shape.scene.vision_keep == "latest" or rounds[at] == round_ - 1):
                found.append((seat, rounds[at], *values[at]))
        return found

    def about(self, position: int) -> list[int]:
        """The moves about an item: answers, rewrites, the decision after an answer and the one before a rewrite."""
        found: set[int] = set()
        for seat, moves in enumerate(self.moves):
            for at in self.cells.get((seat, position), ()):
                found.add(at)
                place = bisect_left(moves, at) + (1 if self.columns["kind"][at] == KINDS["answer"] else -1)
                if 0 <= place < len(moves) and self.columns["kind"][moves[place]] == KINDS["decision"]:
                    found.add(moves[place])
        return sorted(found)

    def round_start(self, round_: int) -> int:
        """How many moves were made before a round."""
        return bisect_left(self.columns["round"], round_)

    def _moved(
        self, own: Own, kind: str, position: int, move: dict[str, Any], ruling: dict[str, Any] | None
    ) -> tuple[int, float, float]:
        """Change a player by its move; the item's status, H and first H after it."""
        own.moved = True
        own.charge(move.get("spend"), kind == "rewrite")
        if kind == "answer":
            return self._answered(own, position, move)
        if kind == "rewrite":
            return self._rewritten(own, position, move)
        if kind == "stop":
            own.phase = STOPPED
            return 0, 0.0, 0.0
        choice = (ruling or move)["choice"]
        cycle = self.shape.turn == "cycle"
        own.phase = {"review": REVIEW, "end": DONE}.get(choice, REST if cycle else ANSWER)
        own.reviewed = own.reviewed or choice == "review"
        return 0, 0.0, 0.0

    def _answered(self, own: Own, position: int, move: dict[str, Any]) -> tuple[int, float, float]:
        own.handled += 1
        own.phase = DECIDE if self.shape.turn == "cycle" else REST
        status, guide = STATUSES.index(move["status"]), move.get("h")
        if status or guide is None:
            return status or 2, 0.0, 0.0
        judged = move.get("judged")
        h: float = guide if judged is None else judged
        first = move.get("h_first") if judged is None else move.get("judged_first")
        first = h if first is None else first
        own.answered += 1
        own.h_sum += h
        own.guide_sum += guide
        own.work[position] = (guide, h, first, 0)
        insort(own.ranked, guide)
        return 0, h, first

    def _rewritten(self, own: Own, position: int, move: dict[str, Any]) -> tuple[int, float, float]:
        status, guide = STATUSES.index(move["status"]), move.get("h")
        old, h, first, reviews = own.work.get(position, (0.0, 0.0, 0.0, 0))
        scene = self.shape.scene
        if position in own.work and not status and guide is not None and (scene.keep == "latest" or guide > old):
            judged = move.get("judged")
            new: float = guide if judged is None else judged
            own.h_sum = own.h_sum - h + new
            own.guide_sum = own.guide_sum - old + guide
            del own.ranked[bisect_left(own.ranked, old)]
            insort(own.ranked, guide)
            old, h = guide, new
        own.work[position] = (old, h, first, reviews + 1)
        again = self.shape.turn == "cycle" and old < own.threshold and reviews + 1 < own.most
        own.phase = REVIEW if again else REST
        return status, h, first

    def _close_round(self, next_: int) -> None:
        """Take the snapshots that the rules show."""
        scene = self.shape.scene
        for own, (rounds, values) in zip(self._own, self.snapshots, strict=True):
            if not own.moved:
                continue
            stopped = own.phase == STOPPED
            if (own.reviewed and scene.vision != "never") or (scene.vision == "always" and not stopped):
                rounds.append(self._round)
                values.append((own.snapshot(self.shape.show), stopped))
            elif stopped and values:
                rounds.append(self._round)
                values.append((values[-1][0], True))
            own.reviewed = own.moved = False
            if own.phase == REST and own.handled >= scene.items and self.shape.turn == "cycle":
                own.phase = DONE
        self._round = next_
