"""A sweep made by hand, every cell of it in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.paired import Difference
from mashq.report.documents.base import COSTS, DetectorVersion
from mashq.report.documents.sweep import Axis, Cell, Sweep, SweepPlayer
from mashq.report.html import sections_seasons
from mashq.report.text import sweep
from tests.report.shown import comments, markdown_table, marked, shown, tabular


def player(name: str, q: float | None, **more: Any) -> SweepPlayer:
    given: dict[str, Any] = {
        "h": 0.9,
        "answer_rate": 1.0,
        "charged": {},
        "penalty": 2.0,
        "q_low": 0.25,
        "q_high": 0.75,
    }
    spent = more.pop("spent", {"calls": 12, "tokens": 3456, "reviews": 5, "seconds": 7.25, "dollars": 0.5})
    given |= {"against_first": {}, "costs": {cost: spent.get(cost) for cost in COSTS}}
    return SweepPlayer(name=name, q=q, **(given | more))


def cell(t: float, vision: str, winner: str | None, players: list[SweepPlayer], **more: Any) -> Cell:
    given: dict[str, Any] = {"trials": 2, "items": 30, "tied": [], "clear": False, "headline": "", "notes": []}
    return Cell(settings={"rules.T": t, "vision.when": vision}, winner=winner, players=players, **(given | more))


DOCUMENT = Sweep(
    run="runs/s",
    finished=False,
    simulated=False,
    drawn=False,
    detector=DetectorVersion("grounding", "3"),
    trials=2,
    over=[Axis(setting="rules.T", values=[0.7, 0.9]), Axis(setting="vision.when", values=["never", "review"])],
    cells=[
        cell(
            0.7,
            "never",
            "a",
            [
                player("a", 0.7, charged={"tokens": 1.0}),
                player(
                    "b", 0.5123, h=0.71234, penalty=2.125, spent={"calls": 1_000_000, "tokens": 9, "seconds": 0.04}
                ),
            ],
            clear=True,
            notes=["Both.", "Only the first."],
        ),
        cell(
            0.9,
            "never",
            "b",
            [
                player("a", 0.6, against_first={"q": Difference(-0.1, -0.15, -0.05), "h": Difference(0.3)}),
                player("b", 0.65, against_first={"q": Difference(0.1377)}),
            ],
            items=29,
            notes=["Both."],
        ),
        cell(
            0.9,
            "review",
            None,
            [player("a", None, h=None, penalty=None, spent={}, q_low=None, q_high=None), player("b", 0.5)],
            items=None,
            notes=["Both."],
        ),
    ],
    missing=1,
)
TEXT = """\
 T    when    player       H      calls  tokens  reviews  seconds
 ────────────────────────────────────────────────────────────────
 0.7  never   a ★     0.9000         12  ~3,456        5      7.2
 0.7  never   b       0.7123  1,000,000       9        ?      0.0
 0.9  never   a       0.9000         12   3,456        5      7.2
 0.9  never   b ★     0.9000         12   3,456        5      7.2
 0.9  review  a            ?          ?       ?        ?        ?
 0.9  review  b       0.9000         12   3,456        5      7.2

 T    when    player  dollars      P       Q          ΔQ ± 95%
 ─────────────────────────────────────────────────────────────
 0.7  never   a ★      0.5000  2.000  0.7000
 0.7  never   b             ?  2.125  0.5123
 0.9  never   a        0.5000  2.000  0.6000  −0.1000 ± 0.0500
 0.9  never   b ★      0.5000  2.000  0.6500       +0.1377 ± ?
 0.9  review  a             ?      ?       ?                 ?
 0.9  review  b        0.5000  2.000  0.5000                 ?

3 combinations of 30 items, 2 trials each, scored by grounding 3. Costs are means over trials. ΔQ is
  the difference to the Q of the first combination, with its 95% interval, items resampled together.
1 are still to be played: continue with mashq resume runs/s
Who has the best Q depends on the settings: of 3 combinations a in 1 (clearly in 1), b in 1 (clearly
  in 0).
Note: Both.
Note: Only the first. (1 of 3 combinations)"""
HEADINGS = ["T", "when", "player", "H", "calls", "tokens", "reviews", "seconds", "dollars", "P", "Q", "ΔQ ± 95%"]
USUAL = ["0.9000", "12", "3,456", "5", "7.2", "2.000"]
ROWS = [
    ["0.7", "never", "a ★", "0.9000", "12", "~3,456", "5", "7.2", "0.5000", "2.000", "0.7000", ""],
    ["0.7", "never", "b", "0.7123", "1,000,000", "9", "?", "0.0", "?", "2.125", "0.5123", ""],
    ["0.9", "never", "a", "0.9000", "12", "3,456", "5", "7.2", "0.5000", "2.000", "0.6000", "−0.1000 ± 0.0500"],
    ["0.9", "never", "b ★", "0.9000", "12", "3,456", "5", "7.2", "0.5000", "2.000", "0.6500", "+0.1377 ± ?"],
    ["0.9", "review", "a", "?", "?", "?", "?", "?", "?", "?", "?", "?"],
    ["0.9", "review", "b", "0.9000", "12", "3,456", "5", "7.2", "0.5000", "2.000", "0.5000", "?"],
]
SAID = [
    "3 combinations of 30 items, 2 trials each, scored by grounding 3. Costs are means over trials. ΔQ is the "
    "difference to the Q of the first combination, with its 95% interval, items resampled together.",
    "1 are still to be played: continue with mashq resume runs/s",
    "Who has the best Q depends on the settings: of 3 combinations a in 1 (clearly in 1), b in 1 (clearly in 0).",
    "Note: Both.",
    "Note: Only the first. (1 of 3 combinations)",
]


def test_every_cell_of_the_text() -> None:
    assert sweep.text(DOCUMENT) == TEXT


def test_every_cell_of_the_markdown() -> None:
    assert sweep.text(DOCUMENT, "md") == "\n\n".join([markdown_table(HEADINGS, marked(ROWS, 10), 3), *SAID])


def test_every_cell_of_the_latex() -> None:
    table = [
        [
            cell.replace("%", r"\%")
            .replace("★", r"\checkmark")
            .replace("~", r"\textasciitilde{}")
            .replace("Δ", r"$\Delta$")
            for cell in row
        ]
        for row in (HEADINGS, *ROWS)
    ]
    assert sweep.text(DOCUMENT, "latex") == "\n\n".join(
        [tabular(table[0], marked(table[1:], 10, "checkmark", latex=True), 3), comments(SAID)]
    )


def test_every_cell_of_the_page() -> None:
    said, sections = sections_seasons.sweep(DOCUMENT)
    assert (said.headline, said.mark, list(said.sentences)) == (
        "Who leads depends on the settings",
        "",
        ["3 combinations of rules.T over 0.7, 0.9; vision.when over never, review; 2 trials each."],
    )
    assert [(tile.label, tile.value, tile.note, tile.best) for tile in said.tiles] == [
        ("a", "best in 1 of 3", "clearly in 1", False),
        ("b", "best in 1 of 3", "clearly in 0", False),
    ]
    page = shown(said, sections)
    full = ["rules.T", "vision.when", *HEADINGS[2:]]
    dashed = [[*row[:-1], row[-1] or "–"] for row in ROWS]
    assert page.tables == [[full, *dashed]]
    assert page.sentences[-3:-1] == SAID[3:]
    assert [list(spec["datasets"].values()) for spec in page.specs] == [
        [
            [
                {"player": "a", "value": 0.7, "q": 0.7, "low": 0.25, "high": 0.75, "x": 0.6988},
                {"player": "b", "value": 0.7, "q": 0.5123, "low": 0.25, "high": 0.75, "x": pytest.approx(0.7012)},
                {"player": "a", "value": 0.9, "q": 0.6, "low": 0.25, "high": 0.75, "x": 0.8988},
                {"player": "b", "value": 0.9, "q": 0.65, "low": 0.25, "high": 0.75, "x": 0.9012},
            ]
        ],
        [[{"player": "b", "value": 0.9, "q": 0.5, "low": 0.25, "high": 0.75, "x": 0.9}]],
    ]
    assert "Q over rules.T at vision.when never, with 95% intervals." in page.sentences


def won(*winners: tuple[str | None, bool]) -> Sweep:
    """A sweep with these winners, and whether each may be called one."""
    cells = [replace(DOCUMENT.cells[0], winner=name, clear=clear, notes=[]) for name, clear in winners]
    return replace(DOCUMENT, cells=cells, missing=0)


@pytest.mark.parametrize(
    ("winners", "text", "headline"),
    [
        (
            [("a", True), ("a", True)],
            "a has the best Q under every combination: clearly in 2 of 2.",
            "a wins under every setting",
        ),
        (
            [("a", True), ("a", False)],
            "a has the best Q under every combination: clearly in 1 of 2.",
            "a leads under every setting",
        ),
        (
            [("a", True), (None, False)],
            "Who has the best Q depends on the settings: of 2 combinations a in 1 (clearly in 1).",
            "a leads under 1 of 2 settings",
        ),
        (
            [("b", False), ("a", True), ("b", True)],
            "Who has the best Q depends on the settings: of 3 combinations b in 2 (clearly in 1), a in 1 (clearly in "
            "1).",
            "Who leads depends on the settings",
        ),
        ([(None, False)], None, "No setting has a winner"),
    ],
)
def test_a_winner_is_claimed_only_where_the_intervals_bear_it(
    winners: list[tuple[str | None, bool]], text: str | None, headline: str
) -> None:
    assert list(sweep.sentences(won(*winners)))[1:] == ([] if text is None else [text])
    said, _ = sections_seasons.sweep(won(*winners))
    assert said.headline == headline
    assert [tile.best for tile in said.tiles[:1]] == ([True] if text else [])


def test_settings_of_one_last_name_are_told_apart_and_long_ones_whole() -> None:
    over = [Axis(setting="a.T", values=[1]), Axis(setting="b.T", values=["x" * 30])]
    one = replace(DOCUMENT.cells[0], settings={"a.T": 1, "b.T": "x" * 30})
    found = sweep.table(replace(DOCUMENT, over=over, cells=[one]))
    assert found.headings[:3] == ["a.T", "b.T", "player"] and found.rows[0][:2] == ["1", "x" * 30]


def test_nothing_played_and_many_notes() -> None:
    none = replace(DOCUMENT, cells=[], missing=4, simulated=True, drawn=True)
    assert list(sweep.sentences(none)) == [
        "SIMULATED: no real model answered; scores, costs and times are drawn.",
        "0 combinations of 0 items, 2 trials each, scored as drawn (no detector ran). Costs are means over "
        "trials. ΔQ is the difference to the Q of the first combination, with its 95% interval, items resampled "
        "together.",
        "4 are still to be played: continue with mashq resume runs/s",
    ]
    said, sections = sections_seasons.sweep(none)
    assert (said.headline, sections) == ("Nothing has been played yet", [])
    many = replace(DOCUMENT, cells=[replace(DOCUMENT.cells[0], notes=[f"n{at}" for at in range(15)])])
    assert sweep.notes(many) == [*(f"n{at}" for at in range(12)), "and 3 more (--json)."]
