"""The trials of a match made by hand, every cell of them in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.parts import BetaStretch, Lead
from mashq.analysis.score_types import Dropped, Missing
from mashq.report.documents.base import DetectorVersion
from mashq.report.documents.trials import TrialFigures, Trials, TrialsPlayer
from mashq.report.html import sections
from mashq.report.html.verdicts import verdict
from mashq.report.text import trials
from tests.report.played import costs, counts, views
from tests.report.scored import REPORT
from tests.report.shown import comments, markdown_table, marked, shown, tabular
from tests.report.test_match_shown import facts

HEADLINE = "Winner: b, ahead of a by 0.1000 in Q (95% CI 0.0200 to 0.1800; P(win) 0.994)."


def figures(q: float | None, **known: Any) -> TrialFigures:
    given: dict[str, Any] = {"h": 0.75, "h_before_review": 0.5, "answer_rate": 1.0, "penalty": 2.5}
    return TrialFigures(q=q, **(given | known))


A = TrialsPlayer(
    name="a",
    model="openai/gpt-x",
    agent="q-agent",
    mean=figures(
        0.5,
        h=0.71234,
        costs=costs(calls=12.5, tokens=3456.4, reviews=5.25, seconds=7.25, dollars=0.000027),
    ),
    charged={"tokens": 100.0},
    sd=figures(0.02, h=0.0123, costs=costs(calls=1.25, tokens=99.6, reviews=0.75, seconds=0.04, dollars=0.00001)),
    q_low=0.46,
    q_high=0.54,
    p_win=0.006,
    wins=1,
)
B = TrialsPlayer(
    name="b",
    model="openai/gpt-y",
    agent="plain",
    mean=figures(0.6, h=0.8, penalty=2.0, costs=costs(calls=40, tokens=1_234_567, reviews=0, seconds=61.04)),
    charged={},
    sd=figures(None, h=None, costs=costs(calls=0, tokens=0)),
    q_low=0.5,
    q_high=0.7,
    p_win=0.994,
    wins=3,
)
C = TrialsPlayer(
    name="c",
    model="openai/gpt-z",
    agent="external",
    mean=figures(None, h=None, h_before_review=None, penalty=None, costs=costs(calls=4)),
    charged={"seconds": 1.0},
    sd=figures(None, h=None, costs=costs()),
    q_low=None,
    q_high=None,
    p_win=None,
    wins=0,
)
TRIALS = Trials(
    run="runs/t",
    finished=True,
    trials=4,
    planned=5,
    items=40,
    units=155,
    alpha=1.0,
    beta=0.1,
    normalise="per_item",
    refusals="intersection",
    simulated=False,
    drawn=False,
    detector=DetectorVersion("grounding", "3"),
    players=[A, B, C],
    winner="b",
    tied=[],
    clear=True,
    best_set=["b"],
    headline=HEADLINE,
    differences=[Lead("b", "a", 0.1, 0.04, 0.16, 0.02, 0.18)],
    envelope=[BetaStretch(0.0, 1.5, "b"), BetaStretch(1.5, None, "a")],
    dropped=Dropped(items=1, units=5, by={"c": Missing(missing=5, alone=4)}),
    views=views(
        intersection=(40, "b", {"a": (0.71234, 0.5), "b": (0.8, 0.6)}),
        penalised=(41, "a", {"a": (0.7, 0.49), "b": (0.0, -0.2)}),
        answered=(39, None, {"a": (None, None), "b": (0.9, 0.7)}),
    ),
    attempts=counts(30, 28, 2, 5),
    notes=["Up to 4 trials of an item are averaged first: the intervals are over items."],
)
TEXT = """\
 player           H ± sd       calls         tokens    reviews    seconds
 ────────────────────────────────────────────────────────────────────────
 a       0.7123 ± 0.0123  12.5 ± 1.2   ~3,456 ± 100  5.2 ± 0.8  7.2 ± 0.0
 b ★              0.8000  40.0 ± 0.0  1,234,567 ± 0        0.0       61.0
 c                     ?         4.0              ?          ?          ?

 player              dollars      P           Q ± sd    95% CI  won
 ──────────────────────────────────────────────────────────────────
 a       0.000027 ± 0.000010  2.500  0.5000 ± 0.0200  ± 0.0400    1
 b ★                       ?  2.000           0.6000  ± 0.1000    3
 c                         ?      ?                ?         ?    0

4 trials of 40 items, scored by grounding 3; every item is averaged over its trials first, ± is the
  standard deviation over trials. Q = 1·H − 0.1·P, costs relative to the reference per item,
  refusals: intersection. The 95% CI is over items.
Winner: b, ahead of a by 0.1000 in Q (95% CI 0.0200 to 0.1800; P(win) 0.994).
b has the best Q in 3 of 4 trials.
Leads by beta: b from 0 to 1.5, a from 1.5 on.
Note: Up to 4 trials of an item are averaged first: the intervals are over items.
Calls over all trials and items, scored or not: 30 (5 failed).
  intersection, 40 items: a Q 0.5000 (H 0.7123), b Q 0.6000 (H 0.8000)
     penalised, 41 items: a Q 0.4900 (H 0.7000), b Q −0.2000 (H 0.0000)
      answered, 39 items: a Q ? (H ?), b Q 0.7000 (H 0.9000)"""
HEADINGS = ["player", "H ± sd", "calls", "tokens", "reviews", "seconds", "dollars", "P", "Q ± sd", "95% CI", "won"]
ROWS = [
    [
        "a",
        "0.7123 ± 0.0123",
        "12.5 ± 1.2",
        "~3,456 ± 100",
        "5.2 ± 0.8",
        "7.2 ± 0.0",
        "0.000027 ± 0.000010",
        "2.500",
        "0.5000 ± 0.0200",
        "± 0.0400",
        "1",
    ],
    ["b ★", "0.8000", "40.0 ± 0.0", "1,234,567 ± 0", "0.0", "61.0", "?", "2.000", "0.6000", "± 0.1000", "3"],
    ["c", "?", "4.0", "?", "?", "?", "?", "?", "?", "?", "0"],
]
SAID = [
    "4 trials of 40 items, scored by grounding 3; every item is averaged over its trials first, ± is the standard "
    "deviation over trials. Q = 1·H − 0.1·P, costs relative to the reference per item, refusals: intersection. The "
    "95% CI is over items.",
    HEADLINE,
    "b has the best Q in 3 of 4 trials.",
    "Leads by beta: b from 0 to 1.5, a from 1.5 on.",
    "Note: Up to 4 trials of an item are averaged first: the intervals are over items.",
    "Calls over all trials and items, scored or not: 30 (5 failed).",
    "  intersection, 40 items: a Q 0.5000 (H 0.7123), b Q 0.6000 (H 0.8000)",
    "     penalised, 41 items: a Q 0.4900 (H 0.7000), b Q −0.2000 (H 0.0000)",
    "      answered, 39 items: a Q ? (H ?), b Q 0.7000 (H 0.9000)",
]


def test_every_cell_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert trials.text(TRIALS) == TEXT


def test_every_cell_of_the_markdown() -> None:
    said = [line.strip() for line in SAID]
    assert trials.text(TRIALS, "md") == "\n\n".join([markdown_table(HEADINGS, marked(ROWS, 8)), *said])


def test_every_cell_of_the_latex() -> None:
    table = [
        [cell.replace("%", r"\%").replace("★", r"\checkmark").replace("~", r"\textasciitilde{}") for cell in row]
        for row in (HEADINGS, *ROWS)
    ]
    assert trials.text(TRIALS, "latex") == "\n\n".join(
        [tabular(table[0], marked(table[1:], 8, "checkmark", latex=True)), comments(SAID)]
    )


def test_every_cell_of_the_page() -> None:
    found = facts(TRIALS)
    page = shown(verdict(found), [sections.result(found)])
    assert page.tables[2] == [
        HEADINGS,
        *ROWS,
    ]
    assert page.sentences[6:9] == [
        "Cannot be told apart from the best: b, c.",
        "The leader depends on beta: b below 0.04, c from 0.04 to 0.5, a above 0.5. This run weighs cost with beta "
        "0.1.",
        "b has the best Q in 3 of 4 trials.",
    ]
    assert (
        page.sentences.count("Note: Up to 4 trials of an item are averaged first: the intervals are over items.") == 1
    )
    assert page.sentences.count(f"Note: {REPORT.notes[0]}") == 1


def sentences(**changes: Any) -> list[str]:
    return list(trials.sentences(replace(TRIALS, **changes)))


def test_an_unfinished_run_has_no_star_and_says_how_to_go_on() -> None:
    assert trials.table(replace(TRIALS, finished=False)).rows == [
        [cell.replace(" ★", "") for cell in row] for row in ROWS
    ]
    found = sentences(finished=False, winner=None, headline="Not finished, so nobody has won yet. …")
    assert found[1:4] == [
        "Not finished, so nobody has won yet. …",
        "4 of 5 trials are played: continue with mashq resume runs/t",
        "Leads by beta: b from 0 to 1.5, a from 1.5 on.",
    ]


def test_a_tie_one_trial_and_drawn_players() -> None:
    tie: dict[str, Any] = {"winner": None, "tied": ["a", "b"], "headline": "A tie: …"}
    found = sentences(**tie, envelope=[BetaStretch(0.0, None, None, ["a", "b"])])
    assert found[1:4] == ["A tie: …", "a and b have the best Q in 1 and 3 of 4 trials.", "a, b tie at every beta."]
    assert "★" not in str(trials.table(replace(TRIALS, **tie)).rows)
    assert not any("has the best Q" in line for line in sentences(trials=1))
    drawn = sentences(simulated=True, drawn=True, dropped=Dropped(items=0, units=0, by={}))
    assert drawn[0] == "SIMULATED: no real model answered; scores, costs and times are drawn."
    assert drawn[1].startswith("4 trials of 40 items, scored as drawn (no detector ran); every item")
    assert drawn[-1] == SAID[4], "no views where nothing was refused"
