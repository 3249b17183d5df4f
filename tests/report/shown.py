"""A page made of a document's parts, read back: its tables cell by cell, its sentences, its charts' data."""

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest

from mashq.report.html import page
from mashq.report.html.parts import Chapter, Section, Verdict


class Page(HTMLParser):
    """What a reader sees of a page: rows of every table, and every paragraph, heading and entry of a list."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.sentences: list[str] = []
        self.specs: list[dict[str, Any]] = []
        self._into: list[str] | None = None
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._into, self._tag = self.tables[-1][-1], tag
            self._into.append("")
        elif tag in ("p", "li", "h1", "h2", "h3", "figcaption", "caption"):
            self._into, self._tag = self.sentences, tag
            self._into.append("")
        elif tag == "script" and ("type", "application/json") in attrs:
            self._tag = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._tag:
            self._into, self._tag = None, ""

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into[-1] = " ".join((self._into[-1] + data).split(" "))
        elif self._tag == "script":
            self.specs.append(json.loads(data))


def shown(said: Verdict, sections: Sequence[Section]) -> Page:
    """The page of one chapter, without the charts' libraries and pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "libraries", lambda: "")
        patch.setattr(page, "picture", _no_picture)
        return Page(page.render("t", [Chapter("run1", "t", "s", [], said, sections)]))


def _no_picture(_spec: dict[str, Any]) -> str:
    return "data:,"
