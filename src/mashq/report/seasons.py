"""A run of any kind as one document, and as text."""

from collections.abc import Callable
from typing import Any

from mashq.arena.match import Season
from mashq.report import document as match
from mashq.report import sweep, trials

Document = dict[str, Any]
TEXTS: dict[str, Callable[[Document], str]] = {"trials": trials.text, "sweep": sweep.text}
DOCUMENTS: dict[str, Callable[[Season], Document]] = {"sweep": sweep.document}


def document(season: Season) -> Document:
    """What `--json` prints of a run."""
    if season.kind == "match":
        if season.manifest.get("season", {}).get("trials", 1) > 1:
            return trials.document(season)
        return match.document(next(season.fixtures_played()))
    return DOCUMENTS[season.kind](season)


def text(found: Document) -> str:
    """A document for a person."""
    return TEXTS[found["kind"]](found)
