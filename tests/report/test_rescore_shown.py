"""The same answers under other judges, made by hand, every cell of them in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.report.documents.base import DetectorVersion
from mashq.report.documents.match import Match, MatchPlayer
from mashq.report.html import sections_more
from mashq.report.html.parts import Verdict
from mashq.report.text import rescore
from tests.report.played import MATCH, A, B, C
from tests.report.scored import REPORT
from tests.report.shown import comments, markdown_table, shown, tabular
from tests.report.test_match_shown import facts
from tests.report.test_trials_shown import TRIALS


def scored(player: MatchPlayer, h: float | None, q: float | None) -> MatchPlayer:
    return replace(player, score=replace(player.score, h=h, q=q))


FIRST = MATCH
SECOND: Match = replace(
    MATCH,
    detector=DetectorVersion("hhem", "2.1-open-0123456789"),
    players=[scored(A, 0.5, -0.25), scored(B, 0.75, 0.0), scored(C, 0.25, -0.125)],
    winner="b",
)
TEXT = """\
 player  H grounding 3  Q grounding 3  H hhem 2.1-open-012  Q hhem 2.1-open-012
 ──────────────────────────────────────────────────────────────────────────────
 a              0.9000       0.6875 ★               0.5000              −0.2500
 b              0.7123         0.4998               0.7500             0.0000 ★
 c                   ?              ?               0.2500              −0.1250

The ranking depends on the judge:
  grounding 3: a, b, c
  hhem 2.1-open-012: b, c, a"""
HEADINGS = ["player", "H grounding 3", "Q grounding 3", "H hhem 2.1-open-012", "Q hhem 2.1-open-012"]
ROWS = [
    ["a", "0.9000", "0.6875 ★", "0.5000", "−0.2500"],
    ["b", "0.7123", "0.4998", "0.7500", "0.0000 ★"],
    ["c", "?", "?", "0.2500", "−0.1250"],
]
SAID = ["The ranking depends on the judge:", "  grounding 3: a, b, c", "  hhem 2.1-open-012: b, c, a"]


def test_every_cell_of_the_text() -> None:
    assert rescore.text([FIRST, SECOND]) == TEXT


def test_every_cell_of_the_markdown() -> None:
    said = [line.strip() for line in SAID]
    assert rescore.text([FIRST, SECOND], "md") == "\n\n".join([markdown_table(HEADINGS, ROWS), *said])


def test_every_cell_of_the_latex() -> None:
    table = [[cell.replace("★", r"\checkmark") for cell in row] for row in ROWS]
    assert rescore.text([FIRST, SECOND], "latex") == "\n\n".join([tabular(HEADINGS, table), comments(SAID)])


def test_the_same_ranking_and_trials() -> None:
    other = replace(TRIALS, detector=DetectorVersion("hhem", "2"), winner=None)
    assert rescore.text([TRIALS, other]).splitlines() == [
        " player  H grounding 3  Q grounding 3  H hhem 2  Q hhem 2",
        " ────────────────────────────────────────────────────────",
        " a              0.7123         0.5000    0.7123    0.5000",
        " b              0.8000       0.6000 ★    0.8000    0.6000",
        " c                   ?              ?         ?         ?",
        "",
        "The ranking is the same under every judge.",
    ]


def test_every_cell_of_the_page() -> None:
    other = replace(
        facts(),
        played=cast(Any, SimpleNamespace(manifest={"detector": {"name": "hhem", "version": "2.1-open-0123456789"}})),
        judged=replace(REPORT, players=[replace(REPORT.players[0], q=0.95, q_low=None)], winner=None),
    )
    page = shown(Verdict("", []), [sections_more.sensitivity(facts(), [other])])
    assert page.tables[1] == [
        ["detector", "player", "H", "Q", "95%"],
        ["grounding 3", "b ★", "0.9000", "0.7000", "± 0.0500"],
        ["grounding 3", "c", "0.7000", "0.6000", "± 0.1500"],
        ["grounding 3", "a", "0.8123", "0.5123", "± 0.1100"],
        ["hhem 2.1-open-012345…", "a", "0.8123", "0.9500", "?"],
    ]
    assert "The ranking depends on the detector." in page.sentences
    same = shown(Verdict("", []), [sections_more.sensitivity(facts(), [facts()])])
    assert "The ranking is the same under every detector." in same.sentences
