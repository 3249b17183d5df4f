"""What must hold of any run, however it was made. Each function raises Violation with what does not hold.

law       replied <= requests arrived <= opened; without a kill, all that was opened arrived and was closed
sums      every total is the sum of its events: the ledger's rows, the moves, the results and the table agree
kept      nothing acknowledged is lost: what a stopped process had written is still there, unchanged, at the end
once      nothing acknowledged is paid for again
same      a match that was stopped and resumed ends as the uninterrupted one ends
apart     what happens to one player leaves the others' moves alone
no_key    no file contains the key, nor its recognisable end
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mashq.report.documents import seasons
from mashq.report.documents.base import dumped
from mashq.runs.file import connect
from mashq.runs.open import load_season
from mashq.runs.verify import verify
from tests.arena.helpers import check_sums, rows, sent_twice

Row = tuple[Any, ...]


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a run had acknowledged at some time: its closed attempts by id, and its moves in order."""

    opened: int
    attempts: Mapping[int, Row]
    moves: Sequence[Row]


def written(run: Path) -> Written:
    """Return what the run has acknowledged now."""
    opened = rows(run, "SELECT count(*) FROM attempts")[0][0]
    closed = {row[0]: row for row in rows(run, "SELECT * FROM attempts WHERE outcome IS NOT NULL ORDER BY id")}
    return Written(opened, closed, rows(run, "SELECT * FROM events ORDER BY seq"))


def law(run: Path, hits: int, *, killed: bool, lost: int = 0) -> None:
    """Check the ledger's law; `lost` is how many rows were removed."""
    opened, closed, replied, unsent = rows(
        run,
        "SELECT count(*), count(outcome), count(status), coalesce(sum(outcome = 'unreachable'), 0) FROM attempts",
    )[0]
    if not replied <= hits <= opened - unsent + lost:
        raise Violation(f"{replied} replied, {hits} arrived, {opened} opened of which {unsent} were never sent")
    if not killed and not closed == opened == hits + unsent:
        raise Violation(f"{closed} closed, {hits} arrived, {unsent} never sent, {opened} opened")


def sums(run: Path, *, foreign: bool = False) -> None:
    """Check that every total is the sum of its events; `foreign` agents' seconds are those of their turns."""
    problems = [finding for finding in verify(run) if finding.wrong]
    if problems:
        raise Violation(f"{problems[0].check}: {problems[0].wrong}")
    try:
        check_sums(run, foreign=foreign)
    except (AssertionError, KeyError) as error:
        raise Violation(f"the moves do not cost what the attempts cost: {error!r}") from None
    document = dumped(seasons.document(load_season(run)))
    if not document["finished"]:
        raise Violation("the match has no end")
    by_player = document["attempts"]["by_player"]
    if document["attempts"]["opened"] != rows(run, "SELECT count(*) FROM attempts")[0][0]:
        raise Violation("the table does not have every attempt")
    for name, opened, closed, tokens_in, tokens_out in rows(
        run, "SELECT player, count(*), count(outcome), sum(tokens_in), sum(tokens_out) FROM attempts GROUP BY player"
    ):
        if (by_player[name]["opened"], by_player[name]["closed"]) != (opened, closed):
            raise Violation(
                f"the table gives {name} {by_player[name]}, the ledger {opened} opened and {closed} closed"
            )
        player_row = next(player for player in document["players"] if player["name"] == name)
        if not document["dropped"] and player_row["calls"] != opened:
            raise Violation(f"the table gives {name} {player_row['calls']} calls, the ledger {opened}")
        fully_reported = not document["dropped"] and not player_row["unknown_attempts"]
        if fully_reported and (player_row["tokens_in"], player_row["tokens_out"]) != (tokens_in, tokens_out):
            raise Violation(f"the table gives {name} other tokens than the ledger")


def kept(before: Written, run: Path) -> None:
    """Check that nothing acknowledged is lost."""
    after = written(run)
    if after.opened < before.opened:
        raise Violation(f"{before.opened} attempts were opened and {after.opened} are left")
    for id_, row in before.attempts.items():
        if after.attempts.get(id_) != row:
            raise Violation(f"the attempt {id_} was {row} and is {after.attempts.get(id_)}")
    if list(after.moves[: len(before.moves)]) != list(before.moves):
        raise Violation("moves that were made are not there any more")


def once(run: Path) -> None:
    """Check that no call with an acknowledged reply was sent again."""
    repeated = sent_twice(run)
    if repeated:
        raise Violation(f"an acknowledged call was sent again: {repeated[0]}")


def moves_by_player(run: Path) -> dict[str, list[Row]]:
    """Return the moves by player, without their costs."""
    by_player: dict[str, list[Row]] = {}
    query = "SELECT player, round, kind, item, move, ruling FROM events ORDER BY seq"
    for player, *position, move, ruling in rows(run, query):
        body = {name: value for name, value in json.loads(move).items() if name != "spend"}
        by_player.setdefault(player, []).append((*position, body, ruling))
    return by_player


def same(run: Path, whole: Path) -> None:
    """Check that a resumed match ends as the whole one ended."""
    if moves_by_player(run) != moves_by_player(whole):
        raise Violation("the match that was cut off ended differently")


def apart(run: Path, other: Path, faulty: str) -> None:
    """Check that the faults of `faulty` in one of two matches did not change the others' moves."""
    first, second = (
        {name: moves for name, moves in moves_by_player(path).items() if name != faulty} for path in (run, other)
    )
    if first != second:
        raise Violation(f"a fault of {faulty} changed another player's moves")


def no_key(run: Path, key: str) -> None:
    """Check that no file contains the key, read as bytes or as SQLite's texts."""
    for part in (key, key[-12:]):
        for path in run.iterdir():
            if part.encode() in path.read_bytes():
                raise Violation(f"the key is in {path.name}")
    with closing(connect(run / "run.db", readonly=True)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:  # a text that spans two pages is not contiguous in the file
            for row in connection.execute(f"SELECT * FROM {table}"):
                if any(isinstance(value, str) and key[-12:] in value for value in row):
                    raise Violation(f"the key is in the table {table}")
