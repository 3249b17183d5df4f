"""The Q-Agent: what it sends, what it reads, and what it makes of nonsense."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.errors import ConfigError
from mashq.gateway.model import Failure, Model
from mashq.gateway.types import Completion, Message
from mashq.players import prompts
from mashq.players.policies import rule as rule_policy
from mashq.players.prompting import Prompter
from mashq.players.q_agent import QAgent
from mashq.players.react import React
from mashq.protocol import Answer, Decision, Item, Observation, Rewrite, Snapshot, Spend
from mashq.protocol.resources import Amount
from mashq.protocol.rules import Payoff, Rules

SEEN = Observation(
    step="decide",
    round=4,
    player="Ada",
    item=Item("item-7", "The passage."),
    position=6,
    total=12,
    handled=7,
    spend=Spend.of(
        calls=31, reviews=5, tokens_in=Amount(4000, 31), tokens_out=Amount(321, 31), seconds=Amount(61.5, 31)
    ),
    average_h=0.8123,
    worst=("item-3", 0.4567),
    recommended=True,
    threshold=0.85,
    max_reviews=3,
    review_cost=0.013,
    resources=("tokens", "calls"),
    show_seconds=True,
    rivals=2,
    snapshots=(),
    rules=Rules(payoff=Payoff(weights=(("tokens", 1.0), ("calls", 2.0)))),
)
ANSWERING = replace(SEEN, step="answer")
REVIEWING = replace(SEEN, step="review", answer="The old summary.", h=0.4567)


class Script:
    """A model that says what it is told to, and remembers what it was asked."""

    def __init__(self, *replies: str | Completion | Failure) -> None:
        self.replies = list(replies)
        self.asked: list[list[Message]] = []
        self.spend = Spend()

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        facts: Mapping[str, object] | None = None,
        purpose: str | None = None,
        n: int | None = None,
    ) -> Completion | Failure:
        self.asked.append(list(messages))
        reply = self.replies.pop(0)
        return Completion(reply, "stop") if isinstance(reply, str) else reply


async def move(seen: Observation, *replies: str | Completion | Failure) -> tuple[object, Script]:
    script = Script(*replies)
    return await QAgent(Prompter(prompts.load())).move(seen, cast(Model, script)), script


async def test_the_policy_prompt_carries_the_whole_state() -> None:
    _, script = await move(SEEN, '{"choice": "continue", "question_id": "x", "previous_id": "y"}')
    (prompt,) = script.asked[0]
    wanted = ("Ada", "7 of 12", "remaining: 5", "4321", "31", "reviews made: 5", "0.8123", "61.5", "item-7", "item-3")
    for part in (
        *wanted,
        "0.4567",
        "below 0.85",
        "0.013",
        "tokens, calls (weight 2)",
        "divided by the largest total",
        "Q = 1 x (average H) - 0.1 x P",
    ):
        assert part in prompt.content
    for key in ('"choice"', '"question_id"', '"previous_id"'):
        assert key in prompt.content
    assert '"summary"' not in prompt.content


async def test_rivals_and_seconds_are_shown_only_when_they_may_be() -> None:
    shown = Snapshot("Bob", 3, (("average_h", 0.9), ("calls", 17.0), ("worst_h", None)), stopped=True)
    hidden = replace(SEEN, snapshots=(shown,), show_seconds=False, rules=replace(SEEN.rules, show_seconds=False))
    _, script = await move(hidden, '{"choice": "end"}')
    prompt = script.asked[0][0].content
    assert "rival Bob after round 4 (it has stopped): average H 0.9000, calls 17, worst H none" in prompt
    assert "seconds" not in prompt.replace("tokens, calls", "")
    _, script = await move(SEEN, '{"choice": "end"}')
    assert "rival Bob" not in script.asked[0][0].content


async def test_before_any_answer_averages_read_none() -> None:
    _, script = await move(replace(SEEN, average_h=None, worst=None, recommended=False), '{"choice": "continue"}')
    assert "average H so far: none" in script.asked[0][0].content
    assert "id none, H none" in script.asked[0][0].content


async def test_the_answer_agent_sees_neither_scores_nor_costs() -> None:
    made, script = await move(ANSWERING, '{"summary": " A summary. "}')
    assert made == Answer("ok", "A summary.")
    (prompt,) = script.asked[0]
    assert "The passage." in prompt.content and '"summary"' in prompt.content and '"choice"' not in prompt.content
    for secret in ("0.8123", "0.4567", "4321", "31", "Ada", "review", "cost", "token"):
        assert secret not in prompt.content


async def test_the_review_agent_sees_the_answer_and_its_score() -> None:
    made, script = await move(REVIEWING, '{"summary": "Better."}')
    assert made == Rewrite("ok", "Better.")
    content = script.asked[0][0].content
    assert "The passage." in content and "The old summary." in content and "0.4567" in content
    assert '"summary"' in content and '"choice"' not in content


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ('{"choice": "review", "question_id": "a", "previous_id": "b"}', "review"),
        ('```json\n{"choice": "END"}\n```', "end"),
        ('I think {this} is best: {"choice": " Continue "} because', "continue"),
        ('{"thought": "x"} {"choice": "review", "previous_id": 3}', "review"),
    ],
)
async def test_decisions_are_read_out_of_whatever_surrounds_them(reply: str, choice: str) -> None:
    made, script = await move(SEEN, reply)
    assert isinstance(made, Decision)
    assert (made.choice, made.source, len(script.asked)) == (choice, "llm", 1)


async def test_an_unreadable_reply_is_asked_for_once_more() -> None:
    made, script = await move(SEEN, "review it!", '{"choice": "review"}')
    assert isinstance(made, Decision) and made.choice == "review"
    assert [message.role for message in script.asked[1]] == ["user", "assistant", "user"]
    made, script = await move(SEEN, "what?", '{"choice": "dance"}')
    assert isinstance(made, Decision)
    assert (made.choice, made.source, len(script.asked)) == ("continue", "fallback", 2)
    made, _ = await move(ANSWERING, "Just text.", " Still just text. ")
    assert made == Answer("ok", "Still just text.", plain=True)
    made, _ = await move(ANSWERING, '{"summary": "It broke', '{"summary": "It broke \\"off')
    assert made == Answer("ok", 'It broke "off', plain=True)
    made, _ = await move(ANSWERING, '{"summary": 7}', '{"summary": ["a"]}')
    assert isinstance(made, Answer) and made.plain
    made, script = await move(ANSWERING, '{"summary": 7}', '{"summary": "Seven."}')
    assert made == Answer("ok", "Seven.") and len(script.asked) == 2


async def test_refusals_and_failures_are_final() -> None:
    refusal, failure = Completion("", "content_filter", refused=True), Failure("HTTP 500: sorry", "http")
    made, script = await move(ANSWERING, refusal)
    assert made == Answer("refused", error="content_filter") and len(script.asked) == 1
    made, script = await move(ANSWERING, '{"summary": "  "}')
    assert made == Answer("refused", error="empty summary") and len(script.asked) == 1
    made, _ = await move(REVIEWING, failure)
    assert made == Rewrite("failed", error="HTTP 500: sorry")
    made, _ = await move(SEEN, refusal)
    assert isinstance(made, Decision) and (made.choice, made.source) == ("continue", "fallback")
    made, _ = await move(SEEN, failure)
    assert isinstance(made, Decision) and (made.choice, made.reason) == ("continue", "HTTP 500: sorry")


@given(st.text())
async def test_any_reply_makes_a_move(reply: str) -> None:
    made, _ = await move(SEEN, reply, reply)
    assert isinstance(made, Decision)
    made, _ = await move(ANSWERING, reply, reply)
    assert isinstance(made, Answer)


@given(st.text())
def test_a_passage_is_never_read_as_a_template(passage: str) -> None:
    hostile = passage + "${h} {summary} $$ %s ${nothing} \\1 \\g<0>"
    filled = prompts.load().fill("answer", {"passage": hostile})
    assert hostile in filled


def test_a_users_prompts_replace_ours(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text('Say it briefly, as {"summary": …}: ${passage}')
    own = prompts.load(tmp_path)
    assert own.fill("answer", {"passage": "P"}) == 'Say it briefly, as {"summary": …}: P'
    assert own.texts["policy"] == prompts.load().texts["policy"]
    assert own.digest != prompts.load().digest


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "holds none of"),
        ({"answer.txt": b"${passage} ${h}"}, "unknown field ${h}"),
        ({"answer.txt": b"\xff"}, "cannot be read"),
    ],
)
def test_bad_prompt_folders_are_one_sentence(tmp_path: Path, files: dict[str, bytes], sentence: str) -> None:
    for name, body in files.items():
        (tmp_path / name).write_bytes(body)
    with pytest.raises(ConfigError) as refused:
        prompts.load(tmp_path)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("change", "choice"),
    [
        ({}, "review"),
        ({"recommended": False}, "continue"),
        ({"review_cost": 0.5}, "continue"),
        ({"threshold": 0.75, "worst": ("item-3", 0.5), "review_cost": 0.25}, "continue"),
        ({"worst": None}, "continue"),
        ({"recommended": False, "handled": 12}, "end"),
    ],
)
def test_the_rule_reviews_when_it_is_worth_it(change: dict[str, object], choice: str) -> None:
    made = rule_policy.decide(replace(SEEN, **change))
    assert (made.choice, made.source, made.spend) == (choice, "rule", Spend())


CUT = "cut off at the output limit of 512 tokens: raise models.p/m.max_tokens"


async def test_a_reply_cut_off_before_its_json_is_cut_and_not_asked_for_again() -> None:
    for text in ("", '{"summary": "The mayor', "```json\n"):
        made, script = await move(ANSWERING, Completion(text, "length", cut=CUT))
        assert made == Answer("cut", text.strip(), error=CUT)
        assert len(script.asked) == 1
        made, _ = await move(REVIEWING, Completion(text, "length", cut=CUT))
        assert made == Rewrite("cut", text.strip(), error=CUT)


async def test_cut_plain_text_stands_and_is_marked() -> None:
    made, script = await move(ANSWERING, Completion("The mayor resigned on", "length", cut=CUT))
    assert made == Answer("ok", "The mayor resigned on", plain=True, error=CUT, cut=True)
    assert len(script.asked) == 1
    made, _ = await move(REVIEWING, Completion("The mayor resigned on", "length", cut=CUT))
    assert made == Rewrite("ok", "The mayor resigned on", plain=True, error=CUT, cut=True)


async def test_a_whole_json_in_a_cut_reply_is_an_answer_like_any_other() -> None:
    made, _ = await move(ANSWERING, Completion('{"summary": "All of it."} And furth', "length", cut=CUT))
    assert made == Answer("ok", "All of it.")


async def test_a_cut_decision_is_continue_and_says_so() -> None:
    for text in ("", '{"choice": "rev', "I think that"):
        made, script = await move(SEEN, Completion(text, "length", cut=CUT))
        assert made == Decision("continue", source="fallback", reason=CUT, cut=True)
        assert len(script.asked) == 1
    made, _ = await move(SEEN, Completion('{"choice": "review", "previous_id": "x"} beca', "length", cut=CUT))
    assert isinstance(made, Decision) and (made.choice, made.cut) == ("review", False)


async def test_a_loop_that_is_cut_off_is_cut_unless_it_had_an_answer() -> None:
    broken = Completion('{"thought": "Let me see', "length", cut=CUT)
    loop = React(Prompter(prompts.load()))
    assert await loop.move(ANSWERING, cast(Model, Script(broken))) == Answer("cut", broken.text, error=CUT)
    first = Completion('{"thought": "", "action": "answer", "summary": "All of it."}', "stop", h=0.5)
    script = Script(first, broken)
    kept = await loop.move(ANSWERING, cast(Model, script))
    assert isinstance(kept, Answer)
    assert (kept.status, kept.text, kept.h, len(script.asked)) == ("ok", "All of it.", 0.5, 2)
