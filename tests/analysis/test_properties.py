"""What must be true of any results."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.analysis.flips import envelope, pareto
from mashq.analysis.intervals import FEWEST
from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_report import Options, judge
from mashq.analysis.scoring import influence
from mashq.protocol.results import from_match, results_of
from mashq.protocol.score import ScoreRules, figures, score, view
from mashq.report.documents.base import dumped
from tests.analysis.strategies import COSTS, tables
from tests.protocol.strategies import Setting, played, settings

COUNTED = ("tokens", "calls", "reviews", "seconds")
refusal_rules = st.sampled_from(["intersection", "penalised", "answered"])


def q_of(rows: list[Row], rules: ScoreRules) -> dict[str, tuple[float, float, float]]:
    """H, P and Q by player."""
    results = from_rows(rows)
    found = figures(view(results, rules.refusals, tuple(rules.weights)), rules)
    return {
        name: (float(found.h[0, at]), float(found.penalty[0, at]), float(found.q[0, at]))
        for at, name in enumerate(results.players)
    }


def same(one: dict[str, tuple[float, float, float]], two: dict[str, tuple[float, float, float]]) -> bool:
    return one.keys() == two.keys() and all(
        one[name] == pytest.approx(two[name], rel=1e-9, abs=1e-9, nan_ok=True) for name in one
    )


@given(tables(), refusal_rules, st.randoms())
def test_q_does_not_depend_on_the_order_of_players_or_items(rows: list[Row], refusals: Any, random: Any) -> None:
    rules = ScoreRules(refusals=refusals)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert same(q_of(rows, rules), q_of(shuffled, rules))


@given(tables(), refusal_rules, st.sampled_from(COUNTED), st.floats(0.001, 1000))
def test_q_does_not_depend_on_the_unit_of_a_resource(rows: list[Row], refusals: Any, name: str, unit: float) -> None:
    rules = ScoreRules(refusals=refusals)
    scaled = [replace(row, costs={**row.costs, name: row.costs[name] * unit}) for row in rows]
    assert same(q_of(rows, rules), q_of(scaled, rules))


@given(tables(), refusal_rules)
def test_without_beta_the_ranking_is_by_h(rows: list[Row], refusals: Any) -> None:
    found = q_of(rows, ScoreRules(beta=0, refusals=refusals))
    assert all(q == pytest.approx(h) for h, _, q in found.values())


@given(tables(refusals=False))
def test_adding_a_player_changes_nobodys_h(rows: list[Row]) -> None:
    last = rows[-1].player
    others = [row for row in rows if row.player != last]
    if others:
        rules = ScoreRules()
        fewer, more = q_of(others, rules), q_of(rows, rules)
        assert all(fewer[name][0] == pytest.approx(more[name][0]) for name in fewer)


@given(tables(refusals=False), st.dictionaries(st.sampled_from(COUNTED), st.floats(0.1, 5), min_size=1))
def test_the_most_expensive_player_pays_the_sum_of_the_weights(rows: list[Row], weights: dict[str, float]) -> None:
    greedy = [replace(row, player="greedy", costs=dict.fromkeys(COSTS, 1e6)) for row in rows if row.player == "p0"]
    found = q_of(rows + greedy, ScoreRules(weights=weights))
    assert found["greedy"][1] == pytest.approx(sum(weights.values()))


@given(tables(refusals=False), st.floats(0, 3))
def test_the_envelope_names_the_best_at_every_beta(rows: list[Row], beta: float) -> None:
    found = list(q_of(rows, ScoreRules()).values())
    stretches = envelope([h for h, _, _ in found], [p for _, p, _ in found])
    assert stretches[0].start == 0 and stretches[-1].end is None
    for one, two in pairwise(stretches):
        assert one.end == two.start and one.start < two.start
    for x in [beta, 0.0, *(s.start for s in stretches), stretches[-1].start + 10]:
        holder = next(s.winners[0] for s in reversed(stretches) if s.start <= x)
        values = [h - x * p for h, p, _ in found]
        assert values[holder] == pytest.approx(max(values), abs=1e-9)


@given(tables(refusals=False, trials=1))
def test_totals_and_items_agree(rows: list[Row]) -> None:
    rules = ScoreRules()
    by_item = q_of(rows, rules)
    totals: list[Row] = []
    for player in dict.fromkeys(row.player for row in rows):
        own = [row for row in rows if row.player == player]
        costs = {name: math.fsum(row.costs[name] for row in own) for name in COSTS}
        h = math.fsum(row.h or 0.0 for row in own) / len(own)
        totals.append(Row(player, "all", "", min(h, 1.0), "ok", costs))
    assert same(by_item, q_of(totals, rules))


@given(tables(), refusal_rules)
def test_the_parts_of_the_items_add_up_to_q(rows: list[Row], refusals: Any) -> None:
    rules = ScoreRules(refusals=refusals)
    results = from_rows(rows)
    seen = view(results, rules.refusals, COUNTED)
    now, parts = figures(seen, rules).q[0], influence(seen, rules)
    assert np.allclose(parts.mean(axis=1), now, equal_nan=True)


@given(tables(refusals=False, trials=1, most_items=5), st.integers(0, 4), st.sampled_from([None, {"tokens": 900.0}]))
def test_the_parts_are_the_slope_of_q(rows: list[Row], which: int, reference: dict[str, float] | None) -> None:
    """A little more weight on an item moves Q by that item's part, to first order."""
    weights = {"tokens": 1.0} if reference else {"tokens": 1.0, "calls": 2.0}
    rules = ScoreRules(weights=weights, reference=reference)
    rows = [
        replace(row, costs={n: v + 1 + 7 * len(row.player + row.item) for n, v in row.costs.items()}) for row in rows
    ]
    results = from_rows(rows)
    seen = view(results, "intersection", tuple(weights))
    count = len(seen.items)
    which %= count
    costs = figures(seen, rules).costs
    gaps = [np.diff(np.sort(cost[0])).min() if cost.shape[1] > 1 else 1.0 for cost in costs.values()]
    if min(gaps) < 1e-3:
        return  # two players set the normaliser together: Q has a corner there
    step = 1e-6
    drawn = np.ones((1, count))
    drawn[0, which] += step * count
    moved = (figures(seen, rules, drawn).q[0] - figures(seen, rules).q[0]) / step
    pull = influence(seen, rules)[:, which] - figures(seen, rules).q[0]
    assert moved == pytest.approx(pull, rel=1e-3, abs=1e-3)


@given(st.data(), settings())
def test_a_match_scores_the_same_here_as_in_the_protocol(data: st.DataObject, setting: Setting) -> None:
    state, _ = played(data, setting, failures=True)
    for refusals in ("intersection", "penalised", "answered"):
        rules = ScoreRules(refusals=refusals)
        whole = score(results_of(state), rules)
        results = from_match(results_of(state))
        seen = view(results, refusals, tuple(rules.weights))
        if not seen.items:
            assert all(row.q is None for row in whole.players)
            continue
        found = figures(seen, rules)
        for at, row in enumerate(whole.players):
            if row.q is not None:
                assert float(found.q[0, at]) == pytest.approx(row.q, abs=1e-9)


@given(tables(), refusal_rules, st.integers(0, 5))
def test_any_results_can_be_judged(rows: list[Row], refusals: Any, seed: int) -> None:
    document = dumped(judge(from_rows(rows), Options(ScoreRules(refusals=refusals), resamples=200, seed=seed)))
    names = {player["name"] for player in document["players"]}
    assert document["winner"] in names or len(document["tied"]) > 1
    rivals = sum(player["q"] is not None for player in document["players"]) > 1
    if document["items"] >= FEWEST and rivals:
        assert math.fsum(player["p_win"] for player in document["players"]) == pytest.approx(1.0)
    else:
        assert {player["p_win"] for player in document["players"]} == {None}
    for player in document["players"]:
        assert player["q_low"] is None or player["q_low"] <= player["q"] <= player["q_high"]
    assert all(set(v["ranking"]) == names for v in document["views"] if v["ranking"] is not None)
    assert set(document["pareto"]) <= names and document["pareto"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 9)), min_size=1, max_size=8))
def test_nobody_on_the_front_is_beaten_and_everybody_off_it_is(points: list[tuple[float, float]]) -> None:
    h, cost = [p[0] for p in points], [p[1] for p in points]
    front = set(pareto(h, cost))
    assert front
    for one in range(len(points)):
        beaten = any(h[o] >= h[one] and cost[o] <= cost[one] and points[o] != points[one] for o in range(len(points)))
        assert (one in front) != beaten
