"""Agreement with people: against scipy, against sums done by hand, and what must always hold."""

import itertools
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from mashq.analysis.validation.agreement import (
    Estimate,
    Measure,
    Metric,
    Resampling,
    agreement,
    auc,
    calibration,
    estimate,
    krippendorff,
    pearson,
    spearman,
    validate,
)
from mashq.analysis.validation.sampling import spread
from mashq.protocol.results import Floats
from mashq.report.documents.base import plain

scipy: Any = stats
steps = st.integers(0, 10).map(lambda n: n / 10)
columns = st.lists(st.tuples(steps, steps), min_size=1, max_size=25)


def column(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def value(measure: Measure, count: int) -> float:
    return float(measure(np.ones((1, count)))[0])


def apart(count: int, resamples: int = 200) -> Resampling:
    return Resampling([str(n) for n in range(count)], resamples)


def noisy(count: int, noise: float, seed: int = 0) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    scores = random.random(count).round(2)
    return scores, np.round(np.clip(scores + random.normal(0, noise, count), 0, 1) * 2) / 2


@pytest.mark.parametrize("count", [3, 10, 100])
def test_correlations_are_those_of_scipy(count: int) -> None:
    x, y = noisy(count, 0.3, seed=count)
    y[0], y[1] = 0.0, 1.0
    assert value(pearson(x, y), count) == pytest.approx(float(scipy.pearsonr(x, y)[0]))
    assert value(spearman(x, y), count) == pytest.approx(float(scipy.spearmanr(x, y)[0]))


def test_a_resample_is_its_rows_repeated() -> None:
    x, y = noisy(12, 0.4)
    times = np.array([[0, 3, 1, 1, 0, 2, 1, 0, 1, 1, 2, 0]], dtype=np.float64)
    again = np.repeat(np.arange(12), times[0].astype(int))
    for make in (pearson, spearman):
        assert make(x, y)(times)[0] == pytest.approx(value(make(x[again], y[again]), 12))
    assert auc(x, y >= 0.5)(times)[0] == pytest.approx(value(auc(x[again], y[again] >= 0.5), 12))
    table = np.stack([x, y])
    assert krippendorff(table)(times)[0] == pytest.approx(value(krippendorff(table[:, again]), 12))


def test_auc_by_hand() -> None:
    scores, good = column(0.9, 0.4, 0.4, 0.1), np.array([True, True, False, False])
    assert value(auc(scores, good), 4) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert value(auc(scores, ~good), 4) == pytest.approx(0.5 / 4)
    assert value(auc(column(0.5, 0.5), np.array([True, False])), 2) == 0.5


def slow_alpha(table: Floats, metric: Metric) -> float:
    """The definition: one less observed over expected disagreement, pair by pair."""
    units = [[float(v) for v in row if not math.isnan(v)] for row in table.T]
    units = [unit for unit in units if len(unit) > 1]

    def differ(a: float, b: float) -> float:
        return (a - b) ** 2 if metric == "interval" else float(a != b)

    everyone = [v for unit in units for v in unit]
    observed = sum(sum(differ(a, b) for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in units)
    expected = sum(differ(a, b) for a, b in itertools.permutations(everyone, 2)) / (len(everyone) - 1)
    return 1 - observed / expected


def test_alpha_by_hand() -> None:
    # Two annotators, four rows: 0/0, 0/1, 1/1, 1/1. Of 4 rows one differs: 2 of 8 values are in unequal pairs.
    table = np.array([[0, 0, 1, 1], [0, 1, 1, 1]], dtype=np.float64)
    # Three zeros, five ones: 2*3*5 of 8*7 ordered pairs differ. alpha = 1 - (2/8) / (30/56)
    for metric in ("interval", "nominal"):
        assert value(krippendorff(table, metric), 4) == pytest.approx(1 - (2 / 8) / (30 / 56))


def test_alpha_with_missing_ratings_is_the_published_example() -> None:
    n = math.nan
    table = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
            [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
        ]
    )
    assert value(krippendorff(table, "interval"), 12) == pytest.approx(0.849, abs=5e-4)
    assert value(krippendorff(table, "nominal"), 12) == pytest.approx(0.743, abs=5e-4)
    for metric in ("interval", "nominal"):
        assert value(krippendorff(table, metric), 12) == pytest.approx(slow_alpha(table, metric))


def test_intervals_hold_the_value_narrow_with_items_and_repeat() -> None:
    widths: list[float] = []
    for count in (20, 80, 320):
        x, y = noisy(count, 0.3)
        found = estimate(pearson(x, y), apart(count, 1000))
        assert found.value is not None and found.low is not None and found.high is not None
        assert -1 <= found.low < found.value < found.high <= 1
        assert found == estimate(pearson(x, y), apart(count, 1000))
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_answers_about_one_source_count_once() -> None:
    x, y = noisy(30, 0.3)
    x, y = np.tile(x, 4), np.tile(y, 4)
    together = estimate(pearson(x, y), Resampling([str(n % 30) for n in range(120)], 2000))
    separate = estimate(pearson(x, y), apart(120, 2000))
    assert together.low is not None and separate.low is not None
    assert together.low < separate.low


def test_intervals_cover() -> None:
    x, y = noisy(100_000, 0.3)
    truth = value(pearson(x, y), 100_000)
    random, hits = np.random.default_rng(5), 0
    for _ in range(200):
        at = random.integers(0, 100_000, 60)
        found = estimate(pearson(x[at], y[at]), apart(60, 400))
        hits += found.low is not None and found.high is not None and found.low <= truth <= found.high
    assert hits >= 178


def test_what_cannot_be_said_is_none() -> None:
    flat, rising = np.full(10, 0.7), np.linspace(0, 1, 10)
    nothing = {"value": None, "low": None, "high": None}
    assert plain(agreement(flat, rising, apart(10)))["pearson"] == nothing
    assert plain(agreement(rising, flat, apart(10)))["spearman"] == nothing
    assert plain(agreement(rising, flat, apart(10)))["auc"] == nothing
    assert plain(agreement(rising, rising, apart(10)))["pearson"] == {
        "value": pytest.approx(1.0),
        "low": None,
        "high": None,
    }
    assert plain(agreement(rising, np.full(10, np.nan), apart(10)))["n"] == 0
    assert estimate(pearson(rising[:3], column(0, 1, 0.5)), apart(3)).low is None
    assert estimate(pearson(column(), column()), apart(0)) == Estimate(None)
    assert plain(calibration(column(), column(), apart(0))) == []
    assert estimate(krippendorff(np.full((2, 10), 0.5)), apart(10)) == Estimate(None)
    assert estimate(krippendorff(np.full((2, 10), np.nan), "nominal"), apart(10)) == Estimate(None)


def test_calibration_bins_hold_all_rows() -> None:
    x, y = noisy(100, 0.2)
    bins = plain(calibration(x, y, apart(100)))
    assert sum(b["n"] for b in bins) == 100 and len(bins) == 5
    assert sum(b["n"] * b["rating"] for b in bins) == pytest.approx(y.sum())
    assert all(b["from"] <= b["score"] <= b["to"] and b["low"] <= b["rating"] <= b["high"] for b in bins)
    assert [b["n"] for b in plain(calibration(np.full(20, 0.3), y[:20], apart(20)))] == [20]


@settings(max_examples=60)
@given(columns, st.data())
def test_ranges_and_no_nan(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    x, y = column(*(a for a, _ in pairs)), column(*(b for _, b in pairs))
    second = column(*data.draw(st.lists(st.none() | steps, min_size=len(x), max_size=len(x)).map(filled)))
    document = plain(validate(x, {"a": y, "b": second}, apart(len(x), 100)))
    json.dumps(document, allow_nan=False)
    for row in (*document["annotators"], document["mean"]):
        for name, lowest in (("pearson", -1), ("spearman", -1), ("auc", 0)):
            ends = [row[name][key] for key in ("low", "value", "high")]
            assert all(end is None or lowest <= end <= 1 for end in ends)
            assert None in ends or ends == sorted(ends)
    for name in ("alpha", "alpha_binary"):
        assert document[name]["value"] is None or document[name]["value"] <= 1
    assert sum(b["n"] for b in document["calibration"]) == len(x)


def filled(values: list[float | None]) -> list[float]:
    return [math.nan if v is None else v for v in values]


@given(columns)
def test_correlations_do_not_care_for_direction_or_scale(pairs: list[tuple[float, float]]) -> None:
    x, y = column(*(a for a, _ in pairs)), column(*(b for _, b in pairs))
    for make in (pearson, spearman):
        one, turned = value(make(x, y), len(x)), value(make(-3 * x + 7, y), len(x))
        assert one == pytest.approx(-turned, abs=1e-7, nan_ok=True)
    up, down = value(auc(x, y >= 0.5), len(x)), value(auc(-x, y >= 0.5), len(x))
    assert up == pytest.approx(1 - down, nan_ok=True)


def test_a_sample_has_low_scores_and_every_player() -> None:
    random = np.random.default_rng(0)
    players = [name for name in "ABC" for _ in range(200)]
    items = [f"i{n}" for _ in "ABC" for n in range(200)]
    scores: list[float] = np.where(random.random(600) < 0.05, random.random(600) * 0.5, 0.95).tolist()
    picked = spread(players, items, scores, 60, np.random.default_rng(1))
    assert len({row.at for row in picked}) == 60
    assert sum(scores[row.at] < 0.5 for row in picked) > 15
    assert max(Counter(players[row.at] for row in picked).values()) <= 30
    assert sum(row.weight for row in picked) == pytest.approx(600)
    assert picked == spread(players, items, scores, 60, np.random.default_rng(1))
    assert picked != spread(players, items, scores, 60, np.random.default_rng(2))
    assert [row.at for row in picked] != sorted(row.at for row in picked)


@given(st.lists(st.tuples(st.sampled_from("ABCD"), steps), max_size=30), st.integers(1, 40))
def test_a_sample_takes_what_there_is(rows: list[tuple[str, float]], number: int) -> None:
    players, scores = [p for p, _ in rows], [s for _, s in rows]
    picked = spread(players, [str(n) for n in range(len(rows))], scores, number, np.random.default_rng(0))
    assert len(picked) == len({row.at for row in picked}) == min(number, len(rows))
    assert all(row.weight >= 1 for row in picked)


def test_an_interval_does_not_depend_on_the_last_bit() -> None:
    """Many resamples of few ratings equal the estimate but for rounding, which machines do differently."""
    ratings = np.array([[0.0, 0.5, 1.0, 1.0, 0.5, 0.0, 1.0, 0.5, 1.0], [0.5, 0.5, 0.0, 1.0, 1.0, 0.0, 0.5, 1.0, 1.0]])
    exact, rng = krippendorff(ratings), np.random.default_rng(0)

    def rounded_elsewhere(weights: Floats) -> Floats:
        values = exact(weights)
        return values * (1 + rng.choice([-2e-16, 0.0, 2e-16], values.shape))

    here, there = (estimate(measure, apart(9, 500)) for measure in (exact, rounded_elsewhere))
    assert here.low == pytest.approx(there.low, abs=1e-9) and here.high == pytest.approx(there.high, abs=1e-9)
