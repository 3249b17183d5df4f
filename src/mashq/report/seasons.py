"""A run of any kind as one document, and as text."""

from collections.abc import Callable
from typing import Any

from mashq.arena.match import Season
from mashq.report import document as match
from mashq.report import game, sweep, tournament, trials, vision

Document = dict[str, Any]
DOCUMENTS: dict[str, Callable[[Season], Document]] = {
    "sweep": sweep.document,
    "tournament": tournament.document,
    "game": game.document,
    "vision": vision.document,
}
TEXTS: dict[str, Callable[[Document], str]] = {
    "trials": trials.text,
    "sweep": sweep.text,
    "tournament": tournament.text,
    "game": game.text,
    "vision": vision.text,
}


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
