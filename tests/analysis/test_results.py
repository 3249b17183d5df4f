"""Costs of results from elsewhere: what is known counts, what is missing is estimated, and only that."""

import csv
import io
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.analysis.results import Row, from_rows
from mashq.protocol.results import Cost, Results
from mashq.protocol.score import ScoreRules, score
from mashq.runs.result_files import from_cells

TOKENS = ScoreRules(weights={"tokens": 1.0})


def results(table: str) -> Results:
    return from_cells("results", csv.DictReader(io.StringIO(table)))[0]


def bounds(cost: Cost, player: int = 0) -> list[tuple[float, float, float]]:
    return list(zip(cost.low[player].tolist(), cost.value[player].tolist(), cost.high[player].tolist(), strict=True))


def test_a_known_part_counts_where_the_other_is_missing() -> None:
    lines = [f"{player},{n},0.9,100,10" for n in range(5) for player in "AB"]
    table = "\n".join(["player,item,h,tokens_in,tokens_out", *lines, "A,5,0.9,5000,", "B,5,0.9,100,10"])
    made = results(table)
    assert bounds(made.costs["tokens"])[5] == (5000, 5010, 5010)
    assert bounds(made.costs["tokens_out"])[5] == (0, 10, 10) and bounds(made.costs["tokens_in"])[5] == (5000,) * 3
    scored = score(made, TOKENS)
    a, b = scored.players
    assert (a.costs["tokens"], a.charged["tokens"], a.penalty) == (5560, 10, 1.0)
    assert b.penalty == pytest.approx(660 / 5560) and scored.winner == "B"


def test_the_bounds_of_a_missing_part_are_those_of_the_part() -> None:
    made = results("player,item,h,tokens_in,tokens_out\nA,0,1,100,10\nA,1,1,100,30\nA,2,1,,10\nB,0,1,900,70")
    assert bounds(made.costs["tokens"])[2] == (10, 110, 910)


def test_a_part_follows_from_the_total_and_the_other() -> None:
    made = results("player,item,h,tokens,tokens_in,tokens_out\nA,0,1,110,100,\nA,1,1,50,,20\nA,2,1,,7,3")
    assert bounds(made.costs["tokens_in"]) == [(100,) * 3, (30,) * 3, (7,) * 3]
    assert bounds(made.costs["tokens_out"]) == [(10,) * 3, (20,) * 3, (3,) * 3]
    assert bounds(made.costs["tokens"]) == [(110,) * 3, (50,) * 3, (10,) * 3]


def test_a_part_that_is_known_nowhere_is_told_by_the_other_totals() -> None:
    table = "player,item,h,tokens,tokens_in\nA,0,1,100,\nA,1,1,300,\nA,2,1,,5000\nA,3,1,,50\nA,4,1,,"
    made = results(table)
    assert bounds(made.costs["tokens"])[2:4] == [(5000, 5000, 5000), (50, 200, 300)]
    assert bounds(made.costs["tokens"])[4] == (0, (100 + 300 + 5000 + 200) / 4, 5000)


def test_a_part_that_nothing_tells_leaves_the_total_unknown() -> None:
    made = results("player,item,h,tokens_in,tokens_out\nA,0,1,100,\nA,1,1,100,\nB,0,1,5,6")
    assert np.isnan(made.costs["tokens"].value[0]).all() and np.isnan(made.costs["tokens"].low[0]).all()


@given(
    st.lists(
        st.fixed_dictionaries({}, optional={name: st.integers(0, 1000) for name in ("tokens_in", "tokens_out")}),
        min_size=1,
        max_size=6,
    )
)
def test_a_total_is_never_less_than_what_is_known_of_it(rows: list[Mapping[str, int]]) -> None:
    made = from_rows([Row("A", str(n), "", 1.0, "ok", costs) for n, costs in enumerate(rows)]).costs
    for costs, low, value, high in zip(rows, *(getattr(made["tokens"], at)[0] for at in ("low", "value", "high"))):
        if not np.isnan(value):
            assert sum(costs.values()) == low <= value <= high + 1e-9
        if len(costs) == 2:
            assert value == sum(costs.values())
    parts = [made[name] for name in ("tokens_in", "tokens_out")]
    if all(rows):
        for at in ("low", "value", "high"):
            expected = getattr(parts[0], at) + getattr(parts[1], at)
            assert np.array_equal(getattr(made["tokens"], at), expected, equal_nan=True) or np.isnan(expected).any()
