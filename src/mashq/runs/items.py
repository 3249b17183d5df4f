"""The items of a run as rows of its file; in a file of an earlier version they have no passages."""

import json
import sqlite3
from dataclasses import astuple
from typing import cast

from mashq.protocol.items import Item, Passage
from mashq.runs.file import ADDED, Statement, columns_of

COLUMNS = ("id", "text", "reference", *ADDED["items"])
INSERT = f"INSERT INTO items (position, {', '.join(COLUMNS)}) VALUES ({','.join('?' * (1 + len(COLUMNS)))})"


def statement(position: int, item: Item) -> Statement:
    """The statement that inserts an item."""
    passages = json.dumps([astuple(passage) for passage in item.passages]) if item.passages else None
    evidence = json.dumps(item.evidence) if item.evidence else None
    return INSERT, (position, item.id, item.text, item.reference, passages, item.answerable, evidence)


def read(connection: sqlite3.Connection, where: str = "1", values: tuple[object, ...] = ()) -> tuple[Item, ...]:
    """The items in order; raises ValueError if a row is not a valid item."""
    existing = columns_of(connection, "items")
    columns = ", ".join(name if name in existing else f"NULL AS {name}" for name in COLUMNS)
    rows = connection.execute(f"SELECT {columns} FROM items WHERE {where} ORDER BY position", values).fetchall()
    return tuple(
        Item(
            name,
            text,
            reference,
            _passages(passages),
            None if answerable is None else bool(answerable),
            _ids(evidence),
        )
        for name, text, reference, passages, answerable, evidence in rows
    )


def _passages(body: str | None) -> tuple[Passage, ...]:
    if body is None:
        return ()
    document: object = json.loads(body)
    rows = cast(list[object], document) if isinstance(document, list) else []
    parts = [cast(list[object], row) for row in rows if isinstance(row, list)]
    if not rows or len(parts) < len(rows):
        raise ValueError("the passages of an item are not a list of passages")
    return tuple(Passage(*_texts(part, 3)) for part in parts)


def _ids(body: str | None) -> tuple[str, ...]:
    document: object = [] if body is None else json.loads(body)
    if not isinstance(document, list):
        raise ValueError("the evidence of an item is not a list of ids")
    return _texts(cast(list[object], document))


def _texts(values: list[object], count: int | None = None) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values) or count not in (None, len(values)):
        raise ValueError("a passage of an item is not its id, text and title")
    return tuple(cast(list[str], values))
