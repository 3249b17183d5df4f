"""The note on a run that was played by an earlier version, which may have printed other figures.

Scoring always uses the current rules. Version 0.1 averaged the scores of a match's trials, kept an item that was
refused in some of them, counted attempts of unknown cost as zero and scored items not yet played as 0.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mashq.gateway.types import REFEREE
from mashq.runs.reading import reading

OTHERWISE = "0.1."  # versions with other scoring rules
UNKNOWN = f"""SELECT 1 FROM attempts WHERE player IS NOT '{REFEREE}'
  AND (tokens_in IS NULL OR tokens_out IS NULL OR seconds IS NULL) LIMIT 1"""
BROKEN = """SELECT 1 FROM events WHERE kind = 'answer'
  AND json_extract(move, '$.status') IN ('refused', 'failed') LIMIT 1"""
ENDED = "SELECT 1 FROM matches WHERE ended IS NOT NULL LIMIT 1"


def note(path: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Explain in one sentence how the version that played a run scored differently; empty if it scored the same."""
    played_by = manifest.get("versions", {}).get("mashq", "")
    reasons = list(_reasons(path, manifest)) if played_by.startswith(OTHERWISE) else []
    if not reasons:
        return []
    *first, last = reasons
    reason_text = f"{', '.join(first)} and {last}" if first else last
    return [f"Played by mashq {played_by}, which {reason_text}: figures printed then may differ."]


def _reasons(path: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    with reading(path) as connection:
        season = manifest.get("season", {})
        if season.get("trials", 1) > 1 and season.get("kind", "match") == "match":
            yield "averaged the scores of the trials"
        if season.get("trials", 1) > 1 and connection.execute(BROKEN).fetchone():
            yield "kept an item if any trial of it was answered"
        if connection.execute(UNKNOWN).fetchone():
            yield "counted attempts of unknown cost as nothing"
        if manifest["ended"] is None and not connection.execute(ENDED).fetchone():
            yield "scored items that are yet to be played as 0"
