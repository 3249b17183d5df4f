"""Simulated players: draws that depend on their key alone, H in [0, 1], and the rates that were asked for."""

import asyncio
import json
import random
from dataclasses import replace
from statistics import fmean, median, pstdev
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.simulated import Draws, Parameters, SimulatedBackend
from mashq.gateway.types import Call, Completion, Outcome, Usage
from mashq.protocol.resources import UNKNOWN
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
    assert (outcome.kind, completion(outcome).refused, outcome.dollars) == ("ok", False, UNKNOWN)
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
