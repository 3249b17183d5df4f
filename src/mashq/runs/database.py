"""The SQLite file of a run, written in groups, with a thread that writes what nobody waits for and one that syncs.

`put` queues a statement and returns; `durable` waits until everything queued before it is in the file, where it
outlives this process however it dies; `synced` waits until it also outlives the machine. What someone on an event
loop waits for is committed there, at the end of the loop's turn: that is a write into the system's memory, quicker
than handing it to a thread. The syncing goes on behind the commits all the time, so that nobody waits for a disk
before each request. Statements are committed in the order they were queued, so whatever is in the file is a prefix of
what happened. A write that fails (a full disk) fails every later one with the same clear error.
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
SOME, LARGE = 4096, 64 * 2**20  # statements between checkpoints, bytes of a log that is cut


@dataclass(frozen=True, slots=True)
class _Wait:
    """Someone who waits for a commit or, when `synced`, for the sync after it; on a loop, or in a thread."""

    done: "asyncio.Future[None] | Future[None]"
    synced: bool


class Writer:
    """The one writer of a run's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: deque[Statement | _Wait] = deque()
        self._syncs: deque[_Wait] = deque()
        self._work, self._to_sync = threading.Event(), threading.Event()
        self._urgent = threading.Event()
        self._closing = False
        self._poking = self._awaited = self._late = False
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
            raise self._told(error) from None
        self._writing = threading.Thread(target=self._write, name="mashq-writer", daemon=True)
        self._syncing = threading.Thread(target=self._sync, name="mashq-sync", daemon=True)
        self._writing.start()
        self._syncing.start()

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Queue a statement."""
        if self._error is not None:
            raise self._error
        self._queue.append((statement, values))
        self._poke()

    async def durable(self) -> None:
        """Wait until all that was queued is in the file: it outlives this process."""
        await self._wait(synced=False)

    async def synced(self) -> None:
        """Wait until all that was queued is on the disk: it outlives the machine."""
        await self._wait(synced=True)

    def flush(self, *, synced: bool = True) -> None:
        """The same for code that is not asynchronous."""
        done: Future[None] = Future()
        self._queue.append(_Wait(done, synced))
        self._work.set()
        done.result()

    @property
    def backlog(self) -> int:
        """How much is queued and not yet written."""
        return len(self._queue)

    @property
    def head(self) -> str:
        """The head of the run's chain, as committed so far."""
        return self._chain.head

    @property
    def chained(self) -> bool:
        """Whether the file has a chain: one of an earlier version has none yet."""
        return self._chain.n > 0

    def close(self) -> None:
        """Write what is queued and close the file; raises what the writing met."""
        self._closing = True
        self._work.set()
        self._writing.join()
        self._to_sync.set()
        self._urgent.set()
        self._syncing.join()
        with contextlib.suppress(OSError):
            os.close(self._log)
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA synchronous=FULL")  # what goes into the main file goes to the disk
            self._connection.close()
        if self._error is not None:
            raise self._error

    def _wait(self, *, synced: bool) -> asyncio.Future[None]:
        done = asyncio.get_running_loop().create_future()
        self._queue.append(_Wait(done, synced))
        self._awaited = True
        self._poke()
        return done

    def _poke(self) -> None:
        """See to what was queued; once for all that one turn of an event loop queues."""
        if self._poking:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if not self._work.is_set():
                self._work.set()
            return
        self._poking = True
        loop.call_soon(self._poked)

    def _poked(self) -> None:
        """Commit here what is waited for, with all before it; leave much to the thread, and a little for the next."""
        self._poking = False
        if self._awaited or not self._queue:
            self._here()
        elif len(self._queue) > GROUP:
            self._work.set()
        elif not self._late:
            self._late = True
            asyncio.get_running_loop().call_later(SOON, self._here)

    def _here(self) -> None:
        self._awaited = self._late = False
        if self._committing.acquire(blocking=False):
            try:
                self._drain(asyncio.get_running_loop())
            finally:
                self._committing.release()
        else:
            self._work.set()  # the thread is at it, and goes on

    def _write(self) -> None:
        while not (self._closing and not self._queue):
            self._work.wait(IDLE)
            self._work.clear()
            with self._committing:
                self._drain()

    def _drain(self, here: asyncio.AbstractEventLoop | None = None) -> None:
        """Commit all that is queued, group by group; `here` is the event loop this is called on."""
        while self._queue:
            group = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
            waits = [entry for entry in group if isinstance(entry, _Wait)]
            self._commit([entry for entry in group if isinstance(entry, tuple)])
            self._tell([wait for wait in waits if not wait.synced], here)
            self._syncs.extend(wait for wait in waits if wait.synced)
            if self._syncs:
                self._urgent.set()
            if not self._to_sync.is_set():
                self._to_sync.set()

    def _sync(self) -> None:
        """Sync behind the commits: at once for those who wait, else now and then."""
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
                self._error = self._told(error)
            self._tell(group)

    def _checkpoint(self) -> None:
        """Bring the log into the file now and then, while commits go on; they wait only when it is to be cut."""
        if self._written < SOME:
            return
        self._written = 0
        with contextlib.closing(connect(self._path)) as connection:
            connection.execute("PRAGMA busy_timeout=0")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            if os.fstat(self._log).st_size > LARGE:
                with self._committing:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _tell(self, waits: list[_Wait], here: asyncio.AbstractEventLoop | None = None) -> None:
        """Let those who wait go on; one wake-up for all on the same loop, none on the one this is called on."""
        by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for wait in waits:
            if isinstance(wait.done, asyncio.Future):
                by_loop.setdefault(wait.done.get_loop(), []).append(wait.done)
            elif self._error is None:
                wait.done.set_result(None)
            else:
                wait.done.set_exception(self._error)
        for loop, futures in by_loop.items():
            if loop is here:
                _resolve(futures, self._error)
                continue
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it those who waited
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
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must be told
            self._error = self._told(error)
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _told(self, error: Exception) -> StoreError:
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
