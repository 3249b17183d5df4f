"""Whether a call can be paid: at the worst case, with the unknown at its worst."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.budgets import at_worst, lacking
from mashq.gateway.types import Entry, Measure, Outcome, Request, Usage, Worst, spend_of
from mashq.gateway.types import Message as M
from mashq.protocol.resources import UNKNOWN, Amount, Spend
from mashq.protocol.rules import Budget
from tests.gateway.fakes import http_error, replied

WORST = Worst(100, 50, 10.0, {"dollars": 0.5})


def spent(*outcomes: Outcome | None, worst: Worst = WORST) -> Spend:
    total = Spend()
    for number, outcome in enumerate(outcomes):
        total += spend_of(Entry(number, "m", worst, outcome))
    return total


def priced(dollars: Measure) -> Worst:
    return Worst(100, 50, 10.0, {"dollars": dollars})


def test_no_budget_and_no_limit_pay_for_anything() -> None:
    assert lacking([], spent(None), WORST) is None
    assert lacking([("its", Budget(), Spend())], spent(None), priced(UNKNOWN)) is None


@pytest.mark.parametrize(
    ("budget", "enough"),
    [
        (Budget.of(tokens=150), True),
        (Budget.of(tokens=149), False),
        (Budget.of(calls=1), True),
        (Budget.of(calls=0), False),
        (Budget.of(seconds=10.0), True),
        (Budget.of(seconds=9.99), False),
        (Budget.of(dollars=0.5), True),
        (Budget.of(dollars=0.49), False),
        (Budget.of(reviews=0), True),
    ],
)
def test_a_limit_is_reached_and_not_passed(budget: Budget, enough: bool) -> None:
    assert (lacking([("its", budget, Spend())], Spend(), WORST) is None) is enough


def test_what_was_spent_before_and_in_this_step_both_count() -> None:
    budget = Budget.of(calls=3)
    assert lacking([("its", budget, spent(replied()))], spent(replied()), WORST) is None
    assert lacking([("its", budget, spent(replied()))], spent(replied(), replied()), WORST) is not None


def test_an_attempt_of_unknown_cost_counts_at_its_worst() -> None:
    lost = Outcome("dropped", seconds=1.0)
    for budget in (Budget.of(tokens=299), Budget.of(dollars=0.99)):
        assert lacking([("its", budget, Spend())], spent(lost), WORST) is not None
    assert lacking([("its", Budget.of(tokens=150), Spend())], spent(http_error(500)), WORST) is None
    assert lacking([("its", Budget.of(tokens=300, dollars=1.0), Spend())], spent(lost), WORST) is None


def test_an_unresolved_attempt_is_a_call_at_its_worst() -> None:
    assert lacking([("its", Budget.of(calls=1), Spend())], spent(None), WORST) is not None
    assert lacking([("its", Budget.of(seconds=19.9), Spend())], spent(None), WORST) is not None
    assert lacking([("its", Budget.of(seconds=20.0, calls=2, tokens=300), Spend())], spent(None), WORST) is None


def test_without_a_price_no_dollar_budget_can_be_kept() -> None:
    reason = lacking([("its", Budget.of(dollars=1e9), Spend())], Spend(), priced(UNKNOWN))
    assert reason == "its budget of 1e+09 dollars cannot cover the next call: 0 used, up to inf more needed"


def test_the_sentence_names_the_first_budget_that_is_empty() -> None:
    budget_states = [
        ("its", Budget.of(tokens=1000), Spend()),
        ("the shared", Budget.of(tokens=200), spent(replied("x", 60, 40))),
    ]
    reason = lacking(budget_states, Spend(), WORST)
    assert reason == "the shared budget of 200 tokens cannot cover the next call: 100 used, up to 150 more needed"


@given(st.lists(st.sampled_from([replied("x", 60, 40), Outcome("dropped"), None]), max_size=12), st.integers(0, 1500))
def test_a_budget_is_never_overrun_even_if_everything_unknown_was_the_worst(
    outcomes: list[Outcome | None], limit: int
) -> None:
    total = Spend()
    for number, outcome in enumerate(outcomes):
        if lacking([("its", Budget.of(tokens=limit), Spend())], total, WORST) is not None:
            break
        total += spend_of(Entry(number, "m", WORST, outcome))
    assert total.tokens.total + total.tokens.worst <= limit


def test_at_worst_adds_the_unknown_part() -> None:
    assert at_worst(Amount(5, 1, 2, 30)) == 35
    assert at_worst(Amount.of(UNKNOWN, UNKNOWN)) == math.inf


def test_what_an_attempt_cost() -> None:
    good = spend_of(Entry(0, "m", WORST, replied("x", 60, 40, 2.0), waited=3.0))
    assert (good.calls, good.failed, good.unknown, good.unresolved, good.waited) == (1, 0, 0, 0, 3.0)
    assert (good.tokens_in.value, good.tokens_out.value, good.seconds.value, good.measured("dollars").value) == (
        60,
        40,
        2.0,
        UNKNOWN,
    )
    half = spend_of(Entry(0, "m", WORST, Outcome("unparsable", None, Usage(7), 1.0)))
    assert (half.calls, half.failed, half.unknown) == (1, 1, 1)
    assert (half.tokens_in, half.tokens_out) == (Amount(7, 1), Amount(unknown=1, worst=50))
    refused = spend_of(Entry(0, "m", WORST, Outcome("refused", None, Usage(7, 0), 1.0)))
    assert (refused.failed, refused.unknown) == (0, 0)
    gone = spend_of(Entry(0, "m", WORST))
    assert (gone.calls, gone.unresolved, gone.failed, gone.unknown) == (0, 1, 0, 1)
    assert gone.seconds == Amount(unknown=1, worst=10.0)


@given(st.lists(st.text(max_size=30), max_size=4))
def test_a_prompt_is_bounded_by_its_bytes(texts: list[str]) -> None:
    request = Request(tuple(M("user", text) for text in texts), 1)
    assert request.prompt_bytes == sum(len(text.encode("utf-8", "replace")) + 4 for text in texts)
    assert request.prompt_bytes >= sum(len(text) for text in texts)
