"""The SQLite file of a run, written in groups: one thread writes what nobody waits for, another one syncs.

`put` queues a statement and returns; `durable` waits until everything queued before it is in the file, where it
survives however this process dies; `synced` waits until it also survives a crash of the machine. What a caller on an
event loop waits for is committed on that loop, at the end of its turn: that is a write into the operating system's
memory, faster than handing it to a thread. Syncing continues behind the commits all the time, so that nobody waits
for a disk before each request. Statements are committed in the order they were queued, so the file always holds a
prefix of what happened. After a write fails (a full disk), every later one fails with the same clear error.
"""

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from mashq.errors import StoreError
from mashq.runs import chain
from mashq.runs.file import SCHEMA, Statement, add_columns, connect

GROUP = 512
IDLE, PAUSE, SOON = 1.0, 0.25, 0.005
SOME, LARGE = 4096, 64 * 2**20  # statements between checkpoints, bytes above which the log is truncated


@dataclass(frozen=True, slots=True)
class _Wait:
    """A caller that waits for a commit or, if `synced`, for the sync after it; on an event loop or in a thread."""

    done: "asyncio.Future[None] | Future[None]"
    synced: bool


class Writer:
    """The only writer of a run's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: deque[Statement | _Wait] = deque()
        self._syncs: deque[_Wait] = deque()
        self._work, self._to_sync = threading.Event(), threading.Event()
        self._urgent = threading.Event()
        self._closing = False
        self._scheduled = self._awaited = self._deferred = False
        self._committing = threading.Lock()
        self._error: StoreError | None = None
        self._written = 0
        self._connection = connect(path)
        try:
            add_columns(self._connection)
            self._connection.executescript(SCHEMA)
            self._connection.execute("PRAGMA wal_autocheckpoint=0")  # the syncing thread does it
            self._cursor = self._connection.cursor()
            self._chain = chain.Chain(self._connection)
            self._log = os.open(path.with_name(path.name + "-wal"), os.O_RDONLY)
            self._inode = path.stat().st_ino
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._connection.close()
            raise self._store_error(error) from None
        self._writing = threading.Thread(target=self._write, name="mashq-writer", daemon=True)
        self._syncing = threading.Thread(target=self._sync, name="mashq-sync", daemon=True)
        self._writing.start()
        self._syncing.start()

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Queue a statement; raises StoreError if an earlier write has failed."""
        if self._error is not None:
            raise self._error
        self._queue.append((statement, values))
        self._schedule()

    async def durable(self) -> None:
        """Wait until everything queued is in the file: it survives this process."""
        await self._wait(synced=False)

    async def synced(self) -> None:
        """Wait until everything queued is on the disk: it survives a crash of the machine."""
        await self._wait(synced=True)

    def flush(self, *, synced: bool = True) -> None:
        """The same for synchronous code: wait as `synced` does or, with synced=False, as `durable` does."""
        done: Future[None] = Future()
        self._queue.append(_Wait(done, synced))
        self._work.set()
        done.result()

    @property
    def backlog(self) -> int:
        """The number of queue entries that are not yet written."""
        return len(self._queue)

    @property
    def head(self) -> str:
        """The head of the run's chain, as committed so far."""
        return self._chain.head

    @property
    def chained(self) -> bool:
        """Whether the file has a chain; one of an earlier version has none yet."""
        return self._chain.n > 0

    def close(self) -> None:
        """Write what is queued and close the file; raises StoreError if a write has failed."""
        self._closing = True
        self._work.set()
        self._writing.join()
        self._to_sync.set()
        self._urgent.set()
        self._syncing.join()
        with contextlib.suppress(OSError):
            os.close(self._log)
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA synchronous=FULL")  # syncs what is copied into the main file
            self._connection.close()
        if self._error is not None:
            raise self._error

    def _wait(self, *, synced: bool) -> asyncio.Future[None]:
        done = asyncio.get_running_loop().create_future()
        self._queue.append(_Wait(done, synced))
        self._awaited = True
        self._schedule()
        return done

    def _schedule(self) -> None:
        """Have the queue committed; on an event loop once for everything that is queued in one turn."""
        if self._scheduled:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if not self._work.is_set():
                self._work.set()
            return
        self._scheduled = True
        loop.call_soon(self._commit_or_defer)

    def _commit_or_defer(self) -> None:
        """Commit the queue here if a caller waits; otherwise leave a long one to the thread and defer a short one."""
        self._scheduled = False
        if self._awaited or not self._queue:
            self._commit_here()
        elif len(self._queue) > GROUP:
            self._work.set()
        elif not self._deferred:
            self._deferred = True
            asyncio.get_running_loop().call_later(SOON, self._commit_here)

    def _commit_here(self) -> None:
        self._awaited = self._deferred = False
        if self._committing.acquire(blocking=False):
            try:
                self._drain(asyncio.get_running_loop())
            finally:
                self._committing.release()
        else:
            self._work.set()  # the thread is committing, and will continue

    def _write(self) -> None:
        while not (self._closing and not self._queue):
            self._work.wait(IDLE)
            self._work.clear()
            with self._committing:
                self._drain()

    def _drain(self, current_loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Commit all that is queued, group by group; `current_loop` is the event loop this is called on, if any."""
        while self._queue:
            group = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
            waits = [entry for entry in group if isinstance(entry, _Wait)]
            self._commit([entry for entry in group if isinstance(entry, tuple)])
            self._wake([wait for wait in waits if not wait.synced], current_loop)
            self._syncs.extend(wait for wait in waits if wait.synced)
            if self._syncs:
                self._urgent.set()
            if not self._to_sync.is_set():
                self._to_sync.set()

    def _sync(self) -> None:
        """Sync behind the commits: at once if a caller waits, otherwise at intervals."""
        while not (self._closing and not self._writing.is_alive() and not self._syncs):
            self._to_sync.wait(IDLE)
            self._urgent.wait(PAUSE)
            self._to_sync.clear()
            self._urgent.clear()
            group = [self._syncs.popleft() for _ in range(len(self._syncs))]
            try:
                if self._error is None:
                    os.fsync(self._log)
                    self._checkpoint()
            except (OSError, sqlite3.Error) as error:
                self._error = self._store_error(error)
            self._wake(group)

    def _checkpoint(self) -> None:
        """Copy the log into the file at intervals, while commits continue; they wait only when it is truncated."""
        if self._written < SOME:
            return
        self._written = 0
        with contextlib.closing(connect(self._path)) as connection:
            connection.execute("PRAGMA busy_timeout=0")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            if os.fstat(self._log).st_size > LARGE:
                with self._committing:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _wake(self, waits: list[_Wait], current_loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Wake waiting callers: with one call per event loop, and directly on the loop that this is called on."""
        by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for wait in waits:
            if isinstance(wait.done, asyncio.Future):
                by_loop.setdefault(wait.done.get_loop(), []).append(wait.done)
            elif self._error is None:
                wait.done.set_result(None)
            else:
                wait.done.set_exception(self._error)
        for loop, futures in by_loop.items():
            if loop is current_loop:
                _resolve(futures, self._error)
                continue
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it its waiting callers
                loop.call_soon_threadsafe(_resolve, futures, self._error)

    def _commit(self, statements: list[Statement]) -> None:
        if self._error is not None or not statements:
            return
        try:
            if os.stat(self._path).st_ino != self._inode:
                raise OSError("another file is in its place")
            self._chain.begin(self._cursor)
            self._chain.write(self._cursor, statements)
            self._cursor.execute("COMMIT")
            self._chain.advance()
            self._written += len(statements)
        except Exception as error:  # noqa: BLE001 - whatever it is, waiting callers must get it
            self._error = self._store_error(error)
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _store_error(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written ({error}): free some disk space or fix its permissions, then run "
            f"'mashq resume {self._path.parent}'; what was paid for so far is kept"
        )


def _resolve(futures: "list[asyncio.Future[None]]", error: StoreError | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
