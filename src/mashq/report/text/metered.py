"""What was spent through a gateway, as text for a terminal."""

from collections.abc import Iterator

from mashq.protocol.resources import MEASURES
from mashq.report.documents.metered import Metered
from mashq.report.text.formatting import cost, is_shown, number, safe
from mashq.report.text.tables import Grid, page_width, wrapped, written

COUNTS = ("attempts", "failed", "unresolved")
TOKENS = {"tokens_in": "tok in", "tokens_out": "tok out"}
OTHERS = tuple(name for name in MEASURES if name not in TOKENS and name != "seconds")  # these are all resources


def text(document: Metered) -> str:
    """Return the table of costs and the requests that were rejected."""
    return "\n".join([written(table(document), "table"), "", wrapped(_sentences(document), page_width(), indent="")])


def table(document: Metered) -> Grid:
    """Build the table of costs with one row per player and model."""
    others = [name for name in OTHERS if is_shown(name, [row.costs for row in document.spent])]
    rows = [
        [
            row.player,
            row.model,
            *(number(count) for count in (row.attempts, row.failed, row.unresolved)),
            *(number(row.costs[name]) for name in TOKENS),
            number(row.unknown),
            cost("seconds", row.costs["seconds"]),
            cost("seconds", row.costs["waited"]),
            *(cost(name, row.costs[name]) for name in others),
        ]
        for row in document.spent
    ]
    headings = ["player", "model", *COUNTS, *TOKENS.values(), "unknown", "seconds", "waited", *others]
    return Grid(headings, rows, left=2)


def _sentences(document: Metered) -> Iterator[str]:
    if document.simulated:
        yield "SIMULATED: no real model answered; costs and times are drawn."
    if any(row.unknown for row in document.spent):
        yield "Totals are sums of what is known; an unknown attempt may have cost more."
    for row in document.spent:
        if (first_byte := row.first_byte) is not None:
            yield (
                f"Streamed: {number(first_byte.replies)} x {safe(row.player)} ({safe(row.model)}), the first data "
                f"after {first_byte.median:,.2f} s in the median, {first_byte.p95:,.2f} s at the 95th percentile."
            )
    for row in document.refused:
        player = safe(row.player or "nobody known")
        yield f"Turned away: {row.requests} x {row.status} ({player}): {safe(row.reason, 120)}"
    if not document.finished:
        yield "The gateway is still running, or was killed."
