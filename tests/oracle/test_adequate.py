"""Adequate scores equal the oracle's and have every property of the score."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mashq.analysis import results as rows_of
from mashq.analysis.score_report import Options, judge
from mashq.errors import ConfigError
from mashq.protocol.content import LEADS, Contents
from mashq.protocol.results import Results
from mashq.protocol.score import Score, ScoreRules, under
from mashq.protocol.score import score as scored
from tests.oracle import oracle
from tests.oracle.oracle import REFUSALS, Carried, Row, Rules

SHORT = settings(max_examples=60, deadline=None, derandomize=True, database=None)
shares = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 100).map(lambda n: n / 100))
carried = st.builds(Carried, st.sampled_from([0, 1, 15, 30, 31, 60, 90, 119, 120, 200]), shares)


@dataclass(frozen=True, slots=True)
class Case:
    """Rows, the content of each answer, and per item the length of its source and its first three sentences."""

    rows: tuple[Row, ...]
    carried: dict[tuple[str, str], Carried]
    sources: dict[str, int]
    leads: dict[str, Carried]
    rules: Rules
    target: float | None
    longest: float

    def results(self) -> Results:
        """Return the results as mashq represents them."""
        rows = [rows_of.Row(r.player, r.item, "", r.h, r.status, r.costs) for r in self.rows]
        results = rows_of.from_rows(rows)
        item_names = [results.items[int(at)] for at in results.item_of.tolist()]
        answers = {
            name: np.array(
                [[getattr(self.carried[p, i], field) for i in item_names] for p in results.players], dtype=float
            )
            for field in ("words", "coverage")
            for name in (field, f"{field}_first")
        } | {"copied": np.zeros(results.h.shape)}
        lead = {
            field: np.array([getattr(self.leads[i], field) for i in item_names], dtype=float)
            for field in ("words", "coverage")
        }
        source_floor = {
            "words": np.array([self.sources[i] for i in item_names], dtype=float),
            "coverage": np.ones(len(item_names)),
        }
        floors = {
            name: {"h": np.ones(len(item_names)), **(source_floor if name == "copy" else lead)} for name in LEADS
        }
        return replace(results, content=Contents(answers, floors))

    def score_rules(self, **changes: Any) -> ScoreRules:
        """Return the rules as mashq represents them."""
        rules = self.rules
        return (
            ScoreRules(
                rules.alpha,
                rules.beta,
                rules.weights,
                None,
                rules.refusals,
                False,
                "adequate",
                self.target,
                self.longest,
            )
            if not changes
            else replace(self.score_rules(), **changes)
        )

    def expected(self) -> oracle.Score:
        """Return the oracle's score of rows whose H is adequate."""
        rows = [replace(row, h=cast(float, self.adequate(row))) if row.h is not None else row for row in self.rows]
        return oracle.score(rows, self.rules)

    def adequate(self, row: Row) -> Fraction:
        """Return the adequate H of a row."""
        assert row.h is not None
        own = self.carried[row.player, row.item]
        source, lead = self.sources[row.item], self.leads[row.item]
        return oracle.exact(row.h) * oracle.adequacy(own, source, lead, self.target, self.longest)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw two or three players on a few items, some of them refused."""
    players, items = ["A", "B", "C"][: draw(st.integers(2, 3))], [f"i{n}" for n in range(draw(st.integers(1, 6)))]
    rows: list[Row] = []
    for player in players:
        for item in items:
            refused = draw(st.sampled_from([False, False, False, False, True]))
            tokens = {"tokens": draw(st.sampled_from([0, 5, 100, 250]))}
            rows.append(
                Row(player, item, 0, None if refused else draw(shares), "refused" if refused else "ok", tokens)
            )
    rules = Rules(
        alpha=draw(st.sampled_from([1.0, 0.5])),
        beta=draw(st.sampled_from([0.0, 0.1, 1.0])),
        weights={"tokens": 1.0},
        refusals=draw(st.sampled_from(REFUSALS)),
    )
    return Case(
        tuple(rows),
        {(player, item): draw(carried) for player in players for item in items},
        {item: draw(st.sampled_from([0, 20, 30, 60, 61, 120, 600])) for item in items},
        {item: draw(carried) for item in items},
        rules,
        draw(st.sampled_from([None, None, 0.25, 0.6, 1.0])),
        draw(st.sampled_from([0.5, 0.25, 0.9, 1.0])),
    )


def agree(result: Score, expected: oracle.Score) -> None:
    """Check that H, P and Q of every player agree."""
    for row in result.players:
        expected_player = expected.of(row.name)
        for actual, wanted in (
            (row.h, expected_player.h),
            (row.penalty, expected_player.penalty),
            (row.q, expected_player.q),
        ):
            assert (actual is None) == (wanted is None)
            assert wanted is None or actual == pytest.approx(float(wanted), abs=1e-9)


@SHORT
@given(cases())
def test_adequate_scores_are_those_of_the_oracle(case: Case) -> None:
    result, expected = scored(case.results(), case.score_rules()), case.expected()
    agree(result, expected)
    qs = sorted((float(player.q) for player in expected.players if player.q is not None), reverse=True)
    if len(qs) > 1 and qs[0] - qs[1] > 1e-6:
        assert result.winner == expected.winner


@SHORT
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_players_and_items_does_not_matter(case: Case, chance: Any) -> None:
    rows = list(case.rows)
    chance.shuffle(rows)
    agree(scored(replace(case, rows=tuple(rows)).results(), case.score_rules()), case.expected())


@SHORT
@given(cases())
def test_who_leads_at_which_beta_is_the_oracles(case: Case) -> None:
    expected = case.expected()
    lines = oracle.beta_lines(expected, case.rules)
    assume(lines)
    report = judge(case.results(), Options(case.score_rules(), resamples=100))
    for beta in (0.0, 0.05, 0.3, 2.0):
        qs = {name: height - Fraction(str(beta)) * slope for name, (height, slope) in lines.items()}
        best = max(qs.values())
        stretch = next(s for s in report.envelope if s.beta_to is None or beta < s.beta_to)
        assert all(float(best - qs[name]) < 1e-6 for name in stretch.names)
    for row in report.players:
        if row.q is not None and row.q_low is not None and row.q_high is not None:
            assert row.q_low <= row.q + 1e-9 and row.q <= row.q_high + 1e-9


@SHORT
@given(cases())
def test_it_is_bounded_and_without_costs_it_is_h(case: Case) -> None:
    results = case.results()
    free = scored(results, case.score_rules(beta=0.0))
    plain = scored(results, case.score_rules(beta=0.0, h="faithful"))
    for own, faithful in zip(free.players, plain.players, strict=True):
        if own.h is not None and faithful.h is not None:
            assert 0 <= own.h <= faithful.h + 1e-12
            assert own.q == pytest.approx(case.rules.alpha * own.h)


@SHORT
@given(cases())
def test_going_back_to_faithful_is_exact(case: Case) -> None:
    results = case.results()
    adequate = under(results, case.score_rules())
    back = under(adequate, case.score_rules(h="faithful"))
    assert np.array_equal(back.h, results.h, equal_nan=True)
    again = under(under(adequate, case.score_rules(target=0.9)), case.score_rules())
    assert np.array_equal(again.h, adequate.h, equal_nan=True)


@SHORT
@given(carried, carried, st.sampled_from([20, 61, 120, 600]), shares, st.integers(0, 100))
def test_more_coverage_never_lowers_and_more_words_never_raise_it(
    own: Carried, lead: Carried, source: int, more: float, longer: int
) -> None:
    floors = {
        "copy": {"words": np.array([float(source)]), "coverage": np.ones(1), "h": np.ones(1)},
        "lead-3": {"words": np.array([float(lead.words)]), "coverage": np.array([lead.coverage]), "h": np.ones(1)},
    }
    contents = Contents({}, floors)

    def factor(words: float, coverage: float) -> float:
        return float(contents.adequacy(np.array([words]), np.array([coverage]), None, 0.5)[0])

    plain = factor(own.words, own.coverage)
    assert 0 <= plain <= 1
    assert factor(own.words, min(1.0, own.coverage + more)) >= plain - 1e-12
    assert factor(own.words + longer, own.coverage) <= plain + 1e-12
    if source > 60:
        assert factor(source, 1.0) == 0.0


def test_without_texts_it_is_refused() -> None:
    rows = [rows_of.Row(player, "x", "", 0.5, "ok", {}) for player in "AB"]
    results = rows_of.from_rows(rows)
    with pytest.raises(ConfigError, match="needs the texts"):
        scored(results, ScoreRules(h="adequate"))
    nothing = {name: np.array([[1.0], [np.nan]]) for name in ("words", "words_first", "coverage", "coverage_first")}
    half = replace(results, content=Contents({**nothing, "copied": nothing["words"]}, {}))
    with pytest.raises(ConfigError, match="those of B are not known"):
        scored(half, ScoreRules(h="adequate"))
    assert scored(half, ScoreRules()).players[1].coverage is None
