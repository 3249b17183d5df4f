"""Writing a run directory: `manifest.json` (what was played, with digests) and `run.db` (items, matches and, for each
match, its attempts, moves and results).

One process writes a run at a time, held by a lock; any number may read it, also while it is played.
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
        """Make a new run; the directory must be new or empty."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            found = {entry.name for entry in path.iterdir()}
        except OSError as error:
            raise StoreError(f"{path} cannot be made ({error.strerror}): choose another --out") from None
        if MANIFEST in found:
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        if not found <= LEFTOVERS:
            raise StoreError(f"{path} holds other files than a run's: choose another --out")
        lock = _locked(path)
        if (path / MANIFEST).exists():  # another process began it between the look and the lock
            lock.close()
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        if not _begun_by_us(path / DATABASE):
            lock.close()
            raise StoreError(f"{path} holds other files than a run's: choose another --out")
        for name in LEFTOVERS - {LOCK}:  # of a run that died before it began: nothing was asked, nothing is lost
            (path / name).unlink(missing_ok=True)
        run = cls(path, clock, lock)
        try:
            for position, item in enumerate(items):
                run.writer.put(*stored_items.statement(position, item))
            run.writer.flush()
            run.write_manifest(manifest)
        except StoreError:
            with contextlib.suppress(StoreError):  # it says the same
                run.close()
            raise
        return run

    @classmethod
    def open(cls, path: Path, clock: Clock, sound: Callable[[Path], None] | None = None) -> "Run":
        """Open a run to go on with it; `sound` is asked about one that was not closed, before anything changes it."""
        read_manifest(path)
        lock = _locked(path)
        try:
            with reading(path) as connection:  # opening it to write makes what is missing: here that would be a loss
                lacking = [table for table in TABLES if not has_table(connection, table)]
            if lacking:
                raise StoreError(f"{path / DATABASE} has no table {lacking[0]!r}: restore it from a copy")
            if unclosed(path) and sound is not None:
                sound(path)
        except StoreError:
            lock.close()
            raise
        run = cls(path, clock, lock)
        if not run.writer.chained:
            run._begin_chain()
        else:
            run._say_which_stands()
        return run

    def _begin_chain(self) -> None:
        """The chain of a run of an earlier version begins with a digest of what it holds."""
        with reading(self.path) as connection:
            self.writer.put(NOTE, chain.held(connection))
        self._say(read_manifest(self.path))

    def _say_which_stands(self) -> None:
        """Where a process died between the word of a new manifest and that manifest, the one before it stands."""
        manifest = read_manifest(self.path)
        with reading(self.path) as connection:
            told = [entry[1] for entry in chain.notes(connection, chain.MANIFEST)[-2:]]
        if manifest_digest(manifest) in told[:-1] and manifest_digest(manifest) != told[-1]:
            self._say(manifest)

    def _say(self, manifest: Mapping[str, Any]) -> None:
        """Put a manifest into the chain."""
        self.writer.put(NOTE, (chain.MANIFEST, manifest_digest(manifest), chain.parts(without_digest(manifest))))
        self.writer.flush()

    def accept(self, manifest: dict[str, Any], changed: Sequence[str]) -> dict[str, Any]:
        """Go on from a manifest that was changed, openly: the chain and the manifest say so for good."""
        accepted = {"time": self._clock.now(), "changed": list(changed)}
        self.writer.put(NOTE, (chain.ACCEPTED, accepted["time"], accepted["changed"]))
        said = manifest | {ACCEPTED: [*manifest.get(ACCEPTED, []), accepted]}
        self.write_manifest(said)
        return said

    def record(self, match: str, position: int = 0) -> "MatchRecord":
        """The record of one match of the run."""
        return MatchRecord(self.writer, self._clock, match, position)

    def notice_losses(self) -> None:
        """After the machine went down: note how many attempts may have been sent without leaving a trace."""
        with reading(self.path) as connection:
            query = """SELECT m.match, m.upto - coalesce(max(a.id), m.base) FROM marks m
              LEFT JOIN attempts a ON a.match = m.match WHERE m.boot != ? OR m.boot = '' GROUP BY m.match"""
            found = connection.execute(query, (boot_id(),)).fetchall()
        for match, missing in found:
            if missing > 0:
                self.writer.put(LOSE, (match, missing, self._clock.now()))
        self.writer.put(RELEASE, ())

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest in one step; what it says is in the chain before."""
        self._say(manifest)
        target, fresh = self.path / MANIFEST, self.path / (MANIFEST + ".new")
        try:
            with os.fdopen(_own_file(fresh, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
                sealed = {**manifest, DIGEST: manifest_digest(manifest)}
                json.dump(sealed, file, indent=2, ensure_ascii=False, sort_keys=False)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
        except OSError as error:
            raise StoreError(f"{target} cannot be written ({error.strerror}): free some disk space") from None

    def close(self) -> None:
        """Write all that is queued and let go of the run."""
        try:
            with contextlib.suppress(StoreError):  # the close says it
                self.writer.put(RELEASE, ())
            self.writer.close()
        finally:
            self._lock.close()


@dataclass(slots=True)
class MatchRecord:
    """What is written of one match, from this process or another: `sink` is the way to the run's file."""

    sink: Sink
    clock: Clock
    match: str
    position: int = 0

    def begin(self) -> None:
        """Say that the match is being played."""
        self.sink.put(BEGUN, (self.match, self.position, self.clock.now()))

    def ledger(self, left: Left | None = None) -> RunLedger:
        """The ledger, knowing what a crashed process left."""
        base = self.position << 32
        if left is None:
            return RunLedger(self.sink, self.clock, self.match, base)
        return RunLedger(self.sink, self.clock, self.match, base, left.last, left.entries)

    def record(self, round_: int, player: str, item: str | None, move: moves.Move, ruling: Ruling | None) -> None:
        """Append a move."""
        ruled = None
        if ruling is not None:
            meant = {"choice": ruling.choice, "position": ruling.position, "overridden": ruling.overridden}
            ruled = json.dumps(meant)
        body = STRICT(moves.to_json(move))
        values = (self.match, round_, player, moves.kind_of(move), item, body, ruled, self.clock.now())
        self.sink.put(EVENT, values)

    def refuse(self, refusal: Refusal) -> None:
        """Note a request that was turned away."""
        self.sink.put(REFUSAL, astuple(refusal))

    async def end(self, found: Sequence[PlayerResult], more: Iterable[Statement] = ()) -> None:
        """Write the results, `more` rows that go with them, and that the match is over, all on disk."""
        for statement, values in itertools.chain(results.statements(self.match, found), more):
            self.sink.put(statement, values)
        self.sink.put(COUNTED, (self.match,))
        for statement, values in charges.statements(self.match):
            self.sink.put(statement, values)
        self.sink.put(ENDED, (self.clock.now(), self.match))
        self.sink.put("DELETE FROM marks WHERE match = ?", (self.match,))
        await self.sink.synced()


def _locked(path: Path) -> IO[str]:
    """Hold the run for this process; the kernel lets go when it dies."""
    link = next((name for name in sorted({MANIFEST, *LEFTOVERS}) if (path / name).is_symlink()), None)
    if link is not None:
        raise StoreError(f"{path / link} is a link to another place: a run writes into its own files only")
    try:
        lock = os.fdopen(_own_file(path / LOCK, os.O_RDWR), "r+")
    except OSError as error:
        raise StoreError(f"{path} cannot be locked ({error.strerror}): is it writable?") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is being played by another process: wait for it, or stop it") from None
    return lock


def _own_file(path: Path, how: int) -> int:
    """A file of the run opened to write, made when it is not there; never one that a link leads to elsewhere."""
    return os.open(path, how | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _begun_by_us(database: Path) -> bool:
    """Whether what stands where a run's file goes is nothing, or that of a run of ours that never asked anything."""
    if not database.exists() or not database.stat().st_size:
        return not database.is_symlink()
    try:
        with contextlib.closing(connect(database, readonly=True)) as connection:
            if not all(has_table(connection, table) for table in TABLES):
                return False
            return connection.execute("SELECT 1 FROM attempts LIMIT 1").fetchone() is None
    except (StoreError, sqlite3.Error):
        return False
