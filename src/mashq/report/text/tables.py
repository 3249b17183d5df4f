"""One table, four ways to write it: terminal, Markdown, LaTeX, and plain text for tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mashq.analysis.paired import Difference
from mashq.report.text.formatting import safe

Format = Literal["table", "md", "latex"]
WIDTH = 100
NARROWEST = 8
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"$\to$",
    "★": r"\checkmark",
    "−": "$-$",
    "·": r"$\cdot$",
    "∞": r"$\infty$",
    "…": r"\dots{}",
    "β": r"$\beta$",
    "α": r"$\alpha$",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and rows of text. `bold` cells are the best of their column, `shaded` rows the winner's.

    `left` says how many columns stand to the left; the rest are numbers, which are never cut: a table is rather wider
    than a page.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset[tuple[int, int]])
    shaded: frozenset[int] = field(default_factory=frozenset[int])


def best(columns: Sequence[Sequence[float | None]], highest: Sequence[bool]) -> frozenset[tuple[int, int]]:
    """Which cells (row, column) are the best of their column; columns are given from number `1` on."""
    found: set[tuple[int, int]] = set()
    for at, (values, up) in enumerate(zip(columns, highest, strict=True), start=1):
        known = [value for value in values if value is not None]
        if len(known) > 1:
            top = max(known) if up else min(known)
            found |= {(row, at) for row, value in enumerate(values) if value == top}
    return frozenset(found)


def written(grid: Grid, form: Format) -> str:
    """The table as text."""
    if form == "md":
        return _markdown(grid)
    if form == "latex":
        return _latex(grid)
    return _terminal(grid)


def half(low: float | None, high: float | None, digits: int = 4) -> str:
    """Half the width of an interval."""
    return "?" if low is None or high is None else f"{(high - low) / 2:.{digits}f}"


def change(value: Difference | None, digits: int = 4, missing: str = "?") -> str:
    """A difference with half its interval, each a question mark where it is not known."""
    return missing if value is None else f"{value.value:+.{digits}f} ± {half(value.low, value.high, digits)}"


def prose(lines: Iterable[str], form: Format) -> str:
    """Sentences: wrapped in a terminal, paragraphs in Markdown, comments in LaTeX."""
    if form == "table":
        return "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in lines)
    if form == "md":
        return "\n\n".join(markdown(line.strip()) for line in lines)  # an indent would make it code
    return "\n".join("% " + line for line in lines)


def _terminal(grid: Grid) -> str:
    """As wide as a page, or wider where a number would be cut: only names are."""
    rows = [[safe(cell) for cell in row] for row in grid.rows]
    widths = [max(map(cell_len, column)) for column in zip(grid.headings, *rows, strict=True)]
    least = [max(NARROWEST, cell_len(heading)) for heading in grid.headings[: grid.left]]
    while _line(widths) > WIDTH and any(widths[at] > least[at] for at in range(grid.left)):
        longest = max(range(grid.left), key=lambda at: widths[at] - least[at])
        widths[longest] -= 1
    console = Console(width=max(WIDTH, _line(widths)), highlight=False, emoji=False, markup=False, color_system=None)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for at, heading in enumerate(grid.headings):
        table.add_column(heading, justify="left" if at < grid.left else "right", no_wrap=True, width=widths[at])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as captured:
        if grid.title:
            console.print(Text(safe(grid.title)), soft_wrap=True)
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _line(widths: Sequence[int]) -> int:
    """How long a line of columns is, with the space around them."""
    return sum(widths) + 2 * len(widths) + 1


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    shown = safe(text, 2000).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")
    return shown.replace("&", "&amp;").replace("<", "&lt;")


def _markdown(grid: Grid) -> str:
    cell = markdown
    lines = [f"**{cell(grid.title)}**", ""] if grid.title else []
    lines.append("| " + " | ".join(cell(heading) for heading in grid.headings) + " |")
    lines.append("|" + "|".join("---" if at < grid.left else "---:" for at in range(len(grid.headings))) + "|")
    for number, row in enumerate(grid.rows):
        cells = [f"**{cell(c)}**" if (number, at) in grid.bold else cell(c) for at, c in enumerate(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _latex(grid: Grid) -> str:
    def cell(number: int, at: int, text: str) -> str:
        body = latex(text)
        body = rf"\textbf{{{body}}}" if (number, at) in grid.bold else body
        return rf"\cellcolor{{gray!20}}{body}" if number in grid.shaded else body

    align = "l" * grid.left + "r" * (len(grid.headings) - grid.left)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(latex(heading) for heading in grid.headings) + r" \\")
    lines.append(r"\midrule")
    for number, row in enumerate(grid.rows):
        lines.append(" & ".join(cell(number, at, text) for at, text in enumerate(row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    title = [f"% {safe(grid.title)}"] if grid.title else []
    return "\n".join([*title, "% needs booktabs, xcolor with [table], amssymb", *lines])


def latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in safe(text))
