"""Does a run's record agree with itself? Every number shown is checked against where it came from.

results   the rows written when a match ended are the fold of its moves
costs     what the moves say they cost is what the attempts in the ledger cost
items     their digest is the manifest's
prompts   the text of every attempt's prompt is there, under its own digest
file      SQLite finds the file whole
manifest  it is as it was written
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mashq.gateway.types import REFEREE, spend_of
from mashq.protocol.game import to_move
from mashq.protocol.resources import Spend
from mashq.protocol.results import results_of
from mashq.runs.charges import worked_out
from mashq.runs.ledger import entries
from mashq.runs.manifest import DIGEST, manifest_digest, read_match
from mashq.runs.open import Played, read_season
from mashq.runs.reading import read_items, read_matches, read_moves, read_results, reading
from mashq.tasks import load as tasks

KEPT = """SELECT player, purpose, opened, closed, unresolved, failed, tokens FROM spent WHERE match = ?
  ORDER BY player, purpose"""
MADE = """SELECT player, purpose, count(*), count(outcome), sum(outcome IS NULL),
  sum(outcome IS NOT NULL AND outcome NOT IN ('ok', 'refused')),
  sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)) FROM attempts WHERE match = ?
  GROUP BY player, purpose ORDER BY player, purpose"""
BY_ROUND = """SELECT charged.player, charged.round, calls, coalesce(made, 0) FROM
  (SELECT player, round, sum(coalesce(json_extract(move, '$.spend.calls'), 0)) AS calls FROM events
    WHERE match = :match GROUP BY player, round) AS charged
  LEFT JOIN (SELECT player, round, count(outcome) AS made FROM attempts
    WHERE match = :match GROUP BY player, round) AS own
  ON own.player = charged.player AND own.round = charged.round WHERE calls > coalesce(made, 0)"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what, and what is wrong with it; nothing when it holds."""

    check: str
    wrong: str = ""


def verify(path: Path) -> Iterator[Finding]:
    """Check a run, one finding at a time."""
    read_match(path)
    yield Finding("file", _file(path))
    season = read_season(path)
    yield Finding("manifest", _manifest(season.manifest))
    digest = season.manifest["digests"].get("items")
    yield Finding("items", "" if tasks.digest(read_items(path)) == digest else "their digest is not the manifest's")
    yield Finding("prompts", _prompts(path))
    there = read_matches(path)
    for fixture in season.fixtures():
        if fixture.id in there or season.finished:
            yield Finding(f"match {fixture.id}: costs", _costs(path, fixture.id) or _tally(path, fixture.id))
            if there.get(fixture.id) or season.finished:
                yield Finding(f"match {fixture.id}: results", _results(season.played(fixture)))


def _file(path: Path) -> str:
    with reading(path) as connection:
        (told,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    return "" if told == "ok" else f"SQLite says: {told}"


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


def _costs(path: Path, match: str) -> str:
    """Compare the moves' costs with the attempts'; before the end, some attempts have led to no move yet."""
    charged: dict[str, Spend] = {}
    for player, move in read_moves(path, match):
        charged[player] = charged.get(player, Spend()) + move.spend
    ended = read_matches(path).get(match, False)
    spent: dict[str, Spend] = {}
    with reading(path) as connection:
        for call, entry in entries(connection, "match = ?", (match,)):
            if call.player != REFEREE:
                spent[call.player] = spent.get(call.player, Spend()) + spend_of(entry)
    for player, cost in spent.items():
        told = charged.get(player, Spend())
        if ended and (told.calls, told.unresolved, told.failed) != (cost.calls, cost.unresolved, cost.failed):
            made = cost.calls + cost.unresolved
            return f"{player} was charged {told.calls + told.unresolved} attempts and made {made}"
        if ended and (told.tokens, told.unknown) != (cost.tokens, cost.unknown):
            return f"{player} was charged {told.tokens.total} tokens and used {cost.tokens.total}"
    with reading(path) as connection:
        for player, round_, calls, made in connection.execute(BY_ROUND, {"match": match}):
            return f"{player} was charged {calls} attempts in round {round_} and made only {made}"
    return ""


def _tally(path: Path, match: str) -> str:
    """The counts kept of a match's attempts, where they are, are those of its attempts."""
    with reading(path) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'spent'").fetchone():
            return ""
        kept = connection.execute(KEPT, (match,)).fetchall()
        made = connection.execute(MADE, (match,)).fetchall()
    return "the counts of its attempts are not those of the ledger" if kept and kept != made else ""


def _results(played: Played) -> str:
    with reading(played.path) as connection:
        charges = worked_out(connection, played.fixture.id)
    stored, folded = read_results(played.path, played.fixture.id), charges.on(results_of(played.state))
    if to_move(played.state):
        return "its moves do not come to an end"
    if stored is None or stored == folded:  # one of an earlier version has no rows
        return ""
    for row, own in zip(stored or (), folded, strict=False):
        for one, other in zip(row.items, own.items, strict=False):
            if one != other:
                what = "moves come" if replace(one, charge=other.charge) != other else "attempts of unknown cost come"
                return f"{own.name}, item {other.item}: the row is not what its {what} to"
    return "the rows are not what the moves come to"
