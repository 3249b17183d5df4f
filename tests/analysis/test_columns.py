"""Columns give what the objects give, to the last bit; many items in bundles give what single items give."""

import math
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mashq.analysis import bundles, intervals
from mashq.analysis.bundles import BUNDLES, MAX_ITEMS, bundled, bundled_view, told
from mashq.analysis.columns import EXACT, STATUSES, Columns, columns_of, scored
from mashq.analysis.intervals import resample
from mashq.analysis.paired import mean
from mashq.analysis.results import Results, from_match
from mashq.analysis.score_report import Options, judge
from mashq.analysis.scoring import View, figures, view
from mashq.protocol.resources import MEASURES, RESOURCES, Amount, Spend
from mashq.protocol.score import ItemResult, PlayerResult, Refusals, ScoreRules, score
from mashq.report.documents.base import dumped

counts = st.integers(0, 9)
worst = st.one_of(counts, st.just(math.inf))
tokens = st.builds(Amount, st.one_of(counts, st.integers(2**52, 2**59)), counts, counts, worst)
measured = st.builds(Amount, st.one_of(counts, st.floats(0, 1e3)), counts, counts, st.one_of(worst, st.floats(0, 9)))
amounts = st.tuples(tokens, tokens, *[measured] * (len(MEASURES) - 2))
spends = st.builds(Spend, counts, counts, counts, counts, counts, amounts)
maybe = st.one_of(st.none(), st.floats(0, 1))
PHASES = (Phase.explicit, Phase.generate)  # shrinking such results takes minutes
RULES: tuple[Refusals, ...] = ("intersection", "penalised", "answered")


@st.composite
def matches(draw: st.DrawFn) -> list[PlayerResult]:
    """Results of any kind: refused, failed and unanswered items, unknown costs, counts beyond a float's."""
    size = draw(st.integers(1, 6))
    found: list[PlayerResult] = []
    for seat in range(draw(st.integers(1, 3))):
        rows: list[ItemResult] = []
        for at in range(size):
            status = draw(st.sampled_from(("ok", "ok", *STATUSES)))
            scores = (draw(maybe), draw(maybe)) if status == "ok" else (None, None)
            rows.append(ItemResult(f"i{at}", status, *scores, draw(spends), draw(maybe), draw(maybe)))
        found.append(PlayerResult(f"p{seat}", tuple(rows), draw(st.one_of(st.just(Spend()), spends))))
    return found


def plain(value: Any) -> Any:
    """The same for 2 and 2.0, and for NaN and NaN."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast(list[Any], value)]
    if isinstance(value, int | float):
        return repr(int(value)) if math.isfinite(value) and value == int(value) else repr(value)
    return value


@given(matches(), st.sampled_from(RULES), st.booleans())
@settings(max_examples=150, deadline=None, phases=PHASES)
def test_the_score_of_columns_is_the_score(results: list[PlayerResult], refusals: Refusals, fixed: bool) -> None:
    reference = {"tokens": 1e18, "calls": 10.0, "seconds": 3.0} if fixed else None
    rules = ScoreRules(refusals=refusals, reference=reference, weights=dict.fromkeys(RESOURCES, 1.0))
    assert plain(asdict(scored(columns_of(results), rules))) == plain(asdict(score(results, rules)))


def test_no_items_have_a_score_too() -> None:
    results = [PlayerResult("a", ()), PlayerResult("b", ())]
    assert scored(columns_of(results), ScoreRules()) == score(results, ScoreRules())


def test_counts_that_a_float_cannot_hold_stay_exact() -> None:
    huge = Spend.of(1, tokens_in=Amount(int(EXACT) + 1, 1), tokens_out=Amount(2, 1))
    results = [PlayerResult("a", tuple(ItemResult(f"i{n}", "ok", 0.5, 0.5, huge) for n in range(3)))]
    assert scored(columns_of(results), ScoreRules()).players[0].tokens_in.total == 3 * (2**53 + 1)


def test_worst_cases_may_add_up_to_no_bound() -> None:
    most = Spend.of(1, seconds=Amount(1.0, 1, 1, 1.7e308))
    results = [PlayerResult("a", tuple(ItemResult(f"i{n}", "ok", 0.5, 0.5, most) for n in range(3)))]
    assert scored(columns_of(results), ScoreRules()).players[0].totals["seconds"].worst == math.inf


@given(matches())
@settings(max_examples=100, deadline=None, phases=PHASES)
def test_arrays_of_columns_are_those_of_the_objects(results: list[PlayerResult]) -> None:
    """As they were made before there were columns: item by item."""
    found = from_match(columns_of(results))
    for seat, player in enumerate(results):
        for at, row in enumerate(player.items):
            h = None if row.status in ("refused", "failed") else (row.h or 0.0) if row.status == "ok" else 0.0
            assert (None if np.isnan(found.h[seat, at]) else found.h[seat, at]) == h
            for name in RESOURCES:
                own = row.spend.amount(name)
                total = own.total + player.shared.amount(name).total / len(player.items)
                value = found.costs[name][seat, at]
                close = value == total or (total > EXACT and value == pytest.approx(total, rel=1e-15))
                assert close if own.is_known else np.isnan(value)


def drawn(items: int, seed: int, refused: float = 0.0) -> Results:
    """Two players whose scores and costs go together by item; the costs have a long tail."""
    random = np.random.default_rng(seed)
    hard = random.random(items)
    h = np.clip(np.stack([0.9 - 0.3 * hard, 0.88 - 0.25 * hard]) + random.normal(0, 0.15, (2, items)), 0, 1)
    tokens = np.round(random.lognormal(5, 1, (2, items)) * (1 + hard) * np.array([[1.0], [1.3]]))
    h[random.random((2, items)) < refused] = np.nan
    costs = {name: tokens if name == "tokens" else np.ones((2, items)) for name in RESOURCES}
    answered = (~np.isnan(h)).astype(float)
    names = tuple(f"i{n}" for n in range(items))
    return Results(("a", "b"), names, h, np.nan_to_num(h), answered, np.ones((2, items), dtype=bool), costs)


@pytest.mark.parametrize("refusals", RULES)
@pytest.mark.parametrize("reference", [None, {"tokens": 1e6, "calls": 5e4}])
def test_bundles_score_as_their_items_do(refusals: Refusals, reference: dict[str, float] | None) -> None:
    rules = ScoreRules(weights={"tokens": 1.0, "calls": 1.0}, refusals=refusals, reference=reference)
    seen = view(drawn(MAX_ITEMS + 1777, 1, refused=0.02), refusals, ("tokens", "calls"))
    dealt, under = bundled_view(seen, rules, 5)
    assert len(dealt.items) == BUNDLES
    assert figures(dealt, under).q == pytest.approx(figures(seen, rules).q, rel=1e-12)
    parts = np.random.default_rng(2).random((2, MAX_ITEMS + 1777))
    assert bundled(parts, 5).mean(axis=1) == pytest.approx(parts.mean(axis=1), rel=1e-12)


def test_few_items_are_drawn_one_by_one() -> None:
    seen, rules = view(drawn(300, 1), "intersection", ("tokens",)), ScoreRules(weights={"tokens": 1.0})
    assert bundled_view(seen, rules, 0) == (seen, rules)
    assert told(MAX_ITEMS) == [] and "bundles" in told(MAX_ITEMS + 1)[0]


def test_bundles_give_the_intervals_of_single_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a size where both can be done: the same widths, chances and spread of what is resampled."""
    rules = ScoreRules(weights={"tokens": 1.0}, beta=0.02)
    seen = view(drawn(12_000, 3), "intersection", ("tokens",))
    single = resample(seen, rules, [(0, 1)], 2000, 0)
    monkeypatch.setattr(bundles, "MAX_ITEMS", 10_000)
    grouped = resample(seen, rules, [(0, 1)], 2000, 0)
    assert single.low is not None and single.high is not None and grouped.low is not None and grouped.high is not None
    assert grouped.high - grouped.low == pytest.approx(single.high - single.low, rel=0.05)
    assert grouped.p_win == pytest.approx(single.p_win, abs=0.05)
    assert grouped.h.std(axis=0) == pytest.approx(single.h.std(axis=0), rel=0.1)
    values = seen.h[0] - seen.h[1]
    dealt = mean(values)
    monkeypatch.undo()
    alone = mean(values)
    assert dealt.value == alone.value and None not in (dealt.low, alone.low)
    assert dealt.value - (dealt.low or 0) == pytest.approx(alone.value - (alone.low or 0), rel=0.05)


def test_bundled_intervals_hold_the_truth_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of a population whose Q is known: about 95% of the intervals hold it, with few items a bundle."""
    monkeypatch.setattr(bundles, "MAX_ITEMS", 1000)
    monkeypatch.setattr(bundles, "BUNDLES", 200)
    rules = ScoreRules(weights={"tokens": 1.0})
    population = view(drawn(50_000, 9), "intersection", ("tokens",))
    now = figures(population, rules).q[0]
    q = float(now[0] - now[1])
    random, held, times = np.random.default_rng(4), 0, 150
    for seed in range(times):
        picked = random.integers(0, len(population.items), 1500)
        sample = View(
            tuple(map(str, range(len(picked)))),
            population.h[:, picked],
            population.h_counts[:, picked],
            {name: values[:, picked] for name, values in population.costs.items()},
            population.cost_counts[:, picked],
        )
        ((_, _, _, low, high),) = resample(sample, rules, [(0, 1)], 200, seed, keep=1).differences
        assert low is not None and high is not None
        held += low <= q <= high
    assert 0.91 <= held / times <= 0.99


def test_a_judgement_of_many_items_says_so() -> None:
    options = Options(ScoreRules(weights={"tokens": 1.0}), resamples=200)
    assert any("bundles" in note for note in dumped(judge(drawn(MAX_ITEMS + 1, 1), options))["notes"])
    assert not any("bundles" in note for note in dumped(judge(drawn(200, 1), options))["notes"])


@pytest.mark.parametrize("at", [0.975, 0.9995])
def test_students_t_goes_over_into_its_expansion(at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    expanded = intervals._student(at, intervals.MANY)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(intervals, "MANY", 10**9)
    assert expanded == pytest.approx(intervals._student(at, 20_000), rel=1e-11)  # pyright: ignore[reportPrivateUsage]


def test_columns_count_their_statuses() -> None:
    rows = tuple(ItemResult(f"i{n}", s, None, None, Spend()) for n, s in enumerate(("failed", "failed", "refused")))
    (own,) = columns_of([PlayerResult("a", rows)])
    assert isinstance(own, Columns)
    assert (own.count("failed"), own.count("refused"), own.count("ok")) == (2, 1, 0)
