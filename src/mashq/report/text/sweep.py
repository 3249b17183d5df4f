"""A sweep, for a person: a row for each combination and player."""

from collections.abc import Iterator

from mashq.report.documents.sweep import Sweep
from mashq.report.text.formatting import cost, cost_columns, number, safe
from mashq.report.text.seasons import SIMULATED, scored_by
from mashq.report.text.tables import Format, Grid, change, prose, written


def text(document: Sweep, form: Format = "table") -> str:
    """The table, then what must be said with it."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Sweep) -> Grid:
    """Every combination: its settings by their last names, where those differ."""
    names = [axis.setting for axis in document.over]
    short = [name.rpartition(".")[2] for name in names]
    heads = names if len(set(short)) < len(short) else short
    costs = cost_columns([player.costs for cell in document.cells for player in cell.players])
    rows: list[list[str]] = []
    for cell in document.cells:
        settings = [safe(str(cell.settings[name]), 24) for name in names]
        for player in cell.players:
            won = " ★" if player.name == cell.winner else ""
            rows.append(
                [
                    *settings,
                    safe(player.name, 24) + won,
                    number(player.h, 4),
                    *(cost(name, player.costs[name]) for name in costs),
                    number(player.penalty, 3),
                    number(player.q, 4),
                    change(player.against_first.get("q")),
                ]
            )
    headings = [*heads, "player", "H", *costs, "P", "Q", "ΔQ ± 95%"]
    return Grid(headings, rows, left=len(names) + 1)


def sentences(document: Sweep) -> Iterator[str]:
    """What the table alone would hide."""
    if document.simulated:
        yield SIMULATED
    items = max((cell.items or 0 for cell in document.cells), default=0)
    yield (
        f"{len(document.cells)} combination(s) of {items} items, {document.trials} trial(s) each, "
        f"{scored_by(document)}. "
        "Costs are means over trials. ΔQ is the difference to "
        "the first combination, paired by item, with its 95% interval."
    )
    if document.missing:
        yield f"{document.missing} are still to be played: go on with mashq resume {safe(document.run)}"
    winners = {cell.winner for cell in document.cells}
    named = sorted(safe(name) for name in winners if name is not None)
    if len(winners) > 1:
        yield f"The winner depends on the settings: {', '.join(named)}."
    elif named:
        yield f"{named[0]} wins under every combination."
