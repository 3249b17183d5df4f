"""The score of matches that have ended, as `mashq show` has it."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from mashq.errors import StoreError
from mashq.protocol.results import columns_of, from_matches
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents.base import plain
from mashq.report.documents.match import figures
from mashq.runs.columns import columns_in
from mashq.runs.reading import DAMAGE, results_in


def final(connection: sqlite3.Connection, matches: Sequence[str], rules: ScoreRules) -> dict[str, Any] | None:
    """The result of a match, or of its trials as one, by player; None before any has ended."""
    try:
        found = [
            columns_in(connection, match) or columns_of(results_in(connection, match) or ()) for match in matches
        ]
    except DAMAGE as error:
        raise StoreError(f"its results cannot be read ({error}): restore run.db from a copy") from None
    ended = [columns for columns in found if columns]
    if not ended:
        return None
    result = score(from_matches(ended), rules)
    players = [{"name": row.name, **plain(figures(row))} for row in result.players]
    dropped = len(result.dropped)
    return {
        "players": players,
        "winner": result.winner,
        "tied": list(result.tied),
        "items": result.items,
        "dropped": dropped,
        **({"units": result.units} if result.units > result.items else {}),  # of several trials
    }
