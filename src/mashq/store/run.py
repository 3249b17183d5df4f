"""A run directory: `manifest.json` (what was played, with digests) and `run.db` (items, matches and, for each match,
its attempts, moves and results).

One process writes a run at a time, held by a lock; any number may read it, also while it is played.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, Any, cast

from mashq.errors import StoreError
from mashq.gateway.grants import Refusal
from mashq.gateway.types import Call, Clock, Entry
from mashq.protocol import moves
from mashq.protocol.game import Ruling
from mashq.protocol.items import Item
from mashq.protocol.score import PlayerResult
from mashq.store import results
from mashq.store.db import Writer, connect
from mashq.store.ledger import RunLedger, Sink, boot_id, entries

MANIFEST, DATABASE, LOCK = "manifest.json", "run.db", "lock"
LEFTOVERS = {LOCK, MANIFEST + ".new", *(DATABASE + end for end in ("", "-wal", "-shm"))}
FORMAT, GATEWAY, DIGEST = 1, "gateway", "digest"
TABLES = ("items", "prompts", "attempts", "events")  # of every version
SAID: dict[str, type] = {
    **dict.fromkeys(("config", "digests", "detector", "prompts", "versions"), dict),
    "simulated": bool,
    "seed": int,
    "items": int,
}
DAMAGE = (
    sqlite3.Error,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)  # what reading and decoding a row can meet
RELEASE = "UPDATE marks SET upto = coalesce((SELECT max(id) FROM attempts a WHERE a.match = marks.match), base)"
ENDED = "UPDATE matches SET ended = ? WHERE id = ?"
TALLY = """SELECT match, player, purpose, count(*) AS opened, count(outcome) AS closed,
  sum(outcome IS NULL) AS unresolved, sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')) AS failed,
  sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)) AS tokens, sum(coalesce(seconds, 0)) AS seconds,
  sum(coalesce(waited, 0)) AS waited FROM attempts WHERE 1 GROUP BY match, player, purpose"""
COUNTS = ("opened", "closed", "unresolved", "failed", "tokens", "seconds", "waited")
COUNTED = f"INSERT OR REPLACE INTO spent {TALLY.replace('WHERE 1', 'WHERE match = ?')}"
STRICT = json.JSONEncoder(allow_nan=False).encode
REFUSAL = "INSERT INTO refusals (time, player, method, path, status, reason) VALUES (?,?,?,?,?,?)"
EVENT = "INSERT INTO events (match, round, player, kind, item, move, ruling, time) VALUES (?,?,?,?,?,?,?,?)"


class Run:
    """A run directory opened for writing."""

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
        if MANIFEST in found or not found <= LEFTOVERS:
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        lock = _locked(path)
        if (path / MANIFEST).exists():  # another process began it between the look and the lock
            lock.close()
            raise StoreError(f"{path} is already used: choose another --out, or run 'mashq resume {path}'")
        for name in LEFTOVERS - {LOCK}:  # of a run that died before it began: nothing was asked, nothing is lost
            (path / name).unlink(missing_ok=True)
        run = cls(path, clock, lock)
        try:
            for position, item in enumerate(items):
                run.writer.put("INSERT INTO items VALUES (?,?,?,?)", (position, item.id, item.text, item.reference))
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
                lacking = [table for table in TABLES if not _has(connection, table)]
            if lacking:
                raise StoreError(f"{path / DATABASE} has no table {lacking[0]!r}: restore it from a copy")
            if unclosed(path) and sound is not None:
                sound(path)
        except StoreError:
            lock.close()
            raise
        return cls(path, clock, lock)

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
                self.writer.put("INSERT INTO lost VALUES (?,?,?)", (match, missing, self._clock.now()))
        self.writer.put(RELEASE, ())

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest in one step."""
        target, fresh = self.path / MANIFEST, self.path / (MANIFEST + ".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
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
        self.sink.put(
            "INSERT OR IGNORE INTO matches VALUES (?,?,?,NULL)", (self.match, self.position, self.clock.now())
        )

    def ledger(self, left: "Left | None" = None) -> RunLedger:
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

    async def end(self, found: Sequence[PlayerResult]) -> None:
        """Write the results and that the match is over, all on disk."""
        for statement, values in results.statements(self.match, found):
            self.sink.put(statement, values)
        self.sink.put(COUNTED, (self.match,))
        self.sink.put(ENDED, (self.clock.now(), self.match))
        self.sink.put("DELETE FROM marks WHERE match = ?", (self.match,))
        await self.sink.synced()


@dataclass(frozen=True, slots=True)
class Left:
    """What a crashed process left of a match: the attempts from the round at hand on, and the last id given."""

    entries: list[tuple[Call, Entry]]
    last: int | None


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run, or a clear error when `path` is none."""
    try:
        document: Any = json.loads((path / MANIFEST).read_text("utf-8"))
        json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair could not be written again
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{path} is not a run of mashq: it has no {MANIFEST}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path / MANIFEST} cannot be read ({error}): restore it from a copy") from None
    if not isinstance(document, dict) or "ended" not in document:
        raise StoreError(f"{path / MANIFEST} is not the manifest of a run: restore it from a copy")
    known = cast(dict[str, Any], document)
    if known.get("format", FORMAT) != FORMAT:
        raise StoreError(f"{path} has the format {known['format']}, this version reads {FORMAT}: update mashq")
    return known


def read_match(path: Path) -> dict[str, Any]:
    """The manifest of a run that is a match."""
    manifest = read_manifest(path)
    if manifest.get("kind") == GATEWAY:
        raise StoreError(f"{path} is the ledger of a gateway, not a match: 'mashq show {path}' says what was spent")
    wrong = next((name for name, kind in SAID.items() if not isinstance(manifest.get(name), kind)), None)
    if wrong is None and not all(isinstance(manifest["detector"].get(name), str) for name in ("name", "version")):
        wrong = "detector"
    if wrong is None and not all(isinstance(manifest["digests"].get(name), str) for name in ("config", "items")):
        wrong = "digests"
    if wrong is None and not all(_are_texts(texts) for texts in manifest["prompts"].values()):
        wrong = "prompts"
    if wrong is not None:
        raise StoreError(f"{path / MANIFEST} is damaged ({wrong!r} is missing or wrong): restore it from a copy")
    return manifest


def _are_texts(texts: object) -> bool:
    return isinstance(texts, dict) and all(isinstance(text, str) for text in cast(dict[str, object], texts).values())


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """A fingerprint of all that a manifest says, but for the fingerprint itself."""
    said = {name: value for name, value in manifest.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of a run, as they were when it began."""
    with reading(path) as connection:
        rows = connection.execute("SELECT id, text, reference FROM items ORDER BY position").fetchall()
        if not all(_is_item(row) for row in rows):
            raise ValueError("an item is not text")
    return tuple(Item(*row) for row in rows)


def read_matches(path: Path) -> dict[str, bool]:
    """The matches begun, in their order, and whether each has ended."""
    with reading(path) as connection:
        if not _has(connection, "matches"):
            return {}
        rows = connection.execute("SELECT id, ended FROM matches ORDER BY position").fetchall()
    return {match: ended is not None for match, ended in rows}


def read_results(path: Path, match: str) -> tuple[PlayerResult, ...] | None:
    """The results of a match that has ended, by item; None before."""
    with reading(path) as connection:
        return results.read(connection, match)


def read_left(path: Path, match: str) -> Left:
    """What a crashed process left of a match: the attempts from the last round it wrote of on."""
    with reading(path) as connection:
        last = connection.execute("SELECT max(id) FROM attempts WHERE match = ?", (match,)).fetchone()[0]
        where = "match = ? AND round >= (SELECT coalesce(max(round), 0) FROM events WHERE match = ?)"
        return Left(entries(connection, where, (match, match)), last)


def read_lost(path: Path) -> int:
    """How many attempts may have been sent without a trace when the machine went down."""
    with reading(path) as connection:
        if not _has(connection, "lost"):
            return 0
        return connection.execute("SELECT coalesce(sum(attempts), 0) FROM lost").fetchone()[0]


def read_moves(path: Path, match: str) -> Iterator[tuple[str, moves.Move]]:
    """The moves of a match in the order they were made, with their players."""
    with reading(path) as connection:
        query = "SELECT player, kind, move FROM events WHERE match = ? ORDER BY seq"
        for player, kind, body in connection.execute(query, (match,)):
            yield player, moves.from_json(kind, json.loads(body))


def _is_item(row: tuple[object, ...]) -> bool:
    id_, text, reference = row
    return isinstance(id_, str) and isinstance(text, str) and (reference is None or isinstance(reference, str))


def read_attempts(path: Path, match: str | None = None) -> list[dict[str, Any]]:
    """The attempts of each player and purpose, in a match or in all: how they ended, what is known of their cost.

    Those of a match that has ended were counted then; the others are counted now.
    """
    sums = ", ".join(f"sum({name}) AS {name}" for name in COUNTS)
    with reading(path) as connection:
        if _has(connection, "spent") and connection.execute("SELECT 1 FROM matches LIMIT 1").fetchone():
            now = "match IN (SELECT id FROM matches WHERE id NOT IN (SELECT match FROM spent))"
            rows = f"SELECT * FROM spent UNION ALL {TALLY.replace('WHERE 1', f'WHERE {now}')}"
        else:
            rows = TALLY
        query = f"""SELECT player, purpose, {sums} FROM ({rows}) WHERE :match IS NULL OR match = :match
          GROUP BY player, purpose ORDER BY player, purpose"""
        found = _dicts(connection.execute(query, {"match": match}))
        if any(value is None for row in found for value in row.values()):
            raise ValueError("the counts of its attempts are not whole")
        return found


def read_unstated(path: Path, match: str) -> dict[str, int]:
    """How many answers of each player came without a stated confidence."""
    query = """SELECT player, count(*) FROM events WHERE match = ? AND kind IN ('answer', 'rewrite')
      AND json_extract(move, '$.status') = 'ok' AND json_extract(move, '$.confidence') IS NULL GROUP BY player"""
    with reading(path) as connection:
        return dict(connection.execute(query, (match,)).fetchall())


def read_last_error(path: Path, match: str, player: str) -> str | None:
    """The last thing that went wrong with an answer of a player, in the provider's words."""
    query = """SELECT json_extract(move, '$.error') FROM events WHERE match = ? AND player = ?
      AND kind IN ('answer', 'rewrite') AND json_extract(move, '$.error') IS NOT NULL ORDER BY seq DESC LIMIT 1"""
    with reading(path) as connection:
        row = connection.execute(query, (match, player)).fetchone()
    return None if row is None else str(row[0])


def read_metered(path: Path) -> list[dict[str, Any]]:
    """The attempts of each player and model: how they ended and what is known of their cost."""
    query = """SELECT player, model, count(*) AS attempts, sum(outcome IS NULL) AS unresolved,
      sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')) AS failed,
      sum(tokens_in IS NULL OR tokens_out IS NULL) AS unknown, sum(tokens_in) AS tokens_in,
      sum(tokens_out) AS tokens_out, sum(seconds) AS seconds, sum(waited) AS waited, sum(dollars) AS dollars
      FROM attempts GROUP BY player, model ORDER BY player, model"""
    with reading(path) as connection:
        return _dicts(connection.execute(query))


def read_refusals(path: Path) -> list[dict[str, Any]]:
    """The requests that were turned away, by player and reason."""
    query = """SELECT player, status, reason, count(*) AS requests FROM refusals
      GROUP BY player, status, reason ORDER BY min(id)"""
    with reading(path) as connection:
        return _dicts(connection.execute(query)) if _has(connection, "refusals") else []


def _has(connection: sqlite3.Connection, table: str) -> bool:
    """Whether the file has a table: one of an earlier version may not."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _dicts(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


class reading:
    """A read-only connection for a with block; a damaged file, or a row that cannot be, is a clear error."""

    def __init__(self, path: Path) -> None:
        self._path = path / DATABASE

    def __enter__(self) -> sqlite3.Connection:
        if not self._path.exists():
            raise StoreError(f"{self._path} is missing: the run directory is incomplete")
        self._connection = connect(self._path, readonly=True)
        (page,) = self._connection.execute("PRAGMA page_size").fetchone()
        if self._path.stat().st_size % page:  # SQLite would read zeros for what is missing
            self._connection.close()
            raise StoreError(f"{self._path} is damaged (its last page is not whole): restore it from a copy")
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._connection.close()
        if isinstance(error, DAMAGE):
            raise StoreError(f"{self._path} is damaged ({error}): restore it from a copy") from None


def unclosed(path: Path) -> bool:
    """Whether the last one to write did not close the run."""
    log = path / (DATABASE + "-wal")
    return log.exists() and log.stat().st_size > 0


def _locked(path: Path) -> IO[str]:
    """Hold the run for this process; the kernel lets go when it dies."""
    try:
        lock = (path / LOCK).open("w")
    except OSError as error:
        raise StoreError(f"{path} cannot be locked ({error.strerror}): is it writable?") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is being played by another process: wait for it, or stop it") from None
    return lock
