"""What rivals, and seeing them, change, as text."""

from collections.abc import Iterator, Mapping

from mashq.analysis.paired import Difference
from mashq.report.documents.vision import Vision
from mashq.report.text.formatting import count, safe, signed
from mashq.report.text.seasons import scored_by, simulated
from mashq.report.text.tables import Format, Grid, change, prose, written

COLUMNS = {
    "h": ("ΔH", 4),
    "reviews": ("Δreviews", 2),
    "tokens": ("Δtokens", 2),
    "seconds": ("Δseconds", 2),
    "q": ("ΔQ", 4),
}


def text(document: Vision, form: Format = "table") -> str:
    """Return the table, then its notes."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Vision, labels: Mapping[str, str] | None = None) -> Grid:
    """Build a table with one row per player and effect; * marks an interval that excludes 0."""
    columns = COLUMNS
    rows = [
        [(labels or {}).get(player.name, player.name), effect, *(_cell(changes, effect, name) for name in columns)]
        for player in document.players
        for effect, changes in player.changes.items()
    ]
    headings = ["player", "effect of", *(heading for heading, _ in columns.values())]
    return Grid(headings, rows, left=2)


def _cell(changes: Mapping[str, Difference], effect: str, name: str) -> str:
    value, digits = changes.get(name), COLUMNS[name][1]
    return change(value, digits, unknown(effect, name)) + ("*" if value is not None and value.sure else "")


def unknown(effect: str, name: str) -> str:
    """Return the mark for a missing change: unknown, or not comparable (Q against playing alone)."""
    return "–" if (effect, name) == ("company", "q") else "?"


ALONE = "Alone, a player is its own normaliser, so its Q cannot be compared."


def per_item(name: str) -> str:
    """Return the heading of a change, saying that a cost is per item."""
    return COLUMNS[name][0] + ("" if name in ("h", "q") else " per item")


def effects(document: Vision) -> str:
    """Describe what the two effects are."""
    return (
        "Company: playing beside rivals that cannot be seen, instead of alone. "
        f"Vision: seeing the rivals' state ({safe(document.when)}) instead of not."
    )


def sentences(document: Vision) -> Iterator[str]:
    """Yield the context and notes that the table does not show."""
    yield from simulated(document)
    yield (
        "Means per item, paired by item, ± half a 95% interval; * where it excludes 0. "
        f"{count(document.items, 'item')}, {count(document.trials, 'trial')}, {scored_by(document)}. "
        f"{effects(document)} {ALONE}"
    )
    yield from _verdict(document)
    if not document.finished:
        yield f"Not all matches are played: continue with mashq resume {safe(document.run)}"
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)


def _verdict(document: Vision) -> list[str]:
    """Describe the effects on the number of reviews, one sentence per player and effect."""
    lines: list[str] = []
    if not any("reviews" in changes for player in document.players for changes in player.changes.values()):
        return ["What company and vision change is not known: no item counts in two conditions."]
    for player in document.players:
        for effect, changes in player.changes.items():
            reviews = changes.get("reviews")
            if reviews is not None and reviews.sure:
                more = "more" if reviews.value > 0 else "fewer"
                per_item = f"{signed(reviews.value, 2)} per item"
                lines.append(f"{effect.capitalize()} makes {safe(player.name)} review {more}: {per_item}.")
    if len(document.blind) == len(document.players):
        return lines
    return lines or ["Neither company nor vision changes how much anyone reviews, as far as these items show."]
