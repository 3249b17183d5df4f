"""Power: what must be true of any results, and what theory says of simple ones."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mashq.analysis.power import MAX_ITEMS, Effect, Options, PowerReport, Sampled, power
from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_report import Options as ScoreOptions
from mashq.analysis.score_report import judge
from mashq.errors import DataError
from mashq.protocol.results import Cost, Results
from mashq.protocol.score import ScoreRules
from mashq.report.documents.base import plain
from mashq.report.documents.power import Power
from mashq.report.text.power import power_text, rounded_up

QUICK = Options(samples=1000, full=0, resamples=1000)
TINY = Options(samples=200, full=0, resamples=300)
FREE = ScoreRules(beta=0.0, weights={})


def results(*players: Any, tokens: float = 100.0) -> Results:
    """Players by their scores; a refused answer is None."""
    rows = [
        Row(
            f"p{seat}",
            f"i{at}",
            "",
            None if h is None else float(h),
            "refused" if h is None else "ok",
            {"tokens": tokens * (seat + 1), "seconds": 1.0},
        )
        for seat, own in enumerate(players)
        for at, h in enumerate(own)
    ]
    return from_rows(rows)


def normal(difference: float, spread: float, count: int = 400, seed: int = 1) -> Results:
    """Two players whose differences have this mean and spread exactly, and look normal."""
    random = np.random.default_rng(seed)
    apart = random.normal(size=count)
    apart = difference + spread * (apart - apart.mean()) / apart.std()
    middle = np.clip(random.uniform(0.45, 0.55, count), 0, 1)
    return results(middle + apart / 2, middle - apart / 2)


@pytest.mark.parametrize(("difference", "spread"), [(0.05, 0.2), (0.02, 0.1), (0.03, 0.3)])
def test_normal_differences_need_what_the_textbook_says(difference: float, spread: float) -> None:
    found = plain(power(normal(difference, spread), FREE, options=Options(samples=2000, full=120, resamples=1000)))
    assert found["needed"] == pytest.approx(((1.96 + 0.8416) * spread / difference) ** 2, rel=0.15)
    assert found["in_full"]["power"] == pytest.approx(0.8, abs=0.12)
    assert found["detectable"] == pytest.approx(2.8 * spread / np.sqrt(400), rel=0.1)
    now = next(row for row in found["curve"] if row["items"] == found["needed"])
    assert 0.8 <= now["power"] < 0.87 and now["detectable"] == pytest.approx(difference, rel=0.08)


def test_the_costs_of_an_item_are_those_of_the_curve() -> None:
    table = [
        Row(name, f"i{n}", trial, 0.5 + (n % 7) / 20 + (name == "a") / 20, "ok", {"tokens": tokens, "seconds": 2.0})
        for n in range(40)
        for trial in ("1", "2")
        for name, tokens in (("a", 100.0), ("b", 30.0))
    ]
    found = plain(power(from_rows(table), ScoreRules(), options=QUICK))
    each = found["costs_per_item"]
    assert (each["tokens"], each["seconds"], each["dollars"]) == (pytest.approx(260), pytest.approx(8), None)
    for point in found["curve"]:
        assert point["costs"]["tokens"] == pytest.approx(each["tokens"] * point["items"])


def test_more_is_needed_for_more() -> None:
    seen = normal(0.03, 0.2)
    needed = plain(power(seen, FREE, options=QUICK))["needed"]
    assert plain(power(seen, FREE, options=replace(QUICK, level=0.99)))["needed"] > 1.2 * needed
    assert plain(power(seen, FREE, options=replace(QUICK, power=0.95)))["needed"] > 1.2 * needed
    assert plain(power(seen, FREE, options=replace(QUICK, power=0.5)))["needed"] < needed / 1.5
    smaller = plain(power(seen, FREE, ("p0", "p1"), QUICK, effect=Effect(0.015, 0.0, 0.03)))
    assert smaller["needed"] == pytest.approx(4 * needed, rel=0.15)
    assert smaller["if_low"] is None and smaller["if_high"] == pytest.approx(needed, rel=0.1)
    assert smaller["own_dq"] == pytest.approx(0.03)


def shown(found: PowerReport, *, simulated: bool = False) -> str:
    """What a person reads, on one line."""
    document = Power(found=found, simulated=simulated, drawn=False, recorded_needed=None, source="run")
    return " ".join(power_text(document, "table").split())


def test_the_range_holds_the_number_and_no_end_at_zero_is_promised() -> None:
    clear = plain(power(normal(0.05, 0.2), FREE, options=QUICK))
    assert clear["low"] > 0 and clear["if_high"] < clear["needed"] < clear["if_low"]
    doubtful = power(normal(0.01, 0.3), FREE, options=QUICK)
    unclear = plain(doubtful)
    assert unclear["low"] < 0 and unclear["if_low"] is None and unclear["if_high"] < unclear["needed"]
    said = shown(doubtful)
    assert "if it is 0, no number of items is" in said and "do not show a clear difference" in said


def test_no_difference_is_never_told_apart() -> None:
    same = [0.2, 0.9, 1.0, 0.4, 0.7, 0.8]
    found = power(results(same, same), FREE, options=QUICK)
    document = plain(found)
    assert document["dq"] == 0 and document["needed"] is None and document["asked"] is None
    assert "no number of items would tell them apart" in shown(found)
    assert "p0 and p1 have the same Q over 6 items" in shown(found) and "is ahead" not in shown(found)
    found = power(normal(1e-5, 0.3), FREE, options=QUICK)
    tiny = plain(found)
    assert tiny["needed"] is None and all(row["items"] <= MAX_ITEMS for row in tiny["curve"])
    said = shown(found, simulated=True)
    assert "Never, in practice" in said and "more than 1,000,000 items" in said and said.startswith("SIMULATED")


def test_where_the_search_promises_too_much_the_full_intervals_correct_it() -> None:
    rare = [0.0] * 4 + [1.0] * 96
    quick = plain(power(results([1.0] * 100, rare), FREE, options=Options(samples=2000, full=0, resamples=300)))
    found = plain(power(results([1.0] * 100, rare), FREE, options=Options(samples=2000, full=200, resamples=300)))
    assert found["needed"] > 1.05 * quick["needed"] and found["in_full"]["power"] > 0.74


def test_a_number_too_large_to_play_is_not_given() -> None:
    seen = normal(1e-4, 0.045)
    assert plain(power(seen, FREE, options=QUICK))["needed"] is None
    huge = plain(power(seen, FREE, ("p0", "p1"), QUICK, effect=Effect(2.5e-4, 1e-4, 4e-4)))
    assert 100_000 < huge["needed"] < MAX_ITEMS and huge["in_full"] is None and huge["if_low"] is None


scores = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
tables = st.integers(5, 20).flatmap(
    lambda count: st.lists(st.lists(scores, min_size=count, max_size=count), min_size=2, max_size=3)
)


@settings(max_examples=25)
@given(tables, st.floats(0, 0.3), st.sampled_from(["intersection", "penalised", "answered"]))
def test_whatever_the_results_the_document_is_sound(table: list[list[float]], beta: float, refusals: Any) -> None:
    rules = ScoreRules(beta=beta, weights={"tokens": 1.0, "calls": 1.0}, refusals=refusals)
    found = plain(power(results(*table), rules, options=TINY))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["dq"] >= 0 and found["detectable"] > 0
    assert "calls left out of P: the results do not have it." in found["notes"]
    sizes = [row["items"] for row in found["curve"]]
    assert sizes == sorted(set(sizes)) and len(table[0]) in sizes
    assert all(0 <= row["power"] <= 1 and row["costs"]["dollars"] is None for row in found["curve"])
    if found["needed"] is not None:
        row = next(row for row in found["curve"] if row["items"] == found["needed"])
        assert row["power"] >= 0.8 and row["detectable"] <= found["dq"] + 1e-9
        assert found["asked"] == found["needed"]
    again = plain(power(results(*table), rules, options=TINY))
    assert again == found
    other = plain(power(results(*table), rules, options=TINY, pair=("p1", "p0")))
    assert set(other["players"]) == {"p0", "p1"} and other["dq"] >= 0


def test_costs_are_of_everyone_and_of_the_items_that_are_left_out_too() -> None:
    a = [None, *(0.5 + 0.02 * (n % 20) for n in range(39))]
    b = [0.2 + 0.02 * (n % 19) for n in range(40)]
    found = plain(power(results(a, b), ScoreRules(beta=0.1, weights={"tokens": 1.0}), options=QUICK))
    assert found["items"] == 39 and any("were left out" in note for note in found["notes"])
    row = next(row for row in found["curve"] if row["items"] == 39)
    assert row["costs"]["tokens"] == pytest.approx(40 * 300) and row["costs"]["seconds"] == pytest.approx(40 * 2)
    assert found["asked"] > found["needed"]


def test_repeats_are_paid_for_too() -> None:
    one = results([0.2, 0.4, 0.9, 1.0, 0.7, 0.3], [0.1, 0.5, 0.6, 0.9, 0.4, 0.2])
    parts = {name: Cost.known(np.repeat(cost.value, 3, axis=1)) for name, cost in one.costs.items()}
    arrays = {name: np.repeat(getattr(one, name), 3, axis=1) for name in ("status", "h", "h_first", "unknown")}
    three = replace(one, item_of=np.repeat(one.item_of, 3), trial_of=("0", "1", "2") * 6, costs=parts, **arrays)
    thrice = plain(power(three, FREE, options=TINY))
    assert any("played 3 times" in note for note in thrice["notes"])
    once = plain(power(one, FREE, options=TINY))["curve"][0]["costs"]["tokens"]
    assert thrice["curve"][0]["costs"]["tokens"] == pytest.approx(3 * once)


def test_among_several_players_the_interval_is_the_one_that_a_score_prints() -> None:
    """Six players, 40 items: the number promised is that of the simultaneous interval, which new scores confirm."""
    random = np.random.default_rng(5)
    shared = 0.3 * random.random(40)
    h = [np.clip(0.45 + ahead + shared + random.normal(0, 0.2, 40), 0, 1) for ahead in (0.13, 0.03, 0, 0, 0, 0)]
    found = power(results(*h), FREE, options=Options(samples=1000, full=60))
    a, b = found.players
    lead = next(own for own in judge(results(*h), ScoreOptions(FREE)).differences if {own.a, own.b} == {a, b})
    assert (found.dq, found.low, found.high) == pytest.approx((lead.dq, lead.all_low, lead.all_high))
    assert found.low is not None and found.low < (lead.low or 0.0) - 0.01
    assert found.needed is not None
    told = 0
    for _ in range(60):
        picked = random.integers(0, 40, found.needed)
        again = judge(results(*(own[picked] for own in h)), ScoreOptions(FREE, resamples=200))
        told += any((own.a, own.b) == (a, b) and (own.all_low or 0) > 0 for own in again.differences)
    assert 0.65 <= told / 60 <= 0.95


def test_among_very_many_players_a_pair_without_the_leader_has_an_interval_too() -> None:
    random = np.random.default_rng(6)
    found = power(results(*random.random((15, 30))), FREE, ("p3", "p4"), TINY)
    assert set(found.players) == {"p3", "p4"} and found.low is not None and found.low < found.dq


def test_a_reference_grows_with_the_items() -> None:
    seen = normal(0.04, 0.2)
    rules = ScoreRules(beta=0.1, weights={"tokens": 1.0}, reference={"tokens": 400 * 100.0})
    found = plain(power(seen, rules, options=Options(samples=2000, full=80, resamples=500)))
    assert found["dq"] == pytest.approx(0.14), "the second player uses twice the reference"
    assert found["in_full"]["power"] >= 0.75
    small = plain(power(seen, rules, options=replace(QUICK, samples=2000)))
    assert found["needed"] == pytest.approx(small["needed"], abs=6)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (results([0.5, 0.6, 0.7, 0.8, 0.9]), "one player"),
        (results([0.5, 0.6], [0.7, 0.8]), "at least 5"),
        (results([None] * 6, [0.5] * 6), "no item was answered by every player"),
        (from_rows([Row(p, "all", "", 0.5, "ok", {}) for p in "ab"], totals=True), "totals"),
    ],
)
def test_too_little_to_say_anything_is_a_sentence(seen: Results, said: str) -> None:
    with pytest.raises(DataError, match=said):
        plain(power(seen, FREE))


@given(st.integers(1, 10**9))
def test_a_number_is_rounded_up_to_two_digits(items: int) -> None:
    about = rounded_up(items)
    assert items <= about <= 1.1 * items + 1 and len(str(about).rstrip("0")) <= 2 + (str(about)[0] == "1")


def test_an_interval_that_ends_at_0_shows_nothing() -> None:
    alike = Sampled(np.zeros(4), np.array([0.0, 0.0, 0.1, 0.2]))
    assert (alike.power(0.0), alike.power(0.1), alike.power(0.3)) == (0.0, 0.5, 1.0)
    assert (alike.detectable(0.5), alike.detectable(1.0)) == (0.0, 0.2)
