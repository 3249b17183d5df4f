"""The JavaScript for interactive charts, taken from the installed vl-convert package, and static images of charts.

The libraries (Vega, Vega-Lite, Vega-Embed) are bundled once and cached, because bundling takes seconds.
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
    """Return the libraries as one script that needs no network."""
    key = f"{version('vl-convert-python')} {SNIPPET}"
    path = cache_dir() / f"charts-{hashlib.sha256(key.encode()).hexdigest()[:16]}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        digest, _, text = path.read_text("utf-8").partition("\n")
        if digest == _digest(text):
            return text
    text: str = vl_convert.javascript_bundle(SNIPPET)
    if "</script" in text.lower() or "<!--" in text:
        raise ConfigError("the installed vl-convert-python cannot be put into a page: install another version of it")
    _store(path, text)
    return text


def _store(path: Path, text: str) -> None:
    """Store the bundle in the cache; a cache that cannot be written is ignored."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(f"{_digest(text)}\n{text}", "utf-8")
        temporary.replace(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def picture(spec: Spec) -> str:
    """Return a chart as an SVG data URL for an image, in which no script can run."""
    svg: str = vl_convert.vegalite_to_svg(spec)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
