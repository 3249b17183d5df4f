"""HTML pages as what they say: a flat list of headings, sentences, tables cell by cell with their marks, and data."""

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
    """Reads a page from top to bottom: every element that says something becomes an entry."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Any] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self._row: list[Any] | None = None
        self._script: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Text so far ends here, except before inline elements, whose marks are written into it."""
        said = dict(attrs)
        if tag in ("script", "style"):
            self._flush()
            self._script = {"tag": tag, **said}
            return
        if tag in INLINE:
            self._text.append(f"<{tag}{_marks(said)}>")
            return
        self._flush()
        if tag == "img" and "src" in said:
            self.found.append({"picture": said.get("alt"), "of": _drawn(said["src"] or "")})
        elif tag in VOID:
            self.found.append(f"<{tag}{_marks(said)}>" if tag != "meta" else f"<meta {_meta(said)}>")
        elif tag == "tr":
            self._row = [f"<tr{_marks(said)}>"]
        if tag not in VOID:
            self._open.append(f"{tag}{_marks(said)}")

    def handle_endtag(self, tag: str) -> None:
        """An entry is over."""
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
        """Text, or the data of a script; scripts and styles themselves are not pinned."""
        if self._script is None:
            self._text.append(data)
        elif self._script.get("type") == "application/json":
            kind = self._script.get("class") or self._script.get("id") or ""
            document: Any = json.loads(data)
            self.found.append({"data": kind, "value": spec(document) if kind == "spec" else document})

    def close(self) -> None:
        """The end of the page."""
        super().close()
        self._flush()

    def _flush(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text = []
        at = self._open[-1] if self._open else ""
        if self._row is not None and at.split(" ")[0] in ("td", "th"):
            if text or not self._row or not at.startswith("caption"):
                marks = at.partition(" ")[2]
                self._row.append(f"{text} [{marks}]" if marks else text)
        elif text:
            self.found.append(f"{at}: {text}" if at else text)


def page(html: str) -> list[Any]:
    """What a page says."""
    reader = Page()
    reader.feed(html)
    reader.close()
    return _shorter(reader.found)


def _shorter(found: list[Any]) -> list[Any]:
    """A picture that shows the data beside it says so instead of repeating them."""
    entries = [cast(dict[str, Any], one) for one in found if isinstance(one, dict)]
    specs = [one["value"] for one in entries if one.get("data") == "spec"]
    for one in entries:
        if "picture" in one and one["of"] in specs:
            one["of"] = "the data below"
    return found


def _marks(said: dict[str, str | None]) -> str:
    kept = [f"{name}={said[name]}" if said[name] is not None else name for name in MEANT if name in said]
    kept += [f"{name}={value}" for name, value in said.items() if name.startswith(("data-", "aria-label"))]
    return " " + " ".join(kept) if kept else ""


def _meta(said: dict[str, str | None]) -> str:
    return HASHES.sub("sha256-…", " ".join(f"{name}={value}" for name, value in said.items()))


def _drawn(source: str) -> Any:
    """The specification that a picture was made from."""
    head, _, data = source.partition("base64,")
    if not head.startswith("data:image/svg"):
        return source
    return spec(json.loads(base64.b64decode(data).decode().removeprefix("<svg>").removesuffix("</svg>")))


def spec(document: Any) -> Any:
    """A chart's data and encodings, without its looks; data are named in their order, not by a digest of them."""
    kept = json.dumps({key: value for key, value in document.items() if key not in LOOKS})
    for number, name in enumerate(dict.fromkeys(NAMED.findall(kept)), 1):
        kept = kept.replace(name, f"data-{number}")
    return json.loads(kept)
