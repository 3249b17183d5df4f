"""A page made of a document's parts, read back: its tables cell by cell, its sentences, its charts' data."""

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest

from mashq.report.html import page
from mashq.report.html.parts import Chapter, Section, Verdict

NEEDS = "% needs booktabs, xcolor with [table], amssymb, graphicx"
FITTED = (
    r"\noindent\resizebox{\ifdim\width>\columnwidth\columnwidth\else\width\fi}{!}{%"  # a table no wider than a column
)


class Page(HTMLParser):
    """What a reader sees of a page: rows of every table, and every paragraph, heading and entry of a list."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.sentences: list[str] = []
        self.specs: list[dict[str, Any]] = []
        self.bold: set[tuple[int, int, int]] = set()  # table, row and column
        self.won: set[tuple[int, int]] = set()
        self._into: list[str] | None = None
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            if ("class", "won") in attrs:
                self.won.add((len(self.tables) - 1, len(self.tables[-1]) - 1))
        elif tag == "b" and self._tag == "td":
            self.bold.add((len(self.tables) - 1, len(self.tables[-1]) - 1, len(self.tables[-1][-1]) - 1))
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


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table as Markdown has it."""
    rule = "|" + "|".join(["---"] * left + ["---:"] * (len(headings) - left)) + "|"
    return "\n".join(["| " + " | ".join(headings) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def tabular(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, title: str = "") -> str:
    """A table as LaTeX has it, of cells that are LaTeX already."""
    align = "l" * left + "r" * (len(headings) - left)
    signs = {"−": "$-$", "Δ": r"$\Delta$"}
    lines = [" & ".join(row) + r" \\" for row in (headings, *rows)]
    head, *body = ("".join(signs.get(letter, letter) for letter in line) for line in lines)
    start = [f"% {title}"] if title else []
    start += [NEEDS, FITTED, rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    return "\n".join([*start, head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}}"])


def comments(lines: Sequence[str]) -> str:
    """Sentences beside a LaTeX table."""
    return "\n".join(f"% {line}" for line in lines)


def marked(rows: Sequence[Sequence[str]], q: int, star: str = "★", *, latex: bool = False) -> list[list[str]]:
    """Rows with the winner's Q, in column `q`, in bold; in LaTeX all of its row is shaded."""
    found: list[list[str]] = []
    for row in rows:
        cells, first = list(row), any(star in cell for cell in row)
        if first:
            cells[q] = rf"\textbf{{{cells[q]}}}" if latex else f"**{cells[q]}**"
        found.append([rf"\cellcolor{{gray!20}}{cell}" for cell in cells] if first and latex else cells)
    return found
