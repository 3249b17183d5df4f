"""The charts of a match, in Vega-Lite.

Contract: players' names are data, never fields or expressions, so that no name can be interpreted by a chart. A
player has the same colour, shape and dash pattern throughout a report.
"""

from collections.abc import Sequence

from mashq.report.html.parts import Spec
from mashq.report.html.style import COLOURS, DASHES, SHAPES
from mashq.report.html.vega import Rows, chart, field, fields, layer, layered, mark, when

HEIGHT, SMALL = 300, 230
GREY = "#7F7F7F"
BETA = "β, the weight of cost"


def colour(names: Sequence[str], *, legend: bool = True, of: str = "player") -> Spec:
    """Encode players by colour."""
    scale = {"domain": list(names), "range": list(COLOURS[: len(names)])}
    return field(f"{of}:N", scale=scale, legend={"title": None, "symbolOpacity": 1} if legend else None)


def banded(names: Sequence[str]) -> Spec:
    """Encode players by colour in charts with bands below the lines: the legend shows the line."""
    return colour(names) | {"legend": {"title": None, "symbolType": "stroke", "symbolOpacity": 1}}


def hue(name: str, names: Sequence[str]) -> str:
    """Return the colour of a player in every chart."""
    return COLOURS[list(names).index(name)] if name in names else GREY


def shape(names: Sequence[str], *, legend: bool = True, of: str = "player") -> Spec:
    """Encode players by shape."""
    scale = {"domain": list(names), "range": list(SHAPES[: len(names)])}
    return field(f"{of}:N", scale=scale, legend={"title": None} if legend else None)


def dash(names: Sequence[str]) -> Spec:
    """Encode players by dash pattern."""
    scale = {"domain": list(names), "range": [list(pattern) for pattern in DASHES[: len(names)]]}
    return field("player:N", scale=scale, legend={"title": None})


def named(kind: str, order: Sequence[str], limit: int = 160) -> Spec:
    """Return an axis of names in the given order, from the top."""
    return field(f"{kind}:N", sort=list(order), title=None, axis={"labelLimit": limit})


def roomy(values: Sequence[float], least: float, low: float | None = None, high: float | None = None) -> Spec:
    """Return a scale with a margin around its values, even if all are the same, within the given bounds."""
    first, last = min(values), max(values)
    room = max(0.12 * (last - first), (least - (last - first)) / 2)
    first, last = first - room, last + room
    domain = [first if low is None else max(low, first), last if high is None else min(high, last)]
    return {"domain": domain, "zero": False, "nice": 5}


def h_scale(values: Sequence[float]) -> Spec:
    """Return the scale of an axis of H."""
    return roomy(values, 0.1, 0.0, 1.0)


def q_intervals(rows: Rows, names: Sequence[str]) -> Spec:
    """Plot Q of each player with its interval: player, q, low, high."""
    base = {
        "y": named("player", [row["player"] for row in rows]),
        "color": colour(names, legend=False),
        "tooltip": [field("player:N"), *fields(("q", "low", "high"), format=".4f")],
    }
    q = field("q:Q", title="Q with its 95% interval", scale={"zero": False}, axis={"tickCount": 6})
    bar = layer(rows, mark("rule", strokeWidth=3), **base, x="low:Q", x2="high")
    point = layer(
        rows, mark("point", filled=True, size=130, opacity=1), **base, x=q, shape=shape(names, legend=False)
    )
    return layered(bar, point, height=max(90, 34 * len(rows) + 40))


def q_over_beta(rows: Rows, flips: Rows, names: Sequence[str], beta: float) -> Spec:
    """Plot Q over beta with bands; `rows` have player, beta, q, low, high, and `flips` beta, q, said."""
    q = field("q:Q", title="Q", scale={"zero": False})
    tips = [field("player:N"), *fields(("beta", "q", "low", "high"), format=".4f")]
    low = field("low:Q", title="Q")
    band = layer(rows, mark("area", opacity=0.16), x=_beta(), y=low, y2="high", color=banded(names))
    line = layer(rows, mark("line", strokeWidth=2), x=_beta(), y=q, color=banded(names), strokeDash=dash(names))
    hover = layer(rows, mark("point", opacity=0, size=160), x=_beta(), y="q:Q", tooltip=tips)
    flip_mark = mark("point", shape="diamond", filled=True, size=110, color=GREY, opacity=1)
    point = layer(flips, flip_mark, x="beta:Q", y="q:Q", tooltip=[field("said:N", title="flip")])
    return _over_beta(band, line, hover, *([point] if flips else []), beta=beta)


def _beta() -> Spec:
    """Return the axis of beta."""
    return field("beta:Q", title=BETA, scale={"nice": False}, axis={"tickCount": 5})


def _over_beta(*layers: Spec, beta: float, height: float = HEIGHT) -> Spec:
    """Build a chart over beta, with the vertical rule that the slider moves, initially at the run's own beta."""
    rule = layer([{"one": 1}], mark("rule", strokeWidth=1.5, strokeDash=[3, 3], color=GREY), x="at:Q")
    rule["transform"] = [{"calculate": "beta", "as": "at"}]
    return layered(*layers, rule, height=height, params=[{"name": "beta", "value": beta}])


def lead_over_beta(rows: Rows, beta: float, hue: str) -> Spec:
    """Plot the lead of one player over another along beta with its band: beta, lead, low, high."""
    title = "difference in Q"
    low, lead = (field(f"{name}:Q", title=title) for name in ("low", "lead"))
    band = layer(rows, mark("area", opacity=0.18, color=hue), x=_beta(), y=low, y2="high")
    line = layer(rows, mark("line", strokeWidth=2, color=hue), x=_beta(), y=lead)
    tips = fields(("beta", "lead", "low", "high"), format=".4f")
    hover = layer(rows, mark("point", opacity=0, size=160), x=_beta(), y="lead:Q", tooltip=tips)
    zero = layer([{"zero": 0}], mark("rule", strokeWidth=1.5, color=GREY), y="zero:Q")
    return _over_beta(band, line, zero, hover, beta=beta, height=SMALL)


def chances(rows: Rows, names: Sequence[str], beta: float) -> Spec:
    """Plot the chance of winning along beta: player, beta, p."""
    share = field("p:Q", title="share of resamples won", axis={"format": "%"}, scale={"domain": [0, 1]})
    tips = [field("player:N"), field("beta:Q"), field("p:Q", format=".1%", title="wins")]
    line = layer(rows, mark("line", strokeWidth=2), x=_beta(), y=share, color=colour(names), strokeDash=dash(names))
    hover = layer(rows, mark("point", opacity=0, size=160), x=_beta(), y="p:Q", tooltip=tips)
    return _over_beta(line, hover, beta=beta, height=SMALL)


def front(rows: Rows, names: Sequence[str], title: str, form: str) -> Spec:
    """Plot H against one cost from 0 on, with the Pareto front as a line: player, cost, h, front."""
    tips = [
        field("player:N"),
        field("h:Q", format=".4f", title="H"),
        field("cost:Q", format=form, title=title),
        field("front:N", title="on the front"),
    ]
    max_cost = max(row["cost"] for row in rows)
    costs = {"domain": [0, 1.1 * max_cost or 1.0], "zero": True, "nice": 5}
    ticks = {"tickCount": 5, "format": ",.0f" if max_cost >= 100 else "~r"}
    h = field("h:Q", title="H", scale=h_scale([row["h"] for row in rows]), axis={"tickCount": 5, "format": "~r"})
    line = layer(
        [row for row in rows if row["front"] == "yes"],
        mark("line", strokeWidth=1.5, color=GREY, strokeDash=[4, 2], interpolate="step-after"),
        x="cost:Q",
        y="h:Q",
        order="cost:Q",
    )
    point = layer(
        rows,
        mark("point", filled=True, size=110, opacity=1),
        x=field("cost:Q", title=title, scale=costs, axis=ticks),
        y=h,
        color=colour(names),
        shape=shape(names),
        tooltip=tips,
    )
    return layered(line, point, height=210)


def before_after(rows: Rows, names: Sequence[str]) -> Spec:
    """Plot H before and after the reviews: player, before, after."""
    base = {
        "y": named("player", names),
        "color": colour(names, legend=False),
        "tooltip": [field("player:N"), *fields(("before", "after"), format=".4f")],
    }
    before = field("before:Q", title="H before (open) → after (filled)")
    scale = h_scale([row[key] for row in rows for key in ("before", "after")])
    shapes = shape(names, legend=False)
    rule = layer(rows, mark("rule", strokeWidth=2), **base, x=before, x2="after")
    start = layer(
        rows,
        mark("point", filled=False, size=100, strokeWidth=2, opacity=1),
        **base,
        x=before | {"scale": scale, "axis": {"tickCount": 5}},
        shape=shapes,
    )
    end = layer(rows, mark("point", filled=True, size=120, opacity=1), **base, x="after:Q", shape=shapes)
    return layered(rule, start, end, height=max(90, 34 * len(rows) + 40))


def q_reviews(rows: Rows, names: Sequence[str], beta: float) -> Spec:
    """Plot Q over beta with the reviews and, dashed, without: player, reviews (with, without), beta, q."""
    ways = {"domain": ["with its reviews", "without"], "range": [[1, 0], [5, 4]]}
    line = layer(
        rows,
        mark("line", strokeWidth=2),
        x=_beta(),
        y=field("q:Q", title="Q", scale={"zero": False}),
        color=colour(names),
        strokeDash=field("reviews:N", scale=ways, legend=None),
        tooltip=[field("player:N"), field("reviews:N")],
    )
    return _over_beta(line, beta=beta)


def course(rows: Rows, names: Sequence[str]) -> Spec:
    """Plot tokens spent so far by round, with the reviews as marks: player, round, tokens, reviews."""
    line = layer(
        rows,
        mark("line", strokeWidth=2),
        x=field("round:Q", title="round", scale={"nice": False, "padding": 8}, axis={"tickMinStep": 1}),
        y=field("tokens:Q", title="tokens so far", axis={"format": "~s"}),
        color=banded(names),
        strokeDash=dash(names),
    )
    tips = [field("player:N"), field("round:Q", title="up to round")]
    tips += [field("tokens:Q", format=",.0f"), field("reviews:Q", title="reviews here")]
    review_rows = [row for row in rows if row["reviews"]]
    max_reviews = max((row["reviews"] for row in review_rows), default=1)
    sizes = [30, 130] if len(review_rows) <= 40 * len(names) else [6, 60]
    points = layer(
        review_rows,
        mark("point", filled=True, opacity=0.7),
        x="round:Q",
        y="tokens:Q",
        color=banded(names),
        size=field("reviews:Q", scale={"domain": [1, max(2, max_reviews)], "range": sizes}, legend=None),
        tooltip=tips,
    )
    return layered(line, *([points] if review_rows else []), height=HEIGHT)


def spread(rows: Rows, names: Sequence[str]) -> Spec:
    """Plot the distribution of H: player, bin, share."""
    bins = [row["bin"] for row in rows if row["player"] == rows[0]["player"]]
    base = {
        "x": field("bin:O", title="H of an answer, from … on", sort=bins, axis={"labelAngle": 0}),
        "y": field("share:Q", title="share of the items", axis={"format": "%"}),
        "color": colour(names),
        "tooltip": [field("player:N"), field("bin:O", title="H"), field("share:Q", format=".1%")],
    }
    if len(names) <= 4:
        bars = layer(rows, mark("bar"), **base, xOffset=field("player:N", sort=list(names)))
        return chart(bars, height=HEIGHT)
    line = layer(rows, mark("line", strokeWidth=2, point=False), **base, strokeDash=dash(names))
    points = layer(rows, mark("point", filled=True, size=50), **base, shape=shape(names))
    return layered(line, points, height=HEIGHT)


def decisive(rows: Rows, title: Sequence[str], hues: tuple[str, str]) -> Spec:
    """Plot the items that decide the lead, in the colour of the player that each favours: item, part."""
    bars = layer(
        rows,
        mark("bar"),
        y=named("item", [row["item"] for row in rows], 150),
        x=field("part:Q", title=list(title), axis={"tickCount": 5}),
        color=when("datum.part > 0", *hues),
        tooltip=[field("item:N"), field("part:Q", format="+.5f")],
    )
    return chart(bars, height=max(90, 22 * len(rows) + 40))


def paper_bars(rows: Rows) -> Spec:
    """Plot scores of several rows side by side: row, of (which score, whose), value."""
    names = list(dict.fromkeys(row["of"] for row in rows))
    labels = list(dict.fromkeys(row["row"] for row in rows))
    points = layer(
        rows,
        mark("point", filled=True, size=110, opacity=1),
        y=named("row", labels, 220),
        x=field("value:Q", title=None, scale={"zero": False}, axis={"tickCount": 6}),
        color=colour(names, of="of"),
        shape=shape(names, legend=False, of="of"),
        tooltip=[field("row:N"), field("of:N"), field("value:Q", format=".4f")],
    )
    return chart(points, height=max(90, 34 * len(labels) + 40))
