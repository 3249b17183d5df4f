"""The dashboard's queries on a run's database: always a page of rows, never the whole file. Nothing is written.

Contract: a connection is open only for one request, so that it never blocks the process that plays. Text that is not
UTF-8 is read with replacement characters; damaged data raises StoreError.
"""

import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mashq.errors import StoreError
from mashq.protocol.items import Item
from mashq.protocol.resources import MEASURES
from mashq.runs import items
from mashq.runs.file import check_objects, connect
from mashq.runs.reading import DATABASE
from mashq.web.api.resources import amounts
from mashq.web.replay import Row

EVENTS = "SELECT seq, player, kind, move, time FROM events WHERE match = ? AND seq > ?"
LOG = """SELECT seq, round, player, kind, item, time, json_extract(move, '$.status'), json_extract(move, '$.h'),
  json_extract(move, '$.judged'), json_extract(move, '$.choice'), coalesce(json_extract(move, '$.source'), 'llm'),
  substr(coalesce(json_extract(move, '$.reason'), json_extract(move, '$.error'), ''), 1, 300), ruling,
  json_extract(move, '$.spend'), json_extract(move, '$.plain'), json_extract(move, '$.simulated')
  FROM events WHERE match = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"""
LOGGED = (
    *("seq", "round", "player", "kind", "item", "time", "status", "h", "judged", "choice", "source", "said"),
    *("ruling", "spend", "plain", "simulated"),
)
ATTEMPTS = """SELECT id, round, player, purpose, n, ask, model, prompt, opened, closed, outcome, status,
  {measures}, cached, reasoning, waited, substr(reply, 1, ?) AS reply, length(reply) AS length, stop, error
  FROM attempts WHERE match = ? AND item IS ?"""
H_BY_UNIT = """SELECT match, position, r.h FROM results r JOIN seats s USING (match, seat)
  WHERE s.player = ? AND r.h IS NOT NULL"""

REVIEW_TOKENS = """SELECT player, sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)) FROM attempts
  WHERE match = ? AND purpose = 'review' GROUP BY player"""

ItemMove = tuple[int, int, str, str, str | None, str, str | None, float]


@contextmanager
def opened(path: Path, *, finished: bool) -> Generator[sqlite3.Connection]:
    """Open the run's database for one request. A finished run is opened immutable, so no other file is created."""
    file = path / DATABASE
    if not file.is_file() or file.is_symlink():
        raise StoreError(f"{file} is missing: the run directory is incomplete")
    log = file.with_name(file.name + "-wal")
    try:
        immutable = finished and not (log.exists() and log.stat().st_size)
        if immutable:
            target = f"{file.resolve().as_uri()}?immutable=1"
            connection = sqlite3.connect(target, uri=True, check_same_thread=False, isolation_level=None)
            check_objects(connection)
        else:
            connection = connect(file, readonly=True)
        connection.text_factory = _text
        try:
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise StoreError(f"{file} cannot be read ({error}): restore it from a copy") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def events_after(connection: sqlite3.Connection, match: str, seq: int, limit: int) -> list[Row]:
    """Return the next moves of a match."""
    return connection.execute(f"{EVENTS} ORDER BY seq LIMIT ?", (match, seq, limit)).fetchall()


def count(connection: sqlite3.Connection, match: str) -> int:
    """Return the number of moves of a match."""
    return connection.execute("SELECT count(*) FROM events WHERE match = ?", (match,)).fetchone()[0]


def log(connection: sqlite3.Connection, match: str, upto: int, limit: int) -> list[dict[str, Any]]:
    """Return the last moves up to a sequence number, oldest first, without their texts."""
    rows = connection.execute(LOG, (match, upto, limit)).fetchall()
    entries: list[dict[str, Any]] = [dict(zip(LOGGED, entry, strict=True)) for entry in reversed(rows)]
    for entry in entries:
        ruling, spend = _loaded(entry.pop("ruling")), _loaded(entry.pop("spend"))
        entry["overridden"] = ruling.get("overridden", "")
        entry["meant"] = ruling.get("choice")
        entry |= amounts(spend)
    return entries


def item_moves(connection: sqlite3.Connection, match: str, item: str, seqs: Sequence[int] | None) -> list[ItemMove]:
    """Return the moves about an item: those with the given sequence numbers, or else found by a scan of the match."""
    columns = "seq, round, player, kind, item, move, ruling, time"
    if seqs is None:
        query = f"SELECT {columns} FROM events WHERE match = ? AND item = ? ORDER BY seq LIMIT 2000"
        return connection.execute(query, (match, item)).fetchall()
    marks = ",".join("?" * len(seqs))
    return connection.execute(f"SELECT {columns} FROM events WHERE seq IN ({marks}) ORDER BY seq", seqs).fetchall()


def attempts(
    connection: sqlite3.Connection, match: str, item: str | None, rounds: Sequence[int], cut: int
) -> list[dict[str, Any]]:
    """Return the attempts made for an item in these rounds, with replies cut."""
    marks = ",".join(str(int(round_)) for round_ in rounds)
    stored = {row[1] for row in connection.execute("PRAGMA table_info(attempts)")}
    measures = [name if name in stored else f"NULL AS {name}" for name in MEASURES]  # an earlier version had fewer
    query = f"{ATTEMPTS.format(measures=', '.join(measures))} AND round IN ({marks}) ORDER BY id LIMIT 500"
    cursor = connection.execute(query, (cut, match, item))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def h_by_unit(connection: sqlite3.Connection, player: str) -> dict[tuple[str, int], float]:
    """Return a player's H of each item in each ended match, by match and position of the item."""
    return {(match, position): h for match, position, h in connection.execute(H_BY_UNIT, (player,))}


def review_tokens(connection: sqlite3.Connection, match: str) -> dict[str, float]:
    """Return the known tokens that each player's reviews took."""
    return dict(connection.execute(REVIEW_TOKENS, (match,)).fetchall())


def reply(connection: sqlite3.Connection, attempt: int) -> str | None:
    """Return the full reply of an attempt."""
    row = connection.execute("SELECT reply FROM attempts WHERE id = ?", (attempt,)).fetchone()
    return None if row is None else row[0] or ""


def prompt(connection: sqlite3.Connection, digest: str) -> list[list[str]] | None:
    """Return the messages of a prompt, as they were sent."""
    row = connection.execute("SELECT messages FROM prompts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else json.loads(row[0])


def move(connection: sqlite3.Connection, match: str, seq: int) -> tuple[str | None, dict[str, Any]] | None:
    """Return one move with the id of its item."""
    row = connection.execute("SELECT item, move FROM events WHERE seq = ? AND match = ?", (seq, match)).fetchone()
    return None if row is None else (row[0], json.loads(row[1]))


def item_ids(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the items, in the run's order."""
    return [row[0] for row in connection.execute("SELECT id FROM items ORDER BY position")]


def item(connection: sqlite3.Connection, position: int) -> Item | None:
    """Return the item at a position."""
    return next(iter(items.read(connection, "position = ?", (position,))), None)


def matches(
    connection: sqlite3.Connection, after: int, limit: int
) -> list[tuple[str, int, float | None, float | None]]:
    """Return a page of the started matches, by position."""
    if not _has(connection, "matches"):
        return []
    query = "SELECT id, position, started, ended FROM matches WHERE position > ? ORDER BY position LIMIT ?"
    return connection.execute(query, (after, limit)).fetchall()


def match_count(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many matches were started, and how many have ended."""
    if not _has(connection, "matches"):
        return 0, 0
    return connection.execute("SELECT count(*), count(ended) FROM matches").fetchone()


def begun(connection: sqlite3.Connection, match: str) -> bool:
    """Whether a run has a match with this id."""
    if not _has(connection, "matches"):
        return match == "0"
    return connection.execute("SELECT 1 FROM matches WHERE id = ?", (match,)).fetchone() is not None


def ended(connection: sqlite3.Connection, match: str) -> bool:
    """Whether a match has ended."""
    if not _has(connection, "matches"):
        return False
    row = connection.execute("SELECT ended FROM matches WHERE id = ?", (match,)).fetchone()
    return row is not None and row[0] is not None


def latest(connection: sqlite3.Connection) -> str | None:
    """Return the match of the last move."""
    row = connection.execute("SELECT match FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else row[0]


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _loaded(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
