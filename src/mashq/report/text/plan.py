"""What a match would cost, as a person reads it in a terminal."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mashq.report.documents.plan import PlanDocument, PlannedPlayer, Repeats
from mashq.report.text.formatting import dollars, number, safe


def text(document: PlanDocument) -> RenderableType:
    """A row for each player, expected and at worst; and what that rests on."""
    title = f"{document.items} items; expected / at worst"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("player")
    table.add_column("model")
    for heading in ("calls", "tokens", "dollars", "hours"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in document.players:
        low, high = row.expected, row.worst
        table.add_row(
            Text(safe(row.name, 24)),
            Text(safe(row.model, 40)),
            f"{number(low.calls)} / {number(high.calls)}",
            f"{number(low.tokens)} / {number(high.tokens)}",
            f"{dollars(low.dollars)} / {dollars(high.dollars)}",
            f"{number(low.hours, 2)} / {number(high.hours, 1)}",
        )
    return Group(table, Text(" ".join([document.assumed, *bounds(document.players)])))


def bounds(players: Sequence[PlannedPlayer]) -> Iterator[str]:
    """How often a call can be sent at worst, by player where that differs; and of whom nothing is known."""
    known: dict[Repeats, list[str]] = {}
    unknown: list[str] = []
    for player in players:
        (unknown if player.repeats is None else known.setdefault(player.repeats, [])).append(safe(player.name, 24))
    for repeats, names in known.items():
        asks, attempts = repeats.asks, repeats.attempts
        how = f"asked for {asks} times, {attempts} attempts each" if asks > 1 else "never asked for again"
        whose = f" of {', '.join(names)}" if len(names) < len(players) else ""
        yield f"Each call{whose} is sent at most {asks * attempts} times ({how})."
    if unknown:
        yield f"How often it calls is known only when it plays: {', '.join(unknown)}."
