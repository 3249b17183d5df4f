"""What a person reads, cell by cell, of documents made by hand."""

from dataclasses import replace
from typing import Any

import pytest

from mashq.analysis.paired import Difference
from mashq.analysis.parts import BetaStretch, Lead
from mashq.analysis.score_types import Dropped, ScoredPlayer, ScoreReport
from mashq.protocol.resources import RESOURCES
from mashq.report.documents.base import COSTS, MEASURED, DetectorVersion
from mashq.report.documents.compare import ComparedFigures, ComparedPlayer, ComparedRun, Comparison
from mashq.report.documents.sweep import Axis, Cell, Sweep, SweepPlayer
from mashq.report.documents.trials import TrialFigures, Trials, TrialsPlayer
from mashq.report.documents.vision import Vision, VisionPlayer
from mashq.report.text import compare, score, sweep, trials, vision
from mashq.report.text.formatting import cost, cost_columns
from mashq.report.text.tables import Grid, change, half, written

DETECTOR = DetectorVersion("grounding", "3")
ABOUT: dict[str, Any] = {"run": "r", "finished": True, "simulated": False, "drawn": False, "detector": DETECTOR}
SPENT = {"calls": 12, "tokens": 3456, "reviews": 5, "seconds": 7.25, "dollars": 0.5}


def costs(names: tuple[str, ...] = RESOURCES, **known: float) -> dict[str, float | None]:
    """Amounts of which the rest is unknown."""
    return {name: (SPENT | known).get(name) for name in names}


def scored(name: str, q: float, **more: Any) -> ScoredPlayer:
    """A player with a Q, and its interval 0.1 around it."""
    given: dict[str, Any] = {"h": 0.9, "answer_rate": 1.0, "costs": costs(), "penalty": 2.0, "p_win": 0.25}
    given |= {"q_low": q - 0.1, "q_high": q + 0.1, "dollars_per_faithful": None}
    return ScoredPlayer(name=name, q=q, **(given | more))


def report(*players: ScoredPlayer, **more: Any) -> ScoreReport:
    """A score that the last player wins."""
    given: dict[str, Any] = {
        "alpha": 1.0,
        "beta": 0.1,
        "weights": {"tokens": 1.0, "calls": 2.0},
        "normalise": "match",
    }
    given |= {"refusals": "intersection", "items": 40, "trials": 1, "level": 0.95, "tied": []}
    given |= {"winner": players[-1].name, "weight_envelopes": {}, "simplex": None, "chance_along_beta": None}
    given |= {"differences": [Lead(players[-1].name, players[0].name, 0.2, 0.05, 0.35)], "pareto": ["b"]}
    given |= {"envelope": [BetaStretch(0.0, 0.5, "b"), BetaStretch(0.5, None, "a")], "pareto_by": {}, "views": []}
    return ScoreReport(players=players, dropped=Dropped(items=0, by={}), notes=[], **(given | more))


def test_score() -> None:
    document = report(scored("a", 0.5, h=0.8, penalty=3.0), scored("b", 0.7, costs=costs(tokens=2e6, calls=9)))
    grid = score.table(document)
    headings = ["player", "H", "answered", "tokens", "calls", "reviews", "seconds", "dollars", "P", "Q", "± 95%"]
    assert grid.headings == [*headings, "P(win)"]
    assert grid.rows == [
        ["b ★", "0.9000", "100.0%", "2.000M", "9", "5", "7.2", "0.5000", "2.000", "0.7000", "0.1000", "0.250"],
        ["a", "0.8000", "100.0%", "3,456", "12", "5", "7.2", "0.5000", "3.000", "0.5000", "0.1000", "0.250"],
    ]
    assert {(0, 1), (1, 3), (0, 4), (0, 8), (0, 9)} <= grid.bold  # H, tokens, calls, P and Q
    assert not {(1, 1), (0, 3), (1, 4), (1, 8), (1, 9)} & grid.bold and grid.shaded == {0}
    assert score.differences(document).rows == [["b", "a", "+0.2000", "+0.0500 to +0.3500", "yes"]]
    lines = list(score.sentences(document))
    assert lines[0] == (
        "40 items; Q = 1·H − 0.1·P; P counts tokens, calls x 2, relative to the largest in the match; "
        "refusals: intersection."
    )
    assert lines[1] == "Winner: b, ahead of a by 0.2000 (95%: 0.0500 to 0.3500): sure at 95%."
    assert lines[2] == "Leads by beta: b from 0 to 0.5, a from 0.5 on."
    unsure = replace(document, differences=[Lead("b", "a", 0.2, -0.05, 0.35)])
    assert score.differences(unsure).rows[0][-1] == "no" and "not sure at 95%" in list(score.sentences(unsure))[1]
    tied = replace(document, winner=None, tied=["a", "b"])
    assert [row[0] for row in score.table(tied).rows] == ["b ★", "a ★"] and not score.table(tied).shaded


def test_trials() -> None:
    def player(name: str, q: float, wins: int) -> TrialsPlayer:
        rest: dict[str, Any] = {"h_before_review": 0.5, "answer_rate": 1.0, "penalty": 2.0}
        mean = TrialFigures(h=0.75, costs=costs(MEASURED), q=q, **rest)
        sd = TrialFigures(h=0.01, costs=costs(MEASURED, calls=1, tokens=100), q=0.02, **rest)
        about: dict[str, Any] = {"name": name, "model": "m/x", "agent": "q-agent", "p_win": 0.5}
        return TrialsPlayer(mean=mean, sd=sd, q_low=q - 0.04, q_high=q + 0.04, wins=wins, **about)

    given: dict[str, Any] = {"trials": 4, "planned": 5, "items": 40, "alpha": 1.0, "beta": 0.1, "normalise": "match"}
    given |= {"refusals": "intersection", "winner": "b", "tied": [], "envelope": [], "attempts": None, "notes": []}
    players = [player("a", 0.5, 1), player("b", 0.6, 3)]
    document = Trials(**ABOUT, **given, players=players, differences=[Lead("b", "a", 0.1, 0.02, 0.18)])
    grid = trials.table(document)
    columns = ["calls", "tokens", "reviews", "seconds"]
    assert grid.headings == ["player", "H ± sd", *columns, "P", "Q ± sd", "95%", "won"]
    same = ["12.0 ± 1.0", "3,456 ± 100", "5.0 ± 5.0", "7.2 ± 7.2", "2.000"]
    assert grid.rows == [
        ["a", "0.7500 ± 0.0100", *same, "0.5000 ± 0.0200", "± 0.0400", "1"],
        ["b ★", "0.7500 ± 0.0100", *same, "0.6000 ± 0.0200", "± 0.0400", "3"],
    ]
    lines = list(trials.sentences(document))
    assert lines[1] == "Winner: b, the best Q in 3 of 4 trials."
    assert lines[2] == "The lead of b over a, 0.1000, has the 95% interval 0.0200 to 0.1800."
    stopped = list(trials.sentences(replace(document, finished=False)))
    assert stopped[1] == "4 of 5 trials are played: go on with mashq resume r"
    assert "★" not in str(trials.table(replace(document, finished=False)).rows)


def test_sweep() -> None:
    def cell(t: float, winner: str | None, shift: Difference | None) -> Cell:
        given: dict[str, Any] = {"h": 0.9, "answer_rate": 1.0, "costs": costs(COSTS), "penalty": 2.0, "q": 0.7}
        change = {} if shift is None else {"q": shift}
        players = [SweepPlayer(name=n, q_low=0.6, q_high=0.8, against_first=change, **given) for n in ("a", "b")]
        about: dict[str, Any] = {"trials": 2, "items": 30, "tied": [], "notes": []}
        return Cell(settings={"rules.T": t}, winner=winner, players=players, **about)

    cells = [cell(0.7, "a", None), cell(0.9, "b", Difference(-0.1, -0.15, -0.05))]
    over = [Axis(setting="rules.T", values=[0.7, 0.9])]
    document = Sweep(**ABOUT, trials=2, over=over, cells=cells, missing=3)
    grid = sweep.table(document)
    assert grid.headings == ["T", "player", "H", "calls", "tokens", "reviews", "seconds", "P", "Q", "ΔQ ± 95%"]
    figures = ["0.9000", "12", "3,456", "5", "7.2", "2.000", "0.7000"]
    assert grid.rows == [
        ["0.7", "a ★", *figures, ""],
        ["0.7", "b", *figures, ""],
        ["0.9", "a", *figures, "-0.1000 ± 0.0500"],
        ["0.9", "b ★", *figures, "-0.1000 ± 0.0500"],
    ]
    lines = list(sweep.sentences(document))
    assert lines[0].startswith("2 combination(s) of 30 items, 2 trial(s) each, scored by grounding 3.")
    assert lines[1:] == [
        "3 are still to be played: go on with mashq resume r",
        "The winner depends on the settings: a, b.",
    ]
    same = replace(document, cells=[cells[0]], missing=0)
    assert list(sweep.sentences(same))[1:] == ["a wins under every combination."]


def test_vision() -> None:
    fewer = {
        "h": Difference(0.01, -0.02, 0.04),
        "reviews": Difference(-0.5, -0.75, -0.25),
        "seconds": Difference(1.0),
    }
    player = VisionPlayer(name="a", means={}, changes={"vision": fewer})
    document = Vision(**ABOUT, trials=1, when="review", items=20, players=[player])
    assert vision.table(document).headings == ["player", "effect of", "ΔH", "Δreviews", "Δtokens", "Δseconds", "ΔQ"]
    assert vision.table(document).rows == [["a", "vision", "+0.0100 ± 0.0300", "-0.50 ± 0.25*", "–", "+1.00", "–"]]
    assert list(vision.sentences(document))[1] == "Vision makes a review fewer: -0.50 an item."


def test_compare() -> None:
    about: dict[str, Any] = {"items": 10, "tied": [], "simulated": False}
    both = [ComparedRun(run="runs/x", winner="a", **about), ComparedRun(run="runs/y", winner=None, **about)]
    figures = ComparedFigures(
        model="m", h=0.9, h_before_review=0.8, costs=costs(COSTS), penalty=2.0, q=0.7, T=0.8, R=2
    )
    player = ComparedPlayer(name="a", runs=[figures, replace(figures, q=None)])
    document = Comparison(runs=both, players=[player], settings={"rules.T": [0.8, 0.9]})
    row = ["0.8000 → 0.9000", "12", "3,456", "5", "7.2", "2.000"]
    assert compare.table(document).rows == [["a ★", "x", *row, "0.7000"], ["a", "y", *row, "?"]]
    assert list(compare.sentences(document)) == ["The runs differ in 1 setting(s):", "rules.T: 0.8, 0.9"]


def test_a_table_in_markdown_and_latex_marks_the_best() -> None:
    grid = Grid(["player", "Q"], [["a_1", "0.5"], ["b", "0.7"]], bold=frozenset({(1, 1)}), shaded=frozenset({1}))
    assert written(grid, "md").splitlines() == ["| player | Q |", "|---|---:|", "| a_1 | 0.5 |", "| b | **0.7** |"]
    tex = written(grid, "latex").splitlines()
    assert r"a\_1 & 0.5 \\" in tex and r"\cellcolor{gray!20}b & \cellcolor{gray!20}\textbf{0.7} \\" in tex


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Difference(0.5, 0.25, 0.75), "+0.50 ± 0.25"),
        (Difference(-0.5), "-0.50"),
        (None, "–"),
    ],
)
def test_a_difference_has_half_its_interval(value: Difference | None, shown: str) -> None:
    assert change(value, 2, missing="–") == shown and half(0.25, 0.75, 2) == "0.25" and half(None, 1.0) == "?"


def test_a_resource_that_p_does_not_count_is_shown_where_somebody_spent_some() -> None:
    nothing, some = costs(), costs(joules=3.0)
    assert cost_columns([nothing]) == ["calls", "tokens", "reviews", "seconds"]
    assert (
        cost_columns([nothing, some])[-1] == "joules"
        and cost("joules", 3.04) == "3.0"
        and cost("dollars", 12) == "12.00"
    )
