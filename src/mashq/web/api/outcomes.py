"""The outcome of a run in a few lines, taken from the document that `mashq show` prints.

Contract: no figure is computed here. A winner is named only where the document says that it is clear; seasons have
the ranking of their own document, or none.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mashq.report.documents.base import Document, plain
from mashq.report.documents.game import Game, Solved
from mashq.report.documents.match import Match
from mashq.report.documents.sweep import Cell, Sweep
from mashq.report.documents.tournament import Tournament
from mashq.report.documents.trials import Trials
from mashq.report.documents.vision import Vision
from mashq.report.text.formatting import number
from mashq.report.text.game import mixes
from mashq.report.text.tables import change
from mashq.report.text.tournament import first

Line = dict[str, str]


def outcome(document: Document) -> dict[str, Any]:
    """Return the players of a document, what its lines show, and the lines."""
    heading, lines = LINES[document.kind](document)
    return {
        "kind": document.kind,
        "players": [plain(player) for player in getattr(document, "players", ())],
        "heading": heading,
        "lines": lines,
        **verdict(document),
    }


def verdict(document: Document) -> dict[str, Any]:
    """Return who leads, whether it is clear, and the sentence on it; nothing of a season."""
    if not isinstance(document, Match | Trials):
        return {"winner": None, "tied": [], "clear": False, "headline": ""}
    alone = len(document.players) == 1
    return {
        "winner": None if alone else document.winner,
        "tied": list(document.tied),
        "clear": document.clear,
        "headline": document.headline,
    }


def _mark(document: Match | Trials | Cell, name: str) -> str:
    """Return what may be said of a player: it is the winner only if that is clear."""
    if name in document.tied:
        return "tied"
    if name != document.winner or len(document.players) == 1:
        return ""
    return "winner" if document.clear else "leads"


def _match(document: Match | Trials) -> tuple[str, list[Line]]:
    players = (
        [(player.name, player.mean.q) for player in document.players]
        if isinstance(document, Trials)
        else [(player.name, player.score.q) for player in document.players]
    )
    return "Q", [_line(name, number(q, 4), _mark(document, name)) for name, q in players]


def _tournament(document: Tournament) -> tuple[str, list[Line]]:
    """The ratings, best first, each with the share of resampled tournaments in which the player is first."""
    lines = [_line(player.name, f"{player.rating:.0f}", f"first in {first(player)}") for player in document.players]
    return "rating", lines


def _sweep(document: Sweep) -> tuple[str, list[Line]]:
    """The best Q under each combination, and whose it is."""
    lines: list[Line] = []
    for cell in document.cells:
        settings = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in cell.settings.items())
        best = [player for player in cell.players if player.name in (cell.winner, *cell.tied)]
        lines += [
            _line(f"{settings}: {player.name}", number(player.q, 4), _mark(cell, player.name)) for player in best
        ]
    return "best Q by combination", lines


def _vision(document: Vision) -> tuple[str, list[Line]]:
    changes: list[tuple[str, Mapping[str, Any]]] = [
        (player.name, player.changes["vision"]) for player in document.players if "vision" in player.changes
    ]
    return "ΔH where rivals are seen", [_line(name, change(effect.get("h"))) for name, effect in changes]


def _game(document: Game) -> tuple[str, list[Line]]:
    lines: list[Line] = []
    for when, game in document.games.items():
        if isinstance(game, Solved):
            lines += [
                _line(f"vision {when}", mixes(point, {}), f"Q {' and '.join(number(q, 4) for q in point.payoffs)}")
                for point in game.equilibria
            ]
        else:
            lines += [_line(f"vision {when}", note) for note in game.notes]
    return "equilibria", lines


def _line(name: str, text: str, mark: str = "") -> Line:
    return {"name": name, "text": text, "mark": mark}


LINES: dict[str, Callable[[Any], tuple[str, list[Line]]]] = {
    "match": _match,
    "trials": _match,
    "tournament": _tournament,
    "sweep": _sweep,
    "vision": _vision,
    "game": _game,
}
