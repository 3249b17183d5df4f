"""Checks that a run's record agrees with itself: every number shown is compared with what it was computed from.

results   the rows written when a match ended follow from its moves
costs     the costs of the moves are those of the attempts in the ledger
items     their digest is the manifest's
replies   each reply, with its tokens, is in the body that was received; its dollars follow from the tokens
answers   what a player wrote is in a reply that it got
H         each is what the detector gives for the answer (with `rescore`)
prompts   the text of every attempt's prompt is there, under its own digest
file      SQLite finds the file intact
manifest  it has not changed since it was written
chain     every head follows from the rows that it covers, and every row is covered; the manifest is the chain's
end       the directory has the last manifest of the chain, which says whether the run has ended
head      the last head is the published one
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
    """The outcome of one check: its name, and what is wrong; an empty string if it passed."""

    check: str
    wrong: str = ""


def verify(
    path: Path, *, head: str | None = None, rescore: bool = False, progress: Progress | None = None
) -> Iterator[Finding]:
    """Check a run, one finding at a time; `head` is the published head, `rescore` checks every H too."""
    manifest = read_manifest(path)
    yield Finding("file", _check_file(path))
    if manifest.get("kind") == GATEWAY:
        check_record(path)
        yield Finding("manifest", _check_manifest(manifest))
        yield Finding("prompts", _check_prompts(path))
        yield from _check_chain(path, manifest, head, _Steps(path, progress).link)
        yield Finding("replies", rederive.replies(path) or rederive.dollars(path, manifest))
        return
    season = read_season(path)
    yield Finding("manifest", _check_manifest(season.manifest))
    yield Finding("items", _check_items(path, season.manifest))
    yield Finding("prompts", _check_prompts(path))
    steps = _Steps(path, progress)
    content_digests = yield from _check_chain(path, season.manifest, head, steps.link)
    yield Finding("replies", rederive.replies(path) or rederive.dollars(path, season.manifest))
    ended, known_ids = read_matches(path), list[str]()
    for fixture in season.fixtures():
        known_ids.append(fixture.id)
        if fixture.id in ended or season.finished:
            played = steps.folded(season.played(fixture))
            yield Finding(f"match {fixture.id}: costs", _check_costs(played) or _check_counts(path, fixture.id))
            yield Finding(f"match {fixture.id}: answers", rederive.answers(path, fixture.id, fixture.config))
            if rescore:
                yield Finding(f"match {fixture.id}: H", rederive.scores(path, fixture.id, fixture.config))
            if ended.get(fixture.id) or season.finished:
                content_digest = None if rescore else content_digests.get(fixture.id)
                yield Finding(f"match {fixture.id}: results", _check_results(played, content_digest))
    stray = _stray_rows(path, known_ids)
    if stray:
        yield Finding("matches", stray)


class _Steps:
    """The progress of a check: the links of the chain and then the moves, which take most of the time."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        with reading(path) as connection:
            self._links, _ = chain.last(connection)
            (moves,) = connection.execute("SELECT count(*) FROM events").fetchone()
        self._progress, self._total, self._moves = progress, self._links + moves, 0

    def link(self, done: int, _total: int) -> None:
        """Report that `done` links were checked."""
        if self._progress is not None:
            self._progress(done, self._total)

    def folded(self, played: Played) -> Played:
        """A match with its state after all its moves."""
        return replace(played, changed=fold(played.first, self._counted(read_moves(played.path, played.fixture.id))))

    def _counted(self, moves: Iterable[tuple[str, Move]]) -> Iterator[tuple[str, Move]]:
        for move in moves:
            self._moves += 1
            if self._progress is not None and self._moves % 256 == 0:
                self._progress(self._links + self._moves, self._total)
            yield move


def _check_chain(
    path: Path, manifest: dict[str, Any], head: str | None, progress: Progress
) -> Generator[Finding, None, Mapping[str, str]]:
    """Check the chain; returns its digest of what the answers contain, by match.

    A run of an earlier version has no chain until it is resumed."""
    with reading(path) as connection:
        links, _ = chain.last(connection)
        result = chain.check(connection, progress) if links else chain.Check()
    if links:
        digests, pending = [entry[1] for entry in result.manifests], False
        if not result.wrong and digests[-1:] != [manifest_digest(manifest)]:
            pending = result.last == chain.MANIFEST and digests[-2:-1] == [manifest_digest(manifest)]
            if not pending:
                parts = chain.differing(result.manifests[-1:], manifest)
                result.wrong = f"{', '.join(parts)} of the manifest is not what the chain says"
        yield Finding("chain", result.wrong)
        end_problem = "the chain has a later manifest than the directory: run 'mashq resume'" if pending else ""
        yield Finding(END, end_problem)
    elif is_chained(manifest):
        yield Finding("chain", "it was removed: a run of this version has one from its start")
    if head is not None:
        same = links and result.head == head.strip().lower()
        yield Finding("head", "" if same else f"the run's head is {result.head}, not {head.strip()[:80]}")
    return result.contents


def _check_items(path: Path, manifest: dict[str, Any]) -> str:
    if tasks.digest(read_items(path)) != manifest["digests"].get("items"):
        return "their digest is not the manifest's"
    with reading(path) as connection:
        positions = [position for (position,) in connection.execute("SELECT position FROM items ORDER BY position")]
    return (
        ""
        if positions == list(range(len(positions))) == list(range(manifest["items"]))
        else "their places are not theirs"
    )


def _stray_rows(path: Path, known_ids: Sequence[str]) -> str:
    """Look for rows of matches that the run does not have."""
    known = set(known_ids)
    with reading(path) as connection:
        for table in OF_MATCHES:
            name = "id" if table == "matches" else "match"
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                query = f"SELECT DISTINCT {name} FROM {table}"
                unknown_ids = [match for (match,) in connection.execute(query) if match not in known]
                if unknown_ids:
                    return f"{table} has rows of a match {unknown_ids[0]!r:.40}, which the run has not"
    return ""


def _check_file(path: Path) -> str:
    with reading(path) as connection:
        (answer,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        added = added_tables(connection)
    if added:
        return f"it has a table {added[0]!r:.40}, which mashq never writes"
    return "" if answer == "ok" else f"SQLite says: {answer}"


def _check_manifest(manifest: dict[str, Any]) -> str:
    """Compare a manifest with its digest; one of an earlier version has none."""
    same = manifest.get(DIGEST, manifest_digest(manifest)) == manifest_digest(manifest)
    return "" if same else "it was changed after it was written"


def _check_prompts(path: Path) -> str:
    with reading(path) as connection:
        query = "SELECT count(*) FROM attempts WHERE prompt NOT IN (SELECT digest FROM prompts)"
        (missing,) = connection.execute(query).fetchone()
        if missing:
            return f"{missing} attempt(s) have no prompt"
        for digest, messages in connection.execute("SELECT digest, messages FROM prompts"):
            if not isinstance(messages, str) or not _has_digest(digest, messages):
                return f"the prompt {digest} is not what it was"
    return ""


def _has_digest(digest: str, messages: str) -> bool:
    """Whether a text has this digest; digests of an earlier version are SHA-256."""
    body = messages.encode()
    return digest in (hashlib.blake2b(body, digest_size=16).hexdigest(), hashlib.sha256(body).hexdigest()[:32])


def _check_costs(played: Played) -> str:
    """Compare the moves' costs with the attempts'; before the end, some attempts have no move yet."""
    path, match = played.path, played.fixture.id
    charged = {player.name: player.spend for player in played.state.players}
    ended = read_matches(path).get(match, False)
    for player, cost in _attempt_totals(path, match).items():
        charge = charged.get(player, FREE)
        if ended and (charge.calls, charge.unresolved, charge.failed) != (cost.calls, cost.unresolved, cost.failed):
            made = cost.calls + cost.unresolved
            return f"{player} was charged {charge.calls + charge.unresolved} attempts and made {made}"
        if ended and (charge.tokens, charge.unknown) != (cost.tokens, cost.unknown):
            return f"{player} was charged {charge.tokens.total} tokens and used {cost.tokens.total}"
    with reading(path) as connection:
        for player, round_, calls, made in connection.execute(BY_ROUND, {"match": match}):
            return f"{player} was charged {calls} attempts in round {round_} and made only {made}"
    return ""


@dataclass(slots=True)
class _AttemptTotals:
    """The number of a player's attempts, and their tokens in and out, with how many of each are known."""

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
        """The tokens as an amount of a Spend."""
        return Amount(self.way_in + self.way_out, min(self.known_in, self.known_out), self.unknown, self.worst)


def _attempt_totals(path: Path, match: str) -> dict[str, _AttemptTotals]:
    """The totals of a match's attempts by player, without the referee's."""
    totals: dict[str, _AttemptTotals] = {}
    with reading(path) as connection:
        for player, outcome, way_in, way_out, worst_in, worst_out in connection.execute(ATTEMPTS, (match, REFEREE)):
            total = totals.setdefault(player, _AttemptTotals())
            total.calls += outcome is not None
            total.unresolved += outcome is None
            total.failed += outcome not in (None, "ok", "refused")
            total.unknown += way_in is None or way_out is None
            if way_in is None:
                total.worst += math.inf if worst_in is None else worst_in
            else:
                total.way_in, total.known_in = total.way_in + way_in, total.known_in + 1
            if way_out is None:
                total.worst += math.inf if worst_out is None else worst_out
            else:
                total.way_out, total.known_out = total.way_out + way_out, total.known_out + 1
    return totals


def _check_counts(path: Path, match: str) -> str:
    """Check that the stored counts of a match's attempts, if there are any, agree with its attempts."""
    with reading(path) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'spent'").fetchone():
            return ""
        stored = connection.execute(KEPT, (match,)).fetchall()
        counted = connection.execute(MADE, (match,)).fetchall()
        mark = connection.execute(MARKED, (match,)).fetchone()
    if stored and not (len(stored) == len(counted) and all(map(_rows_equal, stored, counted))):
        return "the counts of its attempts are not those of the ledger"
    if mark is not None and (mark[1] is None or mark[0] != mark[1] << 32):
        return "the mark of its attempts is not where they are"
    return ""


def _rows_equal(row: Sequence[Any], other_row: Sequence[Any]) -> bool:
    """Whether two rows are equal, floats up to rounding."""
    return len(row) == len(other_row) and all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(row, other_row, strict=True)
    )


def _check_results(played: Played, content_digest: str | None) -> str:
    with reading(played.path) as connection:
        charges = worked_out(connection, played.fixture.id)
    if to_move(played.state):
        return "its moves do not come to an end"
    folded = results_of(played.state)
    if _same_rows(played, folded):
        return _check_charges(played.path, played.fixture.id, charges) or _check_contents(played, content_digest)
    stored, folded = read_results(played.path, played.fixture.id), charges.on(folded)
    if stored is None:  # a run of an earlier version has no rows
        return ""
    for stored_player, folded_player in zip(stored, folded, strict=False):
        for stored_item, folded_item in zip(stored_player.items, folded_player.items, strict=False):
            if stored_item != folded_item:
                source = (
                    "moves come"
                    if replace(stored_item, charge=folded_item.charge) != folded_item
                    else "attempts of unknown cost come"
                )
                return f"{folded_player.name}, item {folded_item.item}: the row is not what its {source} to"
    with reading(played.path) as connection:
        earlier = not columns_of(connection, "results").issuperset(AMOUNTS)
    return "" if earlier and stored == folded else "the rows are not what the moves come to"


def _same_rows(played: Played, folded: Sequence[PlayerResult]) -> bool:
    """Whether the stored rows are exactly those that would be written for `folded`, cell by cell."""
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


def _check_contents(played: Played, recorded_digest: str | None) -> str:
    """Check the stored contents of the answers by `recorded_digest` or, without it, by measuring their texts."""
    query = "SELECT * FROM contents WHERE match = ? ORDER BY seat, position"
    with reading(played.path) as connection:
        if not columns_of(connection, "contents"):
            return ""
        stored = connection.execute(query, (played.fixture.id,)).fetchall()
    if recorded_digest is not None:
        same = contents.digest((seat, position, tuple(row)) for _, seat, position, *row in stored) == recorded_digest
        return "" if same else "what its answers carry is not what was recorded"
    measured = [
        (played.fixture.id, seat, position, *row)
        for seat, position, row in contents.measured(played.config, played.state)
    ]
    same = not stored or (len(stored) == len(measured) and all(map(_rows_equal, stored, sorted(measured))))
    return "" if same else "what its answers carry is not what is kept of it"


def _check_charges(path: Path, match: str, charges: Charges) -> str:
    """Check that the stored charges of a match are those of its attempts, row by row."""
    with reading(path) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'charges'").fetchone():
            return ""
        stored = connection.execute(CHARGED, (match,)).fetchall()
    expected = [
        (player, item, measure, float(amount.total), amount.known)
        for (player, item), spend in charges.by.items()
        for measure in MEASURES
        if (amount := spend.measured(measure)).known
    ]
    expected.sort(key=lambda row: (row[0], row[1] or "", row[2]))
    same = len(stored) == len(expected) and all(map(_rows_equal, stored, expected))
    return "" if same else "the charges are not what its attempts of unknown cost come to"
