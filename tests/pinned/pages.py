"""The content of HTML pages: a flat list of headings, sentences, tables cell by cell with their marks, and data."""

import base64
import json
import re
from html.parser import HTMLParser
from typing import Any, cast

MEANT = ("class", "hidden", "href", "alt", "checked", "min", "max", "value", "title", "scope", "id", "name", "open")
INLINE = {"b", "strong", "a", "span", "code", "em", "i", "label", "button", "output", "small", "sup", "sub", "mark"}
VOID = {"meta", "img", "input", "br", "hr", "link"}
HASHES = re.compile(r"sha256-[A-Za-z0-9+/=]+")
NAMED = re.compile(r"data-[0-9a-f]{32}")
LOOKS = ("config", "background", "padding", "autosize", "$schema")


class Page(HTMLParser):
    """Reads a page from top to bottom: every element with content becomes an entry."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Any] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self._row: list[Any] | None = None
        self._script: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """End the current text, except before inline elements, whose marks are written into it."""
        attributes = dict(attrs)
        if tag in ("script", "style"):
            self._flush()
            self._script = {"tag": tag, **attributes}
            return
        if tag in INLINE:
            self._text.append(f"<{tag}{_marks(attributes)}>")
            return
        self._flush()
        if tag == "img" and "src" in attributes:
            self.found.append({"picture": attributes.get("alt"), "of": _drawn(attributes["src"] or "")})
        elif tag in VOID:
            self.found.append(f"<{tag}{_marks(attributes)}>" if tag != "meta" else f"<meta {_meta(attributes)}>")
        elif tag == "tr":
            self._row = [f"<tr{_marks(attributes)}>"]
        if tag not in VOID:
            self._open.append(f"{tag}{_marks(attributes)}")

    def handle_endtag(self, tag: str) -> None:
        """End the current entry."""
        if tag in ("script", "style"):
            self._script = None
            return
        if tag in INLINE:
            self._text.append(f"</{tag}>")
            return
        self._flush()
        if tag == "tr" and self._row is not None:
            self.found.append(self._row)
            self._row = None
        while self._open and self._open.pop().split(" ")[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Collect text, or the data of a script; scripts and styles themselves are not pinned."""
        if self._script is None:
            self._text.append(data)
        elif self._script.get("type") == "application/json":
            kind = self._script.get("class") or self._script.get("id") or ""
            document: Any = json.loads(data)
            self.found.append({"data": kind, "value": spec(document) if kind == "spec" else document})

    def close(self) -> None:
        """Finish the page."""
        super().close()
        self._flush()

    def _flush(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text = []
        element = self._open[-1] if self._open else ""
        if self._row is not None and element.split(" ")[0] in ("td", "th"):
            if text or not self._row or not element.startswith("caption"):
                marks = element.partition(" ")[2]
                self._row.append(f"{text} [{marks}]" if marks else text)
        elif text:
            self.found.append(f"{element}: {text}" if element else text)


def page(html: str) -> list[Any]:
    """Return the content of a page."""
    reader = Page()
    reader.feed(html)
    reader.close()
    return _shorter(reader.found)


def _shorter(items: list[Any]) -> list[Any]:
    """Refer to the data next to a picture instead of repeating them."""
    entries = [cast(dict[str, Any], entry) for entry in items if isinstance(entry, dict)]
    specs = [entry["value"] for entry in entries if entry.get("data") == "spec"]
    for entry in entries:
        if "picture" in entry and entry["of"] in specs:
            entry["of"] = "the data below"
    return items


def _marks(attributes: dict[str, str | None]) -> str:
    marks = [
        f"{name}={attributes[name]}" if attributes[name] is not None else name for name in MEANT if name in attributes
    ]
    marks += [f"{name}={value}" for name, value in attributes.items() if name.startswith(("data-", "aria-label"))]
    return " " + " ".join(marks) if marks else ""


def _meta(attributes: dict[str, str | None]) -> str:
    return HASHES.sub("sha256-…", " ".join(f"{name}={value}" for name, value in attributes.items()))


def _drawn(source: str) -> Any:
    """Return the specification of a picture."""
    head, _, data = source.partition("base64,")
    if not head.startswith("data:image/svg"):
        return source
    return spec(json.loads(base64.b64decode(data).decode().removeprefix("<svg>").removesuffix("</svg>")))


def spec(document: Any) -> Any:
    """Return a chart's data and encodings, without its styling; data are named by their order, not by a digest."""
    text = json.dumps({key: value for key, value in document.items() if key not in LOOKS})
    for number, name in enumerate(dict.fromkeys(NAMED.findall(text)), 1):
        text = text.replace(name, f"data-{number}")
    return json.loads(text)
