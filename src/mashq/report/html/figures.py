"""Charts as SVG, PNG and PDF for a paper, and tables as LaTeX."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import vl_convert

from mashq import outputs
from mashq.errors import StoreError
from mashq.report.html.parts import Block, Chapter, Figure, Section, Table
from mashq.report.html.style import PAPER_MM, PAPER_WIDTH, on_paper
from mashq.report.text.tables import latex, written

DPI = 600  # for line art


def write_figures(folder: Path, chapters: Sequence[Chapter], comparison: Section | None) -> list[Path]:
    """Every chart in three forms, 85 mm wide."""
    made: list[Path] = []
    for name, block in _named(chapters, comparison):
        if isinstance(block, Figure):
            spec = on_paper(block.spec)
            svg = _in_millimetres(vl_convert.vegalite_to_svg(spec))
            made += [
                _write(folder / f"{name}.svg", svg.encode()),
                _write(folder / f"{name}.png", vl_convert.vegalite_to_png(spec, ppi=DPI)),
                _write(folder / f"{name}.pdf", vl_convert.vegalite_to_pdf(spec)),
            ]
    return made


def write_tables(folder: Path, chapters: Sequence[Chapter], comparison: Section | None) -> list[Path]:
    """Every table as a LaTeX float."""
    made: list[Path] = []
    for name, block in _named(chapters, comparison):
        if isinstance(block, Table):
            lines = [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex(block.caption)}}}",
                rf"\label{{tab:{name}}}",
            ]
            text = "\n".join([*lines, written(block.grid, "latex"), r"\end{table}"]) + "\n"
            made.append(_write(folder / f"{name}.tex", text.encode("utf-8")))
    return made


def _named(chapters: Sequence[Chapter], comparison: Section | None) -> Iterator[tuple[str, Block]]:
    """Every block with a file name; with several runs it begins with the run's number."""
    for chapter in chapters:
        for block in chapter.blocks():
            if isinstance(block, Figure | Table):
                yield (block.name if len(chapters) == 1 else f"{chapter.name}-{block.name}"), block
    for block in comparison.blocks if comparison is not None else ():
        if isinstance(block, Figure | Table):
            yield f"comparison-{block.name}", block


def _in_millimetres(svg: str) -> str:
    """The picture at its size on paper: one unit of it is a point."""
    found = re.match(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', svg)
    if found is None:
        return svg
    width, height = (float(size) * PAPER_MM / PAPER_WIDTH for size in found.groups())
    sized = f' width="{width:.2f}mm" height="{height:.2f}mm"'
    return svg.replace(f' width="{found[1]}" height="{found[2]}"', sized, 1)


def _write(path: Path, content: bytes) -> Path:
    try:
        outputs.write(path, content)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    return path
