"""The score of ended matches, as in `mashq show`."""

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
    """Return the result by player of a match, or of its trials combined; None if none has ended."""
    try:
        columns_by_match = [
            columns_in(connection, match) or columns_of(results_in(connection, match) or ()) for match in matches
        ]
    except DAMAGE as error:
        raise StoreError(f"its results cannot be read ({error}): restore run.db from a copy") from None
    ended = [columns for columns in columns_by_match if columns]
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
        **({"units": result.units} if result.units > result.items else {}),  # if there are several trials
    }
