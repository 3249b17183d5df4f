"""What was spent through a gateway, as a person reads it in a terminal."""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mashq.report.text.formatting import dollars, number, safe

COLUMNS = ("attempts", "failed", "unresolved", "tok in", "tok out", "unknown", "seconds", "waited", "dollars")


def metered(document: dict[str, Any]) -> RenderableType:
    """One row for each player and model; and what was turned away."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("player", no_wrap=True)
    table.add_column("model", no_wrap=True)
    for heading in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in document["spent"]:
        counts = [
            number(row[name]) for name in ("attempts", "failed", "unresolved", "tokens_in", "tokens_out", "unknown")
        ]
        times = [number(row["seconds"], 1), number(row["waited"], 1), dollars(row["dollars"])]
        table.add_row(Text(safe(row["player"], 24)), Text(safe(row["model"], 40)), *counts, *times)
    parts: list[RenderableType] = [table]
    if document["simulated"]:
        parts.append(Text("SIMULATED: no real model answered; costs and times are drawn.", style="bold yellow"))
    if any(row["unknown"] for row in document["spent"]):
        parts.append(Text("Totals are sums of what is known; an unknown attempt may have cost more."))
    for row in document["refused"]:
        who = safe(row["player"] or "nobody known")
        parts.append(Text(f"Turned away: {row['requests']} x {row['status']} ({who}): {safe(row['reason'], 120)}"))
    if not document["finished"]:
        parts.append(Text("The gateway is still running, or was killed."))
    return Group(*parts)
