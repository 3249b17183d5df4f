"""Many items in bundles give what single items give."""

import numpy as np
import pytest
from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]

from mashq.analysis import bundles, intervals
from mashq.analysis.bundles import BUNDLES, MAX_ITEMS, bundled, bundled_view, told
from mashq.analysis.intervals import resample
from mashq.analysis.paired import mean
from mashq.analysis.score_report import Options, judge
from mashq.protocol.results import COST_NAMES, OK, REFUSED, Cost, Results
from mashq.protocol.score import REFUSALS, Refusals, ScoreRules, View, figures, view
from mashq.report.documents.base import dumped


def drawn(items: int, seed: int, refused: float = 0.0) -> Results:
    """Two players whose scores and costs go together by item; the costs have a long tail."""
    random = np.random.default_rng(seed)
    hard = random.random(items)
    h = np.clip(np.stack([0.9 - 0.3 * hard, 0.88 - 0.25 * hard]) + random.normal(0, 0.15, (2, items)), 0, 1)
    tokens = np.round(random.lognormal(5, 1, (2, items)) * (1 + hard) * np.array([[1.0], [1.3]]))
    h[random.random((2, items)) < refused] = np.nan
    costs = {name: Cost.known(tokens if name == "tokens" else np.ones((2, items))) for name in COST_NAMES}
    names = tuple(f"i{n}" for n in range(items))
    status = np.where(np.isnan(h), REFUSED, OK).astype(np.int8)
    return Results(
        ("a", "b"), names, np.arange(items), ("",) * items, status, h, h, costs, unknown=np.zeros((2, items))
    )


@pytest.mark.parametrize("refusals", REFUSALS)
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
        (span,) = resample(sample, rules, [(0, 1)], 200, seed, keep=1).differences
        assert span.low is not None and span.high is not None
        held += span.low <= q <= span.high
    assert 0.91 <= held / times <= 0.99


def test_a_judgement_of_many_items_says_so() -> None:
    options = Options(ScoreRules(weights={"tokens": 1.0}), resamples=200)
    assert any("bundles" in note for note in dumped(judge(drawn(MAX_ITEMS + 1, 1), options))["notes"])
    assert not any("bundles" in note for note in dumped(judge(drawn(200, 1), options))["notes"])


@pytest.mark.parametrize("freedom", [*range(1, 40), 99, 500, 812, 1999, 2000, 2001, 20_000, 1_000_000])
def test_the_quantiles_are_students(freedom: int) -> None:
    for at in (0.025, 0.3, 0.5, 0.501, 0.75, 0.9, 0.975, 0.995, 0.9995, 0.99995, 1 - 1e-6):
        wanted = float(stdtrit(freedom, at))
        assert intervals._student(at, freedom) == pytest.approx(wanted, rel=2e-9, abs=1e-12)  # pyright: ignore[reportPrivateUsage]
