"""What answers carry, stored with a match when it ends; measured from the texts where it is not stored.

Simulated answers have no text of their own, and nothing is known of what they carry.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mashq.config import Config
from mashq.detectors.base import Pair
from mashq.detectors.contents import SUMMARISE, content, floor
from mashq.players.registry import answers_are_drawn
from mashq.protocol.content import ANSWERS, LEADS, OF_FLOOR, Contents
from mashq.protocol.items import Item, attempts
from mashq.protocol.state import ItemState, MatchState
from mashq.runs.chain import CONTENTS, FLOOR, NOTE
from mashq.runs.file import Statement, columns_of

CONTENT = f"INSERT OR REPLACE INTO contents VALUES ({','.join('?' * (3 + len(ANSWERS)))})"
NOTHING = (None,) * len(ANSWERS)

Row = tuple[float | None, ...]
"""One of ANSWERS, or of OF_FLOOR, after the other."""
Carried = tuple[int, int, Row]
"""A seat, a position, and what the answer carries."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What each of the floors has on each item: one of OF_FLOOR after the other, by name and position."""

    rows: Mapping[str, Sequence[Row]]

    def statements(self) -> Iterator[Statement]:
        """As rows of the run."""
        for name, own in self.rows.items():
            for position, row in enumerate(own):
                yield FLOOR, (name, position, *row)


def has_texts(config: Config, seat: int) -> bool:
    """Whether the answers of a seat are texts."""
    player = config.players[seat]
    return not answers_are_drawn(player.agent, player.model)


def measured(config: Config, state: MatchState) -> Iterator[Carried]:
    """Seat, position and what the answer carries, for every seat whose answers are texts."""
    for seat, player in enumerate(state.players):
        if has_texts(config, seat):
            for position, work in zip(player.order, player.items, strict=True):
                yield seat, position, carried(config.task.kind, state.items[position], work)


def carried(kind: str, item: Item, work: ItemState) -> Row:
    """What an answer carries; nothing where there is none."""
    if work.status != "ok":
        return NOTHING
    last, first = (
        content(kind, item.text, text, attempts(item, abstained=abstained))
        for text, abstained in ((work.text, work.abstained), (work.text_first, work.abstained_first))
    )
    return last.words, first.words, last.coverage, first.coverage, last.copied


def statements(match: str, rows: Sequence[Carried]) -> Iterator[Statement]:
    """The rows of a match that has ended, and what the chain says of them."""
    for seat, position, row in rows:
        yield CONTENT, (match, seat, position, *row)
    if rows:
        yield NOTE, (CONTENTS, match, digest(rows))


def digest(rows: Iterable[Carried]) -> str:
    """Of what the answers of a match carry: measuring it anew takes as long as scoring them does."""
    whole = hashlib.sha256()
    for seat, position, row in sorted(rows, key=lambda own: own[:2]):
        values = [None if value is None else float(value) for value in row]
        whole.update(json.dumps([seat, position, *values]).encode() + b"\n")
    return whole.hexdigest()


def floor_pairs(items: Sequence[Item]) -> dict[str, list[Pair]]:
    """The texts of the floors, by name and item."""
    return {name: [Pair(item.text, floor(name, item.text), item.reference) for item in items] for name in LEADS}


def floors_of(kind: str, items: Sequence[Item], h: Mapping[str, Sequence[float]] | None = None) -> Floors:
    """The floors of some items, with H where it was scored; none where there is nothing to summarise."""
    if kind != SUMMARISE:
        return Floors({})
    rows: dict[str, list[Row]] = {}
    for name, pairs in floor_pairs(items).items():
        found = [content(kind, pair.source, pair.answer) for pair in pairs]
        scores = [None] * len(pairs) if h is None else h[name]
        rows[name] = [(score, own.coverage, own.words) for score, own in zip(scores, found, strict=True)]
    return Floors(rows)


def of_state(config: Config, state: MatchState, floors: Floors) -> list[Contents]:
    """What the answers of a match carry, by seat, from its texts."""
    cells = _cells(len(state.players), len(state.items), measured(config, state))
    return _contents(cells, _arrays(floors.rows))


def read(connection: sqlite3.Connection, match: str, seats: int, items: int) -> list[Contents] | None:
    """The same from the rows of a match that has ended; None where it has none."""
    if not columns_of(connection, "contents"):
        return None
    query = f"SELECT seat, position, {', '.join(ANSWERS)} FROM contents WHERE match = ?"
    rows = [(row[0], row[1], row[2:]) for row in connection.execute(query, (match,))]
    if not rows or any(seat >= seats or position >= items for seat, position, _ in rows):
        return None
    floors = read_floors(connection, items)
    return None if floors is None else _contents(_cells(seats, items, iter(rows)), _arrays(floors))


def read_floors(connection: sqlite3.Connection, items: int) -> dict[str, list[Row]] | None:
    """The floors of a run by name, none where there is nothing to summarise; None where some of them are lost."""
    found: dict[str, list[Row]] = {}
    for name, *row in connection.execute(f"SELECT name, {', '.join(OF_FLOOR)} FROM floors ORDER BY name, position"):
        found.setdefault(name, []).append(tuple(row))
    if not found:
        return {}
    return {name: found[name] for name in LEADS} if all(len(found.get(n, ())) == items for n in LEADS) else None


def _cells(seats: int, items: int, rows: Iterator[Carried]) -> np.ndarray[Any, np.dtype[np.float64]]:
    cells = np.full((len(ANSWERS), seats, items), np.nan)
    for seat, position, row in rows:
        cells[:, seat, position] = [np.nan if value is None else value for value in row]
    return cells


def _arrays(rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, Any]]:
    return {
        name: dict(zip(OF_FLOOR, np.array(own, dtype=np.float64).reshape(-1, len(OF_FLOOR)).T, strict=True))
        for name, own in rows.items()
    }


def _contents(cells: Any, floors: Mapping[str, Mapping[str, Any]]) -> list[Contents]:
    return [
        Contents({name: cells[at, seat : seat + 1] for at, name in enumerate(ANSWERS)}, floors)
        for seat in range(cells.shape[1])
    ]
