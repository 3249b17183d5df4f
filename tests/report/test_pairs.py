"""The same players in several conditions, with trials and refusals: what is paired, and what is said of it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.analysis.paired import Common
from mashq.arena.simulation import recorded
from mashq.protocol.results import OK, REFUSED
from mashq.protocol.score import final_h
from mashq.report.documents import compare, game, seasons, vision
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.documents.sweep import Sweep
from mashq.report.html import compare as page_compare
from mashq.report.html import sections_seasons
from mashq.report.html.facts import facts
from mashq.report.text import compare as compare_text
from mashq.report.text import sweep as sweep_text
from mashq.runs.open import Season, load_season
from mashq.web.api import summaries
from mashq.web.library import Library
from mashq.web.replay_cache import ReplayCache
from tests.arena.test_seasons import play

A = {"h": 0.8, "refusal_rate": 0.3}


def config(**changes: Any) -> dict[str, Any]:
    """A refuses now and then; B plays the same whatever A does."""
    return {
        "task": {"kind": "summarise", "data": "builtin", "limit": 8},
        "players": [
            {"name": "A", "agent": "plain", "model": "simulated/a"},
            {"name": "B", "agent": "plain", "model": "simulated/b"},
        ],
        "models": {
            "simulated/a": {"simulate": A},
            "simulated/a0": {"simulate": {"h": 0.8}},
            "simulated/b": {"simulate": {"h": 0.6, "h_spread": 0.3}},
        },
        **changes,
    }


def steady() -> dict[str, Any]:
    """The same, and nobody refuses."""
    settings = config()
    return settings | {"models": {**settings["models"], "simulated/a": {"simulate": A | {"refusal_rate": 0}}}}


def swept(out: Path, setting: str, values: list[Any], trials: int = 1, **changes: Any) -> Sweep:
    season = play(config(**changes), out, {"kind": "sweep", "trials": trials, "over": [[setting, values]]})
    found = seasons.document(season)
    assert isinstance(found, Sweep)
    return found


def matched(out: Path, trials: int, settings: dict[str, Any]) -> Season:
    play(settings, out, {"kind": "match", "trials": trials})
    return load_season(out)


@pytest.mark.parametrize(
    ("setting", "values", "trials"),
    [
        ("score.refusals", ["intersection", "penalised", "answered"], 1),
        ("players.0.model", ["simulated/a", "simulated/a0"], 1),
        ("players.0.model", ["simulated/a", "simulated/a0"], 4),
    ],
)
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_a_sweeps_differences_are_those_of_the_scores_beside_them(
    tmp_path: Path, setting: str, values: list[Any], trials: int, beta: float
) -> None:
    found = swept(tmp_path / "run", setting, values, trials, score={"beta": beta})
    first, *others = found.cells
    for cell in others:
        for before, now in zip(first.players, cell.players, strict=True):
            assert now.q is not None and before.q is not None and now.h is not None and before.h is not None
            assert now.against_first["q"].value == pytest.approx(now.q - before.q, abs=1e-12)
            assert now.against_first["h"].value == pytest.approx(now.h - before.h, abs=1e-12)


def test_a_sweep_says_where_combinations_score_unlike_units(tmp_path: Path) -> None:
    """B plays the same beside a rival that refuses: its score differs, and over the units in common it does not."""
    found = swept(tmp_path / "run", "players.0.model", ["simulated/a", "simulated/a0"], 4, score={"beta": 0})
    b = found.cells[1].players[1]
    assert b.against_first["q"].value > 0.05
    assert b.common == Common(24, 32) and b.in_common is not None
    assert b.in_common["q"].value == pytest.approx(0.0, abs=1e-12)
    text = sweep_text.text(found, "md")
    assert sweep_text.UNEVEN in text and "+0.0000 ± 0.0000 (24 of 32)" in text
    page = repr(sections_seasons.sweep(found))
    assert sweep_text.UNEVEN in page and "+0.0000 ± 0.0000 (24 of 32)" in page
    even = swept(tmp_path / "even", "score.beta", [0.0, 0.1], 2)
    assert all(player.common is None for cell in even.cells for player in cell.players)
    assert sweep_text.IN_COMMON not in sweep_text.text(even) and sweep_text.UNEVEN not in sweep_text.text(even)


def test_a_rivals_refusal_in_one_trial_is_no_effect_of_company(tmp_path: Path) -> None:
    season = {"kind": "vision", "trials": 4, "when": "review", "items": 8}
    found = vision.document(play(config(), tmp_path / "run", season))
    b = found.players[1]
    for change in b.changes["company"].values():
        assert (change.value, change.low, change.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert b.units == {"company": Common(24, 32)}
    said = "Differences are over the units (an item in a trial) that both sides score: company of B 24 of 32."
    assert found.notes[-1] == said


def test_the_price_of_disclosure_is_over_the_units_scored_with_and_without(tmp_path: Path) -> None:
    """Here a trial of a match failed with snapshots shown only, and nothing else changed."""
    season = play(config(), tmp_path / "run", {"kind": "game", "trials": 2, "vision": ["never", "review"]})
    assert not any(row.any or row.units for row in game.document(season).disclosure)
    with sqlite3.connect(tmp_path / "run" / "run.db") as db:
        shown = [fixture.id for fixture in season.fixtures() if dict(fixture.cell)["vision"] == "review"]
        seats = next(dict(fixture.cell)["seats"] for fixture in season.fixtures() if fixture.id == shown[0])
        db.execute("UPDATE results SET status = 'failed' WHERE match = ? AND seat = 0 AND status = 'ok'", shown[:1])
    found = game.document(season)
    names = [row for row in found.disclosure if row.units is not None]
    assert {(row.policy, row.against) for row in names} == {(found.policies[seats[0]], found.policies[seats[1]])}
    for row in names:
        assert row.units is not None and 0 < row.units.both < row.units.either
        assert row.changes["h"].value == pytest.approx(0.0, abs=1e-12)
    assert found.notes[-1].startswith("Differences are over the units (an item in a trial) that both sides score: ")


def test_runs_are_compared_over_the_units_that_all_score(tmp_path: Path) -> None:
    runs = [matched(tmp_path / "c1", 4, config()), matched(tmp_path / "c2", 4, steady())]
    found = compare.document(runs)
    results = season_results(trials_of(runs[0]))
    kept = ~(results.status == REFUSED).any(axis=0)
    assert kept.sum() == 24
    by_item = [final_h(results)[1, kept & (results.item_of == item)].mean() for item in range(8)]
    for one in found.players[1].runs:
        assert one.h == pytest.approx(sum(by_item) / 8, abs=1e-12)
    assert [(run.units, run.units_scored, run.items, run.trials) for run in found.runs] == [
        (24, 24, 8, 4),
        (24, 32, 8, 4),
    ]
    assert found.notes == [
        "Compared over the 24 units (an item in a trial) that every run scores (by itself: c1 24, c2 32)."
    ]
    assert list(found.settings) == ["models.simulated/a.simulate.refusal_rate"]
    assert mashq.compare(tmp_path / "c1", tmp_path / "c2").document == found
    said = "Each run is scored over its own units (an item in a trial), and these are not the same: c1 24, c2 32. "
    page = repr(page_compare.comparison([], [facts(run) for run in runs]))
    assert said in page and "not the same" not in repr(page_compare.comparison([], [facts(runs[0])] * 2))


def test_unlike_numbers_of_trials_are_a_difference_of_settings(tmp_path: Path) -> None:
    found = compare.document([matched(tmp_path / "one", 1, config()), matched(tmp_path / "two", 2, config())])
    assert found.settings == {"trials": [1, 2]}
    assert found.notes[0] == (
        "The runs have different numbers of trials (one 1, two 2): each item is averaged over its own run's trials."
    )
    assert "trials: 1, 2" in compare_text.text(found)
    assert [run.units for run in found.runs] == [None, None]


def test_players_are_calibrated_from_the_units_that_were_scored(tmp_path: Path) -> None:
    """What B answered in a trial in which A refused is left out, though the item counts in another trial."""
    results = season_results(trials_of(matched(tmp_path / "run", 4, config())))
    kept = ~(results.status == REFUSED).any(axis=0)
    a, b = recorded(tmp_path / "run").players
    assert kept.sum() == 24 == len(a.scores)
    assert sorted(b.scores) == pytest.approx(sorted(results.h[1, kept].tolist()))


def test_the_dashboard_lists_no_item_for_what_one_trial_lacks(tmp_path: Path) -> None:
    """A plays the same in both runs, but for what it refuses in one of them."""
    other = steady()
    other["models"] = {**other["models"], "simulated/a": {"simulate": {"h": 0.7}}}
    for name, settings in (("c1", config()), ("c2", steady()), ("c3", other)):
        matched(tmp_path / name, 4, settings)
    cache = ReplayCache(Library(tmp_path))
    assert [summaries.summary(cache, name)["units"] for name in ("c1", "c2")] == [24, 32]
    assert summaries.differences(cache, ("c1", "c2"), "A") == []
    found = summaries.differences(cache, ("c1", "c3"), "A")
    each = [season_results(trials_of(load_season(tmp_path / name))) for name in ("c1", "c3")]
    assert len(found) == 8
    for at, _, *entries in found:
        means = [entry["h"] for entry in entries]
        kept = (each[0].status[0] == OK) & (each[0].item_of == at)
        assert means == pytest.approx([float(results.h[0, kept].mean()) for results in each])
