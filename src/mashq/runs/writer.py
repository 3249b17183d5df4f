"""Writing a run directory: `manifest.json` (what was played, with digests) and `run.db` (items, matches and, for each
match, its attempts, moves and results).

One process at a time, holding a lock, writes a run; any number may read it, even while it is played.
"""

import contextlib
import fcntl
import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, Any

from mashq.errors import StoreError
from mashq.gateway.proxy.grants import Refusal
from mashq.gateway.types import Clock
from mashq.protocol import moves
from mashq.protocol.game import Ruling
from mashq.protocol.items import Item
from mashq.protocol.results import PlayerResult
from mashq.runs import chain, charges, results
from mashq.runs import items as stored_items
from mashq.runs.chain import BEGUN, ENDED, EVENT, LOSE, NOTE, REFUSAL
from mashq.runs.database import Writer
from mashq.runs.file import Statement, connect
from mashq.runs.ledger import RunLedger, Sink, boot_id
from mashq.runs.manifest import ACCEPTED, DIGEST, MANIFEST, manifest_digest, read_manifest, without_digest
from mashq.runs.reading import DATABASE, TALLY, Left, has_table, reading, unclosed

LOCK = "lock"
LEFTOVERS = {LOCK, MANIFEST + ".new", *(DATABASE + end for end in ("", "-wal", "-shm"))}
TABLES = ("items", "prompts", "attempts", "events")  # of every version
RELEASE = "UPDATE marks SET upto = coalesce((SELECT max(id) FROM attempts a WHERE a.match = marks.match), base)"
COUNTED = f"INSERT OR REPLACE INTO spent {TALLY.replace('WHERE 1', 'WHERE match = ?')}"
STRICT = json.JSONEncoder(allow_nan=False).encode


class Run:
    """A run directory opened for writing."""

    path: "Path"
    writer: "Writer"

    def __init__(self, path: Path, clock: Clock, lock: IO[str]) -> None:
        self.path, self._clock, self._lock = path, clock, lock
        try:
            self.writer = Writer(path / DATABASE)
        except StoreError:
            lock.close()
            raise

    @classmethod
    def create(cls, path: Path, clock: Clock, manifest: dict[str, Any], items: Sequence[Item]) -> "Run":
        """Create a run; the directory must be new, empty, or left by a run that died before it began."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in path.iterdir()}
        except OSError as error:
            raise StoreError(f"{path} cannot be made ({error.strerror}): choose another --out") from None
        if MANIFEST in names:
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        if not names <= LEFTOVERS:
            raise StoreError(f"{path} holds other files than a run's: choose another --out")
        lock = _locked(path)
        if (path / MANIFEST).exists():  # another process created it between the check and the lock
            lock.close()
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        if not _is_unused(path / DATABASE):
            lock.close()
            raise StoreError(f"{path} holds other files than a run's: choose another --out")
        for name in LEFTOVERS - {LOCK}:  # of a run that died before it began: no request was sent, nothing is lost
            (path / name).unlink(missing_ok=True)
        run = cls(path, clock, lock)
        try:
            for position, item in enumerate(items):
                run.writer.put(*stored_items.statement(position, item))
            run.writer.flush()
            run.write_manifest(manifest)
        except StoreError:
            with contextlib.suppress(StoreError):  # it raises the same error
                run.close()
            raise
        return run

    @classmethod
    def open(cls, path: Path, clock: Clock, sound: Callable[[Path], None] | None = None) -> "Run":
        """Open a run to continue it; a run that was not closed is passed to `sound` before anything changes it."""
        read_manifest(path)
        lock = _locked(path)
        try:
            with reading(path) as connection:  # opening it to write would create missing tables and hide a loss
                missing = [table for table in TABLES if not has_table(connection, table)]
            if missing:
                raise StoreError(f"{path / DATABASE} has no table {missing[0]!r}: restore it from a copy")
            if unclosed(path) and sound is not None:
                sound(path)
        except StoreError:
            lock.close()
            raise
        run = cls(path, clock, lock)
        if not run.writer.chained:
            run._begin_chain()
        else:
            run._record_current_manifest()
        return run

    def _begin_chain(self) -> None:
        """Begin the chain of a run of an earlier version with a digest of what it holds."""
        with reading(self.path) as connection:
            self.writer.put(NOTE, chain.held(connection))
        self._record_manifest(read_manifest(self.path))

    def _record_current_manifest(self) -> None:
        """Record the old manifest again if a process died between recording a new one in the chain and writing it."""
        manifest = read_manifest(self.path)
        with reading(self.path) as connection:
            recorded = [entry[1] for entry in chain.notes(connection, chain.MANIFEST)[-2:]]
        if manifest_digest(manifest) in recorded[:-1] and manifest_digest(manifest) != recorded[-1]:
            self._record_manifest(manifest)

    def _record_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Record a manifest in the chain."""
        self.writer.put(NOTE, (chain.MANIFEST, manifest_digest(manifest), chain.parts(without_digest(manifest))))
        self.writer.flush()

    def accept(self, manifest: dict[str, Any], changed: Sequence[str]) -> dict[str, Any]:
        """Continue openly with a changed manifest: the chain and the manifest record the change permanently."""
        accepted = {"time": self._clock.now(), "changed": list(changed)}
        self.writer.put(NOTE, (chain.ACCEPTED, accepted["time"], accepted["changed"]))
        updated = manifest | {ACCEPTED: [*manifest.get(ACCEPTED, []), accepted]}
        self.write_manifest(updated)
        return updated

    def record(self, match: str, position: int = 0) -> "MatchRecord":
        """The record of one match of the run."""
        return MatchRecord(self.writer, self._clock, match, position)

    def notice_losses(self) -> None:
        """Record how many attempts may have been sent without leaving a trace, after a crash of the machine."""
        with reading(self.path) as connection:
            query = """SELECT m.match, m.upto - coalesce(max(a.id), m.base) FROM marks m
              LEFT JOIN attempts a ON a.match = m.match WHERE m.boot != ? OR m.boot = '' GROUP BY m.match"""
            rows = connection.execute(query, (boot_id(),)).fetchall()
        for match, missing in rows:
            if missing > 0:
                self.writer.put(LOSE, (match, missing, self._clock.now()))
        self.writer.put(RELEASE, ())

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest atomically, after recording it in the chain."""
        self._record_manifest(manifest)
        target, fresh = self.path / MANIFEST, self.path / (MANIFEST + ".new")
        try:
            with os.fdopen(_open_own_file(fresh, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
                sealed = {**manifest, DIGEST: manifest_digest(manifest)}
                json.dump(sealed, file, indent=2, ensure_ascii=False, sort_keys=False)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
        except OSError as error:
            raise StoreError(f"{target} cannot be written ({error.strerror}): free some disk space") from None

    def close(self) -> None:
        """Write all that is queued and release the run."""
        try:
            with contextlib.suppress(StoreError):  # the close below raises it
                self.writer.put(RELEASE, ())
            self.writer.close()
        finally:
            self._lock.close()


@dataclass(slots=True)
class MatchRecord:
    """Writes the record of one match, from this process or another, through `sink` to the run's file."""

    sink: Sink
    clock: Clock
    match: str
    position: int = 0

    def begin(self) -> None:
        """Record that the match has begun."""
        self.sink.put(BEGUN, (self.match, self.position, self.clock.now()))

    def ledger(self, left: Left | None = None) -> RunLedger:
        """The ledger of the match, with the attempts that a crashed process left."""
        base = self.position << 32
        if left is None:
            return RunLedger(self.sink, self.clock, self.match, base)
        return RunLedger(self.sink, self.clock, self.match, base, left.last, left.entries)

    def record(self, round_: int, player: str, item: str | None, move: moves.Move, ruling: Ruling | None) -> None:
        """Append a move."""
        ruling_json = None
        if ruling is not None:
            ruling_fields = {"choice": ruling.choice, "position": ruling.position, "overridden": ruling.overridden}
            ruling_json = json.dumps(ruling_fields)
        body = STRICT(moves.to_json(move))
        values = (self.match, round_, player, moves.kind_of(move), item, body, ruling_json, self.clock.now())
        self.sink.put(EVENT, values)

    def refuse(self, refusal: Refusal) -> None:
        """Record a request that was turned away."""
        self.sink.put(REFUSAL, astuple(refusal))

    async def end(self, player_results: Sequence[PlayerResult], more: Iterable[Statement] = ()) -> None:
        """Write the results, `more` rows that go with them and the end of the match; wait until all is on disk."""
        for statement, values in itertools.chain(results.statements(self.match, player_results), more):
            self.sink.put(statement, values)
        self.sink.put(COUNTED, (self.match,))
        for statement, values in charges.statements(self.match):
            self.sink.put(statement, values)
        self.sink.put(ENDED, (self.clock.now(), self.match))
        self.sink.put("DELETE FROM marks WHERE match = ?", (self.match,))
        await self.sink.synced()


def _locked(path: Path) -> IO[str]:
    """Lock the run for this process; the kernel releases the lock when the process dies."""
    link = next((name for name in sorted({MANIFEST, *LEFTOVERS}) if (path / name).is_symlink()), None)
    if link is not None:
        raise StoreError(f"{path / link} is a link to another place: a run writes into its own files only")
    try:
        lock = os.fdopen(_open_own_file(path / LOCK, os.O_RDWR), "r+")
    except OSError as error:
        raise StoreError(f"{path} cannot be locked ({error.strerror}): is it writable?") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is being played by another process: wait for it, or stop it") from None
    return lock


def _open_own_file(path: Path, flags: int) -> int:
    """Open a file of the run for writing, and create it if it is missing; a symbolic link is never followed."""
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _is_unused(database: Path) -> bool:
    """Whether there is no database file, or only one of a run that never made an attempt."""
    if not database.exists() or not database.stat().st_size:
        return not database.is_symlink()
    try:
        with contextlib.closing(connect(database, readonly=True)) as connection:
            if not all(has_table(connection, table) for table in TABLES):
                return False
            return connection.execute("SELECT 1 FROM attempts LIMIT 1").fetchone() is None
    except (StoreError, sqlite3.Error):
        return False
