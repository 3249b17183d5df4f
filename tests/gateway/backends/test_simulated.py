"""Simulated players: draws that depend on their key alone, H in [0, 1], and the rates that were asked for."""

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from statistics import fmean, median, pstdev
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.backends.simulated import NEAREST, NOT_JSON, Draws, Parameters, SimulatedBackend, nearest
from mashq.gateway.types import Call, Completion, Outcome, Usage
from tests.gateway.fakes import CALL, asked

ITEMS = [f"item-{n}" for n in range(800)]
unit = st.floats(0, 1)


async def draw(parameters: Parameters, call: Call, /, seed: int = 7, **facts: object) -> Outcome:
    return await SimulatedBackend(parameters, seed).attempt(asked(facts=facts), call)


def completion(outcome: Outcome) -> Completion:
    assert outcome.completion is not None
    return outcome.completion


def h_of(outcome: Outcome) -> float:
    h = completion(outcome).h
    assert h is not None
    return h


def answers(items: list[str], **more: Any) -> list[Call]:
    return [replace(CALL, item=item, **more) for item in items]


async def test_draws_do_not_depend_on_when_or_in_which_order_they_are_made() -> None:
    calls = [
        Call("match", 1, player, item, purpose, n)
        for player in "AB"
        for item in ITEMS[:10]
        for purpose in ("answer", "review", "decision")
        for n in range(3)
    ]
    backend = SimulatedBackend(Parameters(refusal_rate=0.2, failure_rate=0.2), 7)
    first = {call: await backend.attempt(asked("words", facts={"recommended": 1}), call) for call in calls}
    shuffled = random.Random(1).sample(calls, len(calls))
    other = asked("other words", facts={"recommended": 1})
    again = await asyncio.gather(*(backend.attempt(other, call) for call in shuffled))
    assert dict(zip(shuffled, again)) == first
    assert len({outcome.seconds for outcome in first.values()}) > 100


async def test_the_match_and_the_round_are_no_part_of_an_answer() -> None:
    elsewhere = replace(CALL, match="other", round=99)
    assert await draw(Parameters(), CALL) == await draw(Parameters(), elsewhere)
    assert await draw(Parameters(), CALL) != await draw(Parameters(), CALL, seed=8)


async def test_a_decision_is_keyed_by_its_round() -> None:
    rounds = [replace(CALL, purpose="decision", round=n) for n in range(40)]
    seconds = {(await draw(Parameters(), call, recommended=True)).seconds for call in rounds}
    assert len(seconds) > 30


async def test_players_differ_unless_their_draws_are_common() -> None:
    for purpose in ("answer", "review", "decision"):
        mine, theirs = replace(CALL, purpose=purpose), replace(CALL, purpose=purpose, player="B")
        assert await draw(Parameters(), mine) != await draw(Parameters(), theirs)
        common = Parameters(common=True)
        assert await draw(common, mine) == await draw(common, theirs)


@given(
    st.builds(
        Parameters,
        h=st.floats(-1, 2),
        h_spread=st.floats(0, 3),
        item_share=unit,
        review_gain=st.floats(-2, 3),
        review_spread=st.floats(0, 3),
        tokens_in=st.floats(0, 1e5),
        seconds=st.floats(0, 100),
    ),
    st.integers(),
    st.sampled_from(["answer", "review"]),
    st.integers(0, 6),
)
def test_h_is_a_score_and_costs_are_costs_whatever_the_parameters(
    parameters: Parameters, seed: int, purpose: str, n: int
) -> None:
    outcome = asyncio.run(draw(parameters, replace(CALL, purpose=purpose, n=n), seed))
    assert 0 <= h_of(outcome) <= 1
    assert isinstance(outcome.usage.tokens_in, int)
    assert outcome.usage.tokens_in >= 1
    assert isinstance(outcome.seconds, float)
    assert outcome.seconds > 0


async def test_an_answer_says_that_it_is_simulated() -> None:
    outcome = await draw(Parameters(), CALL)
    said = json.loads(completion(outcome).text)
    assert said["summary"] == said["answer"] == "[simulated answer 0 to item]"
    assert said["confidence"] == pytest.approx(completion(outcome).h, abs=0.001)
    assert (outcome.kind, completion(outcome).refused, outcome.rated) == ("ok", False, {})
    second = await draw(Parameters(), replace(CALL, purpose="review", n=1))
    assert json.loads(completion(second).text)["summary"] == "[simulated answer 1 to item]"
    assert (SimulatedBackend.simulated, SimulatedBackend.durable) == (True, False)
    await SimulatedBackend(Parameters(), 1).close()


async def test_reviews_raise_h_on_average_and_each_starts_where_the_last_ended() -> None:
    parameters = Parameters(h=0.6, review_gain=0.4)
    means = [fmean([h_of(await draw(parameters, call)) for call in answers(ITEMS)])]
    for n in range(3):
        calls = answers(ITEMS, purpose="review", n=n)
        means.append(fmean([h_of(await draw(parameters, call)) for call in calls]))
    assert means == sorted(means)
    assert means[1] - means[0] > 0.1
    none = Parameters(review_gain=0.0, review_spread=0.0)
    for call in answers(ITEMS[:20]):
        first = h_of(await draw(none, call))
        assert h_of(await draw(none, replace(call, purpose="review", n=2))) == first


async def test_h_and_costs_have_the_asked_centre_and_spread() -> None:
    parameters = Parameters(h=0.5, h_spread=0.1, tokens_in=600, tokens_out=120, seconds=1.5)
    outcomes = [await draw(parameters, call) for call in answers(ITEMS)]
    hs = [h_of(outcome) for outcome in outcomes]
    assert fmean(hs) == pytest.approx(0.5, abs=0.02)
    assert pstdev(hs) == pytest.approx(0.1, abs=0.01)
    costs = [(o.usage.tokens_in, o.usage.tokens_out, o.seconds) for o in outcomes]
    for column, centre in enumerate((600, 120, 1.5)):
        assert median([cast(float, row[column]) for row in costs]) == pytest.approx(centre, rel=0.05)
    assert all((o.usage.cached, o.usage.reasoning) == (0, 0) for o in outcomes)


async def test_the_share_of_an_item_is_what_two_players_have_in_common() -> None:
    async def correlation(share: float) -> float:
        parameters = Parameters(h=0.5, h_spread=0.1, item_share=share)
        pairs = [
            (h_of(await draw(parameters, call)), h_of(await draw(parameters, replace(call, player="B"))))
            for call in answers(ITEMS)
        ]
        assert pstdev([mine for mine, _ in pairs]) == pytest.approx(0.1, abs=0.01)
        return fmean([(a - 0.5) * (b - 0.5) for a, b in pairs]) / 0.01

    assert await correlation(1.0) == pytest.approx(1.0, abs=0.1)
    assert await correlation(0.6) == pytest.approx(0.6, abs=0.1)
    assert await correlation(0.0) == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
async def test_refusals_and_failures_come_at_their_rates(rate: float) -> None:
    refusals = [await draw(Parameters(refusal_rate=rate), call) for call in answers(ITEMS)]
    refused = [outcome for outcome in refusals if outcome.kind == "refused"]
    assert len(refused) / 800 == pytest.approx(rate, abs=0.05)
    assert all(completion(outcome) == Completion("", "refusal", refused=True) for outcome in refused)
    assert all(isinstance(outcome.usage.tokens_in, int) and outcome.usage.tokens_in > 1 for outcome in refused)
    failures = [await draw(Parameters(failure_rate=rate), call) for call in answers(ITEMS)]
    failed = [outcome for outcome in failures if outcome.kind == "http"]
    assert len(failed) / 800 == pytest.approx(rate, abs=0.05)
    assert all((o.completion, o.usage, o.status) == (None, Usage(0, 0, 0, 0), 400) for o in failed)


@pytest.mark.parametrize(
    ("recommended", "rate", "share"), [(True, 0.7, 0.7), (True, 0.0, 0.0), (True, 1.0, 1.0), (False, 1.0, 0.0)]
)
async def test_a_decision_follows_the_facts_and_the_rate(recommended: bool, rate: float, share: float) -> None:
    calls = answers(ITEMS, purpose="decision")
    facts: dict[str, Any] = {"recommended": recommended, "current_id": "c", "worst_id": "w"}
    outcomes = [await draw(Parameters(review_rate=rate, refusal_rate=1.0), call, **facts) for call in calls]
    decisions = [json.loads(completion(outcome).text) for outcome in outcomes]
    assert sum(d["choice"] == "review" for d in decisions) / 800 == pytest.approx(share, abs=0.05)
    assert {d["choice"] for d in decisions} <= {"review", "continue"}
    assert {(d["question_id"], d["previous_id"]) for d in decisions} == {("c", "w")}


async def test_a_decision_without_facts_continues() -> None:
    outcome = await draw(Parameters(review_rate=1.0), replace(CALL, purpose="decision"))
    assert json.loads(completion(outcome).text)["choice"] == "continue"


def test_draws_are_numbers_of_their_kind() -> None:
    draws = [Draws("key", n) for n in range(4000)]
    uniform = [d.uniform("x") for d in draws]
    normal = [d.normal("x") for d in draws]
    assert all(0 < u < 1 for u in uniform)
    assert fmean(uniform) == pytest.approx(0.5, abs=0.02)
    assert (fmean(normal), pstdev(normal)) == (pytest.approx(0, abs=0.05), pytest.approx(1, abs=0.05))
    assert Draws("a", "b").uniform("x") != Draws("ab").uniform("x") != Draws("ab").uniform("y")


OLD = [
    ("answer", 0, "ok", 995, 122, 1.434, 0.628076),
    ("answer", 2, "ok", 841, 170, 1.748, 0.628076),
    ("decision", 0, "ok", 595, 93, 0.939, None),
    ("decision", 2, "ok", 617, 125, 1.141, None),
    ("review", 0, "ok", 583, 129, 2.12, 0.718464),
    ("review", 2, "ok", 456, 105, 1.254, 0.975048),
]
OTHER = [
    ("answer", 0, "ok", 408, 135, 1.39, 0.573284),
    ("answer", 2, "http", 0, 0, 0.945, None),
    ("decision", 0, "http", 0, 0, 1.542, None),
    ("decision", 2, "ok", 521, 106, 0.861, None),
    ("review", 0, "refused", 616, 132, 1.168, None),
    ("review", 2, "ok", 822, 112, 1.877, 0.814139),
]


@pytest.mark.parametrize(
    ("parameters", "known"),
    [(Parameters(), OLD), (Parameters(common=True, refusal_rate=0.5, failure_rate=0.3), OTHER)],
)
async def test_plain_players_draw_what_they_always_drew(parameters: Parameters, known: list[tuple[Any, ...]]) -> None:
    for purpose, n, *expected in known:
        outcome = await draw(parameters, Call("0", n, "A", "i", purpose, n), recommended=True)
        h = None if outcome.completion is None else outcome.completion.h
        usage = outcome.usage
        assert [outcome.kind, usage.tokens_in, usage.tokens_out, outcome.seconds, h] == expected


TABLE = [0.0, 0.0, 0.2, 0.9, 1.0, 1.0, 1.0, 1.0]


async def test_a_table_is_drawn_from_as_it_is() -> None:
    cost = {"tokens_in": [100, 200.5], "tokens_out": [7], "seconds": [0.25, 4.0]}
    parameters = Parameters(h_values=TABLE, calls={"answer": cost})
    outcomes = [await draw(parameters, call) for call in answers(ITEMS)]
    drawn = [h_of(outcome) for outcome in outcomes]
    assert set(drawn) == set(TABLE)
    assert fmean(drawn) == pytest.approx(fmean(TABLE), abs=0.05)
    tokens = [cast(int, outcome.usage.tokens_in) for outcome in outcomes]
    assert set(tokens) == {100, 200, 201} and fmean(tokens) == pytest.approx(150.25, abs=6)
    assert {outcome.usage.tokens_out for outcome in outcomes} == {7}
    assert {outcome.seconds for outcome in outcomes} == {0.25, 4.0}


async def test_the_scale_multiplies_tokens_and_seconds() -> None:
    cost = {"tokens_in": [100], "tokens_out": [10], "seconds": [2.0]}
    for calls in ({}, {"answer": cost}):
        one = await draw(Parameters(calls=calls), CALL)
        two = await draw(Parameters(calls=calls, scale=3), CALL)
        for name in ("tokens_in", "tokens_out"):
            assert getattr(two.usage, name) == pytest.approx(3 * getattr(one.usage, name), abs=2)
        assert two.seconds == pytest.approx(3 * cast(float, one.seconds), abs=0.002)


async def test_what_is_the_items_is_the_same_for_all_players_and_seconds_follow_tokens() -> None:
    cost = {"tokens_in": list(range(500)), "tokens_out": list(range(500)), "seconds": [n / 100 for n in range(500)]}

    async def both(**shares: float) -> list[tuple[Outcome, Outcome]]:
        parameters = Parameters(calls={"answer": cost | shares})
        return [(await draw(parameters, call), await draw(parameters, replace(call, player="B"))) for call in calls]

    calls = answers(ITEMS[:100])
    for a, b in await both(in_share=1.0, out_share=0.0, follow=1.0):
        assert abs(cast(int, a.usage.tokens_in) - cast(int, b.usage.tokens_in)) <= 1
        assert a.seconds == pytest.approx(cast(int, a.usage.tokens_out) / 100, abs=0.02)
    apart = await both(follow=-1.0)
    assert sum(a.usage.tokens_in == b.usage.tokens_in for a, b in apart) < 10
    assert all(a.seconds == pytest.approx(4.99 - cast(int, a.usage.tokens_out) / 100, abs=0.03) for a, _ in apart)


@given(st.lists(unit, min_size=1, max_size=60), unit)
def test_the_nearest_are_nearer_than_the_others(given: list[float], x: float) -> None:
    values = sorted(given)
    start, stop = nearest(values, x)
    inside, outside = values[start:stop], values[:start] + values[stop:]
    assert len(inside) >= min(NEAREST, len(values))
    assert max(abs(v - x) for v in inside) <= min((abs(v - x) for v in outside), default=2)
    assert len(inside) <= NEAREST or set(inside) == {x}


async def test_rewrites_repeat_recorded_ones_nearby() -> None:
    low, high = [[0.1, 0.1]] * 10 + [[0.1, 0.7]] * 10, [[0.9, 0.95]] * 10
    parameters = Parameters(h_values=[0.1, 0.9], rewrites=[*low, *high], refusal_rate=1.0)
    seen = Counter[tuple[float, float]]()
    for call in answers(ITEMS):
        first = h_of(await draw(replace(parameters, refusal_rate=0.0), call))
        seen[first, h_of(await draw(parameters, replace(call, purpose="review")))] += 1
    assert set(seen) == {(0.1, 0.1), (0.1, 0.7), (0.9, 0.95)}, "refused rewrites are among those that change nothing"
    assert seen[0.1, 0.1] == pytest.approx(seen[0.1, 0.7], abs=60)


async def test_a_rewrites_luck_can_stay_with_the_answer() -> None:
    pairs = sorted([[0.1, 0.1], [0.1, 0.8], [0.8, 0.1], [0.8, 0.8]] * 10)
    parameters = Parameters(h_values=[0.1], rewrites=pairs, rewrite_share=1.0)
    for call in answers(ITEMS[:50]):
        hs = [h_of(await draw(parameters, replace(call, purpose="review", n=n))) for n in range(3)]
        assert len(set(hs)) == 1


async def test_where_the_better_is_kept_a_worse_rewrite_is_no_start() -> None:
    both = Parameters(h_values=[0.5], rewrites=[[0.1, 0.0]] * 10 + [[0.5, 0.1]] * 10, keeps_better=False)
    assert h_of(await draw(both, replace(CALL, purpose="review", n=1))) == 0.0
    assert h_of(await draw(replace(both, keeps_better=True), replace(CALL, purpose="review", n=1))) == 0.1


async def test_confidence_is_drawn_by_h() -> None:
    told = [{"up_to": 0.4, "values": [0.5]}, {"up_to": 0.8, "values": [0.9]}]
    parameters = Parameters(h_values=[0.0, 0.6, 1.0], confidence=told)
    for call in answers(ITEMS[:50]):
        outcome = await draw(parameters, call)
        said = json.loads(completion(outcome).text)["confidence"]
        assert said == {0.0: 0.5, 0.6: 0.9, 1.0: 0.9}[h_of(outcome)], "above the last row the last row holds"


async def test_reviews_without_a_recommendation_and_the_end_of_a_loop() -> None:
    decisions = [
        json.loads(completion(await draw(Parameters(review_anyway=0.3), call, recommended=False)).text)["choice"]
        for call in answers(ITEMS, purpose="decision")
    ]
    assert decisions.count("review") / 800 == pytest.approx(0.3, abs=0.05)
    loop = asked(schema={"properties": {"action": {}, "summary": {}}})
    backend = SimulatedBackend(Parameters(end_rate=1.0), 7)
    for request, purpose, action in (
        (loop, "review", "end"),
        (loop, "answer", "answer"),
        (asked(), "review", "answer"),
    ):
        outcome = await backend.attempt(request, replace(CALL, purpose=purpose))
        assert json.loads(completion(outcome).text)["action"] == action


async def test_refusals_can_be_the_items_own() -> None:
    parameters = Parameters(refusal_rate=0.25, refusal_share=1.0)
    kinds = [
        {(await draw(parameters, replace(call, player=player))).kind for player in "ABC"} for call in answers(ITEMS)
    ]
    assert all(len(kind) == 1 for kind in kinds)
    assert kinds.count({"refused"}) / 800 == pytest.approx(0.25, abs=0.05)


async def test_a_reply_that_is_not_json_is_right_when_asked_for_again() -> None:
    parameters = Parameters(calls={"answer": {"again": 0.5}})
    backend = SimulatedBackend(parameters, 7)
    texts = [completion(await backend.attempt(asked(), call)).text for call in answers(ITEMS)]
    assert texts.count(NOT_JSON) / 800 == pytest.approx(0.5, abs=0.06)
    again = replace(asked(), messages=asked().messages * 3)
    for call in answers(ITEMS[:50], ask=1):
        assert completion(await backend.attempt(again, call)).h is not None


async def test_passing_failures_pass_and_cost_their_time() -> None:
    parameters = Parameters(retry_rate=0.5, failure_rate=0.0, calls={"failed": {"seconds": [9.0]}})
    backend = SimulatedBackend(parameters, 7)
    tries = list[int]()
    for call in answers(ITEMS):
        outcomes = [await backend.attempt(asked(), call)]
        while outcomes[-1].completion is None:
            outcomes.append(await backend.attempt(asked(), call))
        tries.append(len(outcomes))
        assert all((o.status, o.seconds, o.usage) == (503, 9.0, Usage(0, 0, 0, 0)) for o in outcomes[:-1])
    assert fmean(tries) == pytest.approx(2.0, abs=0.15)
    final = await draw(Parameters(failure_rate=1.0, calls={"failed": {"seconds": [9.0]}}), CALL)
    assert (final.status, final.seconds) == (400, 9.0)
