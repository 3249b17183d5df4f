"""What `mashq power` prints: the curve first, then what it means and what it leaves open."""

import math
from collections.abc import Iterator

from mashq.analysis.parts import Costs
from mashq.analysis.power import PowerReport
from mashq.protocol.resources import TABLE
from mashq.protocol.score import TIE
from mashq.report.documents.power import Power
from mashq.report.text.formatting import dollars, duration, number, safe
from mashq.report.text.tables import Format, Grid, prose, written

SIMULATED = "SIMULATED: no real model answered some of this; those scores, costs and times are drawn."
SHOWN = tuple(row.name for row in TABLE.values() if row.measures)  # plain counts are left out


def power_text(document: Power, form: Format) -> str:
    """The whole output as text."""
    return written(curve(document), form) + "\n\n" + prose(sentences(document), form)


def curve(document: Power) -> Grid:
    """Power and the smallest difference that would be told, by the number of items, with what they cost."""
    found = document.found
    costs = [name for name in SHOWN if any(row.costs[name] is not None for row in found.curve)]
    rows: list[list[str]] = []
    shaded: set[int] = set()
    for at, row in enumerate(found.curve):
        mark = "recorded" if row.items == found.items and not document.drawn else ""
        if row.items == found.needed:
            mark = "needed"
            shaded.add(at)
        cells = [f"{row.items:,}", mark, number(row.power, 2), number(row.detectable, 4)]
        rows.append(cells + [_cost(name, row.costs[name]) for name in costs])
    headings = ["items", "", "power", "detectable", *costs]
    title = "SIMULATED" if document.simulated else ""
    return Grid(headings, rows, title=title, left=2, shaded=frozenset(shaded))


def sentences(document: Power) -> Iterator[str]:
    """What the curve means, and how far it can be trusted."""
    found = document.found
    if document.simulated:
        yield SIMULATED
    a, b = (safe(name) for name in found.players)
    level, wanted = f"{100 * found.level:g}%", f"{found.power:.0%}"
    over = "in the record" if document.drawn else f"over {found.items:,} items"
    span = f" ({level}: {found.low:.4f} to {found.high:.4f})" if found.low is not None else ""
    level_with = f"{a} and {b} have the same Q {over}; the difference is 0{span}."
    yield level_with if abs(found.dq) < TIE else f"{a} is ahead of {b} by {found.dq:.4f} in Q {over}{span}."
    if document.drawn:
        yield (
            f"How much that would vary is drawn from {found.items:,} items of a simulated match of players "
            f"calibrated on the record, in which the difference is {found.own_dq:.4f}."
        )
    yield from _needed(document, level, wanted)
    yield from _if(document)
    if not document.drawn:
        yield (
            f"With the present {found.items:,} items, a difference of {found.detectable:.4f} or more is "
            f"detected with {wanted} power."
        )
    for note in found.notes:
        yield f"Note: {safe(note, 500)}"


def _needed(document: Power, level: str, wanted: str) -> Iterator[str]:
    found = document.found
    if found.needed is None or found.asked is None:
        if found.dq < TIE:
            yield "There is no difference in Q: no number of items would tell them apart."
        else:
            yield (f"Never, in practice: a difference of {found.dq:.2g} would take more than {found.most:,} items.")
        return
    about = rounded_up(found.needed)
    yield (
        f"About {about:,} items tell them apart (the {level} CI of the difference excludes 0) with {wanted} power, "
        "if the true difference is the recorded one."
    )
    full = found.in_full
    if full is not None:
        size = f"{full.samples} samples of {found.needed:,} items"
        yield f"Intervals made in full, in {size}, do so in {full.power:.0%} of them."
    row = next(row for row in found.curve if row.items == found.needed)
    if document.recorded_needed is not None:
        without = rounded_up(document.recorded_needed)
        yield f"From the recorded items alone, without a simulation, it is about {without:,}."
    more = " with those that would be left out of the score" if found.asked > found.needed else ""
    yield (
        f"That is a match of about {rounded_up(found.asked):,} items{more}; it costs all its players together "
        f"{_bill(row.costs)}."
    )


def _if(document: Power) -> Iterator[str]:
    """The trap: the effect that the number rests on is an estimate too."""
    found = document.found
    low, high = found.low, found.high
    if low is None or high is None:
        return
    uncertain = "The recorded difference is itself uncertain, and so is that number: "
    best = _items(found.if_high, found) if high > 0 else "no number of items is enough"
    worst = "if it is 0, no number of items is enough"
    if low > 0:
        worst = f"if {low:.4f}, {_items(found.if_low, found)}"
    yield f"{uncertain}if it is really {high:.4f}, {best}; {worst}."
    if low <= 0:
        yield "The record does not show that there is a difference at all; what it says about more items is a guess."


def _items(needed: int | None, found: PowerReport) -> str:
    return f"more than {found.most:,} are needed" if needed is None else f"about {rounded_up(needed):,} are needed"


def rounded_up(items: int) -> int:
    """Two significant digits, upwards: the number is not known better."""
    unit = 10 ** max(0, math.floor(math.log10(max(items, 1))) - 1)
    return -(-items // unit) * unit


def _bill(costs: Costs) -> str:
    tokens = costs["tokens"]
    parts = ["an unknown number of tokens" if tokens is None else f"about {rounded_up(round(tokens)):,} tokens"]
    if costs["seconds"] is not None:
        parts.append(f"{duration(costs['seconds'])} of model time")
    parts.append("an unknown sum of dollars" if costs["dollars"] is None else f"${dollars(costs['dollars'])}")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _cost(name: str, value: float | None) -> str:
    if name == "dollars":
        return dollars(value)
    if value is not None and value >= 1e7:
        return f"{value / 1e6:,.1f}M"
    return number(value)
