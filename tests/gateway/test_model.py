"""Asking through the door: every attempt is in the ledger, paid for, waited for and, after a crash, remembered."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from mashq.errors import ProviderError
from mashq.gateway.budgets import BudgetState, OutOfBudget
from mashq.gateway.limits import Limiter
from mashq.gateway.model import Endpoint, Failure, Model, request_seed, trial_seed
from mashq.gateway.prices import Rate, fixed
from mashq.gateway.profiles import Lesson
from mashq.gateway.retry import Policy
from mashq.gateway.types import Call, Completion, Entry, Message, Outcome, Usage, Worst
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.rules import Budget
from tests.gateway.fakes import CALL, FakeClock, FakeLedger, Script, http_error, replied

PROMPT = (Message("user", "What is it?"),)
BYTES = len("What is it?") + len("user")
WORST = Worst(BYTES, 50, 30.0)
RETRIES = Policy(attempts=4, base=1.0, cap=20.0)
LOST = Outcome("dropped", seconds=0.5, error="lost")


class Desk:
    """A model and all it was handed, for one test."""

    def __init__(
        self,
        outcomes: Iterable[Outcome],
        *,
        past: Iterable[Entry] = (),
        budget_states: Iterable[BudgetState] = (),
        price: Rate | None = None,
        retries: Policy = RETRIES,
    ) -> None:
        self.clock = FakeClock()
        self.ledger = FakeLedger(list(past))
        self.backend = Script(outcomes, self.clock, self.ledger.log)
        self.limiter = Limiter(self.clock, 1)
        rates = {} if price is None else {"dollars": price}
        endpoint = Endpoint("p/m", self.backend, self.limiter, 50, 0.5, 30.0, rates, retries)
        self.model = Model(endpoint, self.ledger, self.clock, CALL, seed=5, budget_states=list(budget_states))

    async def ask(self) -> Completion | Failure:
        return await self.model.ask(PROMPT)


def budget(**limits: float) -> list[BudgetState]:
    return [("its", Budget.of(**limits), Spend())]


async def test_an_ask_is_opened_before_it_is_sent_and_closed_after() -> None:
    desk = Desk([replied("yes", 10, 5, 2.0)])
    found = await desk.model.ask(PROMPT, schema={"type": "object"}, facts={"k": 1})
    assert found == Completion("yes", "stop")
    assert desk.ledger.log == ["open", "send", "close"]
    ((call, request, name, worst, durable),) = desk.ledger.opened
    with_schema = replace(WORST, tokens_in=WORST.tokens_in + len('{"type": "object"}'))
    assert (call, name, worst, durable) == (CALL, "p/m", with_schema, True)
    assert (request.messages, request.max_tokens, request.temperature) == (PROMPT, 50, 0.5)
    assert (request.schema, request.facts, request.seed) == ({"type": "object"}, {"k": 1}, request_seed(5, CALL))
    assert desk.model.spend == Spend.of(
        calls=1,
        tokens_in=Amount(10, 1),
        tokens_out=Amount(5, 1),
        seconds=Amount(2.0, 1),
    )
    assert desk.model.spend.amount("dollars") == Amount(unknown=1, worst=float("inf"))


async def test_a_backend_in_this_process_needs_no_durable_row() -> None:
    desk = Desk([replied()])
    desk.backend.durable = False
    await desk.ask()
    assert desk.ledger.opened[0][4] is False


async def test_a_refusal_is_a_reply_and_not_asked_again() -> None:
    refused = Completion("", "refusal", refused=True)
    desk = Desk([Outcome("refused", refused, Usage(3, 0), 1.0)])
    assert await desk.ask() == refused
    assert len(desk.backend.sent) == 1


async def test_failures_are_retried_counted_and_paid_for() -> None:
    desk = Desk([http_error(500), LOST, replied("yes", 10, 5, 2.0)])
    assert await desk.ask() == Completion("yes", "stop")
    assert desk.ledger.log == ["open", "send", "close"] * 3
    spend = desk.model.spend
    assert (spend.calls, spend.failed, spend.unknown, spend.unresolved) == (3, 2, 1, 0)
    assert spend.tokens_in == Amount(10, 2, 1, BYTES)
    assert spend.tokens_out == Amount(5, 2, 1, 50)


async def test_waiting_is_kept_apart_from_service() -> None:
    desk = Desk([http_error(429, 0.25, retry_after=7.0), LOST, replied(seconds=2.0)])
    await desk.ask()
    assert desk.model.spend.seconds == Amount(2.75, 3)
    waits = [waited for _, waited in desk.ledger.closed.values()]
    assert waits[:2] == [0.0, 7.0]
    assert 1.0 <= waits[2] < 2.0
    assert desk.model.spend.waited == sum(waits)
    assert desk.clock.time == pytest.approx(100 + 2.75 + sum(waits))


async def test_waiting_for_a_slot_is_waiting_too() -> None:
    desk = Desk([replied(seconds=4.0), replied(seconds=1.0)])
    other = Model(desk.model.endpoint, desk.ledger, desk.clock, replace(CALL, player="B"), seed=5)
    await asyncio.gather(desk.ask(), other.ask(PROMPT))
    assert (desk.model.spend.waited, other.spend.waited) == (0.0, 4.0)
    assert other.spend.seconds == Amount(1.0, 1)
    assert desk.backend.most_running == 1


async def test_nobody_waits_out_a_pause_in_a_slot() -> None:
    desk = Desk([http_error(429, 0.25, retry_after=50.0), replied(), replied()])
    other = Model(desk.model.endpoint, desk.ledger, desk.clock, replace(CALL, player="B"), seed=5)
    await asyncio.gather(desk.ask(), other.ask(PROMPT))
    assert other.spend.waited == 0.25


async def test_a_retry_after_of_zero_is_a_retry_at_once() -> None:
    desk = Desk([http_error(429, 0.25, retry_after=0.0), replied()])
    assert isinstance(await desk.ask(), Completion)
    assert desk.model.spend.waited == 0.0


async def test_after_the_last_attempt_the_failure_is_a_value() -> None:
    desk = Desk([http_error(500), http_error(500), http_error(500), http_error(503)])
    assert await desk.ask() == Failure("HTTP 503", "http")
    assert desk.model.spend.calls == desk.model.spend.failed == 4


async def test_what_cannot_get_better_is_tried_once() -> None:
    desk = Desk([http_error(413)])
    assert await desk.ask() == Failure("HTTP 413", "http")
    assert len(desk.backend.sent) == 1


async def test_retries_send_the_same_request() -> None:
    desk = Desk([LOST, LOST, replied()])
    await desk.ask()
    assert len({id(request) for request, _ in desk.backend.sent}) == 1


async def test_jitter_differs_between_players_and_attempts_and_is_the_same_every_time() -> None:
    async def waits(player: str) -> list[float]:
        desk = Desk([LOST, LOST, LOST, replied()], retries=Policy(attempts=4, base=1.0, cap=1.0))
        desk.model.call = replace(CALL, player=player)
        await desk.ask()
        return [waited for _, waited in desk.ledger.closed.values()]

    assert await waits("A") == await waits("A")
    mine, theirs = await waits("A"), await waits("B")
    assert len({*mine[1:], *theirs[1:]}) == 6
    assert all(0.5 <= wait < 1.0 for wait in mine[1:] + theirs[1:])


async def test_asks_of_one_step_are_numbered_and_have_seeds_of_their_own() -> None:
    desk = Desk([replied(), replied()])
    await desk.ask()
    await desk.ask()
    assert [call.ask for _, call in desk.backend.sent] == [0, 1]
    seeds = [request.seed for request, _ in desk.backend.sent]
    assert seeds[0] != seeds[1]
    assert desk.model.spend.calls == 2


async def test_an_ask_that_cannot_be_paid_is_never_sent() -> None:
    desk = Desk([], budget_states=budget(tokens=BYTES + 49))
    with pytest.raises(OutOfBudget, match=f"its budget of {BYTES + 49} tokens cannot cover") as caught:
        await desk.ask()
    assert desk.ledger.log == []
    assert desk.model.exhausted == str(caught.value)
    assert desk.model.spend == Spend()


async def test_the_budget_is_checked_again_before_each_retry_and_without_a_pause() -> None:
    desk = Desk([LOST], budget_states=budget(tokens=2 * (BYTES + 50) - 1))
    with pytest.raises(OutOfBudget):
        await desk.ask()
    assert desk.ledger.log == ["open", "send", "close"]
    assert desk.clock.slept == [0.5]
    enough = Desk([LOST, replied()], budget_states=budget(tokens=2 * (BYTES + 50)))
    assert isinstance(await enough.ask(), Completion)


async def test_failed_calls_use_up_a_budget_of_calls() -> None:
    desk = Desk([http_error(500), http_error(500)], budget_states=budget(calls=2))
    with pytest.raises(OutOfBudget, match="2 used"):
        await desk.ask()


async def test_a_price_is_put_on_what_was_used() -> None:
    desk = Desk([replied("yes", 10, 5)], price=fixed(2.0, 4.0))
    await desk.ask()
    assert desk.ledger.opened[0][3].rated["dollars"] == pytest.approx((BYTES * 2 + 50 * 4) / 1e6)
    assert desk.ledger.closed[0][0].rated["dollars"] == pytest.approx(40e-6)
    assert desk.model.spend.measured("dollars").value == pytest.approx(40e-6)


async def test_cached_tokens_are_priced_as_cached() -> None:
    outcome = replace(replied(), usage=Usage(1000, 0, 1000, 0))
    desk = Desk([outcome], price=fixed(2.0, 4.0, 0.5))
    await desk.ask()
    assert desk.model.spend.measured("dollars").value == pytest.approx(500e-6)


async def test_a_cost_the_backend_knows_is_not_priced_again() -> None:
    desk = Desk([replace(replied(), rated={"dollars": 0.125})], price=fixed(2.0, 4.0))
    await desk.ask()
    assert desk.model.spend.measured("dollars").value == 0.125


async def test_an_attempt_of_unknown_tokens_has_an_unknown_price_at_its_worst() -> None:
    desk = Desk([LOST, replied("yes", 10, 5)], price=fixed(2.0, 4.0))
    await desk.ask()
    dollars = desk.model.spend.measured("dollars")
    assert (dollars.known, dollars.unknown) == (1, 1)
    assert dollars.worst == pytest.approx((BYTES * 2 + 50 * 4) / 1e6)


async def test_after_a_crash_a_reply_that_was_paid_for_is_not_paid_for_again() -> None:
    past = [Entry(1, "p/m", WORST, LOST, 0.0), Entry(2, "p/m", WORST, replied("kept", 10, 5), 1.5)]
    desk = Desk([], past=past, budget_states=budget(calls=0))
    assert await desk.ask() == Completion("kept", "stop")
    assert desk.ledger.log == []
    assert (desk.model.spend.calls, desk.model.spend.failed, desk.model.spend.waited) == (2, 1, 1.5)


async def test_after_a_crash_a_final_failure_is_not_sent_again() -> None:
    desk = Desk([], past=[Entry(1, "p/m", WORST, http_error(413))])
    assert await desk.ask() == Failure("HTTP 413", "http")
    assert desk.ledger.log == []


async def test_after_a_crash_an_unresolved_attempt_is_charged_and_asked_again() -> None:
    desk = Desk([replied("yes", 10, 5)], past=[Entry(1, "p/m", WORST)])
    assert await desk.ask() == Completion("yes", "stop")
    assert len(desk.backend.sent) == 1
    spend = desk.model.spend
    assert (spend.calls, spend.unresolved, spend.unknown) == (1, 1, 1)
    assert spend.tokens_in == Amount(10, 1, 1, BYTES)
    assert spend.seconds == Amount(1.0, 1, 1, 30.0)


async def test_an_unresolved_attempt_counts_against_the_budget_and_not_against_the_attempts() -> None:
    poor = Desk([], past=[Entry(1, "p/m", WORST)], budget_states=budget(calls=1))
    with pytest.raises(OutOfBudget):
        await poor.ask()
    assert poor.ledger.log == []
    past = [Entry(number, "p/m", WORST) for number in range(9)]
    assert isinstance(await Desk([replied()], past=past).ask(), Completion)


@pytest.mark.parametrize(("failed", "left"), [(1, 3), (3, 1), (4, 0), (6, 0)])
async def test_closed_failures_count_towards_the_attempts(failed: int, left: int) -> None:
    past = [Entry(number, "p/m", WORST, http_error(500)) for number in range(failed)]
    desk = Desk([http_error(503)] * left, past=past)
    assert isinstance(await desk.ask(), Failure)
    assert len(desk.backend.sent) == left
    assert desk.model.spend.calls == failed + left


async def test_after_a_crash_the_pause_that_was_due_is_kept() -> None:
    past = [Entry(1, "p/m", WORST, http_error(429, retry_after=9.0)), Entry(2, "p/m", WORST)]
    desk = Desk([replied(seconds=1.0)], past=past)
    await desk.ask()
    assert desk.clock.slept == [9.0, 1.0]
    assert desk.model.spend.waited == 9.0


async def test_an_error_of_our_own_leaves_the_attempt_open() -> None:
    desk = Desk([])
    with pytest.raises(RuntimeError):
        await desk.ask()
    assert desk.ledger.log == ["open", "send"]
    assert desk.ledger.closed == {}


def test_seeds_depend_on_all_that_tells_requests_apart() -> None:
    calls = [
        CALL,
        replace(CALL, player="B"),
        replace(CALL, item="other"),
        replace(CALL, item=None),
        replace(CALL, purpose="review"),
        replace(CALL, n=1),
        replace(CALL, ask=1),
    ]
    seeds = [request_seed(5, call) for call in calls] + [request_seed(6, CALL)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert trial_seed(5, 0) != trial_seed(5, 1) != trial_seed(6, 1)
    assert trial_seed(5, 0) == trial_seed(5, 0)


def test_only_a_decision_is_told_apart_by_its_round() -> None:
    later = replace(CALL, round=9)
    assert request_seed(5, later) == request_seed(5, CALL)
    decision = Call("match", 3, "A", "item", "decision")
    assert request_seed(5, replace(decision, round=9)) != request_seed(5, decision)
    assert request_seed(5, replace(decision, n=9)) == request_seed(5, decision)


def test_seeds_are_the_same_in_every_process_and_version() -> None:
    assert (trial_seed(1, 2), request_seed(5, CALL)) == (17122274078196972387, 985665786)


async def test_a_step_may_ask_for_several_purposes_score_its_drafts_and_count_its_reviews() -> None:
    desk = Desk([replied("one", 1, 1, 0.1), replied("two", 1, 1, 0.1)])
    await desk.model.ask(PROMPT)
    await desk.model.ask(PROMPT, purpose="review", n=3)
    calls = [opened[0] for opened in desk.ledger.opened]
    assert [(call.purpose, call.n, call.ask) for call in calls] == [(CALL.purpose, CALL.n, 0), ("review", 3, 1)]
    desk.model.count_review()
    assert (desk.model.spend.calls, desk.model.spend.reviews) == (2, 1)
    with pytest.raises(LookupError, match="no guide"):
        await desk.model.score("a draft")

    async def guide(text: str, confidence: float | None, abstained: str) -> float:
        return len(text) / 100 + (confidence or 0.0) + (abstained == "yes")

    desk.model.guide = guide
    assert await desk.model.score("a draft", 0.5) == pytest.approx(0.57)
    assert await desk.model.score("a draft", 0.5, "yes") == pytest.approx(1.57)


def refuses(message: str, status: int = 400) -> Outcome:
    return replace(http_error(status), error=f"HTTP {status}: {message}")


async def test_what_a_400_names_is_left_out_from_then_on_and_every_attempt_counts() -> None:
    desk = Desk([refuses("`temperature` is deprecated"), replied("yes"), replied("again")])
    assert await desk.ask() == Completion("yes", "stop")
    assert await desk.ask() == Completion("again", "stop")
    assert [request.temperature for request, _ in desk.backend.sent] == [0.5, None, None]
    assert desk.ledger.learnt == [("p/m", "temperature", None, "HTTP 400: `temperature` is deprecated")]
    assert (desk.model.spend.calls, desk.model.spend.failed) == (3, 1)
    assert desk.clock.slept[0] == 0.25, "the time of the attempt itself: nothing was waited for after it"


async def test_after_a_crash_a_400_that_taught_something_is_not_final() -> None:
    desk = Desk([replied("yes")], past=[Entry(1, "p/m", WORST, refuses("`temperature` is deprecated"))])
    desk.model.endpoint.experience.lessons["temperature"] = Lesson("temperature", None, "")
    assert await desk.ask() == Completion("yes", "stop")
    assert [request.temperature for request, _ in desk.backend.sent] == [None]


async def test_a_first_call_that_says_no_other_will_do_ends_the_run() -> None:
    desk = Desk([refuses("Incorrect API key provided.", 401)])
    with pytest.raises(ProviderError, match="the key of p/m was refused") as told:
        await desk.ask()
    assert told.value.model == "p/m"
    assert len(desk.ledger.closed) == 1, "the attempt is in the ledger"


async def test_once_a_model_has_answered_the_same_error_is_a_failure() -> None:
    desk = Desk([replied("yes"), refuses("Incorrect API key provided.", 401)])
    await desk.ask()
    assert await desk.ask() == Failure("HTTP 401: Incorrect API key provided.", "http")


async def test_a_run_that_ended_so_is_tried_anew_when_it_goes_on() -> None:
    desk = Desk([replied("yes")], past=[Entry(1, "p/m", WORST, refuses("Incorrect API key provided.", 401))])
    assert await desk.ask() == Completion("yes", "stop")
    assert desk.model.spend.calls == 2


def cut_off(text: str, refused: bool = False) -> Outcome:
    return replace(replied(), completion=Completion(text, "length", refused))


@pytest.mark.parametrize(("max_tokens", "named"), [(50, "output limit of 50 tokens: raise models.p/m.max_tokens")])
async def test_a_cut_reply_names_the_limit_and_is_no_refusal(max_tokens: int, named: str) -> None:
    desk = Desk([cut_off("", True), cut_off("half"), cut_off("")])
    for text in ("", "half"):
        found = await desk.ask()
        assert isinstance(found, Completion)
        assert (found.text, found.refused, named in found.cut) == (text, False, True)
    desk.model.endpoint = replace(desk.model.endpoint, tells_cuts=False)
    assert await desk.ask() == Completion("", "length", refused=True), "by the first rules of play"


async def test_no_limit_is_sent_where_none_is_set_and_the_worst_is_the_longest_output() -> None:
    desk = Desk([replied(), cut_off("")])
    desk.model.endpoint = replace(desk.model.endpoint, max_tokens=None, largest=9000)
    await desk.ask()
    (_, request, _, worst, _) = desk.ledger.opened[0]
    assert (request.max_tokens, worst.tokens_out) == (None, 9000)
    found = await desk.ask()
    assert isinstance(found, Completion) and "no limit was sent" in found.cut


async def test_under_a_budget_of_tokens_the_limit_is_what_is_left() -> None:
    desk = Desk([replied("a", 100, 900), cut_off("b")], budget_states=budget(tokens=2000))
    desk.model.endpoint = replace(desk.model.endpoint, max_tokens=None, largest=9000)
    await desk.ask()
    found = await desk.ask()
    sent = [request.max_tokens for request, _ in desk.backend.sent]
    assert sent == [2000 - BYTES, 1000 - BYTES]
    assert isinstance(found, Completion) and "all that the budget had left" in found.cut
    desk = Desk([replied()], budget_states=budget(tokens=400 + BYTES))
    desk.model.endpoint = replace(desk.model.endpoint, max_tokens=None, largest=9000)
    with pytest.raises(OutOfBudget, match="up to 527 more needed"):
        await desk.ask()


async def test_under_a_budget_of_dollars_too_and_a_limit_that_is_set_stands() -> None:
    price = fixed(0.0, 1000.0)  # a dollar for a thousand tokens out
    for max_tokens, fixed_, sent in ((None, True, 2000), (3000, False, 2000), (700, True, 700)):
        desk = Desk([replied()], budget_states=budget(dollars=2.0), price=price)
        desk.model.endpoint = replace(desk.model.endpoint, max_tokens=max_tokens, fixed=fixed_, largest=9000)
        await desk.ask()
        assert desk.backend.sent[0][0].max_tokens == sent
    desk = Desk([replied()], budget_states=budget(seconds=100.0))
    desk.model.endpoint = replace(desk.model.endpoint, max_tokens=None, largest=9000)
    await desk.ask()
    assert desk.backend.sent[0][0].max_tokens is None, "seconds need no limit of tokens"
