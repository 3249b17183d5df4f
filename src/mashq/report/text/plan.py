"""The expected cost of a season, as text for a terminal."""

from collections.abc import Iterator, Sequence

from mashq.protocol.resources import TABLE
from mashq.report.documents.base import COSTS
from mashq.report.documents.plan import PlanDocument, PlannedCost, PlannedPlayer, Repeats
from mashq.report.text.formatting import cost, count, duration, number, safe
from mashq.report.text.tables import fitting, page_width, wrapped

WIDTH = 80
LABELS = ("expected", "at worst")
Block = tuple[str, PlannedCost, PlannedCost]


def text(document: PlanDocument) -> str:
    """Return two rows per player and in total, the same per part if there are several, duration and assumptions."""
    blocks = [
        (f"{safe(player.name, 80)} ({_model_and_matches(document, player)})", player.expected, player.worst)
        for player in document.players
    ]
    if document.referee is not None:
        blocks.append(("judge (charged to no player)", document.referee.expected, document.referee.worst))
    if len(blocks) > 1 or document.matches > 1:
        blocks.append(("all", document.expected, document.worst))
    parts: list[Block] = []
    if document.season != "tournament":
        parts = [
            (f"{safe(part.name, 200)} ({count(part.matches, 'match')})", part.expected, part.worst)
            for part in document.parts
        ]
    columns = _columns([*blocks, *parts])
    lines = [wrapped([_title(document)], _width()), "", *_table(blocks, columns)]
    if parts:
        lines += ["", "Of which:", "", *_table(parts, columns)]
    sentences = [_wall_time(document), document.assumed, *bounds(document.players)]
    return "\n".join([*lines, "", wrapped(sentences, _width())])


def bounds(players: Sequence[PlannedPlayer]) -> Iterator[str]:
    """Yield how often a call can be sent at worst, by player if that differs, and for whom it is unknown."""
    known: dict[Repeats, list[str]] = {}
    unknown: list[str] = []
    for player in players:
        (unknown if player.repeats is None else known.setdefault(player.repeats, [])).append(safe(player.name))
    for repeats, names in known.items():
        asks, attempts = repeats.asks, repeats.attempts
        explanation = f"asked for {asks} times, {attempts} attempts each" if asks > 1 else "never asked for again"
        whose = f" of {', '.join(names)}" if len(names) < len(players) else ""
        yield f"Each call{whose} is sent at most {asks * attempts} times ({explanation})."
    if unknown:
        yield f"How often it calls is known only when it plays: {', '.join(unknown)}."


def _title(document: PlanDocument) -> str:
    """Summarise what is planned: kind, matches, items and trials."""
    kind = {"vision": "vision study"}.get(document.season, document.season)
    trials = f", {document.trials:,} trials of each" if document.trials > 1 else ""
    items = count(document.items, "item")
    return f"Plan of a {kind}: {count(document.matches, 'match')} over {items}{trials}"


def _model_and_matches(document: PlanDocument, player: PlannedPlayer) -> str:
    """Format a player's model, and its number of matches if it does not play all of them or this is unknown."""
    model = safe(player.model)
    if player.matches == document.matches and document.season != "tournament":
        return model
    return f"{model}; {'up to ' if document.paired_later else ''}{count(player.matches, 'match')}"


def _columns(blocks: Sequence[Block]) -> list[str]:
    """Return the resources to show: those that count by default, dollars, and any other with a known amount."""
    rows = [row for _, *estimates in blocks for row in estimates]
    return [
        name
        for name in COSTS
        if TABLE[name].weight or name == "dollars" or any(row.costs[name] is not None for row in rows)
    ]


def _table(blocks: Sequence[Block], columns: Sequence[str]) -> Iterator[str]:
    """Yield the name, the expected row and the worst-case row of each block; columns are as wide as their numbers."""
    headings = ["service hours" if name == "seconds" else _heading(name) for name in columns]
    table_cells = [
        [[_cell(row, name) for name in columns] for row in (expected, worst)] for _, expected, worst in blocks
    ]
    widths = [
        max(len(heading), *(len(row[index]) for estimates in table_cells for row in estimates))
        for index, heading in enumerate(headings)
    ]
    label_width = max(map(len, LABELS)) + 2
    for group, indexes in enumerate(fitting(widths, _width() - label_width)):
        if group:
            yield ""
        group_widths = [widths[index] for index in indexes]
        yield _line(" " * label_width, [headings[index] for index in indexes], group_widths)
        yield "─" * (label_width + sum(width + 2 for width in group_widths))
        for (name, *_), estimates in zip(blocks, table_cells, strict=True):
            yield wrapped([name], _width())
            for label, row in zip(LABELS, estimates, strict=True):
                yield _line(f"  {label}", [row[index] for index in indexes], group_widths)


def _width() -> int:
    return min(WIDTH, page_width())


def _line(label: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    return label + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _heading(name: str) -> str:
    unit = TABLE[name].unit
    return name if unit in (name, "$") else f"{name} ({unit})"


def _cell(row: PlannedCost, name: str) -> str:
    if name == "seconds":
        hours = row.service_hours
        return number(hours, 4 if hours is not None and hours < 10 else 1)
    value = row.costs[name]
    if value is not None and name == "dollars" and 0 < value < 0.001:
        return f"{value:.7f}"
    return cost(name, value, 1 if value is not None and value != int(value) and not TABLE[name].digits else None)


def _wall_time(document: PlanDocument) -> str:
    expected, worst = (
        "?" if hours is None else duration(hours * 3600)
        for hours in (document.wall_hours.expected, document.wall_hours.worst)
    )
    return (
        f"Wall time: {expected} expected, with matches in parallel on this machine; at worst {worst}, with one call "
        "after the other and every possible wait. Service hours are those of the calls. Simulated calls take no wall "
        "time; the time of detectors is extra."
    )
