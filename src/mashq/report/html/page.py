"""Chapters as one HTML page that needs nothing but itself.

Contract: whatever is written into the page is text: jinja2 escapes it, and control characters and marks of direction
are replaced first. The page's policy lets its own scripts and styles run, by their digests, and nothing be loaded.
The same runs give the same bytes.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from mashq.report.annotation_sheet import policy
from mashq.report.html import parts
from mashq.report.html.bundle import libraries, picture
from mashq.report.html.parts import Chapter, Figure, Section
from mashq.report.html.style import on_screen
from mashq.report.text.formatting import safe

LONGEST = 20_001
LONGEST_QUOTE = 20_000
POLICY = "@@policy@@"


def render(title: str, chapters: Sequence[Chapter], comparison: Section | None = None) -> str:
    """The whole page."""
    page = (
        environment()
        .get_template("report.html")
        .render(
            title=title,
            chapters=chapters,
            comparison=comparison,
            policy=POLICY,
            style=Markup(asset("report.css")),
            libraries=Markup(libraries()),
            script=Markup(asset("score.js") + asset("report.js")),
        )
    )
    return page.replace(POLICY, policy(page) + "; img-src data:", 1)


@cache
def environment() -> jinja2.Environment:
    """The templates, with every value made safe before it is escaped."""
    made: Any = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"lines": _lines, "spec": _spec, "still": _still, "settings": _settings}
    for kind in (parts.Figure, parts.Table, parts.Prose, parts.Quotes, parts.Code):
        made.tests[kind.__name__.lower()] = _is(kind)
    return made


def _is(kind: type[parts.Block]) -> Callable[[object], bool]:
    return lambda block: isinstance(block, kind)


def asset(name: str) -> str:
    """A file of the templates' folder."""
    return files("mashq.report.html").joinpath("templates", name).read_text("utf-8")


def _shown(value: object) -> object:
    """What an expression writes: markup of our own as it is, anything else as safe text."""
    return value if isinstance(value, Markup) else safe(str(value), LONGEST)


def _lines(text: str) -> list[str]:
    """A long text by its lines, each safe, all of it not endless."""
    cut = text[:LONGEST_QUOTE] + ("…" if len(text) > LONGEST_QUOTE else "")
    return [safe(line.replace("\t", "    "), LONGEST_QUOTE + 1) for line in cut.splitlines()]


def _spec(figure: Figure) -> Markup:
    """A chart as data in the page."""
    return data(_described(figure))


def _still(figure: Figure) -> Markup:
    """A chart as a picture, for paper and where no script runs."""
    return Markup(picture(_described(figure) | {"background": "white"}))


def _described(figure: Figure) -> parts.Spec:
    """A chart as the page shows it; its description is what a reader who cannot see it is told."""
    return on_screen(figure.spec, small=figure.small) | {"description": figure.alt}


def _settings(slider: parts.Slider) -> Markup:
    return data(asdict(slider))


def data(value: Any) -> Markup:
    """JSON that no text in it can break out of."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
