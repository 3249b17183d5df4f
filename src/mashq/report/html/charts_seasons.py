"""The charts of runs that are more than one match: sweeps, tournaments, games and vision."""

from collections.abc import Sequence

import altair as alt

from mashq.report.html.charts import GREY, Rows, colour, dash, data, finished, shape
from mashq.report.html.parts import Spec
from mashq.report.html.style import COLOURS, SHAPES

BLUES = ["#f7fbff", "#6aaed6", "#08519c"]


def swept(rows: Rows, names: Sequence[str], setting: str, *, numbers: bool) -> Spec:
    """Q with its interval over the values of a setting: player, value, q, low, high."""
    order = list(dict.fromkeys(row["value"] for row in rows))
    tips = [
        alt.Tooltip("player:N"),
        alt.Tooltip("value:N", title=setting),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("q", "low", "high")),
    ]
    x = (
        alt.X("value:Q", title=setting, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(values=order))
        if numbers
        else alt.X("value:O", title=setting, sort=order, axis=alt.Axis(labelAngle=0, labelLimit=120))
    )
    base = alt.Chart(data(rows)).encode(x=x)
    if not numbers:  # values without an order: side by side, and not joined
        base = base.encode(xOffset=alt.XOffset("player:N", sort=list(names)))
    bar = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
        y=alt.Y("low:Q", title="Q"), y2="high:Q", color=colour(names)
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("q:Q", title="Q", scale=alt.Scale(zero=False)), color=colour(names), strokeDash=dash(names)
    )
    point = base.mark_point(filled=True, size=80, opacity=1).encode(
        y=alt.Y("q:Q", title="Q", scale=alt.Scale(zero=False)), color=colour(names), shape=shape(names), tooltip=tips
    )
    return finished(alt.layer(bar, line, point) if numbers else alt.layer(bar, point))


def ratings(rows: Rows) -> Spec:
    """Ratings with intervals, the best first: player, rating, low, high."""
    order = [row["player"] for row in rows]
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("player:N", sort=order, title=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            alt.Tooltip("player:N"),
            *(alt.Tooltip(f"{name}:Q", format=".0f") for name in ("rating", "low", "high")),
        ],
    )
    bar = base.mark_rule(strokeWidth=3, color=COLOURS[0], opacity=0.45).encode(x="low:Q", x2="high:Q")
    point = base.mark_point(filled=True, size=110, color=COLOURS[0], opacity=1).encode(
        x=alt.X("rating:Q", title="rating with its 95% interval", scale=alt.Scale(zero=False))
    )
    return finished(alt.layer(bar, point), max(90, 28 * len(rows) + 40))


def matrix(rows: Rows, order: Sequence[str], across: str, title: str) -> Spec:
    """A square of values: row, column, value, label (what stands in the cell), light (whether its text is light)."""
    base = alt.Chart(data(rows)).encode(
        x=alt.X("column:N", sort=list(order), title=across, axis=alt.Axis(orient="top", labelAngle=0, labelLimit=90)),
        y=alt.Y("row:N", sort=list(order), title=None, axis=alt.Axis(labelLimit=120)),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("column:N", title="against"), alt.Tooltip("label:N", title=title)],
    )
    cell = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.Color("value:Q", title=title, scale=alt.Scale(range=BLUES), legend=None)
    )
    text = base.mark_text(fontSize=12).encode(
        text="label:N", color=alt.condition("datum.light", alt.value("#ffffff"), alt.value("#1b1b1b"))
    )
    return finished(alt.layer(cell, text), max(120, 44 * len(order) + 50))


def changes(rows: Rows, title: str) -> Spec:
    """Differences with their intervals around zero: label, value, low, high, effect."""
    order = [row["label"] for row in rows]
    effects = list(dict.fromkeys(row["effect"] for row in rows))
    legend = alt.Legend(title=None, symbolOpacity=1)
    hue = alt.Color("effect:N", scale=alt.Scale(domain=effects, range=list(COLOURS[: len(effects)])), legend=legend)
    form = alt.Shape("effect:N", scale=alt.Scale(domain=effects, range=list(SHAPES[: len(effects)])), legend=legend)
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
        color=hue,
        tooltip=[
            alt.Tooltip("label:N"),
            *(alt.Tooltip(f"{name}:Q", format="+.4f") for name in ("value", "low", "high")),
        ],
    )
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(strokeWidth=1.5, color=GREY).encode(x="zero:Q")
    bar = base.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    point = base.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("value:Q", title=title), shape=form)
    return finished(alt.layer(zero, bar, point), max(100, 26 * len(rows) + 50))
