"""The charts of runs with more than one match: sweeps, tournaments, games and vision."""

from collections.abc import Sequence

from mashq.report.html.charts import GREY, HEIGHT, colour, dash, named, shape
from mashq.report.html.parts import Spec
from mashq.report.html.style import COLOURS
from mashq.report.html.vega import Rows, field, fields, layer, layered, mark, when

BLUES = ["#f7fbff", "#6aaed6", "#08519c"]


def swept(rows: Rows, names: Sequence[str], setting: str, *, numbers: bool) -> Spec:
    """Plot Q with its interval over the values of a setting: player, value, q, low, high."""
    order = list(dict.fromkeys(row["value"] for row in rows))
    tips = [field("player:N"), field("value:N", title=setting), *fields(("q", "low", "high"), format=".4f")]
    base = {"color": colour(names)}
    if numbers and order:  # beside each other, so that no interval hides another
        step = 0.012 * ((max(order) - min(order)) or 1.0)
        shift = {name: step * (seat - (len(names) - 1) / 2) for seat, name in enumerate(names)}
        rows = [{**row, "x": row["value"] + shift[row["player"]]} for row in rows]
        base["x"] = field("x:Q", title=setting, scale={"zero": False, "padding": 12}, axis={"values": order})
    else:  # values without an order: side by side, and not connected
        base["x"] = field("value:O", title=setting, sort=order, axis={"labelAngle": 0, "labelLimit": 120})
        base["xOffset"] = field("player:N", sort=list(names))
    q, low = field("q:Q", title="Q", scale={"zero": False}), field("low:Q", title="Q")
    bar = layer(rows, mark("rule", strokeWidth=1.5, opacity=0.6), **base, y=low, y2="high")
    line = layer(rows, mark("line", strokeWidth=2), **base, y=q, strokeDash=dash(names))
    point_mark = mark("point", filled=True, size=80, opacity=1)
    point = layer(rows, point_mark, **base, y=q, shape=shape(names), tooltip=tips)
    return layered(bar, *([line] if numbers else []), point, height=HEIGHT)


def ratings(rows: Rows) -> Spec:
    """Plot ratings with intervals, best first: player, rating, low, high."""
    base = {
        "y": named("player", [row["player"] for row in rows]),
        "tooltip": [field("player:N"), *fields(("rating", "low", "high"), format=".0f")],
    }
    rating = field("rating:Q", title="rating with its 95% interval", scale={"zero": False})
    bar = layer(rows, mark("rule", strokeWidth=3, color=COLOURS[0], opacity=0.45), **base, x="low:Q", x2="high")
    point = layer(rows, mark("point", filled=True, size=110, color=COLOURS[0], opacity=1), **base, x=rating)
    return layered(bar, point, height=max(90, 28 * len(rows) + 40))


def matrix(rows: Rows, order: Sequence[str], across: str, title: str) -> Spec:
    """Plot a matrix of values: row, column, value, label (the cell's text), light (whether that text is light)."""
    top = {"orient": "top", "labelAngle": 0, "labelLimit": 90}
    base = {
        "x": field("column:N", sort=list(order), title=across, axis=top),
        "y": named("row", order, 120),
        "tooltip": [field("row:N"), field("column:N", title="against"), field("label:N", title=title)],
    }
    shade = field("value:Q", title=title, scale={"range": BLUES}, legend=None)
    cell = layer(rows, mark("rect", stroke="white", strokeWidth=2), **base, color=shade)
    ink = when("datum.light", "#ffffff", "#1b1b1b")
    text = layer(rows, mark("text", fontSize=12), **base, text="label:N", color=ink)
    return layered(cell, text, height=max(120, 44 * len(order) + 50))


def changes(rows: Rows, title: str) -> Spec:
    """Plot differences with their intervals around zero: label, value, low, high, effect."""
    effects = list(dict.fromkeys(row["effect"] for row in rows))
    base = {
        "y": named("label", [row["label"] for row in rows], 180),
        "color": colour(effects, of="effect"),
        "tooltip": [field("label:N"), *fields(("value", "low", "high"), format="+.4f")],
    }
    shapes = shape(effects, of="effect") | {"legend": {"title": None, "symbolOpacity": 1}}
    low, value = field("low:Q", title=title), field("value:Q", title=title)
    zero = layer([{"zero": 0}], mark("rule", strokeWidth=1.5, color=GREY), x="zero:Q")
    bar = layer(rows, mark("rule", strokeWidth=3, opacity=0.5), **base, x=low, x2="high")
    point = layer(rows, mark("point", filled=True, size=90, opacity=1), **base, x=value, shape=shapes)
    return layered(zero, bar, point, height=max(100, 26 * len(rows) + 50))
