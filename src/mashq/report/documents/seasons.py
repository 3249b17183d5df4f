"""The document of a run of any kind. Only the module of the run's kind is loaded."""

from importlib import import_module
from typing import Any

from mashq.report.documents.base import Document
from mashq.runs.open import Season


def document(season: Season) -> Document:
    """Return the document that `--json` prints for a run."""
    kind = season.kind
    if kind == "match" and season.manifest.get("season", {}).get("trials", 1) > 1:
        kind = "trials"
    module: Any = import_module(f"mashq.report.documents.{kind}")
    return module.document(next(season.fixtures_played()) if kind == "match" else season)
