"""A player in two conditions, against what plain loops over units say."""

from itertools import product

import numpy as np
import pytest

from mashq.analysis.intervals import FEWEST
from mashq.analysis.paired import Common, Condition, apart, common, differences
from mashq.protocol.results import COST_NAMES, OK, REFUSED, Cost, Floats, Results
from mashq.protocol.score import REFUSALS, Refusals, ScoreRules, score

PLAYERS = ("a", "b")
WEIGHTS = {"tokens": 1.0, "calls": 0.5}


def condition(
    seed: int,
    refused: float,
    refusals: Refusals = "intersection",
    items: int = 12,
    trials: tuple[str, ...] = ("0", "1", "2"),
    reference: dict[str, float] | None = None,
) -> Condition:
    """Two players whose scores and costs in a trial are much the same in every condition."""
    shape = len(PLAYERS), items, 4
    steady, own = np.random.default_rng(7), np.random.default_rng(seed)
    h = 0.7 * steady.random(shape) + 0.3 * own.random(shape)
    tokens = np.round(100 * steady.lognormal(0, 1, shape) * (0.5 + own.random(shape)))
    lost = own.random(shape) < refused
    at = [int(trial) for trial in trials]
    h, tokens = (values[:, :, at].reshape(len(PLAYERS), -1) for values in (h, tokens))
    lost = lost[:, :, at].reshape(len(PLAYERS), -1)
    costs = {name: Cost.known(tokens if name == "tokens" else np.ones_like(tokens)) for name in COST_NAMES}
    results = Results(
        PLAYERS,
        tuple(f"i{n}" for n in range(items)),
        np.repeat(np.arange(items), len(at)),
        trials * items,
        np.where(lost, REFUSED, OK).astype(np.int8),
        np.where(lost, np.nan, h),
        np.where(lost, np.nan, h),
        costs,
        np.zeros_like(h),
    )
    return Condition(results, ScoreRules(weights=WEIGHTS, refusals=refusals, beta=0.2, reference=reference))


def units_of(one: Condition) -> list[tuple[str, str]]:
    found = one.results
    return [(found.items[item], trial) for item, trial in zip(found.item_of.tolist(), found.trial_of, strict=True)]


def counts(one: Condition, seat: int, unit: int, of: str) -> bool:
    """Whether a unit of a player counts, for its H or its costs."""
    lost = one.results.status[:, unit] == REFUSED
    rule = one.rules.refusals
    if rule == "intersection":
        return not lost.any()
    return not (rule == "answered" and of == "h" and lost[seat])


def mean_by_item(one: Condition, seat: int, of: str, kept: set[tuple[str, str]], drawn: dict[str, int]) -> float:
    """Units to items, items to a mean, each as often as it is drawn."""
    values = np.nan_to_num(one.results.h) if of == "h" else one.results.costs[of].value
    by_item: dict[str, list[float]] = {}
    for at, unit in enumerate(units_of(one)):
        if unit in kept and counts(one, seat, at, of):
            by_item.setdefault(unit[0], []).append(float(values[seat, at]))
    weights = [drawn[item] for item in by_item]
    return float(np.average([np.mean(own) for own in by_item.values()], weights=weights)) if sum(weights) else np.nan


def q_of(
    one: Condition, seat: int, kept: dict[str, set[tuple[str, str]]], drawn: dict[str, int], items: int
) -> float:
    h = mean_by_item(one, seat, "h", kept["h"], drawn)
    penalty = 0.0
    for name, weight in WEIGHTS.items():
        means = [mean_by_item(one, other, name, kept["costs"], drawn) for other in range(len(PLAYERS))]
        top = max(means) if one.rules.reference is None else one.rules.reference[name] / items
        penalty += weight * means[seat] / top
    return one.rules.alpha * h - one.rules.beta * penalty


def scored(one: Condition, seat: int, of: str) -> set[tuple[str, str]]:
    return {unit for at, unit in enumerate(units_of(one)) if counts(one, seat, at, of)}


def once(one: Condition) -> dict[str, int]:
    return dict.fromkeys(one.results.items, 1)


@pytest.mark.parametrize(("rule", "other"), list(product(REFUSALS, REFUSALS)))
def test_scores_are_as_far_apart_as_they_are_printed(rule: Refusals, other: Refusals) -> None:
    now, before = condition(1, 0.25, rule), condition(2, 0.1, other)
    printed = [score(one.results, one.rules).players for one in (now, before)]
    for seat, name in enumerate(PLAYERS):
        found = apart(now, before, name)
        q, h = ([getattr(players[seat], of) for players in printed] for of in ("q", "h"))
        assert found["q"].value == pytest.approx(q[0] - q[1], abs=1e-12)
        assert found["h"].value == pytest.approx(h[0] - h[1], abs=1e-12)
        everything = [{of: set(units_of(one)) for of in ("h", "costs")} for one in (now, before)]
        own = [q_of(one, seat, kept, once(one), 12) for one, kept in zip((now, before), everything, strict=True)]
        assert found["q"].value == pytest.approx(own[0] - own[1], abs=1e-12)


def test_the_interval_is_as_wide_as_items_resampled_together_say() -> None:
    """Each condition is reduced by its own rule in every resample."""
    now, before = condition(1, 0.2, "penalised", 60), condition(2, 0.05, "intersection", 60)
    random = np.random.default_rng(3)
    moved: list[float] = []
    everything = [{of: set(units_of(one)) for of in ("h", "costs")} for one in (now, before)]
    for _ in range(400):
        times = np.bincount(random.integers(0, 60, 60), minlength=60).tolist()
        drawn = dict(zip(now.results.items, times, strict=True))
        q = [q_of(one, 0, kept, drawn, 60) for one, kept in zip((now, before), everything, strict=True)]
        moved.append(q[0] - q[1])
    found = apart(now, before, "a")["q"]
    assert found.low is not None and found.high is not None
    assert 1.8 < (found.high - found.low) / 2 / float(np.std(moved)) < 2.4


@pytest.mark.parametrize("reference", [None, {"tokens": 40_000.0, "calls": 50.0}])
@pytest.mark.parametrize(("rule", "other"), list(product(REFUSALS, REFUSALS)))
def test_an_effect_is_over_the_units_that_both_score(
    rule: Refusals, other: Refusals, reference: dict[str, float] | None
) -> None:
    now = condition(1, 0.25, rule, reference=reference)
    before = condition(2, 0.1, other, trials=("0", "2", "3"), reference=reference)
    for seat, name in enumerate(PLAYERS):
        found = differences(now, before, name)
        both = {of: scored(now, seat, of) & scored(before, seat, of) for of in ("h", "costs")}
        for of, kept in (("h", both["h"]), ("tokens", both["costs"])):
            own = [mean_by_item(one, seat, of, kept, once(one)) for one in (now, before)]
            assert found[of].value == pytest.approx(own[0] - own[1], abs=1e-9)
        items = [
            len({item for item, _ in scored(one, 0, "costs") | scored(one, 1, "costs")}) for one in (now, before)
        ]
        q = [q_of(one, seat, both, once(one), n) for one, n in zip((now, before), items, strict=True)]
        assert found["q"].value == pytest.approx(q[0] - q[1], abs=1e-12)
        either = scored(now, seat, "h") | scored(before, seat, "h")
        assert common(now, before, name) == Common(len(both["h"]), len(either))


def test_what_a_rival_refuses_is_no_effect() -> None:
    """In some trials only: the item is still there, with fewer of them."""
    before = condition(1, 0.0)
    lost = np.zeros((2, 36), dtype=bool)
    lost[0, ::5] = True
    results = before.results
    refused = Results(
        PLAYERS, results.items, results.item_of, results.trial_of, np.where(lost, REFUSED, OK).astype(np.int8),
        np.where(lost, np.nan, results.h), results.h_first, results.costs, results.unknown,
    )  # fmt: skip
    now = Condition(refused, before.rules)
    assert set(refused.item_of[~lost[0]].tolist()) == set(range(12)), "no item is lost whole"
    assert common(now, before, "b") == Common(28, 36)
    for name, change in differences(now, before, "b").items():
        assert (change.value, change.low, change.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12), name
    assert abs(apart(now, before, "b")["h"].value) > 1e-3
    assert common(before, before, "b") is None


def test_what_cannot_be_told_is_not_told() -> None:
    nothing = condition(1, 1.0)
    assert differences(nothing, condition(1, 0.0), "a") == {} == apart(nothing, condition(1, 0.0), "a")
    few = condition(1, 0.0, items=FEWEST - 1)
    found = apart(condition(1, 0.0), few, "a")["q"]
    assert (found.low, found.high) == (None, None)
    unknown: Floats = np.where(np.arange(36) == 3, np.nan, 1.0) * np.ones((2, 1))
    results = condition(1, 0.0).results
    costs = {**results.costs, "dollars": Cost.known(unknown)}
    lacking = Results(
        PLAYERS, results.items, results.item_of, results.trial_of, results.status, results.h, results.h_first, costs,
        results.unknown,
    )  # fmt: skip
    assert "dollars" not in apart(Condition(lacking, few.rules), condition(1, 0.0), "a")
