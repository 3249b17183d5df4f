"""Chapters as one self-contained HTML page.

Contract: all values are written into the page as text: control characters and direction marks are replaced, then
jinja2 escapes them. The page's policy allows only its own scripts and styles, by their digests, and no loading.
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
from mashq.report.text.formatting import number, safe

LONGEST = 20_001
LONGEST_QUOTE = 20_000
POLICY = "@@policy@@"


def render(title: str, chapters: Sequence[Chapter], comparison: Section | None = None) -> str:
    """Render the whole page."""
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
    """Return the template environment, which makes every value safe before it is escaped."""
    templates: Any = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"lines": _lines, "spec": _spec, "still": _still, "settings": _settings, "number": number}
    for kind in (parts.Figure, parts.Table, parts.Prose, parts.Quotes, parts.Code):
        templates.tests[kind.__name__.lower()] = _is(kind)
    return templates


def _is(kind: type[parts.Block]) -> Callable[[object], bool]:
    return lambda block: isinstance(block, kind)


def asset(name: str) -> str:
    """Read a file of the templates folder."""
    return files("mashq.report.html").joinpath("templates", name).read_text("utf-8")


def _shown(value: object) -> object:
    """Finalize a template value: our own markup is unchanged, anything else becomes safe text."""
    return value if isinstance(value, Markup) else safe(str(value), LONGEST)


def _lines(text: str) -> list[str]:
    """Split a long text into safe lines, and limit its length."""
    cut = text[:LONGEST_QUOTE] + ("…" if len(text) > LONGEST_QUOTE else "")
    return [safe(line.replace("\t", "    "), LONGEST_QUOTE + 1) for line in cut.splitlines()]


def _spec(figure: Figure) -> Markup:
    """Return a chart as data for the page."""
    return data(_described(figure))


def _still(figure: Figure) -> Markup:
    """Return a chart as an image, for printing and for browsers without scripts."""
    return Markup(picture(_described(figure) | {"background": "white"}))


def _described(figure: Figure) -> parts.Spec:
    """Return a chart as the page shows it, with its alternative text as the description."""
    return on_screen(figure.spec, small=figure.small) | {"description": figure.alt}


def _settings(slider: parts.Slider) -> Markup:
    return data(asdict(slider))


def data(value: Any) -> Markup:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
