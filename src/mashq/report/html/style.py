"""How charts look: colours that colour-blind readers can distinguish, and the same chart for screen and print."""

import copy
from typing import Any, cast

from mashq.report.html.parts import Spec

# Okabe and Ito's colours that are visible on white and on black, and a grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C6D1F")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 1], [1, 3], [10, 4], [3, 3, 1, 3])
MAX_COST = len(COLOURS)
FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
PAPER_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
SCREEN_WIDTH, SMALL_WIDTH = 680, 330
PAPER_WIDTH, PAPER_MM = 241, 85  # points and millimetres: one column of two


def on_screen(spec: Spec, *, small: bool = False) -> Spec:
    """Style a chart for the page; the colours of text and lines are set when it is drawn."""
    return _with(spec, SMALL_WIDTH if small else SCREEN_WIDTH, 1.0, config(12, FONT))


def on_paper(spec: Spec) -> Spec:
    """Style a chart for one column of a two-column paper: 85 mm wide, 8 point, thin lines, no title."""
    return _with(spec, PAPER_WIDTH, 0.52, config(8, PAPER_FONT, thin=True) | {"background": "white"})


def _with(spec: Spec, width: int, height_factor: float, settings: dict[str, Any]) -> Spec:
    styled = copy.deepcopy(spec)
    styled["width"] = width
    if isinstance(styled.get("height"), int | float):
        styled["height"] = round(styled["height"] * height_factor)
    styled["autosize"] = {"type": "fit", "contains": "padding"}
    styled["config"] = settings
    if height_factor < 1:
        styled["padding"] = 2
        _thin(styled)
    return styled


def _thin(value: Any) -> None:
    """Scale the marks of a chart down, in place, for small print."""
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "mark" and isinstance(inner, dict):
                mark = cast(dict[str, Any], inner)
                for name, factor in (
                    ("strokeWidth", 0.5),
                    ("size", 0.4),
                    ("fontSize", 0.64),
                    ("dx", 0.6),
                    ("dy", 0.6),
                ):
                    if isinstance(mark.get(name), int | float):
                        mark[name] = round(mark[name] * factor, 2)
            else:
                _thin(inner)
                if key == "size" and isinstance(inner, dict) and "scale" in inner:
                    scale = cast(dict[str, Any], inner["scale"])
                    scale["range"] = [size * 0.35 for size in scale["range"]]
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            _thin(inner)


def config(size: int, font: str, *, thin: bool = False) -> dict[str, Any]:
    """Return the Vega-Lite settings that all charts share."""
    line = 0.5 if thin else 1
    return {
        "font": font,
        "view": {"stroke": None},
        "axis": {
            "labelFontSize": size,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "labelFontWeight": "normal",
            "gridWidth": line / 2,
            "gridColor": "#d9d9d9",
            "domainWidth": line,
            "domainColor": "#6b6b6b",
            "tickWidth": line,
            "tickColor": "#6b6b6b",
            "tickSize": 3 if thin else 4,
            "labelColor": "#333333",
            "titleColor": "#333333",
            "labelPadding": 2 if thin else 4,
            "titlePadding": 3 if thin else 8,
        },
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "title": None,
            "labelFontSize": size,
            "labelColor": "#333333",
            "labelLimit": 90 if thin else 220,
            "symbolSize": 30 if thin else 90,
            "symbolStrokeWidth": 1 if thin else 2,
            "columnPadding": 8 if thin else 16,
            "columns": 4,
            "offset": 4 if thin else 8,
        },
        "text": {"font": font, "fontSize": size, "color": "#333333"},
    }
