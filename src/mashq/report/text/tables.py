"""Tables and sentences for a terminal, in Markdown and in LaTeX."""

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
from mashq.report.text.formatting import safe, signed

Format = Literal["table", "md", "latex"]
WIDTH = 100
SMALLEST = 60
NARROWEST = 8
HEADING = 16
LONGEST = 2000
FILLER = "\0"  # never part of shown text
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
    "Δ": r"$\Delta$",
    "·": r"$\cdot$",
    "∞": r"$\infty$",
    "…": r"\dots{}",
    "β": r"$\beta$",
    "α": r"$\alpha$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≈": r"$\approx$",
    "↻": r"$\circlearrowright$",
    "<": "$<$",
    ">": "$>$",
}
# A table that is wider than a column is shrunk to it; a narrower one keeps its size.
FITTED = r"\noindent\resizebox{\ifdim\width>\columnwidth\columnwidth\else\width\fi}{!}{%"


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and rows of text. `bold` cells are the best of their column, `shaded` rows the winner's.

    The first `left` columns are left-aligned names; the others are numbers, which are never cut. Names are complete
    here: only a terminal that is too narrow cuts them, and also the headings if these are names (`named`).
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset[tuple[int, int]])
    shaded: frozenset[int] = field(default_factory=frozenset[int])
    named: bool = False


def best(columns: Sequence[Sequence[float | None]], highest: Sequence[bool]) -> frozenset[tuple[int, int]]:
    """Return the cells (row, column) that are the best of their column; the given columns are numbered from 1."""
    cells: set[tuple[int, int]] = set()
    for column, (values, is_highest) in enumerate(zip(columns, highest, strict=True), start=1):
        known = [value for value in values if value is not None]
        if len(known) > 1:
            top = max(known) if is_highest else min(known)
            cells |= {(row, column) for row, value in enumerate(values) if value == top}
    return frozenset(cells)


def led_by(grid: Grid, headings: Sequence[str]) -> Grid:
    """Move some of the columns behind the names to the front, for a screen that shows the first ones only."""
    named = list(range(grid.left))
    first = [column for heading in headings if (column := list(grid.headings).index(heading)) >= grid.left]
    order = [*named, *first, *(column for column in range(grid.left, len(grid.headings)) if column not in first)]
    return replace(
        grid,
        headings=[grid.headings[column] for column in order],
        rows=[[row[column] for column in order] for row in grid.rows],
        bold=frozenset((row, order.index(column)) for row, column in grid.bold),
    )


def written(grid: Grid, form: Format) -> str:
    """Return the table as text."""
    if form == "md":
        return _markdown(grid)
    if form == "latex":
        return _latex(grid)
    return _terminal(grid)


def half(low: float | None, high: float | None, digits: int = 4) -> str:
    """Format half the width of an interval."""
    return "?" if low is None or high is None else f"{(high - low) / 2:.{digits}f}"


def change(value: Difference | None, digits: int = 4, missing: str = "?") -> str:
    """Format a difference with half its interval; an unknown interval is a question mark."""
    return missing if value is None else f"{signed(value.value, digits)} ± {half(value.low, value.high, digits)}"


def prose(lines: Iterable[str], form: Format) -> str:
    """Format sentences: wrapped lines for a terminal, paragraphs in Markdown, comments in LaTeX."""
    if form == "table":
        return wrapped(lines, min(WIDTH, page_width()))
    if form == "md":
        return "\n\n".join(markdown(line.strip()) for line in lines)  # an indented line would become code
    return "\n".join("% " + line for line in lines)


def filled(text: str, width: int, initial: str = "", more: str = "", *, whole: bool = False) -> str:
    """Wrap text to lines of `width` cells, of which a wide character takes two. With `whole` no word is broken."""
    padded = text if text.isascii() else "".join(c + FILLER * (cell_len(c) - 1) for c in text)
    wrapper = TextWrapper(width, initial, more, break_long_words=not whole, break_on_hyphens=not whole)
    return wrapper.fill(padded).replace(FILLER, "")


def wrapped(lines: Iterable[str], width: int, indent: str = "  ") -> str:
    """Wrap sentences to lines of at most `width` cells; names and paths are never broken. A line that continues is
    indented further than it began."""

    def whole(line: str) -> str:
        began = line[: len(line) - len(line.lstrip())]
        return filled(line.lstrip(), width, began, began + indent, whole=True)

    return "\n".join(whole(line) if line else "" for line in lines)


def listed(mark: str, description: str) -> str:
    """Format a list entry: its name, and beside it its wrapped description."""
    lines = wrapped([description], page_width() - len(mark) - 2, indent="").split("\n")
    return "\n".join((mark if not index else " " * len(mark)) + "  " + line for index, line in enumerate(lines))


def page_width() -> int:
    """Return the terminal's width, but no less than a readable table needs; without a terminal, that of a page."""
    return max(SMALLEST, get_terminal_size((WIDTH, 24)).columns)


def _terminal(grid: Grid) -> str:
    """Fit the table to the terminal: names may be cut as long as they stay distinct, numbers never. A table that is
    still too wide becomes several tables, each with the names, or else one line per cell."""
    page = page_width()
    rows = [[safe(cell, LONGEST) for cell in row] for row in grid.rows]
    if grid.named:
        names = [safe(name, LONGEST) for name in grid.headings[grid.left :]]
        grid = replace(grid, headings=[*grid.headings[: grid.left], *shortened(names, HEADING)])
    widths = [max(map(cell_len, column)) for column in zip(grid.headings, *rows, strict=True)]
    parts = _parts(grid, rows, widths, page)
    title = [filled(safe(grid.title), page), ""] if grid.title else []
    tables = [_table(grid, rows, part) for part in parts] or [_records(grid, rows, page)]
    return "\n".join([*title, *("\n\n".join(tables).split("\n"))])


Part = dict[int, int]  # widths by column
Cut = Callable[[str, int], str]


def _parts(grid: Grid, rows: Sequence[Sequence[str]], widths: Sequence[int], page: int) -> list[Part]:
    """Split the columns into tables that fit the page; empty if not even one number column fits beside the names."""
    name_columns, number_columns = range(grid.left), range(grid.left, len(widths))
    min_widths = [max(NARROWEST, cell_len(heading)) for heading in grid.headings[: grid.left]]
    widest_number = max((widths[column] for column in number_columns), default=0)
    all_widths = _cut_widths(widths, min_widths, grid.left, page)
    name_widths = _cut_widths([*widths[: grid.left], widest_number], min_widths, grid.left, page)
    for cut in CUTS:
        if _line_width(all_widths) <= page and _distinct(rows, all_widths[: grid.left], cut):
            return [dict(enumerate(all_widths))]
        if number_columns and _line_width(name_widths) <= page and _distinct(rows, name_widths[: grid.left], cut):
            name_part = {column: name_widths[column] for column in name_columns}
            room = page - _line_width(list(name_part.values()))
            groups = fitting(widths[grid.left :], room)
            return [
                name_part | {grid.left + column: widths[grid.left + column] for column in group} for group in groups
            ]
    return []


def fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Group columns into as few groups as fit the room, of similar width; each column takes two extra spaces."""
    group_count = len(_greedy_groups(widths, room))
    widest = max((width + 2 for width in widths), default=0)
    return next(
        groups
        for limit in range(min(widest, room), room + 1)
        if len(groups := _greedy_groups(widths, limit)) == group_count
    )


def _greedy_groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """Group columns greedily, each group as full as possible."""
    groups: list[list[int]] = []
    remaining = 0
    for column, width in enumerate(widths):
        if not groups or width + 2 > remaining:
            groups.append([])
            remaining = room
        groups[-1].append(column)
        remaining -= width + 2
    return groups


def _cut_widths(widths: Sequence[int], min_widths: Sequence[int], name_count: int, page: int) -> list[int]:
    """Narrow the widest name columns until the line fits, or none can be narrowed further."""
    cut_widths = list(widths)
    while _line_width(cut_widths) > page and any(
        cut_widths[column] > min_widths[column] for column in range(name_count)
    ):
        cut_widths[max(range(name_count), key=lambda column: cut_widths[column] - min_widths[column])] -= 1
    return cut_widths


def _distinct(rows: Sequence[Sequence[str]], widths: Sequence[int], cut: Cut) -> bool:
    """Whether rows with different names still differ when the names are cut."""
    names = {tuple(row[: len(widths)]) for row in rows}
    return len({tuple(map(cut, row, widths)) for row in names}) == len(names)


def _first_distinct_cut(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Cut | None:
    """Return the first way to cut names that keeps them distinct."""
    return next((cut for cut in CUTS if _distinct(rows, widths, cut)), None)


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Cut names to a width, or to the smallest larger one that keeps different names distinct."""
    while (cut := _first_distinct_cut([[name] for name in names], [width])) is None:
        width += 1
    return [cut(name, width) for name in names]


def _cut_at_end(name: str, width: int) -> str:
    """Cut a name at its end; the winner keeps its star."""
    if cell_len(name) <= width:
        return name
    star = " ★" if name.endswith(" ★") else ""
    return set_cell_size(name.removesuffix(star), width - 1 - len(star)).rstrip() + "…" + star


def _cut_in_middle(name: str, width: int) -> str:
    """Cut a name in its middle: for names with a common beginning that would not stay distinct otherwise."""
    if cell_len(name) <= width:
        return name
    star = " ★" if name.endswith(" ★") else ""
    name_only, room = name.removesuffix(star), width - 1 - len(star)
    end = set_cell_size(name_only[::-1], room - room // 2)[::-1]
    return set_cell_size(name_only, room // 2).rstrip() + "…" + end.lstrip() + star


CUTS: tuple[Cut, ...] = (_cut_at_end, _cut_in_middle)


def _table(grid: Grid, rows: Sequence[Sequence[str]], part: Part) -> str:
    console = Console(
        width=_line_width(list(part.values())) + 2, highlight=False, emoji=False, markup=False, color_system=None
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column, width in part.items():
        table.add_column(
            grid.headings[column], justify="left" if column < grid.left else "right", no_wrap=True, width=width
        )
    cut = _first_distinct_cut(rows, [part[column] for column in range(grid.left)]) or _cut_at_end
    for row in rows:
        table.add_row(*(Text(cut(row[column], part[column])) for column in part))
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def _records(grid: Grid, rows: Sequence[Sequence[str]], page: int) -> str:
    """Write each row as a list of its cells."""
    return "\n\n".join(
        "\n".join(
            filled(f"{heading}: {cell}" if heading else cell, page, "  " * (index > 0), "    ")
            for index, (heading, cell) in enumerate(zip(grid.headings, row, strict=True))
        )
        for row in rows
    )


def _line_width(widths: Sequence[int]) -> int:
    """Return the length of a line of columns, with one space before them and two between them."""
    return sum(widths) + 2 * len(widths) - 1


def markdown(text: str) -> str:
    """Escape text for Markdown."""
    shown = safe(text, LONGEST).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("`", "\\`")
    return shown.replace("&", "&amp;").replace("<", "&lt;")


def _markdown(grid: Grid) -> str:
    escape = markdown
    lines = [f"**{escape(grid.title)}**", ""] if grid.title else []
    lines.append("| " + " | ".join(escape(heading) for heading in grid.headings) + " |")
    lines.append(
        "|" + "|".join("---" if column < grid.left else "---:" for column in range(len(grid.headings))) + "|"
    )
    for row_number, row in enumerate(grid.rows):
        cells = [
            f"**{escape(c)}**" if (row_number, column) in grid.bold else escape(c) for column, c in enumerate(row)
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _latex(grid: Grid) -> str:
    def cell(row_number: int, column: int, text: str) -> str:
        body = latex(text, LONGEST)
        body = rf"\textbf{{{body}}}" if (row_number, column) in grid.bold else body
        return rf"\cellcolor{{gray!20}}{body}" if row_number in grid.shaded else body

    align = "l" * grid.left + "r" * (len(grid.headings) - grid.left)
    lines = [FITTED, rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(latex(heading, LONGEST) for heading in grid.headings) + r" \\")
    lines.append(r"\midrule")
    for row_number, row in enumerate(grid.rows):
        lines.append(" & ".join(cell(row_number, column, text) for column, text in enumerate(row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}}"]
    title = [f"% {safe(grid.title)}"] if grid.title else []
    return "\n".join([*title, "% needs booktabs, xcolor with [table], amssymb, graphicx", *lines])


def floating(table: str, caption: str, label: str) -> str:
    """Wrap a table in a LaTeX float; `caption` is LaTeX already."""
    comment, _, body = table.partition(FITTED)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", rf"\label{{{label}}}"]
    return comment.rstrip() + "\n" + "\n".join([*lines, FITTED + body, r"\end{table}"])


def latex(text: str, longest: int = 200) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in safe(text, longest))
