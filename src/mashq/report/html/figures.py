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
    """Write every chart as SVG, PNG and PDF, 85 mm wide."""
    paths: list[Path] = []
    for name, block in _named(chapters, comparison):
        if isinstance(block, Figure):
            spec = on_paper(block.spec)
            svg = _in_millimetres(vl_convert.vegalite_to_svg(spec))
            paths += [
                _write(folder / f"{name}.svg", svg.encode()),
                _write(folder / f"{name}.png", vl_convert.vegalite_to_png(spec, ppi=DPI)),
                _write(folder / f"{name}.pdf", vl_convert.vegalite_to_pdf(spec)),
            ]
    return paths


def write_tables(folder: Path, chapters: Sequence[Chapter], comparison: Section | None) -> list[Path]:
    """Write every table as a LaTeX float."""
    paths: list[Path] = []
    for name, block in _named(chapters, comparison):
        if isinstance(block, Table):
            lines = [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex(block.caption)}}}",
                rf"\label{{tab:{name}}}",
            ]
            text = "\n".join([*lines, written(block.grid, "latex"), r"\end{table}"]) + "\n"
            paths.append(_write(folder / f"{name}.tex", text.encode("utf-8")))
    return paths


def _named(chapters: Sequence[Chapter], comparison: Section | None) -> Iterator[tuple[str, Block]]:
    """Yield every figure and table with its file name, which begins with the run's number if there are several."""
    for chapter in chapters:
        for block in chapter.blocks():
            if isinstance(block, Figure | Table):
                yield (block.name if len(chapters) == 1 else f"{chapter.name}-{block.name}"), block
    for block in comparison.blocks if comparison is not None else ():
        if isinstance(block, Figure | Table):
            yield f"comparison-{block.name}", block


def _in_millimetres(svg: str) -> str:
    """Set the size of the image on paper: one of its units is one point."""
    match = re.match(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', svg)
    if match is None:
        return svg
    width, height = (float(size) * PAPER_MM / PAPER_WIDTH for size in match.groups())
    sized = f' width="{width:.2f}mm" height="{height:.2f}mm"'
    return svg.replace(f' width="{match[1]}" height="{match[2]}"', sized, 1)


def _write(path: Path, content: bytes) -> Path:
    try:
        outputs.make_folder(path.parent)
        outputs.write(path, content)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    return path
