"""The score of matches that have ended, as `mashq show` has it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mashq.protocol.results import columns_of, from_matches
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents.base import plain
from mashq.report.documents.match import figures
from mashq.runs.columns import read_columns
from mashq.runs.reading import read_results


def final(path: Path, matches: Sequence[str], rules: ScoreRules) -> dict[str, Any] | None:
    """The result of a match, or of its trials as one, by player; None before any has ended."""
    found = [read_columns(path, match) or columns_of(read_results(path, match) or ()) for match in matches]
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
    }
