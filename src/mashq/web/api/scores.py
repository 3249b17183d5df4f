"""The score of an ended match, by the function that every document uses."""

import sqlite3
from typing import Any

from mashq.errors import StoreError
from mashq.protocol.results import columns_of, from_match
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents.base import plain
from mashq.report.documents.match import figures
from mashq.runs.columns import columns_in
from mashq.runs.reading import DAMAGE, results_in


def final(connection: sqlite3.Connection, match: str, rules: ScoreRules) -> dict[str, Any] | None:
    """Return the result of a match by player; None if it has not ended."""
    try:
        columns = columns_in(connection, match) or columns_of(results_in(connection, match) or ())
    except DAMAGE as error:
        raise StoreError(f"its results cannot be read ({error}): restore run.db from a copy") from None
    if not columns:
        return None
    result = score(from_match(columns), rules)
    players = [{"name": row.name, **plain(figures(row))} for row in result.players]
    dropped = len(result.dropped)
    return {
        "players": players,
        "winner": result.winner,
        "tied": list(result.tied),
        "items": result.items,
        "dropped": dropped,
    }
