"""What `mashq power` prints: the power curve, then its meaning and its uncertainty."""

import math
from collections.abc import Iterator, Mapping

from mashq.analysis.power import PowerReport
from mashq.protocol.resources import TABLE
from mashq.protocol.score import TIE
from mashq.report.documents.power import Power
from mashq.report.text.formatting import dollars, duration, number, safe
from mashq.report.text.tables import Format, Grid, prose, written

SIMULATED = (
    "SIMULATED: some of these answers are not from a real model; their scores, costs and times are random draws."
)
SHOWN = tuple(row.name for row in TABLE.values() if row.measures)  # resources that are plain counts are left out


def power_text(document: Power, form: Format) -> str:
    """Return the whole output as text."""
    return written(curve(document), form) + "\n\n" + prose(sentences(document), form)


def curve(document: Power) -> Grid:
    """Build the table of power and the smallest detectable difference by number of items, with their cost."""
    report = document.found
    costs = [name for name in SHOWN if any(row.costs[name] is not None for row in report.curve)]
    rows: list[list[str]] = []
    shaded: set[int] = set()
    for index, row in enumerate(report.curve):
        mark = "recorded" if row.items == report.items and not document.drawn else ""
        if row.items == report.needed:
            mark = "needed"
            shaded.add(index)
        cells = [f"{row.items:,}", mark, number(row.power, 2), number(row.detectable, 4)]
        rows.append(cells + [_cost(name, row.costs[name]) for name in costs])
    headings = ["items", "", "power", "detectable", *costs]
    title = "SIMULATED" if document.simulated else ""
    return Grid(headings, rows, title=title, left=2, shaded=frozenset(shaded))


def sentences(document: Power) -> Iterator[str]:
    """Yield what the curve means, and how far it can be trusted."""
    report = document.found
    if document.simulated:
        yield SIMULATED
    a, b = (safe(name) for name in report.players)
    level, target = f"{100 * report.level:g}%", f"{report.power:.0%}"
    basis = "in the record" if document.drawn else f"over {report.items:,} items"
    span = f" ({level}: {report.low:.4f} to {report.high:.4f})" if report.low is not None else ""
    tie_sentence = f"{a} and {b} have the same Q {basis}; the difference is 0{span}."
    yield tie_sentence if abs(report.dq) < TIE else f"{a} is ahead of {b} by {report.dq:.4f} in Q {basis}{span}."
    if document.drawn:
        yield (
            f"How much that would vary is drawn from {report.items:,} items of a simulated match of players "
            f"calibrated on the record, in which the difference is {report.own_dq:.4f}."
        )
    yield from _needed(document, level, target)
    yield from _uncertainty(document)
    if not document.drawn:
        yield (
            f"With the present {report.items:,} items, a difference of {report.detectable:.4f} or more is "
            f"detected with {target} power."
        )
    for note in report.notes:
        yield f"Note: {safe(note, 500)}"


def _needed(document: Power, level: str, target: str) -> Iterator[str]:
    report = document.found
    if report.needed is None or report.asked is None:
        if report.dq < TIE:
            yield "There is no difference in Q: no number of items would tell them apart."
        else:
            yield (f"Never, in practice: a difference of {report.dq:.2g} would take more than {report.most:,} items.")
        return
    needed = rounded_up(report.needed)
    yield (
        f"About {needed:,} items tell them apart (the {level} CI of the difference excludes 0) with {target} power, "
        "if the true difference is the recorded one."
    )
    in_full = report.in_full
    if in_full is not None:
        size = f"{in_full.samples} samples of {report.needed:,} items"
        yield f"Checked with full intervals: they exclude 0 in {in_full.power:.0%} of {size}."
    if document.recorded_needed is not None:
        without = rounded_up(document.recorded_needed)
        yield f"From the recorded items alone, without a simulation, it is about {without:,}."
    suffix = " with those that would be left out of the score" if report.asked > report.needed else ""
    items = rounded_up(report.asked)
    costs = {name: None if cost is None else cost * items for name, cost in report.costs_per_item.items()}
    yield f"That is a match of about {items:,} items{suffix}; it costs all its players together {_bill(costs)}."


def _uncertainty(document: Power) -> Iterator[str]:
    """Explain that the needed number of items is itself uncertain, as it rests on an estimated difference."""
    report = document.found
    low, high = report.low, report.high
    if low is None or high is None:
        return
    uncertain = "The recorded difference is itself uncertain, and so is that number: "
    best = _items(report.if_high, report) if high > 0 else "no number of items is enough"
    worst = "if it is 0, no number of items is enough"
    if low > 0:
        worst = f"if {low:.4f}, {_items(report.if_low, report)}"
    yield f"{uncertain}if it is really {high:.4f}, {best}; {worst}."
    if low <= 0:
        yield "These items do not show a clear difference, so what is said about more items is a guess."


def _items(needed: int | None, report: PowerReport) -> str:
    return f"more than {report.most:,} are needed" if needed is None else f"about {rounded_up(needed):,} are needed"


def rounded_up(items: int) -> int:
    """Round up to two significant digits, as the number is not known more precisely."""
    unit = 10 ** max(0, math.floor(math.log10(max(items, 1))) - 1)
    return -(-items // unit) * unit


def _bill(costs: Mapping[str, float | None]) -> str:
    tokens = costs["tokens"]
    parts = ["an unknown number of tokens" if tokens is None else f"about {rounded_up(round(tokens)):,} tokens"]
    if costs["seconds"] is not None:
        parts.append(f"{duration(costs['seconds'])} of model time")
    parts.append("an unknown price" if costs["dollars"] is None else f"${dollars(costs['dollars'])}")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _cost(name: str, value: float | None) -> str:
    if name == "dollars":
        return dollars(value)
    if value is not None and value >= 1e7:
        return f"{value / 1e6:,.1f}M"
    return number(value)
