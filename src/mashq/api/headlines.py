"""A season in one sentence, for what has no headline of its own."""

from typing import TYPE_CHECKING, cast

from mashq.report.documents.base import Document
from mashq.report.text.formatting import safe

if TYPE_CHECKING:
    from mashq.report.documents.game import Game
    from mashq.report.documents.sweep import Sweep
    from mashq.report.documents.tournament import Tournament
    from mashq.report.documents.vision import Vision


def headline_of(document: Document) -> str:
    """What a document says first; empty for one that only lists figures."""
    own = getattr(document, "headline", None)
    if own is not None:
        return str(own)
    if document.kind == "tournament":
        return _tournament(cast("Tournament", document))
    if document.kind == "sweep":
        return _sweep(cast("Sweep", document))
    if document.kind == "game":
        return _game(cast("Game", document))
    return _vision(cast("Vision", document)) if document.kind == "vision" else ""


def _tournament(document: "Tournament") -> str:
    if not document.players:
        return "No player is rated yet."
    best = max(document.players, key=lambda player: player.rating)
    share = "" if best.p_first is None else f", first in {best.p_first:.1%} of the resampled tournaments"
    return f"{safe(best.name)} is rated first: {best.rating:.0f}{share}."


def _sweep(document: "Sweep") -> str:
    from mashq.report.text.sweep import leader_counts

    leaders = [
        f"{safe(name)} in {count} (clearly in {clear})" for name, (count, clear) in leader_counts(document).items()
    ]
    return f"Best Q in {len(document.cells)} combinations: {', '.join(leaders) or 'nobody'}."


def _game(document: "Game") -> str:
    from mashq.report.text.game import mixes

    parts: list[str] = []
    for vision, solution in document.games.items():
        points = () if solution.payoffs is None else solution.equilibria
        described = f"{mixes(points[0], {})} (of {len(points)})" if points else "not known"
        parts.append(f"vision {vision}: {described}")
    return f"Equilibria: {'; '.join(parts)}."


def _vision(document: "Vision") -> str:
    effects = [
        f"{effect} makes {safe(player.name)} review {'more' if changes['reviews'].value > 0 else 'less'}"
        for player in document.players
        for effect, changes in player.changes.items()
        if "reviews" in changes and changes["reviews"].sure
    ]
    return f"{'; '.join(effects) or 'no effect of company or vision on reviews is shown'}.".capitalize()
