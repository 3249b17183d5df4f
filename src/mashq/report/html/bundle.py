"""The JavaScript that makes charts live, taken from the installed vl-convert package, and pictures of charts.

The libraries (Vega, Vega-Lite, Vega-Embed) are bundled once and kept in mashq's cache, for bundling takes seconds.
"""

import base64
import contextlib
import hashlib
import os
from importlib.metadata import version
from pathlib import Path

import vl_convert

from mashq.errors import ConfigError
from mashq.gateway.backends.weights import cache_dir
from mashq.report.html.parts import Spec

SNIPPET = "window.mashqEmbed = vegaEmbed;"


def libraries() -> str:
    """The libraries as one script that needs no network."""
    key = f"{version('vl-convert-python')} {SNIPPET}"
    path = cache_dir() / f"charts-{hashlib.sha256(key.encode()).hexdigest()[:16]}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        digest, _, text = path.read_text("utf-8").partition("\n")
        if digest == _digest(text):
            return text
    text: str = vl_convert.javascript_bundle(SNIPPET)
    if "</script" in text.lower() or "<!--" in text:
        raise ConfigError("the installed vl-convert-python cannot be put into a page: install another version of it")
    _keep(path, text)
    return text


def _keep(path: Path, text: str) -> None:
    """Remember the bundle; a cache that cannot be written is no trouble."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(f"{_digest(text)}\n{text}", "utf-8")
        fresh.replace(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def picture(spec: Spec) -> str:
    """A chart as an SVG image that stands in a page by itself: nothing in it can run."""
    svg: str = vl_convert.vegalite_to_svg(spec)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
