"""The same answers under several judges, as text."""

import math
from collections.abc import Iterator, Sequence

from mashq.report.documents.match import Match, PlayerFigures
from mashq.report.documents.trials import TrialFigures, Trials
from mashq.report.text.formatting import number, safe
from mashq.report.text.tables import Format, Grid, prose, written


def text(documents: Sequence[Match | Trials], form: Format = "table") -> str:
    """Return H and Q under each judge, then whether the ranking depends on it."""
    return written(table(documents), form) + "\n\n" + prose(sentences(documents), form)


def table(documents: Sequence[Match | Trials]) -> Grid:
    """Build a table with one row per player and two columns per judge."""
    rows: list[list[str]] = []
    for seat, player in enumerate(documents[0].players):
        cells = [player.name]
        for document in documents:
            score = _figures(document, seat)
            star = " ★" if document.winner == player.name else ""
            cells += [number(score.h, 4), number(score.q, 4) + star]
        rows.append(cells)
    headings = ["player", *(f"{figure} {_judge(document)}" for document in documents for figure in ("H", "Q"))]
    return Grid(headings, rows)


def sentences(documents: Sequence[Match | Trials]) -> Iterator[str]:
    """Yield whether the ranking depends on the judge."""
    rankings = [_ranking(document) for document in documents]
    if len(set(rankings)) == 1:
        yield "The ranking is the same under every judge."
        return
    yield "The ranking depends on the judge:"
    for document, ranking in zip(documents, rankings, strict=True):
        yield f"  {safe(_judge(document))}: {', '.join(safe(name) for name in ranking)}"


def _judge(document: Match | Trials) -> str:
    return f"{document.detector.name} {document.detector.version[:12]}"


def _figures(document: Match | Trials, seat: int) -> PlayerFigures | TrialFigures:
    return document.players[seat].score if isinstance(document, Match) else document.players[seat].mean


def _sort_value(document: Match | Trials, seat: int) -> float:
    """Return Q, or minus infinity if there is none, so that it sorts last."""
    q = _figures(document, seat).q
    return -math.inf if q is None else q


def _ranking(document: Match | Trials) -> tuple[str, ...]:
    seats = sorted(range(len(document.players)), key=lambda seat: -_sort_value(document, seat))
    return tuple(document.players[seat].name for seat in seats)
