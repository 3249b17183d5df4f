"""Tables as they are written: what is best is marked, what is a number is never cut, what is text cannot do harm."""

import os
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from mashq.analysis.paired import Difference
from mashq.protocol.resources import TABLE
from mashq.report.text.formatting import count, dollars, number, safe
from mashq.report.text.tables import Grid, best, change, half, prose, written


def test_a_table_in_markdown_and_latex_marks_the_best() -> None:
    grid = Grid(["player", "Q"], [["a_1", "0.5"], ["b", "0.7"]], bold=frozenset({(1, 1)}), shaded=frozenset({1}))
    assert written(grid, "md").splitlines() == ["| player | Q |", "|---|---:|", "| a_1 | 0.5 |", "| b | **0.7** |"]
    tex = written(grid, "latex").splitlines()
    assert r"a\_1 & 0.5 \\" in tex and r"\cellcolor{gray!20}b & \cellcolor{gray!20}\textbf{0.7} \\" in tex


def test_the_best_of_a_column() -> None:
    columns = [[1.0, 3.0, 3.0], [1.0, 3.0, None], [None, 2.0, None], [0.0, None, 5.0]]
    assert best(columns, [True, False, True, False]) == {(1, 1), (2, 1), (0, 2), (0, 4)}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Difference(0.5, 0.25, 0.75), "+0.50 ± 0.25"),
        (Difference(0.5, 0.0, 0.75), "+0.50 ± 0.38"),
        (Difference(-0.5), "−0.50 ± ?"),
        (Difference(-0.001, -0.1, 0.1), "+0.00 ± 0.10"),
        (None, "–"),
    ],
)
def test_a_difference_has_half_its_interval(value: Difference | None, shown: str) -> None:
    assert change(value, 2, missing="–") == shown
    assert half(0.25, 0.75, 2) == "0.25" and half(None, 1.0) == half(1.0, None) == "?" and change(None) == "?"


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (None, 2, "?"),
        (float("inf"), 0, "∞"),
        (1234567.891, 0, "1,234,568"),
        (0.0, 4, "0.0000"),
        (-0.25, 1, "−0.2"),
        (-1e-09, 4, "0.0000"),
        (1e300, 0, "1.000e+300"),
        (999999999999999.0, 0, "999,999,999,999,999"),
    ],
)
def test_a_number_is_as_people_read_it(value: float | None, digits: int, shown: str) -> None:
    assert number(value, digits) == shown


def test_counts_and_large_sums_are_as_people_say_them() -> None:
    assert [count(1, "item"), count(2, "item"), count(1000, "match")] == ["1 item", "2 items", "1,000 matches"]
    assert [dollars(1e300), dollars(12.3)] == ["1.000e+300", "12.30"]


cells = st.floats(-1e15, 1e15, allow_nan=False).map(lambda value: f"{value:,.4f}") | st.just("?")
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_table_cuts_a_number(data: st.DataObject) -> None:
    """However many columns, however long the names and narrow the terminal: every number is there in full."""
    left, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 14))
    rows = [
        [*(data.draw(names) for _ in range(left)), *(data.draw(cells) for _ in range(columns))]
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    headings = [*(f"n{at}" for at in range(left)), *(f"column {at}" for at in range(columns))]
    width = data.draw(st.integers(60, 200))
    with mock.patch.dict(os.environ, {"COLUMNS": str(width)}):
        lines = written(Grid(headings, rows, left=left), "table").splitlines()
    shown = [line.split() for line in lines]
    for at, heading in enumerate(headings[left:], left):
        for row in rows:
            assert any(row[at] in line for line in shown), (heading, row[at])
        assert any(heading in line for line in lines)
    if all(name.isascii() for row in rows for name in row[:left]):
        assert max(map(len, lines)) <= width


def test_prose_is_wrapped_paragraphs_or_comments() -> None:
    lines = ["word " * 30 + "end", "  an *indented* line"]
    assert prose(lines, "table").splitlines() == [
        " ".join(["word"] * 20),
        "  " + " ".join(["word"] * 10) + " end",
        "  an *indented* line",
    ]
    assert prose(lines, "md").split("\n\n")[1] == r"an \*indented\* line"
    assert prose(lines, "latex").splitlines()[1] == "%   an *indented* line"


def test_sentences_are_wrapped_by_cells() -> None:
    name = "東京タワー"
    with mock.patch.dict(os.environ, {"COLUMNS": "60"}):
        lines = prose([f"{name} " * 40, "e\u0301 " * 60], "table").splitlines()
        cells = written(Grid(["n", "#"], [[f"{name} " * 40 + at, "1" * 50] for at in "ab"]), "table").splitlines()
    assert max(map(cell_len, lines)) <= 60 and max(map(cell_len, cells)) <= 60
    assert sum(line.count(name) for line in lines) == 40 and "\0" not in "".join([*lines, *cells])
    assert cell_len(lines[0]) > 48


@pytest.mark.parametrize(
    ("name", "amount", "shown"),
    [
        ("tokens", 2.5, "2.5 tokens"),
        ("calls", 0.5, "0.5 calls"),
        ("calls", 0.0, "0 calls"),
        ("tokens", 1234.5, "1,234 tokens"),
        ("seconds", 0.04, "0.04 s"),
        ("tokens", 1e300, "1.000e+300 tokens"),
        ("dollars", 12.0, "$12.0000"),
    ],
)
def test_an_amount_is_not_rounded_away(name: str, amount: float, shown: str) -> None:
    assert TABLE[name].shown(amount) == shown


def test_text_of_others_cannot_move_the_cursor_or_go_on_for_ever() -> None:
    assert (
        safe("a\x1b[2Jb\u202ec\x00") == "a�[2Jb�c�"
        and safe("x" * 201) == "x" * 199 + "…"
        and safe("é" * 200) == "é" * 200
    )
    grid = Grid(["|", "#"], [["a|b*`<&\\", "1%_$"]])
    assert written(grid, "md").splitlines()[0] == r"| \| | # |"
    assert written(grid, "md").splitlines()[2] == r"| a\|b\*\`&lt;&amp;\\ | 1%_$ |"
    assert r"a|b*`$<$\&\textbackslash{} & 1\%\_\$ \\" in written(grid, "latex")
