"""Several runs side by side, as text."""

from collections.abc import Iterator
from pathlib import Path

from mashq.report.documents.compare import Comparison
from mashq.report.text.formatting import carried_columns, charged, cost_columns, count, number, safe
from mashq.report.text.seasons import DRAWN, SIMULATED
from mashq.report.text.tables import Format, Grid, half, prose, written


def text(document: Comparison, form: Format = "table") -> str:
    """Return the table, then the settings in which the runs differ."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Comparison) -> Grid:
    """Build a table with one row per player and run."""
    costs = cost_columns([figures.costs for player in document.players for figures in player.runs])
    carried = carried_columns(figures for player in document.players for figures in player.runs)
    runs = [Path(run.run).name for run in document.runs]
    if len(set(runs)) < len(runs):
        runs = [run.run for run in document.runs]
    rows = [
        [
            player.name + (" ★" if run.winner == player.name else ""),
            name,
            f"{number(figures.h_before_review, 4)} → {number(figures.h, 4)}",
            *(number(getattr(figures, name), digits) for name, digits in carried.items()),
            *(charged(name, figures.costs[name], figures.charged) for name in costs),
            number(figures.penalty, 3),
            number(figures.q, 4),
            half(figures.q_low, figures.q_high),
        ]
        for player in document.players
        for run, name, figures in zip(document.runs, runs, player.runs, strict=True)
    ]
    return Grid(["player", "run", "H before → after", *carried, *costs, "P", "Q", "± 95%"], rows, left=2)


def sentences(document: Comparison) -> Iterator[str]:
    """Yield the notes and the settings in which the runs differ."""
    if any(run.simulated for run in document.runs):
        yield DRAWN if all(run.drawn for run in document.runs) else SIMULATED
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
    if not document.settings:
        yield "The runs have the same settings."
        return
    yield f"The runs differ in {count(len(document.settings), 'setting')}:"
    for key, values in document.settings.items():
        yield f"{safe(key)}: {', '.join(safe(str(value)) for value in values)}"
