"""One table, four ways to write it: terminal, Markdown, LaTeX, and plain text for tests."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Literal

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mashq.analysis.paired import Difference
from mashq.report.text.formatting import safe

Format = Literal["table", "md", "latex"]
WIDTH = 100
SMALLEST = 60
NARROWEST = 8
HEADING = 16
LONGEST = 2000
FILLER = "\0"  # no text that is shown holds one
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

    `left` says how many columns stand to the left; the rest are numbers, which are never cut. Names are whole here:
    only a terminal that has no room for them cuts them, and headings that are names, if `named` says so.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset[tuple[int, int]])
    shaded: frozenset[int] = field(default_factory=frozenset[int])
    named: bool = False


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
    return missing if value is None else f"{value.value:+z.{digits}f} ± {half(value.low, value.high, digits)}"


def prose(lines: Iterable[str], form: Format) -> str:
    """Sentences: wrapped in a terminal, paragraphs in Markdown, comments in LaTeX."""
    if form == "table":
        return wrapped(lines, min(WIDTH, page_width()))
    if form == "md":
        return "\n\n".join(markdown(line.strip()) for line in lines)  # an indent would make it code
    return "\n".join("% " + line for line in lines)


def filled(text: str, width: int, initial: str = "", more: str = "", *, whole: bool = False) -> str:
    """Text on lines of so many cells: a wide character takes two. With `whole` no word is broken."""
    wide = text if text.isascii() else "".join(c + FILLER * (cell_len(c) - 1) for c in text)
    how = TextWrapper(width, initial, more, break_long_words=not whole, break_on_hyphens=not whole)
    return how.fill(wide).replace(FILLER, "")


def wrapped(lines: Iterable[str], width: int, indent: str = "  ") -> str:
    """Sentences on lines that are no longer than that, unless a word is; names and paths stay whole."""
    return "\n".join(filled(line, width, more=indent, whole=True) if line else "" for line in lines)


def listed(mark: str, what: str) -> str:
    """An entry of a list: what it is called, then what it is, wrapped beside it."""
    lines = wrapped([what], page_width() - len(mark) - 2, indent="").split("\n")
    return "\n".join((mark if not at else " " * len(mark)) + "  " + line for at, line in enumerate(lines))


def page_width() -> int:
    """How wide the terminal is, though no less than it takes to read a table; where there is none, a page."""
    return max(SMALLEST, get_terminal_size((WIDTH, 24)).columns)


def _terminal(grid: Grid) -> str:
    """As wide as the terminal: names are cut if need be while they can be told apart, numbers never. What is still
    too wide is several tables under each other, each with the names; or a line for each cell."""
    page = page_width()
    rows = [[safe(cell, LONGEST) for cell in row] for row in grid.rows]
    if grid.named:
        names = [safe(name, LONGEST) for name in grid.headings[grid.left :]]
        grid = replace(grid, headings=[*grid.headings[: grid.left], *shortened(names, HEADING)])
    widths = [max(map(cell_len, column)) for column in zip(grid.headings, *rows, strict=True)]
    parts = _parts(grid, rows, widths, page)
    title = [filled(safe(grid.title), page), ""] if grid.title else []
    shown = [_table(grid, rows, part) for part in parts] or [_records(grid, rows, page)]
    return "\n".join([*title, *("\n\n".join(shown).split("\n"))])


Part = dict[int, int]  # columns, with their widths
Cut = Callable[[str, int], str]


def _parts(grid: Grid, rows: Sequence[Sequence[str]], widths: Sequence[int], page: int) -> list[Part]:
    """The tables that fit a page, by their columns; none where not even one number fits beside the names."""
    names, numbers = range(grid.left), range(grid.left, len(widths))
    least = [max(NARROWEST, cell_len(heading)) for heading in grid.headings[: grid.left]]
    broadest = max((widths[at] for at in numbers), default=0)
    whole = _cut(widths, least, grid.left, page)
    beside = _cut([*widths[: grid.left], broadest], least, grid.left, page)
    for cut in CUTS:
        if _line(whole) <= page and _distinct(rows, whole[: grid.left], cut):
            return [dict(enumerate(whole))]
        if numbers and _line(beside) <= page and _distinct(rows, beside[: grid.left], cut):
            left = {at: beside[at] for at in names}
            room = page - _line(list(left.values()))
            groups = fitting(widths[grid.left :], room)
            return [left | {grid.left + at: widths[grid.left + at] for at in some} for some in groups]
    return []


def fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns in groups, as few as fit into some room and about as wide; each column takes two spaces more."""
    few = len(_filled(widths, room))
    smallest = max((width + 2 for width in widths), default=0)
    return next(
        found for narrow in range(min(smallest, room), room + 1) if len(found := _filled(widths, narrow)) == few
    )


def _filled(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns in groups, each as full as can be."""
    found: list[list[int]] = []
    left = 0
    for at, width in enumerate(widths):
        if not found or width + 2 > left:
            found.append([])
            left = room
        found[-1].append(at)
        left -= width + 2
    return found


def _cut(widths: Sequence[int], least: Sequence[int], names: int, page: int) -> list[int]:
    """The widths with the longest names cut until all fits, or none is left to cut."""
    found = list(widths)
    while _line(found) > page and any(found[at] > least[at] for at in range(names)):
        found[max(range(names), key=lambda at: found[at] - least[at])] -= 1
    return found


def _distinct(rows: Sequence[Sequence[str]], widths: Sequence[int], cut: Cut) -> bool:
    """Whether rows that differ in their names still do when these are cut."""
    names = {tuple(row[: len(widths)]) for row in rows}
    return len({tuple(map(cut, row, widths)) for row in names}) == len(names)


def _way(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Cut | None:
    """The first way to cut names with which they can be told apart."""
    return next((cut for cut in CUTS if _distinct(rows, widths, cut)), None)


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Names cut to a width, or to the least beyond it at which those that differ still do."""
    while (cut := _way([[name] for name in names], [width])) is None:
        width += 1
    return [cut(name, width) for name in names]


def _short(name: str, width: int) -> str:
    """A name cut at its end; the winner keeps its star."""
    if cell_len(name) <= width:
        return name
    star = " ★" if name.endswith(" ★") else ""
    return set_cell_size(name.removesuffix(star), width - 1 - len(star)).rstrip() + "…" + star


def _shorter(name: str, width: int) -> str:
    """A name cut in its middle: for names that begin alike, where there is no other way."""
    if cell_len(name) <= width:
        return name
    star = " ★" if name.endswith(" ★") else ""
    whole, room = name.removesuffix(star), width - 1 - len(star)
    end = set_cell_size(whole[::-1], room - room // 2)[::-1]
    return set_cell_size(whole, room // 2).rstrip() + "…" + end.lstrip() + star


CUTS: tuple[Cut, ...] = (_short, _shorter)


def _table(grid: Grid, rows: Sequence[Sequence[str]], part: Part) -> str:
    console = Console(
        width=_line(list(part.values())) + 2, highlight=False, emoji=False, markup=False, color_system=None
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for at, width in part.items():
        table.add_column(grid.headings[at], justify="left" if at < grid.left else "right", no_wrap=True, width=width)
    cut = _way(rows, [part[at] for at in range(grid.left)]) or _short
    for row in rows:
        table.add_row(*(Text(cut(row[at], part[at])) for at in part))
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _records(grid: Grid, rows: Sequence[Sequence[str]], page: int) -> str:
    """Each row as a list of its cells."""
    return "\n\n".join(
        "\n".join(
            filled(f"{heading}: {cell}" if heading else cell, page, "  " * (at > 0), "    ")
            for at, (heading, cell) in enumerate(zip(grid.headings, row, strict=True))
        )
        for row in rows
    )


def _line(widths: Sequence[int]) -> int:
    """How long a line of columns is: a space before them, and two between them."""
    return sum(widths) + 2 * len(widths) - 1


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    shown = safe(text, LONGEST).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")
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
        body = latex(text, LONGEST)
        body = rf"\textbf{{{body}}}" if (number, at) in grid.bold else body
        return rf"\cellcolor{{gray!20}}{body}" if number in grid.shaded else body

    align = "l" * grid.left + "r" * (len(grid.headings) - grid.left)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(latex(heading, LONGEST) for heading in grid.headings) + r" \\")
    lines.append(r"\midrule")
    for number, row in enumerate(grid.rows):
        lines.append(" & ".join(cell(number, at, text) for at, text in enumerate(row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    title = [f"% {safe(grid.title)}"] if grid.title else []
    return "\n".join([*title, "% needs booktabs, xcolor with [table], amssymb", *lines])


def floating(tabular: str, caption: str, label: str) -> str:
    """A table as a float that is no wider than a column; `caption` is LaTeX already."""
    comment, _, body = tabular.partition(r"\begin{tabular}")
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", rf"\label{{{label}}}"]
    lines += [r"\resizebox{\columnwidth}{!}{%", r"\begin{tabular}" + body + "}", r"\end{table}"]
    return comment.rstrip().replace("amssymb", "amssymb, graphicx") + "\n" + "\n".join(lines)


def latex(text: str, longest: int = 200) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in safe(text, longest))
