"""Does a run's record agree with itself? Every number shown is checked against where it came from.

results   the rows written when a match ended are the fold of its moves
costs     what the moves say they cost is what the attempts in the ledger cost
items     their digest is the manifest's
replies   what each says, with its tokens, is in the body that came; its dollars are what the tokens come to
answers   what a player wrote is in a reply that it got
H         each is what the detector says of the answer (with `rescore`)
prompts   the text of every attempt's prompt is there, under its own digest
file      SQLite finds the file whole
manifest  it is as it was written
chain     every head follows from the rows that it covers, and every row is covered; the manifest is the chain's
end       a run whose chain has its end has one that says so
head      the last head is the one that was published
"""

import hashlib
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mashq.gateway.types import REFEREE
from mashq.protocol.game import to_move
from mashq.protocol.moves import Move
from mashq.protocol.resources import FREE, MEASURES, Amount
from mashq.protocol.results import PlayerResult, results_of
from mashq.runs import chain, contents, rederive, results
from mashq.runs.charges import Charges, worked_out
from mashq.runs.file import AMOUNTS, added_tables, columns_of
from mashq.runs.manifest import DIGEST, GATEWAY, is_chained, manifest_digest, read_manifest
from mashq.runs.open import Played, fold, read_season
from mashq.runs.reading import check_record, read_items, read_matches, read_moves, read_results, reading
from mashq.tasks import load as tasks

KEPT = """SELECT player, purpose, opened, closed, unresolved, failed, tokens, seconds, waited FROM spent
  WHERE match = ? ORDER BY player, purpose"""
MADE = """SELECT player, purpose, count(*), count(outcome), sum(outcome IS NULL),
  sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')),
  sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), sum(coalesce(seconds, 0)), sum(coalesce(waited, 0))
  FROM attempts WHERE match = ? GROUP BY player, purpose ORDER BY player, purpose"""
MARKED = "SELECT base, (SELECT position FROM matches WHERE id = m.match) FROM marks m WHERE match = ?"
CHARGED = """SELECT player, item, measure, charged, attempts FROM charges WHERE match = ?
  ORDER BY player, item, measure"""
ATTEMPTS = """SELECT player, outcome, tokens_in, tokens_out, worst_in, worst_out FROM attempts
  WHERE match = ? AND player IS NOT ? ORDER BY id"""
BY_ROUND = """SELECT charged.player, charged.round, calls, coalesce(made, 0) FROM
  (SELECT player, round, sum(coalesce(json_extract(move, '$.spend.calls'), 0)) AS calls FROM events
    WHERE match = :match GROUP BY player, round) AS charged
  LEFT JOIN (SELECT player, round, count(outcome) AS made FROM attempts
    WHERE match = :match GROUP BY player, round) AS own
  ON own.player = charged.player AND own.round = charged.round WHERE calls > coalesce(made, 0)"""


OF_MATCHES = ("matches", "attempts", "events", "seats", "results", "contents", "spent", "charges", "marks", "lost")
END = "end"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what, and what is wrong with it; nothing when it holds."""

    check: str
    wrong: str = ""


def verify(
    path: Path, *, head: str | None = None, rescore: bool = False, progress: Progress | None = None
) -> Iterator[Finding]:
    """Check a run, one finding at a time; `head` is the one that was published, `rescore`: every H, too."""
    manifest = read_manifest(path)
    yield Finding("file", _file(path))
    if manifest.get("kind") == GATEWAY:
        check_record(path)
        yield Finding("manifest", _manifest(manifest))
        yield Finding("prompts", _prompts(path))
        yield from _chain(path, manifest, head, _Steps(path, progress).link)
        yield Finding("replies", rederive.replies(path) or rederive.dollars(path, manifest))
        return
    season = read_season(path)
    yield Finding("manifest", _manifest(season.manifest))
    yield Finding("items", _items(path, season.manifest))
    yield Finding("prompts", _prompts(path))
    steps = _Steps(path, progress)
    carried = yield from _chain(path, season.manifest, head, steps.link)
    yield Finding("replies", rederive.replies(path) or rederive.dollars(path, season.manifest))
    there, known = read_matches(path), list[str]()
    for fixture in season.fixtures():
        known.append(fixture.id)
        if fixture.id in there or season.finished:
            played = steps.folded(season.played(fixture))
            yield Finding(f"match {fixture.id}: costs", _costs(played) or _tally(path, fixture.id))
            yield Finding(f"match {fixture.id}: answers", rederive.answers(path, fixture.id, fixture.config))
            if rescore:
                yield Finding(f"match {fixture.id}: H", rederive.scores(path, fixture.id, fixture.config))
            if there.get(fixture.id) or season.finished:
                noted = None if rescore else carried.get(fixture.id)
                yield Finding(f"match {fixture.id}: results", _results(played, noted))
    stray = _stray(path, known)
    if stray:
        yield Finding("matches", stray)


class _Steps:
    """How far a check is: the links of the chain and then the moves, which take most of the time."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        with reading(path) as connection:
            self._links, _ = chain.last(connection)
            (moves,) = connection.execute("SELECT count(*) FROM events").fetchone()
        self._progress, self._whole, self._moves = progress, self._links + moves, 0

    def link(self, done: int, _of: int) -> None:
        """So many links were checked."""
        if self._progress is not None:
            self._progress(done, self._whole)

    def folded(self, played: Played) -> Played:
        """A match with its state, from a fold of its moves."""
        return replace(played, changed=fold(played.first, self._each(read_moves(played.path, played.fixture.id))))

    def _each(self, moves: Iterable[tuple[str, Move]]) -> Iterator[tuple[str, Move]]:
        for move in moves:
            self._moves += 1
            if self._progress is not None and self._moves % 256 == 0:
                self._progress(self._links + self._moves, self._whole)
            yield move


def _chain(
    path: Path, manifest: dict[str, Any], head: str | None, progress: Progress
) -> Generator[Finding, None, Mapping[str, str]]:
    """A run of an earlier version has no chain until it is gone on with. What the answers of each match carry, by the
    digest that the chain has of it."""
    with reading(path) as connection:
        links, _ = chain.last(connection)
        found = chain.check(connection, progress) if links else chain.Check()
    if links:
        said, pending = [entry[1] for entry in found.manifests], False
        if not found.wrong and said[-1:] != [manifest_digest(manifest)]:
            pending = found.last == chain.MANIFEST and said[-2:-1] == [manifest_digest(manifest)]
            if not pending:
                parts = chain.differing(found.manifests[-1:], manifest)
                found.wrong = f"{', '.join(parts)} of the manifest is not what the chain says"
        yield Finding("chain", found.wrong)
        said_so = "the chain has a later manifest than the directory: run 'mashq resume'" if pending else ""
        yield Finding(END, said_so)
    elif is_chained(manifest):
        yield Finding("chain", "it was removed: a run of this version has one from its start")
    if head is not None:
        same = links and found.head == head.strip().lower()
        yield Finding("head", "" if same else f"the run's head is {found.head}, not {head.strip()[:80]}")
    return found.contents


def _items(path: Path, manifest: dict[str, Any]) -> str:
    if tasks.digest(read_items(path)) != manifest["digests"].get("items"):
        return "their digest is not the manifest's"
    with reading(path) as connection:
        places = [place for (place,) in connection.execute("SELECT position FROM items ORDER BY position")]
    return (
        "" if places == list(range(len(places))) == list(range(manifest["items"])) else "their places are not theirs"
    )


def _stray(path: Path, known: Sequence[str]) -> str:
    """Rows of matches that the run does not have."""
    with reading(path) as connection:
        for table in OF_MATCHES:
            name = "id" if table == "matches" else "match"
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                query = f"SELECT DISTINCT {name} FROM {table}"
                odd = [match for (match,) in connection.execute(query) if match not in set(known)]
                if odd:
                    return f"{table} has rows of a match {odd[0]!r:.40}, which the run has not"
    return ""


def _file(path: Path) -> str:
    with reading(path) as connection:
        (answer,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        added = added_tables(connection)
    if added:
        return f"it has a table {added[0]!r:.40}, which mashq never writes"
    return "" if answer == "ok" else f"SQLite says: {answer}"


def _manifest(manifest: dict[str, Any]) -> str:
    """One of an earlier version has no digest of its own."""
    same = manifest.get(DIGEST, manifest_digest(manifest)) == manifest_digest(manifest)
    return "" if same else "it was changed after it was written"


def _prompts(path: Path) -> str:
    with reading(path) as connection:
        query = "SELECT count(*) FROM attempts WHERE prompt NOT IN (SELECT digest FROM prompts)"
        (missing,) = connection.execute(query).fetchone()
        if missing:
            return f"{missing} attempt(s) have no prompt"
        for digest, messages in connection.execute("SELECT digest, messages FROM prompts"):
            if not isinstance(messages, str) or not _is(digest, messages):
                return f"the prompt {digest} is not what it was"
    return ""


def _is(digest: str, messages: str) -> bool:
    """Whether a text has this digest; one of an earlier version is a SHA-256."""
    body = messages.encode()
    return digest in (hashlib.blake2b(body, digest_size=16).hexdigest(), hashlib.sha256(body).hexdigest()[:32])


def _costs(played: Played) -> str:
    """Compare the moves' costs with the attempts'; before the end, some attempts have led to no move yet."""
    path, match = played.path, played.fixture.id
    charged = {player.name: player.spend for player in played.state.players}
    ended = read_matches(path).get(match, False)
    for player, cost in _spent(path, match).items():
        told = charged.get(player, FREE)
        if ended and (told.calls, told.unresolved, told.failed) != (cost.calls, cost.unresolved, cost.failed):
            made = cost.calls + cost.unresolved
            return f"{player} was charged {told.calls + told.unresolved} attempts and made {made}"
        if ended and (told.tokens, told.unknown) != (cost.tokens, cost.unknown):
            return f"{player} was charged {told.tokens.total} tokens and used {cost.tokens.total}"
    with reading(path) as connection:
        for player, round_, calls, made in connection.execute(BY_ROUND, {"match": match}):
            return f"{player} was charged {calls} attempts in round {round_} and made only {made}"
    return ""


@dataclass(slots=True)
class _Made:
    """The attempts of a player: how many, and their tokens, each way with how many are known."""

    calls: int = 0
    unresolved: int = 0
    failed: int = 0
    unknown: int = 0
    way_in: float = 0
    way_out: float = 0
    known_in: int = 0
    known_out: int = 0
    worst: float = 0

    @property
    def tokens(self) -> Amount:
        """As a Spend has them."""
        return Amount(self.way_in + self.way_out, min(self.known_in, self.known_out), self.unknown, self.worst)


def _spent(path: Path, match: str) -> dict[str, _Made]:
    """What the attempts of a match come to by player, the referee's apart."""
    found: dict[str, _Made] = {}
    with reading(path) as connection:
        for player, outcome, way_in, way_out, worst_in, worst_out in connection.execute(ATTEMPTS, (match, REFEREE)):
            own = found.setdefault(player, _Made())
            own.calls += outcome is not None
            own.unresolved += outcome is None
            own.failed += outcome not in (None, "ok", "refused")
            own.unknown += way_in is None or way_out is None
            if way_in is None:
                own.worst += math.inf if worst_in is None else worst_in
            else:
                own.way_in, own.known_in = own.way_in + way_in, own.known_in + 1
            if way_out is None:
                own.worst += math.inf if worst_out is None else worst_out
            else:
                own.way_out, own.known_out = own.way_out + way_out, own.known_out + 1
    return found


def _tally(path: Path, match: str) -> str:
    """The counts kept of a match's attempts, where they are, are those of its attempts."""
    with reading(path) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'spent'").fetchone():
            return ""
        kept = connection.execute(KEPT, (match,)).fetchall()
        made = connection.execute(MADE, (match,)).fetchall()
        marked = connection.execute(MARKED, (match,)).fetchone()
    if kept and not (len(kept) == len(made) and all(map(_alike, kept, made))):
        return "the counts of its attempts are not those of the ledger"
    if marked is not None and (marked[1] is None or marked[0] != marked[1] << 32):
        return "the mark of its attempts is not where they are"
    return ""


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two rows are the same, sums of seconds to the last digits."""
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(one, other, strict=True)
    )


def _results(played: Played, carried: str | None) -> str:
    with reading(played.path) as connection:
        charges = worked_out(connection, played.fixture.id)
    if to_move(played.state):
        return "its moves do not come to an end"
    folded = results_of(played.state)
    if _same_rows(played, folded):
        return _charged(played.path, played.fixture.id, charges) or _carried(played, carried)
    stored, folded = read_results(played.path, played.fixture.id), charges.on(folded)
    if stored is None:  # one of an earlier version has no rows
        return ""
    for row, own in zip(stored, folded, strict=False):
        for one, other in zip(row.items, own.items, strict=False):
            if one != other:
                what = "moves come" if replace(one, charge=other.charge) != other else "attempts of unknown cost come"
                return f"{own.name}, item {other.item}: the row is not what its {what} to"
    with reading(played.path) as connection:
        earlier = not columns_of(connection, "results").issuperset(AMOUNTS)
    return "" if earlier and stored == folded else "the rows are not what the moves come to"


def _same_rows(played: Played, folded: Sequence[PlayerResult]) -> bool:
    """Whether the rows are those that the fold would write, cell by cell, no more and no less."""
    match = played.fixture.id
    with reading(played.path) as connection:
        if not columns_of(connection, "results").issuperset(results.WRITTEN):
            return False
        columns = ", ".join(results.WRITTEN)
        tables = {
            results.SEAT: connection.execute("SELECT * FROM seats WHERE match = ? ORDER BY seat", (match,)),
            results.RESULT: connection.execute(
                f"SELECT {columns} FROM results WHERE match = ? ORDER BY seat, position", (match,)
            ),
        }
        for statement, values in results.statements(match, folded):
            if tables[statement].fetchone() != tuple(values):
                return False
        return all(rows.fetchone() is None for rows in tables.values())


def _carried(played: Played, noted: str | None) -> str:
    """What is kept of what the answers carry is what their texts carry, row by row; or what was `noted` of it."""
    query = "SELECT * FROM contents WHERE match = ? ORDER BY seat, position"
    with reading(played.path) as connection:
        if not columns_of(connection, "contents"):
            return ""
        kept = connection.execute(query, (played.fixture.id,)).fetchall()
    if noted is not None:
        same = contents.digest((seat, at, tuple(row)) for _, seat, at, *row in kept) == noted
        return "" if same else "what its answers carry is not what was recorded"
    owed = [(played.fixture.id, seat, at, *row) for seat, at, row in contents.measured(played.config, played.state)]
    same = not kept or (len(kept) == len(owed) and all(map(_alike, kept, sorted(owed))))
    return "" if same else "what its answers carry is not what is kept of it"


def _charged(path: Path, match: str, charges: Charges) -> str:
    """The charges kept of a match are those of its attempts, row by row."""
    with reading(path) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'charges'").fetchone():
            return ""
        kept = connection.execute(CHARGED, (match,)).fetchall()
    owed = [
        (player, item, measure, float(amount.total), amount.known)
        for (player, item), spend in charges.by.items()
        for measure in MEASURES
        if (amount := spend.measured(measure)).known
    ]
    owed.sort(key=lambda row: (row[0], row[1] or "", row[2]))
    same = len(kept) == len(owed) and all(map(_alike, kept, owed))
    return "" if same else "the charges are not what its attempts of unknown cost come to"
