"""Does a run's record agree with itself? Every number shown is checked against where it came from.

results   the rows written when a match ended are the fold of its moves
costs     what the moves say they cost is what the attempts in the ledger cost
items     their digest is the manifest's
prompts   the text of every attempt's prompt is there, under its own digest
file      SQLite finds the file whole
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mashq.arena.llm_judge import REFEREE
from mashq.arena.match import Played, load_season
from mashq.gateway.types import spend_of
from mashq.protocol.resources import Spend
from mashq.protocol.score import results_of
from mashq.store.db import connect
from mashq.store.ledger import entries
from mashq.store.run import DATABASE, read_items, read_matches, read_moves, read_results
from mashq.tasks import load as tasks

CLOSE = 1e-6  # seconds are sums of floats, added in another order


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what, and what is wrong with it; nothing when it holds."""

    check: str
    wrong: str = ""


def verify(path: Path) -> Iterator[Finding]:
    """Check a run, one finding at a time."""
    yield Finding("file", _file(path))
    season = load_season(path)
    digest = season.manifest["digests"]["items"]
    yield Finding("items", "" if tasks.digest(read_items(path)) == digest else "their digest is not the manifest's")
    yield Finding("prompts", _prompts(path))
    there = read_matches(path)
    for fixture in season.fixtures():
        if fixture.id in there or season.finished:
            yield Finding(f"match {fixture.id}: costs", _costs(path, fixture.id))
            if there.get(fixture.id):
                yield Finding(f"match {fixture.id}: results", _results(season.played(fixture)))


def _file(path: Path) -> str:
    with closing(connect(path / DATABASE, readonly=True)) as connection:
        (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return "" if told == "ok" else f"SQLite says: {told}"


def _prompts(path: Path) -> str:
    with closing(connect(path / DATABASE, readonly=True)) as connection:
        query = "SELECT count(*) FROM attempts WHERE prompt NOT IN (SELECT digest FROM prompts)"
        (missing,) = connection.execute(query).fetchone()
        if missing:
            return f"{missing} attempt(s) have no prompt"
        for digest, messages in connection.execute("SELECT digest, messages FROM prompts"):
            if not _is(digest, messages):
                return f"the prompt {digest} is not what it was"
    return ""


def _is(digest: str, messages: str) -> bool:
    """Whether a text has this digest; one of an earlier version is a SHA-256."""
    body = messages.encode()
    return digest in (hashlib.blake2b(body, digest_size=16).hexdigest(), hashlib.sha256(body).hexdigest()[:32])


def _costs(path: Path, match: str) -> str:
    """Compare the moves' costs with the attempts'; attempts that led to no move yet are those of the last round."""
    charged: dict[str, Spend] = {}
    for player, move in read_moves(path, match):
        charged[player] = charged.get(player, Spend()) + move.spend
    ended = read_matches(path).get(match, False)
    spent: dict[str, Spend] = {}
    with closing(connect(path / DATABASE, readonly=True)) as connection:
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
        if told.calls > cost.calls:
            return f"{player} was charged {told.calls} attempts and made only {cost.calls}"
    extra = {name for name, cost in charged.items() if cost.calls} - set(spent)
    return f"{min(extra)} was charged for attempts the ledger does not have" if extra else ""


def _results(played: Played) -> str:
    stored, folded = read_results(played.path, played.fixture.id), results_of(played.state)
    if stored == folded:
        return ""
    for row, own in zip(stored or (), folded, strict=False):
        for one, other in zip(row.items, own.items, strict=False):
            if one != other:
                return f"{own.name}, item {other.item}: the row is not what its moves come to"
    return "the rows are not what the moves come to"


def summary(findings: list[Finding]) -> str:
    """The findings as JSON."""
    wrong = [{"check": one.check, "wrong": one.wrong} for one in findings if one.wrong]
    return json.dumps({"checks": len(findings), "wrong": wrong}, indent=2, ensure_ascii=False)
