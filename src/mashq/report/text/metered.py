"""What was spent through a gateway, as a person reads it in a terminal."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mashq.protocol.resources import MEASURES
from mashq.report.documents.metered import Metered
from mashq.report.text.formatting import cost, is_shown, number, safe

COUNTS = ("attempts", "failed", "unresolved")
TOKENS = {"tokens_in": "tok in", "tokens_out": "tok out"}
OTHERS = tuple(name for name in MEASURES if name not in TOKENS and name != "seconds")  # all of them resources


def metered_width(document: Metered) -> int:
    """What the table needs so that no number is cut."""
    return Console(width=1000).measure(_table(document)).maximum


def _table(document: Metered) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("player", no_wrap=True)
    table.add_column("model", no_wrap=True)
    others = [name for name in OTHERS if is_shown(name, [row.costs for row in document.spent])]
    for heading in (*COUNTS, *TOKENS.values(), "unknown", "seconds", "waited", *others):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in document.spent:
        table.add_row(
            Text(safe(row.player, 24)),
            Text(safe(row.model, 40)),
            *(number(count) for count in (row.attempts, row.failed, row.unresolved)),
            *(number(row.costs[name]) for name in TOKENS),
            number(row.unknown),
            cost("seconds", row.costs["seconds"]),
            cost("seconds", row.costs["waited"]),
            *(cost(name, row.costs[name]) for name in others),
        )
    return table


def metered(document: Metered) -> RenderableType:
    """One row for each player and model; and what was turned away."""
    parts: list[RenderableType] = [_table(document)]
    if document.simulated:
        parts.append(Text("SIMULATED: no real model answered; costs and times are drawn.", style="bold yellow"))
    if any(row.unknown for row in document.spent):
        parts.append(Text("Totals are sums of what is known; an unknown attempt may have cost more."))
    for row in document.refused:
        who = safe(row.player or "nobody known")
        parts.append(Text(f"Turned away: {row.requests} x {row.status} ({who}): {safe(row.reason, 120)}"))
    if not document.finished:
        parts.append(Text("The gateway is still running, or was killed."))
    return Group(*parts)
