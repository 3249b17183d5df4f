"""Recorded figures beside simulated ones, as text."""

from collections.abc import Iterator

from mashq.protocol.resources import TABLE
from mashq.report.documents.calibrate import Calibration
from mashq.report.text.formatting import count, number, safe
from mashq.report.text.tables import Format, Grid, prose, written

NAMES = {"h": "H", "q": "Q", **{name: f"{name} per item" for name in TABLE}}


def _digits(figure: str) -> int:
    """Digits of a mean per item: more than the table of resources has for a sum."""
    if figure not in TABLE:
        return 4
    row = TABLE[figure]
    return row.digits + 2 if row.digits else 1 if row.measures else 3


def likeness_text(document: Calibration, form: Format) -> str:
    """Return the recorded figures beside the simulated ones, with a verdict."""
    return written(_likeness(document), form) + "\n\n" + prose(_verdict(document), form)


def _likeness(document: Calibration) -> Grid:
    rows: list[list[str]] = []
    for row in document.found.rows:
        digits = _digits(row.figure)
        span = "?" if row.low is None else f"{number(row.low, digits)} to {number(row.high, digits)}"
        inside = {True: "yes", False: "NO", None: "?"}[row.inside] if row.fitted else "not fitted"
        figures = [number(row.recorded, digits), span, number(row.simulated, digits)]
        rows.append([row.player, NAMES[row.figure], *figures, inside])
    headings = ["player", "figure", "recorded", f"{document.found.level:.0%} interval", "simulated", "inside"]
    return Grid(headings, rows, left=2)


def _verdict(document: Calibration) -> Iterator[str]:
    fitted = [row for row in document.found.rows if row.fitted]
    outside = [row for row in fitted if row.inside is False]
    yield (
        f"SIMULATED: the mean of {document.found.matches} simulated matches of "
        f"{count(document.found.items, 'item')} beside the recorded match and its intervals."
    )
    if document.found.like is None:
        yield "There are too few items for intervals: whether the simulation is like the record cannot be told."
    elif outside:
        listed = ", ".join(f"{NAMES[row.figure]} of {safe(row.player)}" for row in outside)
        yield f"NOT like the record: {len(outside)} of {len(fitted)} figures are outside ({listed})."
    else:
        yield f"Like the record: all {len(fitted)} figures that were fitted are inside."
    for name, notes in document.notes.items():
        for note in notes:
            yield f"Note: {safe(name)}: {safe(note, 500)}."
