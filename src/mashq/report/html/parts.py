"""What a page is made of. All text here is plain text, which is made safe and escaped when the page is rendered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mashq.report.text.tables import Grid

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One player's Q as a line in beta: alpha * h - beta * penalty."""

    player: str
    h: float
    penalty: float


@dataclass(frozen=True, slots=True)
class Slider:
    """A slider over beta that moves a rule in its figure and ranks the players beside it."""

    alpha: float
    beta: float
    most: float
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart. `name` is its file name and its anchor on the page; `alt` describes in words what it shows."""

    name: str
    spec: Spec
    caption: str
    alt: str
    slider: Slider | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption."""

    name: str
    grid: Grid
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences, as paragraphs or as a list."""

    sentences: Sequence[str]
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Quotes:
    """Untrusted texts under headings, collapsed by default."""

    title: str
    texts: Sequence[tuple[str, str]]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy."""

    text: str


Block = Figure | Table | Prose | Quotes | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a chapter under its own heading."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure of the summary at the top."""

    label: str
    value: str
    note: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The summary at the top: who wins, and whether clearly (`mark`: `sure`, `unsure`, or empty if unknown)."""

    headline: str
    sentences: Sequence[str]
    mark: str = ""
    tiles: Sequence[Tile] = ()
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class Chapter:
    """One run. `banners` are warnings shown before anything else: simulated, not finished."""

    name: str
    title: str
    subtitle: str
    banners: Sequence[str]
    verdict: Verdict
    sections: Sequence[Section] = field(default_factory=list[Section])

    def blocks(self) -> list[Block]:
        """Return all blocks of the chapter, in order."""
        leading: list[Block] = [] if self.verdict.figure is None else [self.verdict.figure]
        return [*leading, *(block for section in self.sections for block in section.blocks)]
