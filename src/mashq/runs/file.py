"""The SQLite file of a run: its tables, and opening it for writing or for reading only."""

import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from mashq.bounds import CELL
from mashq.errors import StoreError
from mashq.protocol.resources import MEASURES, RATED
from mashq.runs import chain

Statement = tuple[str, Sequence[object]]
AMOUNTS = tuple(f"{name}{part}" for name in MEASURES for part in ("", "_known", "_unknown", "_worst"))
TABLES = """
CREATE TABLE IF NOT EXISTS items (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL, text TEXT NOT NULL, reference TEXT, {documents});
CREATE TABLE IF NOT EXISTS prompts (digest TEXT PRIMARY KEY, messages TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (
  id INTEGER PRIMARY KEY, match TEXT NOT NULL, round INTEGER NOT NULL, player TEXT NOT NULL, item TEXT,
  purpose TEXT NOT NULL, n INTEGER NOT NULL, ask INTEGER NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
  opened REAL NOT NULL, worst_in INTEGER NOT NULL, worst_out INTEGER NOT NULL, worst_seconds REAL NOT NULL,
  {worst},
  closed REAL, outcome TEXT, status INTEGER, tokens_in INTEGER, tokens_out INTEGER, cached INTEGER,
  reasoning INTEGER, usage TEXT, seconds REAL, first_byte REAL, waited REAL, {rated}, reply TEXT, stop TEXT, h REAL,
  retry_after REAL, error TEXT, body TEXT, wire TEXT);
CREATE INDEX IF NOT EXISTS attempts_by_round ON attempts (match, round);
CREATE INDEX IF NOT EXISTS attempts_streamed ON attempts (match, player, model, first_byte)
  WHERE first_byte IS NOT NULL;
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY, match TEXT NOT NULL, round INTEGER NOT NULL, player TEXT NOT NULL, kind TEXT NOT NULL,
  item TEXT, move TEXT NOT NULL, ruling TEXT, time REAL NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_match ON events (match, seq);
CREATE TABLE IF NOT EXISTS refusals (
  id INTEGER PRIMARY KEY, time REAL NOT NULL, player TEXT, method TEXT NOT NULL, path TEXT NOT NULL,
  status INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS matches (id TEXT PRIMARY KEY, position INTEGER NOT NULL, started REAL, ended REAL);
CREATE TABLE IF NOT EXISTS seats (
  match TEXT NOT NULL, seat INTEGER NOT NULL, player TEXT NOT NULL, threshold REAL NOT NULL,
  max_reviews INTEGER NOT NULL, stopped TEXT, shared TEXT NOT NULL, PRIMARY KEY (match, seat)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results (
  match TEXT NOT NULL, seat INTEGER NOT NULL, position INTEGER NOT NULL, status TEXT NOT NULL, h REAL, h_first REAL,
  guide REAL, guide_first REAL, length INTEGER NOT NULL, calls INTEGER NOT NULL, unresolved INTEGER NOT NULL,
  failed INTEGER NOT NULL, unknown INTEGER NOT NULL, reviews INTEGER NOT NULL, waited REAL NOT NULL,
  {amounts}, PRIMARY KEY (match, seat, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents (
  match TEXT NOT NULL, seat INTEGER NOT NULL, position INTEGER NOT NULL, words INTEGER, words_first INTEGER,
  coverage REAL, coverage_first REAL, copied REAL, PRIMARY KEY (match, seat, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS floors (
  name TEXT NOT NULL, position INTEGER NOT NULL, h REAL, coverage REAL NOT NULL, words INTEGER NOT NULL,
  PRIMARY KEY (name, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
  match TEXT NOT NULL, player TEXT NOT NULL, purpose TEXT NOT NULL, opened INTEGER, closed INTEGER,
  unresolved INTEGER, failed INTEGER, tokens NUMERIC, seconds REAL, waited REAL,
  PRIMARY KEY (match, player, purpose)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS charges (
  match TEXT NOT NULL, player TEXT NOT NULL, item TEXT, measure TEXT NOT NULL, charged REAL NOT NULL,
  attempts INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS charges_by_match ON charges (match);
CREATE TABLE IF NOT EXISTS marks (
  match TEXT PRIMARY KEY, base INTEGER NOT NULL, upto INTEGER NOT NULL, boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS learnt (
  model TEXT NOT NULL, field TEXT NOT NULL, most INTEGER, why TEXT NOT NULL, noticed REAL NOT NULL,
  PRIMARY KEY (model, field)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lost (match TEXT NOT NULL, attempts INTEGER NOT NULL, noticed REAL NOT NULL);
{chain}
"""
COMPUTED = re.compile(r"\b(?:VIRTUAL|GENERATED|AS)\b", re.IGNORECASE)
RATED_COLUMNS = (*(f"worst_{name}" for name in RATED), *RATED)
ADDED = {
    "items": {"passages": "TEXT", "answerable": "INTEGER", "evidence": "TEXT"},
    "attempts": dict.fromkeys(RATED_COLUMNS, "REAL") | {"body": "TEXT", "wire": "TEXT", "first_byte": "REAL"},
    "results": dict.fromkeys((*AMOUNTS, "abstained"), "NUMERIC NOT NULL DEFAULT 0"),
}
SCHEMA = TABLES.format(
    documents=", ".join(f"{name} {kind}" for name, kind in ADDED["items"].items()),
    worst=", ".join(f"worst_{name} REAL" for name in RATED),
    rated=", ".join(f"{name} REAL" for name in RATED),
    amounts=", ".join(f"{name} {kind}" for name, kind in ADDED["results"].items()),
    chain=chain.TABLE,
)


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open the file. A reader needs permission to read only, never changes it, and leaves no other file beside it
    unless somebody is writing it."""
    try:
        if not readonly:
            return _open(path, "mode=rwc", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL")
        log = path.with_name(path.name + "-wal")
        is_written = log.exists() and (log.stat().st_size > 0 or os.access(path.parent, os.W_OK))
        return _open(path, "mode=ro" if is_written else "immutable=1")
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the error message of a damaged file can be damaged too
        raise StoreError(
            f"{path} cannot be opened ({error}): is it a run of mashq, and is the disk writable?"
        ) from None


def _open(path: Path, mode: str, *pragmas: str) -> sqlite3.Connection:
    target = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(target, uri=True, timeout=30, check_same_thread=False, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL)
    try:
        for pragma in pragmas:
            connection.execute(pragma)
        check_objects(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def check_objects(connection: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if the file holds anything but plain tables and indices.

    A view, a trigger, a virtual table or a computed column can give different values each time it is read,
    whatever was recorded and verified."""
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        computed = kind == "table" and COMPUTED.search(sql or "")
        if kind not in ("table", "index") or computed:
            what = "a computed or virtual table" if computed else f"a {kind}"
            raise sqlite3.DatabaseError(f"it holds {what} {name!r:.40}, which mashq never writes")


def added_tables(connection: sqlite3.Connection) -> list[str]:
    """The tables of a file that do not belong to a run."""
    known = set(re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", SCHEMA))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return sorted(name for name in names if name not in known and not name.startswith("sqlite_"))


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns that a table of this file has; a file of an earlier version may have fewer."""
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def add_columns(connection: sqlite3.Connection) -> None:
    """Add the columns that the tables of a file of an earlier version lack."""
    for table, columns in ADDED.items():
        existing = columns_of(connection, table)
        missing = columns.keys() - existing if existing else ()
        for name, kind in columns.items():
            if name in missing:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
