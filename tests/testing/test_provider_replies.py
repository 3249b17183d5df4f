"""The deterministic model and the deterministic faults, without a socket."""

import json
from collections import Counter

import pytest

from mashq.testing import FakeProvider
from mashq.testing.faults import Plan, parse_plan
from mashq.testing.replies import Message, Prompt, Spoken, speak

PASSAGE = "The bridge opened in 1932. It is 503 metres long. Sixteen men died building it. It has 8 lanes."
SUMMARISE = f'Summarise.\n\n{PASSAGE}\n\nReply with JSON: {{"summary": "..."}}'
DECIDE = 'question_id: q7\nprevious_id: q6\nworst item: id = q3\n\n{"choice": "...", "question_id": "<id>"}'


def said(text: str, *, seed: int = 7, model: str = "m", request_seed: int | None = None) -> Spoken:
    return speak(seed, Prompt(model, (Message("user", text),), request_seed))


def test_a_reply_depends_on_its_four_causes() -> None:
    first = said(SUMMARISE)
    assert first == said(SUMMARISE)
    others = (
        said(SUMMARISE, seed=8),
        said(SUMMARISE, model="other"),
        said(SUMMARISE, request_seed=1),
        said(SUMMARISE + " "),
    )
    assert len({first.id, *(other.id for other in others)}) == 5


def test_decisions_are_spread_and_name_items_of_the_prompt() -> None:
    decisions = [json.loads(said(DECIDE, request_seed=n).text) for n in range(2000)]
    shares = Counter(decision["choice"] for decision in decisions)
    assert 0.30 < shares["review"] / 2000 < 0.40
    assert 0.02 < shares["end"] / 2000 < 0.08
    assert set(shares) == {"continue", "review", "end"}
    assert {decision["previous_id"] for decision in decisions} == {"q6"}
    continued = {decision["question_id"] for decision in decisions if decision["choice"] == "continue"}
    reviewed = {decision["question_id"] for decision in decisions if decision["choice"] == "review"}
    assert (continued, reviewed) == ({"q7"}, {"q7", "q6", "q3"})


def test_a_decision_without_ids_names_none() -> None:
    decision = json.loads(said('Reply {"choice": "continue", "question_id": null, "previous_id": null}').text)
    assert (decision["question_id"], decision["previous_id"]) == (None, None)


def test_summaries_are_mostly_faithful_and_sometimes_not() -> None:
    summaries = [json.loads(said(SUMMARISE, request_seed=n).text)["summary"] for n in range(500)]
    faithful = [all(part in PASSAGE for part in summary.split(". ")) for summary in summaries]
    assert 0.4 < sum(faithful) / 500 < 0.9
    assert not any("Reply with JSON" in summary for summary in summaries)


def test_answers_have_a_confidence() -> None:
    for n in range(100):
        found = json.loads(said('How long is the bridge?\n\nReply {"answer": "..."}', request_seed=n).text)
        assert found["answer"]
        assert 0 <= found["confidence"] <= 1


def test_the_last_user_message_decides_then_all_of_them() -> None:
    system = Message("system", 'Policy: {"choice": "..."}')
    passage = Message("user", PASSAGE)
    summary = Message("user", 'Now reply with {"summary": "..."}')
    assert "summary" in json.loads(speak(7, Prompt("m", (system, passage, summary))).text)
    assert "choice" in json.loads(speak(7, Prompt("m", (system, passage))).text)
    with pytest.raises(json.JSONDecodeError):
        json.loads(said("Hello there.").text)
    assert said("").text


@pytest.mark.parametrize("text", ["", "\n\n", '"summary"', '"answer"', '"choice"', "9" * 6000 + '"summary"'])
def test_odd_prompts_get_replies(text: str) -> None:
    for n in range(20):
        assert said(text, request_seed=n).text


def test_usage_is_consistent_and_sometimes_detailed() -> None:
    replies = [said(SUMMARISE, request_seed=n) for n in range(300)]
    assert all((reply.cached_tokens or 0) <= reply.prompt_tokens for reply in replies)
    assert all((reply.reasoning_tokens or 0) < reply.completion_tokens for reply in replies)
    for detail in ("cached_tokens", "reasoning_tokens"):
        assert 0.1 < sum(getattr(reply, detail) is not None for reply in replies) / 300 < 0.5


def draw(plan: Plan, count: int, model: str = "m") -> list[str]:
    return [plan.choose(model).kind for _ in range(count)]


def test_rates_are_seeded_and_about_right() -> None:
    rates = {"429": 0.2, "500": 0.1}
    kinds = draw(parse_plan({"rates": rates}, 7), 5000)
    assert kinds == draw(parse_plan({"rates": dict(reversed(rates.items()))}, 7), 5000)
    assert kinds != draw(parse_plan({"rates": rates}, 8), 5000)
    shares = Counter(kinds)
    assert 0.17 < shares["429"] / 5000 < 0.23
    assert 0.08 < shares["500"] / 5000 < 0.12
    assert shares["ok"] == 5000 - shares["429"] - shares["500"]


def test_a_script_is_consumed_and_then_all_is_well() -> None:
    assert draw(parse_plan({"script": ["ok", "429", "hang"]}, 7), 5) == ["ok", "429", "hang", "ok", "ok"]
    assert draw(parse_plan({"rates": {"500": 1.0}}, 7), 3) == ["500"] * 3


def test_models_have_plans_of_their_own() -> None:
    config = {"script": ["503"], "models": {"m1": {"script": ["429", "500"]}, "m2": {"rates": {"404": 1}}}}
    plan = parse_plan(config, 7)
    assert draw(plan, 2, "m2") == ["404", "404"]
    assert draw(plan, 3, "m1") == ["429", "500", "ok"]
    assert draw(plan, 2, "other") == ["503", "ok"]


def test_fake_provider_answers_hits_before_it_ever_started() -> None:
    assert FakeProvider().hits() == []
