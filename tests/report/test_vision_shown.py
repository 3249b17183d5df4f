"""What company and vision change, made by hand, every cell of it in text, Markdown, LaTeX and HTML."""

from dataclasses import replace

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.paired import Difference
from mashq.report.documents.base import DetectorVersion
from mashq.report.documents.vision import Vision, VisionPlayer
from mashq.report.html import sections_games
from mashq.report.text import vision
from tests.report.shown import comments, markdown_table, shown, tabular

A = VisionPlayer(
    name="a",
    means={"alone": {"h": 0.5}},
    changes={
        "company": {
            "h": Difference(0.01, -0.02, 0.04),
            "reviews": Difference(-0.5, -0.75, -0.25),
            "tokens": Difference(12.345, 2.345, 22.345),
            "seconds": Difference(1.0),
        },
        "vision": {
            "h": Difference(-0.2, -0.3, -0.1),
            "reviews": Difference(0.25, 0.125, 0.375),
            "tokens": Difference(0.0, 0.0, 0.0),
            "seconds": Difference(-1.5, -3.5, 0.5),
            "q": Difference(0.05, 0.0125, 0.0875),
        },
    },
)
B = VisionPlayer(name="b", means={}, changes={"vision": {"q": Difference(0.0, -0.1, 0.1)}})
DOCUMENT = Vision(
    run="runs/v",
    finished=False,
    simulated=True,
    drawn=False,
    detector=DetectorVersion("grounding", "3"),
    trials=2,
    when="review",
    items=20,
    players=[A, B],
)
TEXT = """\
 player  effect of                 ΔH       Δreviews          Δtokens      Δseconds                 ΔQ
 ─────────────────────────────────────────────────────────────────────────────────────────────────────
 a       company     +0.0100 ± 0.0300  −0.50 ± 0.25*  +12.35 ± 10.00*     +1.00 ± ?                  –
 a       vision     −0.2000 ± 0.1000*  +0.25 ± 0.12*     +0.00 ± 0.00  −1.50 ± 2.00  +0.0500 ± 0.0375*
 b       vision                     ?              ?                ?             ?   +0.0000 ± 0.1000

SIMULATED: some of these players were not real models.
Means per item, paired by item, ± half a 95% interval; * where it excludes 0. 20 items, 2 trials,
  scored by grounding 3. Company: playing beside rivals that cannot be seen, instead of alone.
  Vision: seeing the rivals' state (review) instead of not. Alone, a player is its own normaliser,
  so its Q cannot be compared.
Company makes a review fewer: −0.50 per item.
Vision makes a review more: +0.25 per item.
Not all matches are played: continue with mashq resume runs/v"""
HEADINGS = ["player", "effect of", "ΔH", "Δreviews", "Δtokens", "Δseconds", "ΔQ"]
ROWS = [
    ["a", "company", "+0.0100 ± 0.0300", "−0.50 ± 0.25*", "+12.35 ± 10.00*", "+1.00 ± ?", "–"],
    ["a", "vision", "−0.2000 ± 0.1000*", "+0.25 ± 0.12*", "+0.00 ± 0.00", "−1.50 ± 2.00", "+0.0500 ± 0.0375*"],
    ["b", "vision", "?", "?", "?", "?", "+0.0000 ± 0.1000"],
]
SAID = [
    "SIMULATED: some of these players were not real models.",
    "Means per item, paired by item, ± half a 95% interval; * where it excludes 0. 20 items, 2 trials, scored "
    "by grounding 3. Company: playing beside rivals that cannot be seen, instead of alone. Vision: seeing the "
    "rivals' state (review) instead of not. Alone, a player is its own normaliser, so its Q cannot be compared.",
    "Company makes a review fewer: −0.50 per item.",
    "Vision makes a review more: +0.25 per item.",
    "Not all matches are played: continue with mashq resume runs/v",
]


def test_every_cell_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert vision.text(DOCUMENT) == TEXT


def test_every_cell_of_the_markdown() -> None:
    starred = [[cell.replace("*", r"\*") for cell in row] for row in ROWS]
    said = [line.replace("*", r"\*") for line in SAID]
    assert vision.text(DOCUMENT, "md") == "\n\n".join([markdown_table(HEADINGS, starred, 2), *said])


def test_every_cell_of_the_latex() -> None:
    headings = [heading.replace("Δ", r"$\Delta$") for heading in HEADINGS]
    assert vision.text(DOCUMENT, "latex") == "\n\n".join([tabular(headings, ROWS, 2), comments(SAID)])


def test_every_cell_of_the_page() -> None:
    said, sections = sections_games.vision(DOCUMENT)
    assert said.headline == "Not finished: the comparison so far"
    assert list(said.sentences) == [
        "Company changes a: Δreviews per item −0.5.",
        "Company changes a: Δtokens per item +12.35.",
        "Vision changes a: ΔH −0.2.",
        "Vision changes a: Δreviews per item +0.25.",
        "Vision changes a: ΔQ +0.05.",
        "Company: playing beside rivals that cannot be seen, instead of alone. Vision: seeing the rivals' state "
        "(review) instead of not. 20 items, 2 trials.",
    ]
    page = shown(said, sections)
    assert page.tables == [
        [
            HEADINGS,
            *ROWS,
        ]
    ]
    points = [max(spec["datasets"].values(), key=len) for spec in page.specs]
    assert [[tuple(row.values()) for row in rows] for rows in points] == [
        [("a: company", "company", 0.01, -0.02, 0.04), ("a: vision", "vision", -0.2, -0.3, -0.1)],
        [("a: company", "company", -0.5, -0.75, -0.25), ("a: vision", "vision", 0.25, 0.125, 0.375)],
        [("a: company", "company", 12.345, 2.345, 22.345), ("a: vision", "vision", 0.0, 0.0, 0.0)],
        [("a: company", "company", 1.0, None, None), ("a: vision", "vision", -1.5, -3.5, 0.5)],
        [("a: vision", "vision", 0.05, 0.0125, 0.0875), ("b: vision", "vision", 0.0, -0.1, 0.1)],
    ]


def test_a_change_is_claimed_only_where_zero_is_left_out() -> None:
    ended = replace(DOCUMENT, finished=True)
    assert sections_games.vision(ended)[0].headline == "Company or vision changes how some play"
    calm = replace(ended, players=[B, replace(A, changes={"company": {"reviews": Difference(0.5, -0.1, 1.1)}})])
    said = sections_games.vision(calm)[0]
    assert said.headline == "Neither company nor vision is seen to change anyone"
    assert said.sentences[0] == "No 95% CI of a difference excludes 0."
    assert list(vision.sentences(calm))[2:] == [
        "Neither company nor vision changes how much anyone reviews, as far as these items show."
    ]
    nothing = list(vision.sentences(replace(ended, simulated=False, players=[B])))
    assert nothing[1:] == ["What company and vision change is not known: no item counts in two conditions."]
    assert nothing[0].startswith("Means per item")
