"""A run of any kind as one document, and as text. The modules of other kinds than the run's are not loaded."""

from importlib import import_module
from typing import Any

from mashq.runs.open import Season

Document = dict[str, Any]


def document(season: Season) -> Document:
    """What `--json` prints of a run."""
    kind = season.kind
    if kind == "match" and season.manifest.get("season", {}).get("trials", 1) > 1:
        kind = "trials"
    if kind == "match":
        from mashq.report.documents import match

        return match.document(next(season.fixtures_played()))
    return _module(kind).document(season)


def text(found: Document) -> str:
    """A document for a person."""
    return _module(found["kind"]).text(found)


def _module(kind: str) -> Any:
    """The report of a kind of run has its name."""
    return import_module(f"mashq.report.documents.{kind}")
