"""`policy: bayes`: what it believes, when it reviews, and that a resumed match goes on as it would have."""

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from mashq.errors import ConfigError
from mashq.gateway.model import Model
from mashq.players import prompts
from mashq.players.best_of_n import BestOfN
from mashq.players.policies import bayes as bayes_policy
from mashq.players.policies.bayes_belief import ASSUMED, QUESTIONS, believe, own, review_rate
from mashq.players.prompting import Prompter, policy_fields
from mashq.players.q_agent import QAgent
from mashq.protocol import (
    Amount,
    Answer,
    Decision,
    Item,
    MatchState,
    Move,
    Observation,
    Rewrite,
    Rules,
    Seat,
    Snapshot,
    Spend,
    Vision,
    apply,
    initial,
    observe,
    order_of,
    to_move,
)
from mashq.protocol.moves import from_json, kind_of, to_json
from mashq.protocol.state import NONE_YET, Memory, Reviewed, Sighting
from tests.protocol.strategies import Setting, call, move_for, settings

TEN = tuple(10 if n == 10 else 0 for n in range(20))  # ten first answers, all with H in [0.5, 0.55)
SEEN = Observation(
    step="decide",
    round=9,
    player="A",
    item=Item("item-9", "The passage."),
    position=9,
    total=20,
    handled=10,
    spend=Spend.of(calls=10, tokens_in=Amount(1000, 10), tokens_out=Amount(200, 10), seconds=Amount(10.0, 10)),
    average_h=0.52,
    worst=("item-3", 0.52),
    recommended=True,
    threshold=0.85,
    max_reviews=3,
    review_cost=0.0,
    resources=("tokens", "calls", "reviews", "seconds"),
    show_seconds=True,
    rivals=1,
    snapshots=(),
    rules=Rules(tell=()),
    memory=Memory("cycle", Vision("review"), ((0.52, 3),), TEN, Reviewed(), None, (Sighting(None, 0),)),
)


def reviewed(calls: int, tokens: int, seconds: float) -> Spend:
    """What some reviews cost."""
    return Spend.of(
        calls=calls, tokens_in=Amount(tokens, calls), tokens_out=Amount(0, calls), seconds=Amount(seconds, calls)
    )


def remembering(**changes: object) -> Observation:
    return replace(SEEN, memory=replace(SEEN.memory, **changes))


def shown(at: int = 8, *, stopped: bool = False, **values: float) -> Snapshot:
    return Snapshot("B", at, tuple(values.items()), stopped)


def test_a_round_without_a_snapshot_is_evidence_that_a_rival_does_not_review() -> None:
    prior = review_rate(SEEN, None)
    assert prior == pytest.approx(11 / 12), "all the own first answers are below T"
    assert review_rate(SEEN, 0) == pytest.approx(2 * prior / (2 + 9))
    assert review_rate(SEEN, 9) == pytest.approx((2 * prior + 9) / (2 + 9))
    early = replace(SEEN, round=1)
    assert review_rate(SEEN, 0) < review_rate(early, 0) < prior
    silent, blind = (believe(SEEN, Sighting(None, known), own(SEEN)) for known in (0, None))
    assert silent.totals["reviews"].mean < blind.totals["reviews"].mean / 4
    assert silent.totals["calls"].mean < blind.totals["calls"].mean


def test_without_a_snapshot_a_rival_costs_what_one_costs_oneself() -> None:
    belief = believe(SEEN, Sighting(None, None), own(SEEN))
    reviews = 20 * belief.review_rate * ASSUMED.cycle
    assert belief.totals["reviews"].mean == pytest.approx(reviews)
    assert belief.totals["tokens"].mean == pytest.approx(120 * (20 + reviews))
    assert belief.h == 0.52


def test_a_snapshot_moves_the_belief_to_what_it_shows() -> None:
    values = shown(items_done=9, tokens=9 * 240, calls=9, reviews=0, seconds=9, average_h=0.9)
    belief = believe(SEEN, Sighting(values, 0), own(SEEN))
    without = believe(SEEN, Sighting(None, 0), own(SEEN))
    rate = (4 * 120 + 9 * 240) / (4 + 9)
    reviews = belief.totals["reviews"].mean
    assert belief.totals["tokens"].mean == pytest.approx(9 * 240 + rate * (11 + reviews))
    assert belief.totals["tokens"].least == 9 * 240
    assert belief.totals["tokens"].at(-100) == 9 * 240, "nobody spends less than was seen"
    relative = [one.totals["tokens"].spread / one.totals["tokens"].mean for one in (belief, without)]
    assert relative[0] < relative[1] / 2, "what was seen makes surer"
    assert belief.h == pytest.approx((9 * 0.9 + 11 * (4 * 0.52 + 9 * 0.9) / 13) / 20)


def test_the_rewrites_of_a_rival_are_read_from_its_snapshot_or_guessed_from_its_rounds() -> None:
    counted = believe(SEEN, Sighting(shown(items_done=9, reviews=12), 4), own(SEEN)).totals["reviews"]
    length = (1.5 + 12) / 5
    assert counted.mean == pytest.approx(12 + 11 * length * review_rate(SEEN, 4))
    guessed = believe(SEEN, Sighting(shown(items_done=9), 4), own(SEEN)).totals["reviews"]
    assert guessed.mean == pytest.approx(4 * 1.5 + 11 * 1.5 * review_rate(SEEN, 4))


def test_a_rival_that_stopped_spends_nothing_more() -> None:
    last = shown(items_done=5, tokens=500.0, calls=5, reviews=0, seconds=5, stopped=True)
    belief = believe(SEEN, Sighting(last, 0), own(SEEN))
    assert belief.totals["reviews"].mean == 0
    assert belief.totals["tokens"].mean == pytest.approx(500)


def test_the_gain_of_a_rewrite_is_learned_from_ones_own() -> None:
    before, after = own(SEEN), own(remembering(past=Reviewed(4, 0.9, 0.09, reviewed(4, 480, 4.0))))
    assert (before.gain.mean, before.gain.spread) == (0.5, 0.29)
    assert after.gain.mean == pytest.approx((0.1 * 0.5 + 0.09) / 1.0)
    assert after.gain.spread == pytest.approx(0.29 * 0.1**0.5)


def test_reviews_and_answers_are_priced_apart() -> None:
    spend = Spend.of(calls=12, reviews=2, tokens_in=Amount(1600, 12), tokens_out=Amount(400, 12))
    me = own(replace(remembering(past=Reviewed(2, 0.4, 0.1, reviewed(2, 800, 0.0))), spend=spend))
    assert me.answer["tokens"] == 120
    assert me.rewrite["tokens"] == pytest.approx((2 * 120 + 800) / 4)
    assert me.total["tokens"] == 2000 + 10 * 120
    assert (me.total["reviews"], me.rewrite["reviews"], me.answer["calls"]) == (2, 1, 1)


def test_seconds_that_may_not_be_shown_are_not_looked_at() -> None:
    hidden = replace(SEEN, show_seconds=False)
    slow = replace(hidden, spend=SEEN.spend.put("seconds", Amount(9999.0, 10)))
    assert bayes_policy.decide(hidden) == bayes_policy.decide(slow)
    assert own(slow).total["seconds"] == own(slow).total["tokens"]


def test_it_reviews_where_it_pays_and_says_why() -> None:
    cheap = bayes_policy.decide(SEEN, QUESTIONS)
    dear = bayes_policy.decide(SEEN, replace(ASSUMED, beta=1.0))
    assert (cheap.choice, cheap.previous_id, cheap.source) == ("review", "item-3", "rule")
    assert (dear.choice, dear.source) == ("continue", "rule")
    assert cheap.reason.startswith("a review is worth +0.") and "discloses 0.00" in cheap.reason
    assert dear.reason.startswith("a review is worth -")
    assert bayes_policy.decide(replace(SEEN, review_cost=2.0), QUESTIONS).choice == "continue", "as it is told"


def test_reviews_that_taught_that_they_gain_nothing_are_not_repeated() -> None:
    taught = remembering(past=Reviewed(30, 7.0, 0.0, reviewed(30, 3600, 30.0)))
    assert bayes_policy.decide(SEEN, replace(ASSUMED, beta=0.01)).choice == "review"
    assert bayes_policy.decide(taught, replace(ASSUMED, beta=0.01)).choice == "continue"


def test_a_first_review_is_worth_what_it_could_teach() -> None:
    spend = Spend.of(calls=1, tokens_in=Amount(100, 1), tokens_out=Amount(20, 1), seconds=Amount(1.0, 1))
    memory = replace(SEEN.memory, reviewable=((0.42, 0),), firsts=tuple(int(n == 8) for n in range(20)))
    early = replace(
        SEEN, round=0, position=0, handled=1, total=60, worst=("item-0", 0.42), spend=spend, memory=memory
    )
    unsure, sure = replace(ASSUMED, gain=0.3), replace(ASSUMED, gain=0.3, gain_spread=0.0)
    assert [bayes_policy.decide(early, one).choice for one in (unsure, sure)] == ["review", "continue"]


def test_against_a_rival_that_reviews_a_lot_reviewing_is_cheaper() -> None:
    def worth(sighting: Sighting) -> float:
        return float(bayes_policy.decide(remembering(rivals=(sighting,))).reason.split()[4])

    lavish = Sighting(shown(items_done=9, reviews=27, calls=36, tokens=36 * 120, seconds=36.0), 9)
    frugal = Sighting(shown(items_done=9, reviews=0, calls=9, tokens=9 * 120, seconds=9.0), 0)
    assert worth(lavish) > worth(frugal) + 0.05


def test_the_price_of_disclosure() -> None:
    first = bayes_policy.disclosure(SEEN, ASSUMED)
    assert first == pytest.approx(0.01 * (1 - 4 / 14) * 0.5)
    assert 0 < bayes_policy.disclosure(remembering(shown=7), ASSUMED) < first / 10, "they know most of it"
    assert bayes_policy.disclosure(replace(SEEN, handled=20), ASSUMED) == 0, "nobody can act on it any more"
    for changes in ({"vision": Vision("never")}, {"vision": Vision("always")}, {"rivals": ()}):
        assert bayes_policy.disclosure(remembering(**changes), ASSUMED) == 0
    shy = replace(ASSUMED, beta=0.001, disclosure=10.0)
    assert bayes_policy.decide(SEEN, shy).choice == "continue"
    assert bayes_policy.decide(remembering(vision=Vision("always")), shy).choice == "review"


def test_it_waits_for_worse_answers_where_only_those_are_worth_it() -> None:
    """Half of the first answers are hopeless, all so far were reviewed, and what is left is nearly perfect."""
    firsts = tuple({0: 5, 19: 5}.get(n, 0) for n in range(20))
    seen = replace(remembering(reviewable=((0.99, 3),), firsts=firsts), worst=("item-3", 0.99), average_h=0.9)
    said = bayes_policy.decide(seen, replace(ASSUMED, beta=0.03))
    assert said.reason.startswith("a review is worth +0."), "a plan that takes this one too would still pay"
    assert said.choice == "continue"


def test_alone_and_with_other_resources_it_decides_too() -> None:
    alone = replace(remembering(rivals=()), rivals=0)
    assert bayes_policy.decide(alone).choice == "review", "its penalty is full anyway"
    fewer = replace(SEEN, resources=("dollars",))
    assert bayes_policy.decide(fewer).choice == "review", "what it pays is unknown: nothing"


def test_nothing_reviewable_is_never_reviewed() -> None:
    none = remembering(reviewable=())
    assert bayes_policy.decide(none, QUESTIONS).choice == "continue"
    assert bayes_policy.decide(replace(none, handled=20), QUESTIONS).choice == "end"
    assert bayes_policy.decide(replace(SEEN, memory=Memory(), worst=None)).reason == "nothing can be reviewed"


async def test_the_agent_takes_the_beta_of_its_task_and_asks_no_model() -> None:
    nobody = cast(Model, None)
    for task, assumed in (("summarise", ASSUMED), ("qa", QUESTIONS)):
        said = await QAgent(Prompter(prompts.load(None, task)), "bayes").move(SEEN, nobody)
        assert said == bayes_policy.decide(SEEN, assumed)


def test_best_of_n_has_no_such_policy() -> None:
    with pytest.raises(ConfigError, match="use rule"):
        BestOfN(Prompter(prompts.load()), 2, "bayes")


def test_the_prompts_do_not_quote_the_memory() -> None:
    assert policy_fields(SEEN) == policy_fields(replace(SEEN, memory=Memory()))


def played(state: MatchState, data: st.DataObject, count: int) -> tuple[MatchState, list[tuple[int, Move]]]:
    """Some moves of a match whose first seat is played by the policy."""
    made: list[tuple[int, Move]] = []
    setting = Setting(state, decisions_cost=False)
    while len(made) < count and (steps := to_move(state)):
        seat = data.draw(st.sampled_from(sorted(steps)))
        seen = observe(state, seat)
        bayes = seat == 0 and seen.step == "decide"
        move = bayes_policy.decide(seen, QUESTIONS) if bayes else move_for(data, setting, state, seat, failures=True)
        made.append((seat, move))
        state = apply(state, {seat: move})
    return state, made


@profile(max_examples=60)
@given(st.data(), settings(budgets=True), st.integers(0, 60))
def test_a_resumed_match_decides_as_the_uninterrupted_one(data: st.DataObject, setting: Setting, count: int) -> None:
    state, made = played(setting.state, data, count)
    again = setting.state
    for seat, move in made:
        again = apply(again, {seat: from_json(kind_of(move), to_json(move))})
    for seat, step in to_move(state).items():
        if step == "decide":
            assert bayes_policy.decide(observe(state, seat)) == bayes_policy.decide(observe(again, seat))


@profile(max_examples=60)
@given(st.data(), settings(budgets=True), st.sampled_from([0.0, 0.001, 0.1, 1.0]), st.sampled_from([0.0, 1.0]))
def test_any_state_gets_a_legal_decision(data: st.DataObject, setting: Setting, beta: float, rivalry: float) -> None:
    state, _ = played(setting.state, data, data.draw(st.integers(0, 40)))
    assumed = replace(ASSUMED, beta=beta, rivalry=rivalry)
    for seat, step in to_move(state).items():
        if step != "decide":
            continue
        seen = observe(state, seat)
        said = bayes_policy.decide(seen, assumed)
        assert said.choice != "review" or seen.memory.reviewable
        assert said.choice != "end" or seen.handled == seen.total
        assert "nan" not in said.reason and len(said.reason) < 120
        me = own(seen, assumed)
        for sighting in seen.memory.rivals:
            belief = believe(seen, sighting, me, assumed)
            assert 0 <= belief.review_rate <= 1
            for total in belief.totals.values():
                assert 0 <= total.least <= total.mean + 1e-9 and total.spread >= 0


@profile(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1), st.sampled_from(["never", "review"]))
def test_calls_are_items_and_reviews(hs: list[float], gain: float, when: str) -> None:
    """A whole match of two, in which a rewrite gains a share of what is missing."""
    items = [Item(f"i{n}", "text") for n in range(len(hs))]
    rules = Rules(vision=Vision("review" if when == "review" else "never"))
    seats = [Seat("A", order_of("forward", len(hs))), Seat("B", order_of("reverse", len(hs)))]
    state = initial(items, rules, seats)
    while steps := to_move(state):
        seat = min(steps)
        seen = observe(state, seat)
        if seen.step == "decide":
            move: Move = bayes_policy.decide(seen, replace(ASSUMED, beta=0.01)) if seat == 0 else Decision("continue")
        elif seen.step == "answer":
            move = Answer("ok", "x", hs[seen.position], spend=call())
        else:
            move = Rewrite("ok", "y", min(1.0, (seen.h or 0) + gain * (1 - (seen.h or 0))), spend=call())
        state = apply(state, {seat: move})
    mine = state.players[0].spend
    assert mine.calls == len(hs) + mine.reviews
    assert state.players[0].past.count == mine.reviews
    assert sum(state.players[0].firsts) == len(hs) and state.players[0].firsts != NONE_YET
