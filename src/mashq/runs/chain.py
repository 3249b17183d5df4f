"""The hash chain of a run: everything that is recorded, in the order in which it was committed.

Each transaction of the writer adds one link to the table `chain`, within itself: what it covers, and a head,

    head = sha256(head before + newline + entries as JSON)

Of a row the entries are its name in `covers` ("o5": attempt 5 was opened, "c5": it was closed, "e7": move 7, "r2":
refusal 2, "p…": a prompt, which is stored under its own digest) and the values that were written, read from the row
when the chain is checked. Other entries stand in `covers` word for word: a match begun or ended, what was learnt of a
model, what the floors have, what the answers of a match carry by a digest, the manifest by digests of its parts,
what a run of an earlier version held when it was gone on with, and which columns the entries of rows are made of: in
those that a later version added, older rows are empty, and a value there is noticed too. Items are covered by the
manifest's digest; everything else in the file follows from these.
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
NOTE = ""  # the statement of an entry that is nowhere else: its values are the entry
MANIFEST, HELD, COLUMNS, ACCEPTED, CONTENTS = "manifest", "held", "columns", "accepted", "contents"
PLAIN = json.JSONEncoder(separators=(",", ":")).encode
Entry = Sequence[object]

_ASKED = ("id", "match", "round", "player", "item", "purpose", "n", "ask", "model", "prompt", "opened")
OPENED = (*_ASKED, "worst_in", "worst_out", "worst_seconds", *(f"worst_{name}" for name in RATED))
_USED = ("tokens_in", "tokens_out", "cached", "reasoning", "usage", "seconds", "waited", *RATED)
_SAID = ("reply", "stop", "h", "retry_after", "error", "body", "wire", "first_byte")
CLOSED = ("closed", "outcome", "status", *_USED, *_SAID)
MOVED = ("match", "round", "player", "kind", "item", "move", "ruling", "time")
REFUSED = ("time", "player", "method", "path", "status", "reason")


@dataclass(frozen=True, slots=True)
class Rows:
    """Entries that are rows: of which table, by which key, and the columns of their values."""

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
TOLD = {"p": "prompt", "o": "attempt", "c": "the end of attempt", "e": "move", "r": "refusal"}


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
    """The chain as a writer goes on with it: where it stood, unless another connection wrote in between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns = {kind: list(rows.columns) for kind, rows in ROWS.items()}
        self._seen = self._version()
        self._read()

    def _version(self) -> object:
        """Changes when another connection has changed the file."""
        return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def _read(self) -> None:
        self.n, self.head = self._next = last(self._connection)
        self._told = _last_columns(self._connection) == self._columns

    def begin(self, cursor: sqlite3.Cursor) -> None:
        """Begin a transaction that no other writer can come between, at the end of the chain as it is now."""
        cursor.execute("BEGIN IMMEDIATE")
        version = self._version()
        if version != self._seen:
            self._read()
            self._seen = version

    def write(self, cursor: sqlite3.Cursor, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        """Execute statements and the link that covers them; `advance` once they are committed."""
        execute, covers = cursor.execute, list[object]()
        if not self._told:
            covers.append((COLUMNS, self._columns))
        entries, before = covers.copy(), len(covers)
        for statement, values in statements:
            if statement == NOTE:
                covers.append(values)
                entries.append(values)
                continue
            execute(statement, values)
            named = BY_NAME.get(statement)
            if named is not None:
                name = named(cursor, values)
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
        """What was written is committed."""
        if self._next[0] != self.n:
            self.n, self.head = self._next
            self._told = True


def following(head: str, entries: Sequence[object]) -> str:
    """The head after more entries: of a row its name and then its values, others as they are."""
    return hashlib.sha256(f"{head}\n{PLAIN(entries)}".encode()).hexdigest()


def last(connection: sqlite3.Connection) -> tuple[int, str]:
    """The number and head of the last link; 0 and the beginning of all chains where there is none."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'chain'").fetchone():
        return 0, GENESIS
    return connection.execute("SELECT n, head FROM chain ORDER BY n DESC LIMIT 1").fetchone() or (0, GENESIS)


def parts(manifest: Mapping[str, Any]) -> dict[str, str]:
    """A digest of each part of a manifest, so that a change can be named: its keys, and the keys below them."""
    found: dict[str, str] = {}
    for name, value in manifest.items():
        below = cast(Mapping[str, Any], value) if isinstance(value, Mapping) and value else None
        those: dict[str, Any] = {name: value}
        if below is not None:
            those = {f"{name}.{key}": part for key, part in below.items()}
        for path, part in those.items():
            found[path] = hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
    return found


def differing(manifests: Sequence[Entry], manifest: Mapping[str, Any]) -> list[str]:
    """The parts of a manifest that are not what the chain says of it; the last of the `manifests` told counts."""
    told, there = (cast(dict[str, str], manifests[-1][2]) if manifests else {}), parts(manifest)
    return sorted(name for name in {**told, **there} if name != "digest" and told.get(name) != there.get(name))


def notes(connection: sqlite3.Connection, kind: str) -> list[Entry]:
    """The entries of one kind that stand in the chain word for word, oldest first."""
    if not last(connection)[0]:
        return []
    query = "SELECT covers FROM chain WHERE instr(covers, ?) ORDER BY n"
    found = connection.execute(query, (f'["{kind}",',)).fetchall()
    return [entry for (covers,) in found for entry in json.loads(covers) if entry[0] == kind]


def _last_columns(connection: sqlite3.Connection) -> object:
    told = notes(connection, COLUMNS)
    return told[-1][1] if told else None


@dataclass(slots=True)
class Check:
    """What a walk along the chain has found; `wrong` is the first thing that differs."""

    head: str = GENESIS
    links: int = 0
    wrong: str = ""
    manifests: list[Entry] = field(default_factory=list[Entry])
    contents: dict[str, str] = field(default_factory=dict[str, str])
    accepted: int = 0
    last: str = ""


def check(connection: sqlite3.Connection, progress: Callable[[int, int], None] | None = None) -> Check:
    """Walk along the chain, working out every head anew from the rows."""
    found, walk = Check(), _Walk(connection)
    total, _ = last(connection)
    for n, covers, head in connection.execute("SELECT n, covers, head FROM chain ORDER BY n"):
        if progress is not None and n % 256 == 0:
            progress(n, total)
        found.wrong = walk.link(found, n, covers, head)
        if found.wrong:
            return found
        found.links, found.head = n, head
    found.wrong = walk.uncovered()
    return found


class _Walk:
    """Reads what the links cover, and keeps what they say word for word."""

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

    def link(self, found: Check, n: int, covers: str, head: str) -> str:
        """Take one link in; what is wrong with it, or nothing."""
        if n != found.links + 1:
            return f"link {found.links + 1} of the chain is missing"
        entries, covered = list[object](), list[Any]()
        try:
            covered = cast(list[Any], json.loads(covers))
            if PLAIN(covered) != covers:
                return f"link {n} of the chain is not written as it was"
            for told in covered:
                if not isinstance(told, str):
                    self._word(found, told)
                    entries.append(told)
                    continue
                row = self._row(told)
                if row is None:
                    return f"{named(told)} is in the chain and not in the record"
                entries += (told, row)
                found.last = told
        except (LookupError, TypeError, ValueError, sqlite3.Error) as error:
            return f"link {n} of the chain cannot be read ({error})"
        if following(found.head, entries) != head:
            return f"something in link {n} of the chain is not what was recorded: {_range(covered)}"
        return ""

    def _word(self, found: Check, entry: list[Any]) -> None:
        kind, values = entry[0], entry[1:]
        found.last = kind
        if kind == COLUMNS:
            self._columns = values[0]
            self._queries = {
                kind: f"SELECT {', '.join(_every(self._cursor, kind, columns)) or '1'} FROM {ROWS[kind].table} "
                f"WHERE {ROWS[kind].key} = ?"
                for kind, columns in self._columns.items()
            }
        elif kind == MANIFEST:
            found.manifests.append(entry)
        elif kind == CONTENTS:
            found.contents[values[0]] = values[1]
        elif kind == ACCEPTED:
            found.accepted += 1
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

    def _row(self, told: str) -> tuple[Any, ...] | None:
        kind, key = told[0], told[1:] if told[0] == "p" else int(told[1:])
        if self._covered is not None:
            self._covered[kind].add(key)
        self._counts[kind] += 1
        row = self._cursor.execute(self._queries[kind], (key,)).fetchone()
        return row and (() if kind == "p" else _entered(row, len(self._columns[kind])))

    def uncovered(self) -> str:
        """What is in the record and not in the chain, or not as it has it."""
        tables = {
            "matches": sorted(self._matches.values(), key=PLAIN),
            "learnt": sorted(self._learnt.values(), key=PLAIN),
            "lost": sorted(self._lost, key=PLAIN),
            "floors": sorted(self._floors, key=PLAIN),
        }
        for table, told in tables.items():
            if told != sorted(_all(self._cursor, table), key=PLAIN):
                return f"the rows of {table!r} are not those of the chain"
        if self._held is not None and self._covered is not None:
            same = self._held == _digests(self._cursor, self._held_columns, self._covered)
            return "" if same else "what the run held when its chain began is not what it was"
        names = _every(self._cursor, "c", self._columns.get("c", ()))
        closed = " OR ".join(f"{name} IS NOT NULL" for name in names if name != "id")
        for kind, rows in ROWS.items():
            where = f" WHERE {closed}" if kind == "c" else ""
            (there,) = self._cursor.execute(f"SELECT count(*) FROM {rows.table}{where}").fetchone()
            if there != self._counts[kind]:
                return f"the rows of {rows.table!r} are {there}, and in the chain {self._counts[kind]}"
        return ""


def held(connection: sqlite3.Connection) -> Entry:
    """The entry of what a file holds: with it begins the chain of a run of an earlier version."""
    columns = {kind: list(rows.columns) for kind, rows in ROWS.items()}
    cursor = connection.cursor()
    tables = [_all(cursor, table) for table in ("matches", "learnt", "lost")]
    return HELD, _digests(cursor, columns, {kind: set() for kind in ROWS}), *tables


def _all(cursor: sqlite3.Cursor, table: str) -> list[list[Any]]:
    """Every row of a table, which a file of an earlier version may lack."""
    if not cursor.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return []
    return [list(row) for row in cursor.execute(f"SELECT * FROM {table}")]


def _digests(
    cursor: sqlite3.Cursor, columns: Mapping[str, Sequence[str]], without: Mapping[str, set[Any]]
) -> list[str]:
    """A digest of the rows of each kind, but for some."""
    found: list[str] = []
    for kind, rows in ROWS.items():
        whole = hashlib.sha256()
        names = ", ".join((rows.key, *_every(cursor, kind, columns[kind])))
        for row in cursor.execute(f"SELECT {names} FROM {rows.table} ORDER BY {rows.key}"):
            if row[0] not in without[kind]:
                whole.update(PLAIN(_entered(row, 1 + len(columns[kind]))).encode() + b"\n")
        found.append(whole.hexdigest())
    return found


def _every(cursor: sqlite3.Cursor, kind: str, told: Sequence[str]) -> list[str]:
    """The columns that the entries of a chain are made of, and after them those of the file that came later."""
    there = {column[0] for column in cursor.execute(f"SELECT * FROM {ROWS[kind].table} LIMIT 0").description}
    return [*told, *(name for name in ROWS[kind].columns if name in there and name not in told)]


def _entered(row: tuple[Any, ...], told: int) -> tuple[Any, ...]:
    """A row as an entry of so many columns. Those that came later were empty: what was put there since counts."""
    return row[:told] + tuple(value for value in row[told:] if value is not None)


def named(told: str) -> str:
    """The entry of a row in words."""
    return f"{TOLD[told[0]]} {told[1:]}"


def _range(covered: Sequence[str | Entry]) -> str:
    """What a link covers, in words."""
    words = [f"the entry {entry[0]!r}" for entry in covered if not isinstance(entry, str)]
    for kind in ("o", "c", "e", "r"):
        own = [name for name in covered if isinstance(name, str) and name[0] == kind]
        if own:
            words.append(named(own[0]) + (f" to {own[-1][1:]}" if len(own) > 1 else ""))
    return ", ".join(words)
