"""The SQLite file of a run, with one writer thread that commits in groups.

`put` queues a statement and returns; `durable` waits until everything queued before it is on disk. Statements are
committed in the order they were queued, so whatever is on disk is a prefix of what happened. A write that fails
(a full disk) fails every later one with the same clear error.
"""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from mashq.errors import StoreError

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL, text TEXT NOT NULL, reference TEXT);
CREATE TABLE IF NOT EXISTS prompts (digest TEXT PRIMARY KEY, messages TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (
  id INTEGER PRIMARY KEY, match TEXT NOT NULL, round INTEGER NOT NULL, player TEXT NOT NULL, item TEXT,
  purpose TEXT NOT NULL, n INTEGER NOT NULL, ask INTEGER NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
  opened REAL NOT NULL, worst_in INTEGER NOT NULL, worst_out INTEGER NOT NULL, worst_seconds REAL NOT NULL,
  worst_dollars REAL,
  closed REAL, outcome TEXT, status INTEGER, tokens_in INTEGER, tokens_out INTEGER, cached INTEGER,
  reasoning INTEGER, usage TEXT, seconds REAL, waited REAL, dollars REAL, reply TEXT, stop TEXT, h REAL,
  retry_after REAL, error TEXT);
CREATE INDEX IF NOT EXISTS attempts_by_round ON attempts (match, round);
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY, match TEXT NOT NULL, round INTEGER NOT NULL, player TEXT NOT NULL, kind TEXT NOT NULL,
  item TEXT, move TEXT NOT NULL, ruling TEXT, time REAL NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_match ON events (match, seq);
CREATE TABLE IF NOT EXISTS refusals (
  id INTEGER PRIMARY KEY, time REAL NOT NULL, player TEXT, method TEXT NOT NULL, path TEXT NOT NULL,
  status INTEGER NOT NULL, reason TEXT NOT NULL);
"""
GROUP = 512


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open the file; a reader never changes it, and can be anyone who may read it."""
    try:
        if not readonly:
            return _opened(path, "mode=rwc", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")
        log = path.with_name(path.name + "-wal")
        if not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size):
            return _opened(path, "immutable=1")
        return _opened(path, "mode=ro")
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be opened ({error}): is it a run of mashq, and is the disk writable?"
        ) from None


def _opened(path: Path, how: str, *pragmas: str) -> sqlite3.Connection:
    target = f"{path.resolve().as_uri()}?{how}"
    connection = sqlite3.connect(target, uri=True, timeout=30, check_same_thread=False, isolation_level=None)
    for pragma in pragmas:
        connection.execute(pragma)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return connection


class Writer:
    """The one writer of a run's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[tuple[str, Sequence[object]] | Future[None] | None] = queue.SimpleQueue()
        self._error: StoreError | None = None
        self._connection = connect(path)
        try:
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise self._told(error) from None
        self._thread = threading.Thread(target=self._run, name="mashq-writer", daemon=True)
        self._thread.start()

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Queue a statement."""
        if self._error is not None:
            raise self._error
        self._queue.put((statement, values))

    async def durable(self) -> None:
        """Wait until all that was queued is on disk."""
        done: Future[None] = Future()
        self._queue.put(done)
        await asyncio.wrap_future(done)

    def flush(self) -> None:
        """The same for code that is not asynchronous."""
        done: Future[None] = Future()
        self._queue.put(done)
        done.result()

    def close(self) -> None:
        """Write what is queued and close the file; raises what the writing met."""
        self._queue.put(None)
        self._thread.join()
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while True:
            group = [self._queue.get()]
            while len(group) < GROUP:
                try:
                    group.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            self._commit([entry for entry in group if isinstance(entry, tuple)])
            for entry in group:
                if isinstance(entry, Future):
                    if self._error is None:
                        entry.set_result(None)
                    else:
                        entry.set_exception(self._error)
            if None in group:
                return

    def _commit(self, statements: list[tuple[str, Sequence[object]]]) -> None:
        if self._error is not None or not statements:
            return
        try:
            self._connection.execute("BEGIN")
            for statement, values in statements:
                self._connection.execute(statement, values)
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must be told
            self._error = self._told(error)
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _told(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written ({error}): free some disk space or fix its permissions, then run "
            f"'mashq resume {self._path.parent}'; what was paid for so far is kept"
        )
