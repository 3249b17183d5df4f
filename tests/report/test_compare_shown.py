"""Runs side by side, made by hand, every cell of them in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.report.documents.base import COSTS
from mashq.report.documents.compare import ComparedFigures, ComparedPlayer, ComparedRun, Comparison, document
from mashq.report.html import compare as page_compare
from mashq.report.html.parts import Chapter, Verdict
from mashq.report.text import compare
from mashq.runs.open import load_season
from tests.report.runs import config, play
from tests.report.scored import REPORT
from tests.report.scored import A as SCORED_A
from tests.report.scored import B as SCORED_B
from tests.report.shown import comments, markdown_table, shown, tabular
from tests.report.test_match_shown import facts


def costs(**known: float) -> dict[str, float | None]:
    return {name: known.get(name) for name in COSTS}


def run(name: str, winner: str | None, **more: Any) -> ComparedRun:
    given: dict[str, Any] = {"items": 39, "scored": 40, "trials": 1, "tied": [], "clear": False, "simulated": False}
    return ComparedRun(run=f"runs/{name}", winner=winner, **(given | more))


A_X = ComparedFigures(
    model="openai/gpt-x",
    h=0.9,
    h_before_review=0.85123,
    costs=costs(calls=12, tokens=3456, reviews=5, seconds=7.25, dollars=0.5),
    charged={"tokens": 9.0, "seconds": 0.0},
    penalty=2.125,
    q=0.6875,
    q_low=0.6,
    q_high=0.775,
    T=0.85,
    R=3,
)
A_Y = replace(
    A_X, h=0.8, h_before_review=None, costs=costs(calls=1, seconds=61.04), charged={}, penalty=1.0, q=0.7, q_low=None
)
B_X = replace(
    A_X, h=0.7, costs=costs(calls=3, tokens=2_000_000, reviews=0, seconds=0.5), charged={}, q=-0.1, q_low=0.5
)
B_Y = ComparedFigures(
    model="m/y", h=None, h_before_review=None, costs=costs(), charged={"tokens": 1.0}, penalty=None, q=None,
    q_low=None, q_high=None, T=0.5, R=0,
)  # fmt: skip
DOCUMENT = Comparison(
    runs=[run("x", "a"), run("y", None, tied=["a", "b"], trials=5, scored=39)],
    players=[ComparedPlayer(name="a", runs=[A_X, A_Y]), ComparedPlayer(name="b", runs=[B_X, B_Y])],
    settings={"rules.T": [0.85, 0.5], "task.limit": [None, 40]},
    notes=["Compared over the 39 items that every run scores (by itself: x 40, y 39)."],
)
TEXT = """\
 player  run  H before → after  calls     tokens  reviews  seconds  dollars      P        Q   ± 95%
 ──────────────────────────────────────────────────────────────────────────────────────────────────
 a ★     x     0.8512 → 0.9000     12     ~3,456        5     ~7.2   0.5000  2.125   0.6875  0.0875
 a       y          ? → 0.8000      1          ?        ?     61.0        ?  1.000   0.7000       ?
 b       x     0.8512 → 0.7000      3  2,000,000        0      0.5        ?  2.125  −0.1000  0.1375
 b       y               ? → ?      ?          ?        ?        ?        ?      ?        ?       ?

Note: Compared over the 39 items that every run scores (by itself: x 40, y 39).
The runs differ in 2 settings:
rules.T: 0.85, 0.5
task.limit: None, 40"""
HEADINGS = [
    "player",
    "run",
    "H before → after",
    "calls",
    "tokens",
    "reviews",
    "seconds",
    "dollars",
    "P",
    "Q",
    "± 95%",
]
ROWS = [
    ["a ★", "x", "0.8512 → 0.9000", "12", "~3,456", "5", "~7.2", "0.5000", "2.125", "0.6875", "0.0875"],
    ["a", "y", "? → 0.8000", "1", "?", "?", "61.0", "?", "1.000", "0.7000", "?"],
    ["b", "x", "0.8512 → 0.7000", "3", "2,000,000", "0", "0.5", "?", "2.125", "−0.1000", "0.1375"],
    ["b", "y", "? → ?", "?", "?", "?", "?", "?", "?", "?", "?"],
]
SAID = [
    "Note: Compared over the 39 items that every run scores (by itself: x 40, y 39).",
    "The runs differ in 2 settings:",
    "rules.T: 0.85, 0.5",
    "task.limit: None, 40",
]


def test_every_cell_of_the_text() -> None:
    assert compare.text(DOCUMENT) == TEXT


def test_every_cell_of_the_markdown() -> None:
    assert compare.text(DOCUMENT, "md") == "\n\n".join([markdown_table(HEADINGS, ROWS, 2), *SAID])


def test_every_cell_of_the_latex() -> None:
    signs = {"%": r"\%", "★": r"\checkmark", "~": r"\textasciitilde{}", "→": r"$\to$"}
    table = [["".join(signs.get(sign, sign) for sign in cell) for cell in row] for row in (HEADINGS, *ROWS)]
    assert compare.text(DOCUMENT, "latex") == "\n\n".join([tabular(table[0], table[1:], 2), comments(SAID)])


def test_the_same_settings_and_drawn_players() -> None:
    same = replace(DOCUMENT, settings={}, notes=[], runs=[run("x", "a", simulated=True), run("y", "b")])
    assert list(compare.sentences(same)) == [
        "SIMULATED: some of these players were not real models.",
        "The runs have the same settings.",
    ]
    assert [row[0] for row in compare.table(same).rows] == ["a ★", "a", "b", "b ★"]


def played(name: str, **settings: Any) -> Any:
    """As much of a run as the page reads of it."""
    manifest = {"config": {"rules": settings}, "season": {"trials": 2 if settings else 1}}
    season = SimpleNamespace(path=f"runs/{name}", manifest=manifest)
    return replace(facts(), season=cast(Any, season))


def test_every_cell_of_the_page() -> None:
    first, second = played("x", T=0.85), played("x")
    turned = replace(REPORT, players=[replace(SCORED_A, q=0.9, q_low=None), SCORED_B], winner="a")
    second = replace(second, judged=turned, results=first.results.only(["a", "b"]))
    chapters = [
        Chapter("run1", "x", "Match of 3 players", [], Verdict("b wins", [], "sure")),
        Chapter("run2", "x (2)", "Match of 2 players", [], Verdict("No clear winner: a leads", [], "unsure")),
        Chapter("run3", "z", "Tournament of 9 players", [], Verdict("c is rated first", [])),
    ]
    page = shown(Verdict("", []), [page_compare.comparison(chapters, [first, second])])
    assert page.tables == [
        [
            ["run", "what", "verdict", "clear (95%)"],
            ["x", "Match of 3 players", "b wins", "yes"],
            ["x (2)", "Match of 2 players", "No clear winner: a leads", "no"],
            ["z", "Tournament of 9 players", "c is rated first", "–"],
        ],
        [
            ["run", "player", "H", "calls", "tokens", "reviews", "seconds", "dollars", "P", "Q", "95%"],
            ["x", "a", "0.8123", "12", "~3,456", "5", "~7.2", "0.000027", "3.000", "0.5123", "± 0.1100"],
            ["x", "b ★", "0.9000", "9", "2,000,000", "0", "61.0", "?", "2.000", "0.7000", "± 0.0500"],
            ["x (2)", "a ★", "0.8123", "12", "~3,456", "5", "~7.2", "0.000027", "3.000", "0.9000", "?"],
            ["x (2)", "b", "0.9000", "9", "2,000,000", "0", "61.0", "?", "2.000", "0.7000", "± 0.0500"],
        ],
        [["setting", "x", "x (2)"], ["rules.T", "0.85", "–"], ["trials", "2", "1"]],
    ]
    assert "The ranking of the common players depends on the run." in page.sentences
    assert "What the runs differ in." in page.sentences
    (points,) = page.specs[0]["datasets"].values()
    assert [(row["player"], row["value"], row["q"], row["low"], row["high"]) for row in points] == [
        ("a", "x", 0.51234, 0.40234, 0.62234),
        ("b", "x", 0.7, 0.65, 0.75),
        ("a", "x (2)", 0.9, None, 0.62234),
        ("b", "x (2)", 0.7, 0.65, 0.75),
    ]


def test_runs_that_agree_or_have_nobody_in_common() -> None:
    chapters = [Chapter("run1", "x", "", [], Verdict("", []))] * 2
    section = page_compare.comparison(chapters, [played("x"), played("y")])
    said = shown(Verdict("", []), [section]).sentences
    assert "The ranking of the common players is the same in every run." in said
    assert "The runs have the same settings." in said
    stranger = replace(played("y"), results=replace(facts().results, players=("d", "e", "f")))
    apart = page_compare.comparison(chapters, [played("x"), stranger])
    assert (
        "These matches have no player in common: only their verdicts stand side by side."
        in shown(Verdict("", []), [apart]).sentences
    )
    many = [played("x", **{f"s{at}": at for at in range(27)}), played("y", **{f"s{at}": at + 1 for at in range(27)})]
    section = page_compare.comparison(chapters, many)
    page = shown(Verdict("", []), [section])
    assert len(page.tables[2]) == 25 and "What the runs differ in (3 more are not shown)." in page.sentences


def test_a_note_says_when_p_and_q_are_relative_to_another_match(tmp_path: Path) -> None:
    def compared(*scores: tuple[int, dict[str, Any]]) -> list[str]:
        names = [f"{len(list(tmp_path.iterdir()))}-{number}" for number in range(len(scores))]
        runs = [play(config(count, score=score), tmp_path / name) for name, (count, score) in zip(names, scores)]
        return [note for note in document([load_season(path) for path in runs]).notes if "relative to" in note]

    per_item = {"normalise": {"per_item": {"tokens": 600.0, "calls": 2.0, "reviews": 1.0, "seconds": 5.0}}}
    totals = {"normalise": {"tokens": 5000.0, "calls": 40.0, "reviews": 9.0, "seconds": 90.0}}
    assert compared((2, {}), (2, {})) == []
    assert compared((2, per_item), (3, per_item)) == []
    (players,) = compared((2, {}), (3, {}))
    assert players.startswith("The matches have different players, and P and Q are relative to a match")
    (normalisers,) = compared((2, {}), (2, totals))
    assert normalisers.startswith("The matches have different normalisers, and")
    (both,) = compared((2, per_item), (3, totals))
    assert both.startswith("The matches have different players and normalisers, and")
