"""The hash chain of a run: everything that is recorded, in the order in which it was committed.

Each transaction of the writer also adds one link to the table `chain`: what was written (`covers`), and a head,

    head = sha256(previous head + newline + entries as JSON)

The entries for a row are its name in `covers` ("o5": attempt 5 was opened, "c5": it was closed, "e7": move 7, "r2":
refusal 2, "p…": a prompt, which is stored under its own digest) and the values that were written, which are read from
the row when the chain is checked. Other entries are stored verbatim in `covers`: the start or the end of a match,
what was learnt about a model, the values of the floors, a digest of what the answers of a match contain, the manifest
as digests of its parts, what a run of an earlier version held when it was resumed, and the columns that the entries
for rows consist of. Columns that a later version added are empty in older rows, so a value there is detected too.
Items are covered by the manifest's digest; everything else in the file can be derived from these.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from mashq.protocol.resources import RATED

GENESIS = hashlib.sha256(b"mashq chain 1").hexdigest()
TABLE = "CREATE TABLE IF NOT EXISTS chain (n INTEGER PRIMARY KEY, covers TEXT NOT NULL, head TEXT NOT NULL);"
LINK = "INSERT INTO chain VALUES (?,?,?)"
NOTE = ""  # the statement of an entry that has no row: its values are the entry
MANIFEST, HELD, COLUMNS, ACCEPTED, CONTENTS = "manifest", "held", "columns", "accepted", "contents"
PLAIN = json.JSONEncoder(separators=(",", ":")).encode
Entry = Sequence[object]

_REQUEST = ("id", "match", "round", "player", "item", "purpose", "n", "ask", "model", "prompt", "opened")
OPENED = (*_REQUEST, "worst_in", "worst_out", "worst_seconds", *(f"worst_{name}" for name in RATED))
_USAGE = ("tokens_in", "tokens_out", "cached", "reasoning", "usage", "seconds", "waited", *RATED)
_REPLY = ("reply", "stop", "h", "retry_after", "error", "body", "wire", "first_byte")
CLOSED = ("closed", "outcome", "status", *_USAGE, *_REPLY)
MOVED = ("match", "round", "player", "kind", "item", "move", "ruling", "time")
REFUSED = ("time", "player", "method", "path", "status", "reason")


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the entries for rows of one kind are: the table, its key column, and the columns of their values."""

    table: str
    key: str
    columns: tuple[str, ...]


ROWS: Mapping[str, Rows] = {
    "p": Rows("prompts", "digest", ()),
    "o": Rows("attempts", "id", OPENED),
    "c": Rows("attempts", "id", (*CLOSED, "id")),
    "e": Rows("events", "seq", MOVED),
    "r": Rows("refusals", "id", REFUSED),
}
LABELS = {"p": "prompt", "o": "attempt", "c": "the end of attempt", "e": "move", "r": "refusal"}


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({','.join('?' * len(columns))})"


OPEN = _insert("attempts", OPENED)
CLOSE = f"UPDATE attempts SET {', '.join(f'{name}=?' for name in CLOSED)} WHERE id=?"
EVENT = _insert("events", MOVED)
REFUSAL = _insert("refusals", REFUSED)
BEGUN = "INSERT OR IGNORE INTO matches VALUES (?,?,?,NULL)"
ENDED = "UPDATE matches SET ended = ? WHERE id = ?"
LEARN = "INSERT OR REPLACE INTO learnt VALUES (?,?,?,?,?)"
LOSE = "INSERT INTO lost VALUES (?,?,?)"
FLOOR = "INSERT OR IGNORE INTO floors VALUES (?,?,?,?,?)"

PROMPT = "INSERT OR IGNORE INTO prompts VALUES (?,?)"

Named = Callable[[sqlite3.Cursor, Sequence[object]], str]
BY_NAME: Mapping[str, Named] = {
    OPEN: lambda _cursor, values: f"o{values[0]}",
    CLOSE: lambda _cursor, values: f"c{values[-1]}",
    EVENT: lambda cursor, _values: f"e{cursor.lastrowid}",
    REFUSAL: lambda cursor, _values: f"r{cursor.lastrowid}",
}
BY_WORD = {BEGUN: "match", ENDED: "ended", LEARN: "learnt", LOSE: "lost", FLOOR: "floor"}


class Chain:
    """The end of the chain, to which a writer appends; read again if another connection has written in between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns = {kind: list(rows.columns) for kind, rows in ROWS.items()}
        self._seen_version = self._data_version()
        self._read_end()

    def _data_version(self) -> object:
        """A value that changes when another connection changes the file."""
        return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def _read_end(self) -> None:
        self.n, self.head = self._next = last(self._connection)
        self._columns_noted = _last_columns(self._connection) == self._columns

    def begin(self, cursor: sqlite3.Cursor) -> None:
        """Begin a transaction that excludes other writers, at the current end of the chain."""
        cursor.execute("BEGIN IMMEDIATE")
        version = self._data_version()
        if version != self._seen_version:
            self._read_end()
            self._seen_version = version

    def write(self, cursor: sqlite3.Cursor, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Execute statements and add the link that covers them; call `advance` once they are committed."""
        execute, covers = cursor.execute, list[object]()
        if not self._columns_noted:
            covers.append((COLUMNS, self._columns))
        entries, before = covers.copy(), len(covers)
        for statement, values in statements:
            if statement == NOTE:
                covers.append(values)
                entries.append(values)
                continue
            execute(statement, values)
            name_of = BY_NAME.get(statement)
            if name_of is not None:
                name = name_of(cursor, values)
                covers.append(name)
                entries += (name, values)
            elif statement == PROMPT:
                if cursor.rowcount:
                    covers.append(f"p{values[0]}")
                    entries += (f"p{values[0]}", ())
            elif statement in BY_WORD and cursor.rowcount:
                covers.append((BY_WORD[statement], *values))
                entries.append(covers[-1])
        if len(covers) > before:
            self._next = self.n + 1, following(self.head, entries)
            execute(LINK, (self._next[0], PLAIN(covers), self._next[1]))

    def advance(self) -> None:
        """Move on to the new end, once what was written is committed."""
        if self._next[0] != self.n:
            self.n, self.head = self._next
            self._columns_noted = True


def following(head: str, entries: Sequence[object]) -> str:
    """The head after more entries: for a row its name and then its values, other entries verbatim."""
    return hashlib.sha256(f"{head}\n{PLAIN(entries)}".encode()).hexdigest()


def last(connection: sqlite3.Connection) -> tuple[int, str]:
    """The number and head of the last link; 0 and GENESIS if there is none."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'chain'").fetchone():
        return 0, GENESIS
    return connection.execute("SELECT n, head FROM chain ORDER BY n DESC LIMIT 1").fetchone() or (0, GENESIS)


def parts(manifest: Mapping[str, Any]) -> dict[str, str]:
    """A digest per part of a manifest (its keys, or the keys nested in them), so that a change can be named."""
    digests: dict[str, str] = {}
    for name, value in manifest.items():
        nested = cast(Mapping[str, Any], value) if isinstance(value, Mapping) and value else None
        flat: dict[str, Any] = {name: value}
        if nested is not None:
            flat = {f"{name}.{key}": part for key, part in nested.items()}
        for path, part in flat.items():
            digests[path] = hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
    return digests


def differing(manifests: Sequence[Entry], manifest: Mapping[str, Any]) -> list[str]:
    """The parts of a manifest that differ from the last of `manifests`, its entries in the chain."""
    recorded, current = (cast(dict[str, str], manifests[-1][2]) if manifests else {}), parts(manifest)
    return sorted(
        name for name in {**recorded, **current} if name != "digest" and recorded.get(name) != current.get(name)
    )


def notes(connection: sqlite3.Connection, kind: str) -> list[Entry]:
    """The entries of one kind that are stored verbatim in the chain, oldest first."""
    if not last(connection)[0]:
        return []
    query = "SELECT covers FROM chain WHERE instr(covers, ?) ORDER BY n"
    rows = connection.execute(query, (f'["{kind}",',)).fetchall()
    return [entry for (covers,) in rows for entry in json.loads(covers) if entry[0] == kind]


def _last_columns(connection: sqlite3.Connection) -> object:
    entries = notes(connection, COLUMNS)
    return entries[-1][1] if entries else None


@dataclass(slots=True)
class Check:
    """The result of checking the chain; `wrong` describes the first difference."""

    head: str = GENESIS
    links: int = 0
    wrong: str = ""
    manifests: list[Entry] = field(default_factory=list[Entry])
    contents: dict[str, str] = field(default_factory=dict[str, str])
    accepted: int = 0
    last: str = ""


def check(connection: sqlite3.Connection, progress: Callable[[int, int], None] | None = None) -> Check:
    """Walk along the chain and recompute every head from the rows."""
    result, walk = Check(), _Walk(connection)
    total, _ = last(connection)
    for n, covers, head in connection.execute("SELECT n, covers, head FROM chain ORDER BY n"):
        if progress is not None and n % 256 == 0:
            progress(n, total)
        result.wrong = walk.link(result, n, covers, head)
        if result.wrong:
            return result
        result.links, result.head = n, head
    result.wrong = walk.uncovered()
    return result


class _Walk:
    """Reads the rows that the links cover, and collects the entries that are stored verbatim."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._cursor = connection.cursor()
        self._columns = dict[str, list[str]]()
        self._queries = dict[str, str]()
        self._held_columns = dict[str, list[str]]()
        self._counts = dict.fromkeys(ROWS, 0)
        self._held: list[Any] | None = None
        self._covered: dict[str, set[Any]] | None = None
        self._matches = dict[Any, list[Any]]()
        self._learnt = dict[tuple[Any, Any], list[Any]]()
        self._lost = list[list[Any]]()
        self._floors = list[list[Any]]()

    def link(self, result: Check, n: int, covers: str, head: str) -> str:
        """Check one link; returns what is wrong with it, or an empty string."""
        if n != result.links + 1:
            return f"link {result.links + 1} of the chain is missing"
        entries, covered = list[object](), list[Any]()
        try:
            covered = cast(list[Any], json.loads(covers))
            if PLAIN(covered) != covers:
                return f"link {n} of the chain is not written as it was"
            for entry in covered:
                if not isinstance(entry, str):
                    self._take_verbatim(result, entry)
                    entries.append(entry)
                    continue
                row = self._read_row(entry)
                if row is None:
                    return f"{named(entry)} is in the chain and not in the record"
                entries += (entry, row)
                result.last = entry
        except (LookupError, TypeError, ValueError, sqlite3.Error) as error:
            return f"link {n} of the chain cannot be read ({error})"
        if following(result.head, entries) != head:
            return f"something in link {n} of the chain is not what was recorded: {_describe(covered)}"
        return ""

    def _take_verbatim(self, result: Check, entry: list[Any]) -> None:
        kind, values = entry[0], entry[1:]
        result.last = kind
        if kind == COLUMNS:
            self._columns = values[0]
            self._queries = {
                kind: f"SELECT {', '.join(_all_columns(self._cursor, kind, columns)) or '1'} FROM {ROWS[kind].table} "
                f"WHERE {ROWS[kind].key} = ?"
                for kind, columns in self._columns.items()
            }
        elif kind == MANIFEST:
            result.manifests.append(entry)
        elif kind == CONTENTS:
            result.contents[values[0]] = values[1]
        elif kind == ACCEPTED:
            result.accepted += 1
        elif kind == "match":
            self._matches[values[0]] = [*values, None]
        elif kind == "ended":
            self._matches[values[1]][3] = values[0]
        elif kind == "learnt":
            self._learnt[values[0], values[1]] = values
        elif kind == "lost":
            self._lost.append(values)
        elif kind == "floor":
            self._floors.append(values)
        elif kind == HELD:
            self._held, self._covered = values[0], {kind: set() for kind in ROWS}
            self._held_columns = self._columns
            self._matches |= {row[0]: row for row in values[1]}
            self._learnt |= {(row[0], row[1]): row for row in values[2]}
            self._lost += values[3]

    def _read_row(self, name: str) -> tuple[Any, ...] | None:
        kind, key = name[0], name[1:] if name[0] == "p" else int(name[1:])
        if self._covered is not None:
            self._covered[kind].add(key)
        self._counts[kind] += 1
        row = self._cursor.execute(self._queries[kind], (key,)).fetchone()
        return row and (() if kind == "p" else _entry_values(row, len(self._columns[kind])))

    def uncovered(self) -> str:
        """What is in the record but not in the chain, or differs from it; an empty string if nothing does."""
        tables = {
            "matches": sorted(self._matches.values(), key=PLAIN),
            "learnt": sorted(self._learnt.values(), key=PLAIN),
            "lost": sorted(self._lost, key=PLAIN),
            "floors": sorted(self._floors, key=PLAIN),
        }
        for table, recorded in tables.items():
            if recorded != sorted(_all_rows(self._cursor, table), key=PLAIN):
                return f"the rows of {table!r} are not those of the chain"
        if self._held is not None and self._covered is not None:
            same = self._held == _digests(self._cursor, self._held_columns, self._covered)
            return "" if same else "what the run held when its chain began is not what it was"
        names = _all_columns(self._cursor, "c", self._columns.get("c", ()))
        closed = " OR ".join(f"{name} IS NOT NULL" for name in names if name != "id")
        for kind, rows in ROWS.items():
            where = f" WHERE {closed}" if kind == "c" else ""
            (count,) = self._cursor.execute(f"SELECT count(*) FROM {rows.table}{where}").fetchone()
            if count != self._counts[kind]:
                return f"the rows of {rows.table!r} are {count}, and in the chain {self._counts[kind]}"
        return ""


def held(connection: sqlite3.Connection) -> Entry:
    """An entry with all that a file holds, with which the chain of a run of an earlier version begins."""
    columns = {kind: list(rows.columns) for kind, rows in ROWS.items()}
    cursor = connection.cursor()
    tables = [_all_rows(cursor, table) for table in ("matches", "learnt", "lost")]
    return HELD, _digests(cursor, columns, {kind: set() for kind in ROWS}), *tables


def _all_rows(cursor: sqlite3.Cursor, table: str) -> list[list[Any]]:
    """Every row of a table; none if the table is missing, as in a file of an earlier version."""
    if not cursor.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return []
    return [list(row) for row in cursor.execute(f"SELECT * FROM {table}")]


def _digests(
    cursor: sqlite3.Cursor, columns: Mapping[str, Sequence[str]], without: Mapping[str, set[Any]]
) -> list[str]:
    """A digest of the rows of each kind, except for those whose keys are in `without`."""
    digests: list[str] = []
    for kind, rows in ROWS.items():
        hasher = hashlib.sha256()
        names = ", ".join((rows.key, *_all_columns(cursor, kind, columns[kind])))
        for row in cursor.execute(f"SELECT {names} FROM {rows.table} ORDER BY {rows.key}"):
            if row[0] not in without[kind]:
                hasher.update(PLAIN(_entry_values(row, 1 + len(columns[kind]))).encode() + b"\n")
        digests.append(hasher.hexdigest())
    return digests


def _all_columns(cursor: sqlite3.Cursor, kind: str, listed: Sequence[str]) -> list[str]:
    """The columns listed in the chain, followed by the columns of the file that were added later."""
    existing = {column[0] for column in cursor.execute(f"SELECT * FROM {ROWS[kind].table} LIMIT 0").description}
    return [*listed, *(name for name in ROWS[kind].columns if name in existing and name not in listed)]


def _entry_values(row: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The first `count` values of a row. Columns added later were empty, so a value put there since is included."""
    return row[:count] + tuple(value for value in row[count:] if value is not None)


def named(name: str) -> str:
    """The name of a row's entry in words: 'attempt 5' for 'o5'."""
    return f"{LABELS[name[0]]} {name[1:]}"


def _describe(covered: Sequence[str | Entry]) -> str:
    """The entries that a link covers, in words."""
    words = [f"the entry {entry[0]!r}" for entry in covered if not isinstance(entry, str)]
    for kind in ("o", "c", "e", "r"):
        names = [name for name in covered if isinstance(name, str) and name[0] == kind]
        if names:
            words.append(named(names[0]) + (f" to {names[-1][1:]}" if len(names) > 1 else ""))
    return ", ".join(words)
