"""Repeats of a match: the mean Q is the mean of their Qs, and items stay the unit."""

import asyncio
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from mashq.analysis.paired import Condition, differences, mean
from mashq.analysis.repeats import repeats
from mashq.analysis.results import from_match, from_matches
from mashq.arena import match
from mashq.config import check
from mashq.protocol.score import ScoreRules, score
from mashq.runs.open import Season


@pytest.fixture(scope="module", params=[0.0, 0.15])
def season(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Season:
    models: dict[str, Any] = {
        "simulated/a": {"simulate": {"refusal_rate": request.param}},
        "simulated/b": {"simulate": {"h": 0.7, "tokens_out": 40}},
    }
    players = [{"name": "A", "model": "simulated/a"}, {"name": "B", "model": "simulated/b", "R": 0}]
    config = check({"task": {"limit": 20}, "players": players, "models": models})
    run: Path = tmp_path_factory.mktemp("repeats") / "run"
    return asyncio.run(match.run(config, run, season={"kind": "match", "trials": 6}))


def test_the_mean_q_is_the_mean_of_the_repeats(season: Season) -> None:
    rules = ScoreRules()
    each = [score(played.results, rules) for played in season.fixtures_played()]
    found = repeats((played.results for played in season.fixtures_played()), rules)
    assert found is not None
    for seat in (0, 1):
        qs = [one.players[seat].q for one in each]
        assert found.q[seat].value == pytest.approx(fmean(q for q in qs if q is not None))
        low = found.q[seat].low
        assert low is not None and low < found.q[seat].value
    ((a, b, gap),) = found.differences
    assert gap.value == pytest.approx(found.q[a].value - found.q[b].value) and gap.value >= 0
    assert sum(found.p_win) == pytest.approx(1)


def test_more_repeats_of_the_same_items_never_shrink_to_nothing(season: Season) -> None:
    rules = ScoreRules()
    many = [played.results for played in season.fixtures_played()]
    once, often = repeats(many[:1], rules), repeats(many[:1] * 50, rules)
    assert once is not None and often is not None
    assert once.q[0].low == pytest.approx(often.q[0].low), "a repeat that is the same tells nothing new"


def test_a_condition_against_itself_differs_by_nothing(season: Season) -> None:
    rules = ScoreRules()
    pooled = Condition(from_matches(played.results for played in season.fixtures_played()), rules)
    assert all(d.value == 0 for d in differences(pooled, pooled, "A").values())
    first, last = (
        Condition(from_match(p.results), rules) for p in (list(season.fixtures_played())[i] for i in (0, -1))
    )
    change = differences(last, first, "A")
    assert change["h"].value == pytest.approx(-differences(first, last, "A")["h"].value)


def test_an_interval_of_few_or_equal_values() -> None:
    import numpy as np

    assert mean(np.array([1.0, 2.0])).low is None
    assert (mean(np.ones(9)).low, mean(np.ones(9)).sure) == (1.0, True)
    assert mean(np.ones(9), alpha=1.0).low != 1.0
