"""The charts of a match, in Vega-Lite by way of Altair.

Contract: players' names are data, never fields or expressions, so that no name can mean anything to a chart. A player
has one colour, one shape and one dash throughout a report.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from mashq.report.html.parts import Spec
from mashq.report.html.style import COLOURS, DASHES, SHAPES

Rows = Sequence[Mapping[str, Any]]
HEIGHT, SMALL = 300, 230
GREY = "#7F7F7F"
BETA = "β, the weight of cost"


def data(rows: Rows) -> alt.Data:
    """Rows as inline data; an empty chart still has its axes."""
    return alt.InlineData(values=[dict(row) for row in rows])


def finished(chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: float = HEIGHT) -> Spec:
    """The chart as Vega-Lite."""
    spec = chart.properties(height=height).to_dict(validate=False)  # the tests do, which takes longer than drawing
    spec.pop("config", None)
    return spec


def colour(names: Sequence[str], *, legend: bool = True) -> alt.Color:
    """A colour for each player."""
    scale = alt.Scale(domain=list(names), range=list(COLOURS[: len(names)]))
    return alt.Color("player:N", scale=scale, legend=alt.Legend(title=None, symbolOpacity=1) if legend else None)


def banded(names: Sequence[str]) -> alt.Color:
    """A colour for each player where a band lies under its line: the legend shows the line."""
    scale = alt.Scale(domain=list(names), range=list(COLOURS[: len(names)]))
    return alt.Color("player:N", scale=scale, legend=alt.Legend(title=None, symbolType="stroke", symbolOpacity=1))


def hue(name: str, names: Sequence[str]) -> str:
    """The colour that a player has in every chart."""
    return COLOURS[list(names).index(name)] if name in names else GREY


def shape(names: Sequence[str], *, legend: bool = True) -> alt.Shape:
    """A shape for each player."""
    scale = alt.Scale(domain=list(names), range=list(SHAPES[: len(names)]))
    return alt.Shape("player:N", scale=scale, legend=alt.Legend(title=None) if legend else None)


def dash(names: Sequence[str]) -> alt.StrokeDash:
    """A dash for each player."""
    scale = alt.Scale(domain=list(names), range=[list(one) for one in DASHES[: len(names)]])
    return alt.StrokeDash("player:N", scale=scale, legend=alt.Legend(title=None))


def roomy(values: Sequence[float], least: float, low: float | None = None, high: float | None = None) -> alt.Scale:
    """A scale with room around its values, also where all are the same, within what can be."""
    first, last = min(values), max(values)
    room = max(0.12 * (last - first), (least - (last - first)) / 2)
    first, last = first - room, last + room
    domain = [first if low is None else max(low, first), last if high is None else min(high, last)]
    return alt.Scale(domain=domain, zero=False, nice=5)


def h_scale(values: Sequence[float]) -> alt.Scale:
    """The scale of an axis of H."""
    return roomy(values, 0.1, 0.0, 1.0)


def q_intervals(rows: Rows, names: Sequence[str]) -> Spec:
    """Q of each player with its interval: player, q, low, high."""
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("player:N", sort=[row["player"] for row in rows], title=None, axis=alt.Axis(labelLimit=160)),
        color=colour(names, legend=False),
    )
    tips = [alt.Tooltip("player:N"), *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("q", "low", "high"))]
    bar = base.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q", tooltip=tips)
    point = base.mark_point(filled=True, size=130, opacity=1).encode(
        x=alt.X("q:Q", title="Q with its 95% interval", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
        shape=shape(names, legend=False),
        tooltip=tips,
    )
    return finished(alt.layer(bar, point), max(90, 34 * len(rows) + 40))


def q_over_beta(rows: Rows, flips: Rows, names: Sequence[str], beta: float) -> Spec:
    """Q as lines in beta with their bands; `rows` have player, beta, q, low, high, and `flips` beta, q, said."""
    base = alt.Chart(data(rows)).encode(x=_beta())
    band = base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q", title="Q"), y2="high:Q", color=banded(names))
    tips = [
        alt.Tooltip("player:N"),
        alt.Tooltip("beta:Q", format=".4f"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("q", "low", "high")),
    ]
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("q:Q", title="Q", scale=alt.Scale(zero=False)), color=banded(names), strokeDash=dash(names)
    )
    hover = base.mark_point(opacity=0, size=160).encode(y="q:Q", tooltip=tips)
    point = (
        alt.Chart(data(flips))
        .mark_point(shape="diamond", filled=True, size=110, color=GREY, opacity=1)
        .encode(x="beta:Q", y="q:Q", tooltip=[alt.Tooltip("said:N", title="flip")])
    )
    return finished(alt.layer(band, line, hover, *([point] if flips else []), _rule(beta)))


def _beta() -> alt.X:
    """The axis of beta."""
    return alt.X("beta:Q", title=BETA, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))


def _rule(beta: float) -> alt.Chart:
    """The rule that the slider moves; at first it stands at the run's own beta."""
    at = alt.param(name="beta", value=beta)
    rule = alt.Chart(data([{"one": 1}])).mark_rule(strokeWidth=1.5, strokeDash=[3, 3], color=GREY)
    return rule.transform_calculate(at="beta").encode(x="at:Q").add_params(at)


def lead_over_beta(rows: Rows, beta: float, hue: str) -> Spec:
    """The lead of one player over another along beta with its band: beta, lead, low, high."""
    said = "difference in Q"
    base = alt.Chart(data(rows)).encode(x=_beta())
    band = base.mark_area(opacity=0.18, color=hue).encode(y=alt.Y("low:Q", title=said), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=hue).encode(y=alt.Y("lead:Q", title=said))
    tips = [
        alt.Tooltip("beta:Q", format=".4f"),
        *(alt.Tooltip(f"{n}:Q", format=".4f") for n in ("lead", "low", "high")),
    ]
    hover = base.mark_point(opacity=0, size=160).encode(y="lead:Q", tooltip=tips)
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(strokeWidth=1.5, color=GREY).encode(y="zero:Q")
    return finished(alt.layer(band, line, zero, hover, _rule(beta)), SMALL)


def chances(rows: Rows, names: Sequence[str], beta: float) -> Spec:
    """The chance of winning along beta: player, beta, p."""
    base = alt.Chart(data(rows)).encode(x=_beta())
    tips = [alt.Tooltip("player:N"), alt.Tooltip("beta:Q"), alt.Tooltip("p:Q", format=".1%", title="wins")]
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("p:Q", title="share of resamples won", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        color=colour(names),
        strokeDash=dash(names),
    )
    hover = base.mark_point(opacity=0, size=160).encode(y="p:Q", tooltip=tips)
    return finished(alt.layer(line, hover, _rule(beta)), SMALL)


def front(rows: Rows, names: Sequence[str], title: str, form: str) -> Spec:
    """Accuracy against one cost; the front joins those whom nobody beats in both: player, cost, h, front."""
    tips = [
        alt.Tooltip("player:N"),
        alt.Tooltip("h:Q", format=".4f", title="H"),
        alt.Tooltip("cost:Q", format=form, title=title),
        alt.Tooltip("front:N", title="on the front"),
    ]
    most = max(row["cost"] for row in rows)
    costs = roomy([row["cost"] for row in rows], 0.2 * most or 1.0, 0.0)
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "cost:Q", title=title, scale=costs, axis=alt.Axis(tickCount=5, format=",.0f" if most >= 100 else "~r")
        ),
        y=alt.Y("h:Q", title="H", scale=h_scale([row["h"] for row in rows]), axis=alt.Axis(tickCount=5, format="~r")),
    )
    line = (
        alt.Chart(data([row for row in rows if row["front"] == "yes"]))
        .mark_line(strokeWidth=1.5, color=GREY, strokeDash=[4, 2], interpolate="step-after")
        .encode(x="cost:Q", y="h:Q", order="cost:Q")
    )
    point = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=colour(names), shape=shape(names), tooltip=tips
    )
    return finished(alt.layer(line, point), 210)


def before_after(rows: Rows, names: Sequence[str]) -> Spec:
    """H before and after the reviews: player, before, after."""
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("player:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=160)),
        color=colour(names, legend=False),
        tooltip=[alt.Tooltip("player:N"), *(alt.Tooltip(f"{n}:Q", format=".4f") for n in ("before", "after"))],
    )
    title = "H before (open) → after (filled)"
    rule = base.mark_rule(strokeWidth=2).encode(x=alt.X("before:Q", title=title), x2="after:Q")
    scale = h_scale([row[key] for row in rows for key in ("before", "after")])
    start = base.mark_point(filled=False, size=100, strokeWidth=2, opacity=1).encode(
        x=alt.X("before:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5)), shape=shape(names, legend=False)
    )
    end = base.mark_point(filled=True, size=120, opacity=1).encode(x="after:Q", shape=shape(names, legend=False))
    return finished(alt.layer(rule, start, end), max(90, 34 * len(rows) + 40))


def q_reviews(rows: Rows, names: Sequence[str], beta: float) -> Spec:
    """Q over beta with the reviews and, dashed, without: player, reviews (with, without), beta, q."""
    ways = ["with its reviews", "without"]
    base = alt.Chart(data(rows)).encode(x=_beta())
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("q:Q", title="Q", scale=alt.Scale(zero=False)),
        color=colour(names),
        strokeDash=alt.StrokeDash("reviews:N", scale=alt.Scale(domain=ways, range=[[1, 0], [5, 4]]), legend=None),
        tooltip=[alt.Tooltip("player:N"), alt.Tooltip("reviews:N")],
    )
    return finished(alt.layer(line, _rule(beta)))


def course(rows: Rows, names: Sequence[str]) -> Spec:
    """Tokens spent so far by round, with the reviews as marks: player, round, tokens, reviews."""
    base = alt.Chart(data(rows)).encode(
        x=alt.X("round:Q", title="round", scale=alt.Scale(nice=False, padding=8), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("tokens:Q", title="tokens so far", axis=alt.Axis(format="~s")),
    )
    tips = [alt.Tooltip("player:N"), alt.Tooltip("round:Q", title="up to round")]
    tips += [alt.Tooltip("tokens:Q", format=",.0f"), alt.Tooltip("reviews:Q", title="reviews here")]
    line = base.mark_line(strokeWidth=2).encode(color=banded(names), strokeDash=dash(names))
    marked = [row for row in rows if row["reviews"]]
    most = max((row["reviews"] for row in marked), default=1)
    sizes = [30, 130] if len(marked) <= 40 * len(names) else [6, 60]
    mark = (
        alt.Chart(data(marked))
        .mark_point(filled=True, opacity=0.7)
        .encode(
            x="round:Q",
            y="tokens:Q",
            color=banded(names),
            size=alt.Size("reviews:Q", scale=alt.Scale(domain=[1, max(2, most)], range=sizes), legend=None),
            tooltip=tips,
        )
    )
    return finished(alt.layer(line, *([mark] if marked else [])))


def spread(rows: Rows, names: Sequence[str]) -> Spec:
    """How H is spread: player, bin, share."""
    bins = [row["bin"] for row in rows if row["player"] == rows[0]["player"]]
    chart = alt.Chart(data(rows)).encode(
        x=alt.X("bin:O", title="H of an answer, from … on", sort=bins, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("share:Q", title="share of the items", axis=alt.Axis(format="%")),
        color=colour(names),
        tooltip=[alt.Tooltip("player:N"), alt.Tooltip("bin:O", title="H"), alt.Tooltip("share:Q", format=".1%")],
    )
    if len(names) <= 4:
        return finished(chart.mark_bar().encode(xOffset=alt.XOffset("player:N", sort=list(names))))
    line = chart.mark_line(strokeWidth=2, point=False).encode(strokeDash=dash(names))
    return finished(alt.layer(line, chart.mark_point(filled=True, size=50).encode(shape=shape(names))))


def decisive(rows: Rows, said: str, hues: tuple[str, str]) -> Spec:
    """The items that decide the lead: item, part; in the colour of whom each favours."""
    sign = alt.condition("datum.part > 0", alt.value(hues[0]), alt.value(hues[1]))
    chart = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            y=alt.Y("item:N", sort=[row["item"] for row in rows], title=None, axis=alt.Axis(labelLimit=150)),
            x=alt.X("part:Q", title=said, axis=alt.Axis(tickCount=5)),
            color=sign,
            tooltip=[alt.Tooltip("item:N"), alt.Tooltip("part:Q", format="+.5f")],
        )
    )
    return finished(chart, max(90, 22 * len(rows) + 40))


def paper_bars(rows: Rows) -> Spec:
    """Scores of several rows side by side: row, of (which score, whose), value."""
    names = list(dict.fromkeys(row["of"] for row in rows))
    scale = alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
    labels = list(dict.fromkeys(row["row"] for row in rows))
    chart = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            y=alt.Y("row:N", sort=labels, title=None, axis=alt.Axis(labelLimit=220)),
            x=alt.X("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
            color=alt.Color("of:N", scale=scale, legend=alt.Legend(title=None, symbolOpacity=1)),
            shape=alt.Shape("of:N", scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])), legend=None),
            tooltip=[alt.Tooltip("row:N"), alt.Tooltip("of:N"), alt.Tooltip("value:Q", format=".4f")],
        )
    )
    return finished(chart, max(90, 34 * len(labels) + 40))
