"""What the dashboard reads from a run's file: always a page of rows, never the whole of it. Nothing is written.

Contract: a connection lives for one look, so that it never holds up the process that plays. Text that is not UTF-8
is read with replacement characters; what is damaged is a StoreError.
"""

import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mashq.errors import StoreError
from mashq.protocol.items import Item
from mashq.runs import items
from mashq.runs.file import connect
from mashq.runs.reading import DATABASE
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
ATTEMPTS = """SELECT id, round, player, purpose, n, ask, model, prompt, opened, closed, outcome, status, tokens_in,
  tokens_out, cached, reasoning, seconds, waited, dollars, substr(reply, 1, ?) AS reply, length(reply) AS length,
  stop, error, worst_in, worst_out FROM attempts WHERE match = ? AND item IS ?"""

REVIEW_TOKENS = """SELECT player, sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)) FROM attempts
  WHERE match = ? AND purpose = 'review' GROUP BY player"""

ItemMove = tuple[int, int, str, str, str | None, str, str | None, float]


@contextmanager
def opened(path: Path, *, finished: bool) -> Generator[sqlite3.Connection]:
    """The run's file for one look. A finished run is read without as much as a lock file beside it."""
    file = path / DATABASE
    if not file.is_file() or file.is_symlink():
        raise StoreError(f"{file} is missing: the run directory is incomplete")
    log = file.with_name(file.name + "-wal")
    try:
        still = finished and not (log.exists() and log.stat().st_size)
        if still:
            target = f"{file.resolve().as_uri()}?immutable=1"
            connection = sqlite3.connect(target, uri=True, check_same_thread=False, isolation_level=None)
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
    """The next moves of a match."""
    return connection.execute(f"{EVENTS} ORDER BY seq LIMIT ?", (match, seq, limit)).fetchall()


def count(connection: sqlite3.Connection, match: str) -> int:
    """How many moves a match has."""
    return connection.execute("SELECT count(*) FROM events WHERE match = ?", (match,)).fetchone()[0]


def log(connection: sqlite3.Connection, match: str, upto: int, limit: int) -> list[dict[str, Any]]:
    """The last moves up to a sequence number, oldest first, without their texts."""
    rows = connection.execute(LOG, (match, upto, limit)).fetchall()
    found: list[dict[str, Any]] = [dict(zip(LOGGED, row, strict=True)) for row in reversed(rows)]
    for row in found:
        ruling, spend = _loaded(row.pop("ruling")), _loaded(row.pop("spend"))
        row["overridden"] = ruling.get("overridden", "")
        row["meant"] = ruling.get("choice")
        row["tokens"] = sum(part[0] for part in (spend.get("tokens_in"), spend.get("tokens_out")) if part)
        row["unknown"] = spend.get("unknown", 0)
        row["calls"] = spend.get("calls", 0) + spend.get("unresolved", 0)
        row["failed"] = spend.get("failed", 0)
        row["seconds"] = (spend.get("seconds") or [0.0])[0]
    return found


def item_moves(connection: sqlite3.Connection, match: str, item: str, seqs: Sequence[int] | None) -> list[ItemMove]:
    """The moves about an item: those with these numbers, or found by looking through the match."""
    columns = "seq, round, player, kind, item, move, ruling, time"
    if seqs is None:
        query = f"SELECT {columns} FROM events WHERE match = ? AND item = ? ORDER BY seq LIMIT 2000"
        return connection.execute(query, (match, item)).fetchall()
    marks = ",".join("?" * len(seqs))
    return connection.execute(f"SELECT {columns} FROM events WHERE seq IN ({marks}) ORDER BY seq", seqs).fetchall()


def attempts(
    connection: sqlite3.Connection, match: str, item: str | None, rounds: Sequence[int], cut: int
) -> list[dict[str, Any]]:
    """The attempts made for an item in these rounds, replies cut."""
    marks = ",".join(str(int(round_)) for round_ in rounds)
    cursor = connection.execute(f"{ATTEMPTS} AND round IN ({marks}) ORDER BY id LIMIT 500", (cut, match, item))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def review_tokens(connection: sqlite3.Connection, match: str) -> dict[str, float]:
    """What is known of the tokens that each player's reviews took."""
    return dict(connection.execute(REVIEW_TOKENS, (match,)).fetchall())


def reply(connection: sqlite3.Connection, attempt: int) -> str | None:
    """The whole reply of an attempt."""
    row = connection.execute("SELECT reply FROM attempts WHERE id = ?", (attempt,)).fetchone()
    return None if row is None else row[0] or ""


def prompt(connection: sqlite3.Connection, digest: str) -> list[list[str]] | None:
    """The messages of a prompt, as they were sent."""
    row = connection.execute("SELECT messages FROM prompts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else json.loads(row[0])


def move(connection: sqlite3.Connection, match: str, seq: int) -> tuple[str | None, dict[str, Any]] | None:
    """One move with the id of its item."""
    row = connection.execute("SELECT item, move FROM events WHERE seq = ? AND match = ?", (seq, match)).fetchone()
    return None if row is None else (row[0], json.loads(row[1]))


def item_ids(connection: sqlite3.Connection) -> list[str]:
    """The ids of the items, in the run's order."""
    return [row[0] for row in connection.execute("SELECT id FROM items ORDER BY position")]


def item(connection: sqlite3.Connection, position: int) -> Item | None:
    """An item."""
    return next(iter(items.read(connection, "position = ?", (position,))), None)


def matches(
    connection: sqlite3.Connection, after: int, limit: int
) -> list[tuple[str, int, float | None, float | None]]:
    """The matches begun, by position."""
    if not _has(connection, "matches"):
        return []
    query = "SELECT id, position, started, ended FROM matches WHERE position > ? ORDER BY position LIMIT ?"
    return connection.execute(query, (after, limit)).fetchall()


def match_count(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many matches were begun, and how many have ended."""
    if not _has(connection, "matches"):
        return 0, 0
    return connection.execute("SELECT count(*), count(ended) FROM matches").fetchone()


def begun(connection: sqlite3.Connection, match: str) -> bool:
    """Whether a run has a match of this name."""
    if not _has(connection, "matches"):
        return match == "0"
    return connection.execute("SELECT 1 FROM matches WHERE id = ?", (match,)).fetchone() is not None


def ended(connection: sqlite3.Connection, match: str) -> bool:
    """Whether a match is over."""
    if not _has(connection, "matches"):
        return False
    row = connection.execute("SELECT ended FROM matches WHERE id = ?", (match,)).fetchone()
    return row is not None and row[0] is not None


def latest(connection: sqlite3.Connection) -> str | None:
    """The match of the last move there is."""
    row = connection.execute("SELECT match FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else row[0]


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _loaded(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
