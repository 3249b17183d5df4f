"""The game's rules, one by one, and its properties over random matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.protocol import (
    Answer,
    Budget,
    Decision,
    Item,
    MatchState,
    Move,
    Rewrite,
    Rules,
    Seat,
    Spend,
    Stop,
    Vision,
    apply,
    initial,
    observe,
    ruling,
    to_move,
)
from mashq.protocol.moves import from_json, kind_of, to_json
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import results_of
from mashq.protocol.rules import default_order, order_of
from mashq.protocol.state import Memory, Reviewed, Sighting
from tests.protocol.strategies import Setting, call, move_for, played, settings

ITEMS = [Item("a", "A"), Item("b", "B"), Item("c", "C")]


def match(rules: Rules, *seats: Seat) -> MatchState:
    return initial(ITEMS, rules, seats or [Seat("p", (0, 1, 2))])


def moves(state: MatchState, seat: int, *made: Move) -> MatchState:
    for move in made:
        state = apply(state, {seat: move})
    return state


CONTINUE, REVIEW, END = Decision("continue"), Decision("review"), Decision("end")


def test_a_cycle_reviews_the_worst_until_it_is_good_enough() -> None:
    state = moves(match(Rules(threshold=0.8)), 0, Answer("ok", "x", 0.5), REVIEW)
    assert to_move(state) == {0: "review"}
    seen = observe(state, 0)
    assert (seen.item, seen.answer, seen.h, seen.reviews) == (ITEMS[0], "x", 0.5, 0)
    state = moves(state, 0, Rewrite("ok", "y", 0.6))
    assert to_move(state) == {0: "review"}
    state = moves(state, 0, Rewrite("ok", "z", 0.9))
    assert state.round == 1
    work = state.players[0].items[0]
    assert (work.text, work.h, work.h_first, work.reviews) == ("z", 0.9, 0.5, 2)


def test_a_cycle_ends_at_exactly_the_threshold() -> None:
    state = moves(match(Rules(threshold=0.75)), 0, Answer("ok", "x", 0.75))
    assert not observe(state, 0).recommended
    state = moves(state, 0, REVIEW, Rewrite("ok", "y", 0.75))
    assert state.round == 1


def test_the_decision_to_review_is_charged_to_the_reviewed_item() -> None:
    state = moves(match(Rules(turn="single")), 0, CONTINUE, Answer("ok", "x", 0.5, spend=call()))
    state = moves(state, 0, Decision("review", spend=call()), Rewrite("ok", "y", 0.6, spend=call()))
    assert [work.spend.calls for work in state.players[0].items] == [3, 0, 0]


def test_seconds_are_not_shown_when_they_may_not_be() -> None:
    for shown in (True, False):
        rules = Rules(vision=Vision("always"), show_seconds=shown)
        state = match(rules, Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
        for seat in (0, 1):
            state = moves(state, seat, Answer("ok", "x", 0.5, spend=call()), CONTINUE)
        assert ("seconds" in dict(observe(state, 0).snapshots[0].fields)) is shown


def test_two_rivals_cannot_both_take_the_last_shared_review() -> None:
    state = match(Rules(shared_budget=Budget.of(reviews=1)), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    for seat in (0, 1):
        state = moves(state, seat, Answer("ok", "x", 0.1))
    state = moves(state, 0, REVIEW)
    assert ruling(state, 1, REVIEW).overridden


def test_a_player_that_reviewed_and_then_stopped_is_still_seen() -> None:
    state = match(Rules(vision=Vision("review")), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    state = moves(state, 0, Answer("ok", "x", 0.1), REVIEW, Rewrite("ok", "y", 0.2), Stop("no money"))
    state = moves(state, 1, Answer("ok", "x", 0.9), CONTINUE)
    (shown,) = observe(state, 1).snapshots
    assert shown.stopped and dict(shown.fields)["reviews"] == 1


def test_a_cycle_ends_when_the_item_has_used_its_reviews() -> None:
    state = moves(match(Rules(max_reviews=1)), 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.6))
    assert state.round == 1
    state = moves(state, 0, Answer("ok", "x", 0.9), REVIEW)
    assert observe(state, 0).item == ITEMS[1], "the first item has no review left, so the second is the worst"


def test_a_review_rewrites_at_least_once_even_a_good_answer() -> None:
    state = moves(match(Rules()), 0, Answer("ok", "x", 1.0), REVIEW)
    assert to_move(state) == {0: "review"}
    assert moves(state, 0, Rewrite("ok", "y", 0.99)).round == 1


def test_worst_ties_go_to_the_earliest_in_the_players_own_order() -> None:
    state = match(Rules(), Seat("p", (2, 1, 0)))
    state = moves(state, 0, Answer("ok", "x", 0.5), CONTINUE, Answer("ok", "y", 0.5), REVIEW)
    assert observe(state, 0).item == ITEMS[2]


def test_keep_better_keeps_the_old_answer_unless_the_new_one_scores_higher() -> None:
    better = Rules(keep="better", max_reviews=2)
    state = moves(match(better), 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.5))
    assert state.players[0].items[0].text == "x"
    state = moves(state, 0, Rewrite("ok", "z", 0.6))
    assert state.players[0].items[0].text == "z"
    latest = moves(match(Rules(max_reviews=1)), 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.1))
    assert latest.players[0].items[0].text == "y"


def test_a_refused_review_keeps_the_answer_and_is_charged() -> None:
    state = moves(match(Rules(max_reviews=1)), 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("refused", spend=call()))
    work = state.players[0].items[0]
    assert (work.text, work.h, work.reviews, work.spend.reviews, work.spend.calls) == ("x", 0.5, 1, 1, 1)


@pytest.mark.parametrize("turn", ["cycle", "single"])
def test_end_before_every_item_is_answered_is_overridden(turn: str) -> None:
    state = match(Rules(turn=turn))  # pyright: ignore[reportArgumentType]
    if turn == "cycle":
        state = moves(state, 0, Answer("ok", "x", 0.9))
    ruled = ruling(state, 0, END)
    assert (ruled.choice, bool(ruled.overridden)) == ("continue", True)


def test_review_with_nothing_reviewable_is_overridden() -> None:
    state = moves(match(Rules(max_reviews=0)), 0, Answer("ok", "x", 0.1))
    assert not observe(state, 0).recommended
    assert ruling(state, 0, REVIEW).choice == "continue"
    failed = moves(match(Rules()), 0, Answer("failed"))
    assert ruling(failed, 0, REVIEW).overridden


def test_single_is_one_action_a_round_and_reviews_the_item_named() -> None:
    state = moves(match(Rules(turn="single")), 0, CONTINUE, Answer("ok", "x", 0.9), CONTINUE, Answer("ok", "y", 0.2))
    assert (state.round, to_move(state)) == (2, {0: "decide"})
    assert observe(state, 0).item == ITEMS[2], "the current item is the next one"
    named = moves(state, 0, Decision("review", previous_id="a"))
    assert observe(named, 0).item == ITEMS[0]
    assert moves(named, 0, Rewrite("ok", "z", 0.1)).round == 3, "one rewrite, whatever it scored"
    illegal = Decision("review", previous_id="c")
    assert (ruling(state, 0, illegal).position, bool(ruling(state, 0, illegal).overridden)) == (1, True)


def test_single_goes_on_after_the_last_item_until_end_or_no_review_is_left() -> None:
    state = match(Rules(turn="single", max_reviews=1))
    for _ in ITEMS:
        state = moves(state, 0, CONTINUE, Answer("ok", "x", 0.5))
    assert to_move(state) == {0: "decide"}
    assert observe(state, 0).item is None
    assert not to_move(moves(state, 0, END))
    assert ruling(state, 0, CONTINUE).choice == "end"
    for _ in ITEMS:
        state = moves(state, 0, REVIEW, Rewrite("ok", "y", 0.6))
    assert not to_move(state)


def test_decisions_after_the_last_item_are_shared_by_all_items() -> None:
    state = match(Rules(turn="single", max_reviews=1))
    for _ in ITEMS:
        state = moves(state, 0, Decision("continue", spend=call()), Answer("ok", "x", 0.5, spend=call()))
    state = moves(state, 0, Decision("review", spend=call()), Rewrite("ok", "y", 0.6, spend=call()))
    player = moves(state, 0, Decision("end", spend=call())).players[0]
    assert player.shared.calls == 2
    assert [work.spend.calls for work in player.items] == [3, 2, 2]


def test_a_snapshot_is_shown_in_the_next_round_only() -> None:
    rules = Rules(max_reviews=1, vision=Vision("review", ("average_h", "reviews"), "fresh"))
    state = match(rules, Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    state = moves(state, 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.7))
    assert observe(state, 1).snapshots == ()
    state = moves(state, 1, Answer("ok", "x", 0.9), CONTINUE)
    (shown,) = observe(state, 1).snapshots
    assert (shown.player, shown.round, shown.fields) == ("A", 0, (("average_h", 0.7), ("reviews", 1)))
    assert observe(state, 0).snapshots == ()
    state = moves(moves(state, 0, Answer("ok", "x", 0.5), CONTINUE), 1, Answer("ok", "x", 0.9), CONTINUE)
    assert observe(state, 1).snapshots == ()


def test_a_decision_remembers_what_was_shown_and_what_ones_reviews_came_to() -> None:
    rules = Rules(max_reviews=1, vision=Vision("review", ("reviews",), "fresh"))
    state = match(rules, Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    state = moves(
        state, 0, Answer("ok", "x", 0.5, spend=call()), REVIEW, Rewrite("ok", "y", 0.7, spend=call(20, 2.0))
    )
    state = moves(state, 1, Answer("ok", "x", 1.0))
    assert observe(state, 1).memory.rivals == (Sighting(None, 0),), "nobody sees a move of its own round"
    state = moves(state, 1, CONTINUE)
    assert observe(state, 1).memory == Memory(), "it is for decisions"
    for _ in range(2):
        state = moves(state, 1, Answer("ok", "x", 0.9))
        memory = observe(state, 1).memory
        (seen,) = memory.rivals
        assert seen.last is not None and (seen.last.round, seen.review_rounds, memory.shown) == (0, 1, None)
        state = moves(moves(state, 1, CONTINUE), 0, Answer("refused"))
        memory = observe(state, 0).memory
        assert (memory.shown, memory.rivals, memory.reviewable) == (0, (Sighting(None, 0),), ())
        assert memory.past == Reviewed(1, 0.25, 0.5 * (0.7 - 0.5), memory.past.spend, 1)
        cost = memory.past.spend
        assert [cost.amount(name).total for name in RESOURCES[:5]] == [40, 1, 1, 2.0, 0.001]
        assert memory.firsts == tuple(int(n == 10) for n in range(20))
        state = moves(state, 0, CONTINUE)
    assert state.players[state.seat_of("B")].firsts == tuple({18: 2, 19: 1}.get(n, 0) for n in range(20))


@pytest.mark.parametrize(
    ("vision", "known"),
    [
        (Vision("never"), None),
        (Vision("always"), 1),
        (Vision("always", ("tokens",)), None),
        (Vision("review", ()), 1),
    ],
)
def test_rounds_with_a_review_are_remembered_where_the_rules_let_them_be_seen(
    vision: Vision, known: int | None
) -> None:
    state = match(Rules(max_reviews=1, vision=vision), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    state = moves(state, 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.7))
    state = moves(state, 1, Answer("ok", "x", 0.9), CONTINUE, Answer("ok", "x", 0.9))
    (seen,) = observe(state, 1).memory.rivals
    assert (seen.review_rounds, seen.last is None) == (known, vision.when == "never")


def test_a_player_that_is_done_for_the_round_observes_nothing() -> None:
    state = match(Rules(), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    with pytest.raises(ValueError, match="nothing to do"):
        observe(moves(state, 0, Answer("ok", "x", 0.5), CONTINUE), 0)


def test_keep_latest_goes_on_showing_the_last_snapshot() -> None:
    rules = Rules(max_reviews=1, vision=Vision("review", keep="latest"))
    state = match(rules, Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    state = moves(state, 0, Answer("ok", "x", 0.5), REVIEW, Rewrite("ok", "y", 0.7))
    for _ in range(2):
        state = moves(state, 1, Answer("ok", "x", 0.9), CONTINUE)
        assert [shown.round for shown in observe(state, 1).snapshots] == [0]
        state = moves(state, 0, Answer("ok", "x", 0.9), CONTINUE)


def test_a_stopped_players_last_snapshot_is_shown_once_more() -> None:
    state = match(Rules(vision=Vision("always")), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    for seat in (0, 1):
        state = moves(state, seat, Answer("ok", "x", 0.5, spend=call()), CONTINUE)
    state = moves(state, 0, Stop("its budget is spent", call()))
    state = moves(state, 1, Answer("ok", "x", 0.5), CONTINUE)
    (shown,) = observe(state, 1).snapshots
    assert (shown.stopped, shown.round) == (True, 1)
    state = moves(state, 1, Answer("ok", "x", 0.5), CONTINUE)
    assert not to_move(state)
    row = results_of(state)[0]
    assert [r.status for r in row.items] == ["ok", "unanswered", "unanswered"]
    assert row.items[1].spend.calls == 1, "what the stopped player paid belongs to the item it was at"


def test_an_exhausted_review_budget_makes_reviews_illegal() -> None:
    state = match(Rules(budget=Budget.of(reviews=1)))
    state = moves(state, 0, Answer("ok", "x", 0.1), REVIEW, Rewrite("ok", "y", 0.2))
    assert state.round == 1, "the cycle stops where the budget does"
    state = moves(state, 0, Answer("ok", "x", 0.1))
    assert ruling(state, 0, REVIEW).overridden
    shared = match(Rules(shared_budget=Budget.of(reviews=1)), Seat("A", (0, 1, 2)), Seat("B", (2, 1, 0)))
    shared = moves(shared, 0, Answer("ok", "x", 0.1), REVIEW, Rewrite("ok", "y", 0.2))
    shared = moves(shared, 1, Answer("ok", "x", 0.1))
    assert ruling(shared, 1, REVIEW).overridden


def test_what_a_crash_left_unresolved_is_charged_but_not_shown() -> None:
    cost = Spend(calls=1, unresolved=2)
    state = moves(match(Rules()), 0, Answer("ok", "x", 0.5, spend=cost))
    assert (observe(state, 0).spend.unresolved, state.players[0].spend.unresolved) == (0, 2)
    assert state.players[0].spend.amount("calls").total == 3


def test_wrong_moves_and_wrong_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="is to answer"):
        apply(match(Rules()), {0: CONTINUE})
    with pytest.raises(ValueError, match="not a permutation"):
        initial(ITEMS, Rules(), [Seat("p", (0, 0, 1))])
    with pytest.raises(ValueError, match="unknown order"):
        order_of("sideways", 3)
    assert not to_move(initial([], Rules(), [Seat("p", ())]))


def test_orders() -> None:
    assert order_of("rotate 1", 3) == (1, 2, 0)
    assert order_of("rotate 5", 3) == (2, 0, 1)
    assert order_of("reverse", 3) == (2, 1, 0)
    assert [default_order(seat, 4, 8) for seat in range(4)] == ["forward", "reverse", "rotate 4", "rotate 6"]


@given(st.data(), settings())
def test_the_call_identities_hold(data: st.DataObject, setting: Setting) -> None:
    """cycle: 2 x items + reviews, or items + reviews with free decisions; single: 2 x (answers + reviews) + ends."""
    state, _ = played(data, setting)
    for player in state.players:
        count, reviews = len(state.items), player.spend.reviews
        if state.rules.turn == "cycle":
            expected = count + reviews + (count if setting.decisions_cost else 0)
        else:
            ended = int(player.ended)
            expected = count + reviews + (count + reviews + ended if setting.decisions_cost else 0)
        assert player.spend.calls == expected
        assert player.spend.calls == sum(work.spend.calls for work in player.items) + player.shared.calls


@given(st.data(), settings(budgets=True))
def test_replaying_the_moves_rebuilds_the_state_exactly(data: st.DataObject, setting: Setting) -> None:
    state, made = played(data, setting, failures=True)
    again = setting.state
    for seat, move in made:
        again = apply(again, {seat: from_json(kind_of(move), to_json(move))})
    assert again == state


@given(st.data(), settings(budgets=True))
def test_nobody_observes_a_move_of_its_own_round(data: st.DataObject, setting: Setting) -> None:
    """Whatever the rivals do within a round, a player's observation does not change (a shared budget aside)."""
    state = setting.state
    shared = state.rules.shared_budget.is_set
    while steps := to_move(state):
        seat = data.draw(st.sampled_from(sorted(steps)))
        others = {other: observe(state, other) for other in steps if other != seat}
        after = apply(state, {seat: move_for(data, setting, state, seat, failures=True)})
        if after.round == state.round and not shared:
            assert {other: observe(after, other) for other in others} == others
        state = after


@given(st.data(), settings())
def test_the_order_of_seats_within_a_round_does_not_matter(data: st.DataObject, setting: Setting) -> None:
    state = setting.state
    while steps := to_move(state):
        made = {seat: move_for(data, setting, state, seat, failures=True) for seat in steps}
        forward, backward = state, state
        for seat in sorted(made):
            forward = apply(forward, {seat: made[seat]})
        for seat in sorted(made, reverse=True):
            backward = apply(backward, {seat: made[seat]})
        assert forward == backward == apply(state, made)
        state = forward


@given(st.data(), settings(budgets=True))
def test_no_item_is_reviewed_more_often_than_allowed(data: st.DataObject, setting: Setting) -> None:
    state, _ = played(data, setting, failures=True)
    for player in state.players:
        assert all(work.reviews <= player.max_reviews for work in player.items)
        own = player.budget.limit("reviews")
        assert own is None or player.spend.reviews <= own
        assert player.spend.reviews == sum(work.reviews for work in player.items)
        h = [work.h for work in player.items if work.h is not None]
        assert player.answered == len(h)
        assert abs(player.h_sum - sum(h)) < 1e-9
    shared = state.rules.shared_budget.limit("reviews")
    assert shared is None or sum(player.spend.reviews for player in state.players) <= shared
