"""H, P and Q: by hand, against the paper's printed figures, and as properties."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mashq.protocol import (
    UNKNOWN,
    Amount,
    Answer,
    Decision,
    Item,
    Rules,
    ScoreRules,
    Seat,
    Spend,
    Status,
    Stop,
    apply,
    initial,
    score,
    to_move,
)
from mashq.protocol.resources import Unknown
from mashq.protocol.results import ItemResult, PlayerResult, ResultStatus, from_matches, results_of
from mashq.protocol.score import DroppedUnit, Standing, standings
from tests.protocol.strategies import Setting, call, played, settings

TABLES = Path(__file__).parents[3] / "shared" / "paper" / "tables.json"


def spend(tokens: float = 0, calls: int = 0, reviews: int = 0, seconds: float = 0.0) -> Spend:
    return Spend.of(
        calls=calls,
        reviews=reviews,
        tokens_in=Amount(tokens, 1),
        tokens_out=Amount(0, 1),
        seconds=Amount(seconds, 1),
        dollars=Amount(0, 1),
    )


def player(name: str, *rows: tuple[ResultStatus, float | None, Spend], shared: Spend | None = None) -> PlayerResult:
    items = [ItemResult(f"i{n}", status, h, h, cost) for n, (status, h, cost) in enumerate(rows)]
    return PlayerResult(name, tuple(items), shared or Spend())


def same(
    status: ResultStatus, h: float | None, tokens: float, count: int
) -> list[tuple[ResultStatus, float | None, Spend]]:
    return [(status, h, spend(tokens, 1))] * count


def test_q_by_hand() -> None:
    a = player("A", ("ok", 1.0, spend(100, 2, 0, 4.0)), ("ok", 0.5, spend(100, 2, 1, 4.0)))
    b = player("B", ("ok", 0.8, spend(50, 1, 0, 8.0)), ("ok", 0.8, spend(50, 1, 0, 8.0)))
    result = score([a, b], ScoreRules())
    first, second = result.players
    assert (first.h, first.penalty, first.q) == pytest.approx((0.75, 3.5, 0.4))
    assert (second.h, second.penalty, second.q) == pytest.approx((0.8, 0.5 + 0.5 + 0 + 1, 0.6))
    assert (result.winner, result.tied, result.items, result.notes) == ("B", (), 2, ())


@pytest.mark.skipif(not TABLES.exists(), reason="the paper's figures are not here")
def test_the_papers_printed_scores_follow() -> None:
    """31 of the 32 rows with full counts follow to within rounding; the file names the one that does not."""
    document: dict[str, Any] = json.loads(TABLES.read_text())
    follow, rows = 0, 0
    for match in document["matches"]:
        if not all("seconds" in p and "reviews" in p for p in match["players"]):
            continue
        weights = {"tokens": 1.0, "calls": 1.0, "reviews": 1.0, "seconds": 1.0}
        results = [
            player(p["player"], ("ok", p["h"], spend(p["tokens"], p["calls"], p["reviews"], p["seconds"])))
            for p in match["players"]
        ]
        scored = score(results, ScoreRules(beta=match["weight"], weights=weights))
        for printed, row in zip(match["players"], scored.players, strict=True):
            rows += 1
            assert row.q is not None
            follow += abs(row.q - printed["q"]) < 0.00015
    assert (follow, rows) == (31, 32)


def test_refusals_three_ways() -> None:
    a = player("A", ("ok", 1.0, spend(10, 1)), ("refused", None, spend(10, 1)), ("unanswered", None, spend()))
    b = player("B", ("ok", 0.5, spend(20, 1)), ("ok", 0.5, spend(20, 1)), ("ok", 0.5, spend(20, 1)))
    intersection = score([a, b], ScoreRules())
    assert intersection.items == 2
    assert intersection.dropped == (DroppedUnit("i1", "", ("A",)),)
    assert [row.h for row in intersection.players] == [0.5, 0.5], "an unanswered item is 0, not left out"
    assert intersection.players[0].costs["calls"] == 1, "the cost of the item left out is left out too"
    penalised = score([a, b], ScoreRules(refusals="penalised"))
    assert (penalised.items, [row.h for row in penalised.players]) == (3, pytest.approx([1 / 3, 0.5]))
    answered = score([a, b], ScoreRules(refusals="answered"))
    assert [row.h for row in answered.players] == [0.5, 0.5]
    assert [row.answer_rate for row in answered.players] == pytest.approx([1 / 3, 1.0])


def test_an_empty_intersection_has_no_q_and_says_why() -> None:
    a = player("A", ("refused", None, spend(1, 1)), ("ok", 1.0, spend(1, 1)))
    b = player("B", ("ok", 1.0, spend(1, 1)), ("failed", None, spend(1, 1)))
    result = score([a, b], ScoreRules())
    assert [(row.q, row.h, row.penalty) for row in result.players] == [(None, None, None)] * 2
    assert (result.winner, result.items) == (None, 0)
    assert any("undefined" in note for note in result.notes)
    nothing = score([player("A", ("failed", None, Spend()))], ScoreRules(refusals="answered"))
    assert nothing.players[0].q is None


def test_a_tie_is_called_a_tie() -> None:
    rows = [("ok", 0.5, spend(10, 1)), ("ok", 0.7, spend(10, 1))]
    result = score([player("A", *rows), player("B", *rows)], ScoreRules())  # pyright: ignore[reportArgumentType]
    assert (result.winner, result.tied) == (None, ("A", "B"))


def test_what_moves_the_normaliser_moves_it_for_everyone() -> None:
    lost = Spend.of(calls=1, unknown=1, tokens_in=Amount.of(UNKNOWN, 1000), tokens_out=Amount.of(UNKNOWN, 0))
    known, charge = spend(100, 1), Spend.of(tokens_in=Amount(300, 1), tokens_out=Amount(0, 1))
    c = PlayerResult("C", (ItemResult("i0", "ok", 0.1, 0.1, lost, charge=charge),))
    rules = ScoreRules(weights={"tokens": 1.0})
    result = score([player("A", ("ok", 0.7, known)), player("B", ("ok", 0.69, known)), c], rules)
    a, b, _ = result.players
    assert b.q_max is not None and a.q_min is not None and b.q_max > a.q_min
    assert not any("could" in note for note in result.notes)
    cheaper = player("B", ("ok", 0.69, spend(70, 1)))
    doubted = score([player("A", ("ok", 0.71, known)), cheaper, c], rules)
    assert doubted.winner == "A"
    assert "The unknown costs could change the winner: B could still win." in doubted.notes
    tied = score([player("A", ("ok", 0.7, known)), player("B", ("ok", 0.7, known)), c], rules)
    assert tied.tied == ("A", "B") and not any("could" in note for note in tied.notes)


def charged(name: str, cost: Spend, charge: Spend) -> PlayerResult:
    return PlayerResult(name, (ItemResult("i0", "ok", 0.8, 0.8, cost, charge=charge),))


def test_unknown_costs_are_charged_bound_q_and_may_doubt_the_winner() -> None:
    lost = Spend.of(calls=1, unknown=1, tokens_in=Amount.of(UNKNOWN, 1000), tokens_out=Amount.of(UNKNOWN, 0))
    lost += Spend.of(seconds=Amount(1, 1))
    a = charged("A", spend(100, 1, 0, 1.0) + lost, Spend.of(tokens_in=Amount(15, 1), tokens_out=Amount(0, 1)))
    b = player("B", ("ok", 0.8, spend(120, 2, 0, 2.0)))
    result = score([a, b], ScoreRules())
    first, second = result.players
    assert (first.unknown_attempts, first.costs["tokens"], first.charged) == (1, 115, {"tokens_in": 15, "tokens": 15})
    assert first.penalty == pytest.approx(115 / 120 + 1 + 1)
    assert first.q_min == pytest.approx(0.8 - 0.1 * (1 + 1 + 1))
    assert first.q_max == pytest.approx(0.8 - 0.1 * (100 / 120 + 1 + 1))
    assert second.q_max == pytest.approx(0.8 - 0.1 * (120 / 1100 + 1 + 1))
    assert result.winner == "A"
    assert any("A 15 tokens" in note and "leaves Q between: A" in note for note in result.notes)
    assert any("could change the winner: B" in note for note in result.notes)


def test_unknown_seconds_doubt_the_winner_as_much_as_unknown_tokens() -> None:
    lost = Spend.of(calls=0, seconds=Amount.of(UNKNOWN, 100.0))
    a = player("A", ("ok", 0.8, spend(100, 1, 0, 10.0)))
    b = charged("B", spend(100, 1, 0, 1.0) + lost, Spend.of(seconds=Amount(0.0, 1)))
    result = score([a, b], ScoreRules())
    assert (result.winner, result.players[1].unknown_attempts) == ("B", 0)
    assert any("could change the winner: A" in note for note in result.notes)
    same = score([b, player("C", ("ok", 0.8, spend(100, 1, 0, 1.0)))], ScoreRules())
    assert same.tied == ("B", "C") and any("break the tie" in note for note in same.notes)
    solo = score([b], ScoreRules())
    assert any("leaves Q between: B" in note for note in solo.notes) and len(solo.notes) == 2
    refused = player("A", ("refused", None, spend(1, 1)))
    alone = score([refused, b], ScoreRules(refusals="answered", beta=1.0))
    assert not any("could change" in note for note in alone.notes), "a player without a score cannot win"


def test_costs_beyond_all_measure_are_scored_too() -> None:
    lost = Spend.of(calls=1, unknown=1, tokens_in=Amount.of(UNKNOWN, 10), tokens_out=Amount(5, 1))
    charge = Spend.of(tokens_in=Amount(10, 1))
    both = [charged(name, spend(n * 10**16, 1) + lost, charge) for name, n in (("A", 1), ("B", 2))]
    result = score(both, ScoreRules(reference={"tokens": 1.0}))
    assert result.winner == "A" and result.players[0].q is not None and result.players[0].q < -1e12
    assert any("leaves Q between" in note for note in result.notes)


def test_an_unknown_cost_without_a_charge_is_never_a_discount() -> None:
    """Dollars of a model without a price, on one item of two: they are not the known half."""
    known = Spend.of(calls=1, dollars=Amount(1.0, 1))
    blind = Spend.of(calls=1, dollars=Amount.of(UNKNOWN, UNKNOWN))
    a = player("A", ("ok", 0.8, known), ("ok", 0.8, blind))
    b = player("B", ("ok", 0.8, known), ("ok", 0.8, known))
    result = score([a, b], ScoreRules(weights={"dollars": 1.0, "calls": 1.0}))
    assert result.players[0].costs["dollars"] is None and result.players[1].costs["dollars"] == 2
    assert "dollars left out of P: unknown for A." in result.notes
    assert [row.penalty for row in result.players] == [1.0, 1.0]


def test_with_trials_the_unit_is_an_item_in_a_trial() -> None:
    """A refuses all of the second trial, where B does badly: neither gains by it."""
    first = [player(name, *same("ok", 0.8, 10, 3)) for name in "AB"]
    second = [
        player("A", *same("refused", None, 90, 3)),
        player("B", *same("ok", 0.3, 10, 3)),
    ]
    whole = from_matches([first, second])
    result = score(whole, ScoreRules())
    assert (result.items, result.units, result.tied) == (3, 3, ("A", "B"))
    assert [(pytest.approx(row.h), row.costs["tokens"]) for row in result.players] == [(0.8, 30)] * 2
    assert [row.answer_rate for row in result.players] == [0.5, 1.0]
    assert result.dropped == tuple(DroppedUnit(f"i{n}", "1", ("A",)) for n in range(3))
    penalised = score(whole, ScoreRules(refusals="penalised")).players
    assert [row.h for row in penalised] == pytest.approx([0.4, 0.55])
    assert [row.costs["tokens"] for row in penalised] == [150, 30], "means over trials, added up over items"
    answered = score(whole, ScoreRules(refusals="answered")).players
    assert [row.h for row in answered] == pytest.approx([0.8, 0.55])


def test_an_item_weighs_the_same_however_many_of_its_trials_count() -> None:
    one = [player("A", ("ok", 1.0, spend(10, 1)), ("ok", 0.0, spend(20, 1)))]
    two = [player("A", ("ok", 1.0, spend(10, 1)), ("failed", None, spend(20, 1)))]
    (row,) = score(from_matches([one, two]), ScoreRules()).players
    assert (row.h, row.costs["tokens"]) == (0.5, 30)


def test_a_match_that_goes_on_is_scored_over_what_was_played() -> None:
    a = player("A", ("ok", 0.9, spend(10, 1)), ("pending", None, spend()), ("pending", None, spend()))
    b = player("B", ("pending", None, spend()), ("ok", 0.5, spend(20, 1)), ("ok", 0.7, spend(20, 1)))
    result = score([a, b], ScoreRules())
    assert [row.h for row in result.players] == pytest.approx([0.9, 0.6])
    assert [row.answer_rate for row in result.players] == [1.0, 1.0]
    assert [row.penalty for row in result.players] == pytest.approx([10 / 20 + 1, 2.0]), "costs are per item played"
    assert any("of 3 items: A 1, B 2" in note for note in result.notes)


def test_a_reference_per_item_keeps_a_rivals_refusals_out_of_ones_score() -> None:
    rules = ScoreRules(reference={"tokens": 100.0}, per_item=True, weights={"tokens": 1.0})
    a = player("A", *same("ok", 0.8, 100, 4))
    whole = player("B", *same("ok", 0.5, 50, 4))
    half = player("B", *same("ok", 0.5, 50, 2), *same("refused", None, 50, 2))
    assert score([a, whole], rules).players[0].penalty == score([a, half], rules).players[0].penalty == 1.0
    totals = ScoreRules(reference={"tokens": 400.0}, weights={"tokens": 1.0})
    kept, cut = score([a, whole], totals), score([a, half], totals)
    assert (kept.players[0].penalty, cut.players[0].penalty) == (1.0, 0.5)
    assert not any("reference is in totals" in note for note in kept.notes)
    assert any("reference is in totals" in note for note in cut.notes)


def test_tokens_are_known_only_where_both_parts_are() -> None:
    half = Spend.of(calls=1, unknown=1, tokens_in=Amount(5, 1), tokens_out=Amount.of(UNKNOWN, 7))
    assert (half.tokens.known, half.tokens.unknown, half.tokens.is_known) == (0, 1, False)
    assert Spend.of(tokens_in=Amount(5, 2), tokens_out=Amount(5, 1, 1, 7), unknown=1).tokens.known == 1


def test_a_resource_unknown_to_a_player_is_left_out_with_a_note() -> None:
    blind = Spend.of(calls=1, unknown=1, tokens_in=Amount.of(UNKNOWN, 9), tokens_out=Amount.of(UNKNOWN, 9))
    a = player("A", ("ok", 0.8, blind))
    b = player("B", ("ok", 0.8, spend(120, 1)))
    result = score([a, b], ScoreRules())
    assert any(note == "tokens left out of P: unknown for A." for note in result.notes)
    assert [row.penalty for row in result.players] == [1.0, 1.0]
    unpriced = Spend.of(calls=1, dollars=Amount.of(UNKNOWN, UNKNOWN))
    assert unpriced.measured("dollars").worst == math.inf
    assert isinstance(unpriced.measured("dollars").value, Unknown)


def test_a_reference_makes_matches_comparable() -> None:
    rules = ScoreRules(reference={"tokens": 200, "calls": 4, "seconds": 10})
    a = player("A", ("ok", 0.8, spend(100, 2, 3, 5.0)))
    alone = score([a], rules)
    together = score([a, player("B", ("ok", 0.8, spend(9000, 90, 9, 90.0)))], rules)
    assert alone.players[0].q == together.players[0].q == pytest.approx(0.8 - 0.1 * 1.5)
    assert any("the reference gives no reviews" in note for note in alone.notes)
    assert "One player alone is its own normaliser: every resource that it uses counts in full." in (
        score([a], ScoreRules()).notes
    )


def test_shared_costs_are_spread_over_all_items() -> None:
    rows: list[tuple[ResultStatus, float | None, Spend]] = [("ok", 1.0, spend(10, 1)) for _ in range(4)]
    a = player("A", *rows, shared=spend(8, 4, 0, 1.0))
    rows[0] = ("refused", None, spend(10, 1))
    b = player("B", *rows)
    assert score([a], ScoreRules()).players[0].costs["calls"] == 8
    cut = score([a, b], ScoreRules()).players[0]
    assert (cut.costs["calls"], cut.costs["tokens"]) == (6, 36)


def test_a_weight_of_zero_and_a_beta_of_zero_count_nothing() -> None:
    a = player("A", ("ok", 0.8, spend(100, 2)))
    assert score([a], ScoreRules(weights={"tokens": 0.0, "calls": 2.0})).players[0].penalty == 2.0
    assert score([a], ScoreRules(beta=0)).players[0].q == 0.8


@given(st.data(), settings())
def test_results_add_up_to_what_was_spent(data: st.DataObject, setting: Setting) -> None:
    state, _ = played(data, setting, failures=True)
    for result, own in zip(results_of(state), state.players, strict=True):
        whole = result.shared
        for row in result.items:
            whole += row.spend
        assert (whole.calls, whole.reviews, whole.tokens) == (own.spend.calls, own.spend.reviews, own.spend.tokens)


@given(st.data(), settings(), st.booleans())
def test_standings_at_the_end_are_the_score(data: st.DataObject, setting: Setting, per_item: bool) -> None:
    state, moves = played(data, setting, failures=True)
    assume(not any(isinstance(move, Stop) for _, move in moves))
    reference = {"tokens": 100.0, "calls": 2.0} if per_item else None
    rules = ScoreRules(reference=reference, per_item=per_item, refusals="answered")
    final = score(results_of(state), rules)
    for now, row in zip(standings(state, rules), final.players, strict=True):
        assert now.penalty == pytest.approx(row.penalty)
        assert now.h == pytest.approx(row.h) and now.q == pytest.approx(row.q, abs=1e-9)


def test_what_failed_is_handled_and_costs_too() -> None:
    state = initial([Item(name, name) for name in "abcd"], Rules(max_reviews=0), [Seat("A", (0, 1, 2, 3))])
    ends: list[tuple[Status, float | None]] = [("ok", 0.8), ("failed", None), ("refused", None), ("ok", 0.8)]
    for status, h in ends:
        state = apply(state, {0: Answer(status, "text", h, spend=call(25))})
        while to_move(state).get(0) == "decide":
            state = apply(state, {0: Decision("continue")})
    rules = ScoreRules(weights={"tokens": 1.0}, reference={"tokens": 50.0}, per_item=True)
    assert standings(state, rules)[0] == Standing(0.8, 1.0, 0.8 - 0.1)


def test_nothing_that_is_known_of_all_leaves_h_alone() -> None:
    unknown = Spend.of(calls=1, unknown=1, tokens_in=Amount.of(UNKNOWN, 7), tokens_out=Amount.of(UNKNOWN, 7))
    result = score([player("A", ("ok", 0.8, unknown))], ScoreRules(weights={"tokens": 1.0}))
    assert result.players[0].q == result.players[0].h == 0.8 and result.players[0].penalty == 0.0
    assert "No resource is counted: P is 0 and Q is alpha times H." in result.notes


def test_standings_before_the_first_answer_have_no_q() -> None:
    state = initial([Item("a", "A")], Rules(), [Seat("p", (0,))])
    assert standings(state, ScoreRules(reference={"tokens": 1.0}))[0].q is None


def test_spends_survive_json() -> None:
    cost = call() + Spend.of(unresolved=1, waited=0.5, tokens_in=Amount.of(UNKNOWN, 7), seconds=Amount.of(UNKNOWN, 3))
    assert Spend.from_json(json.loads(json.dumps(cost.to_json()))) == cost
    endless = Spend.of(calls=1, dollars=Amount.of(UNKNOWN, UNKNOWN))
    assert Spend.from_json(json.loads(json.dumps(endless.to_json(), allow_nan=False))) == endless
    assert repr(UNKNOWN) == "UNKNOWN"


def test_a_cut_reply_is_left_out_like_a_failure_and_scores_0_when_penalised() -> None:
    """`cut` breaks a unit for everyone (intersection), scores 0 (penalised), and is no answer."""
    rows: list[tuple[ResultStatus, float | None, Spend]] = [("ok", 0.8, spend(10, 1)), ("ok", 0.6, spend(10, 1))]
    lost: list[tuple[ResultStatus, float | None, Spend]] = [("ok", 0.9, spend(10, 1)), ("cut", None, spend(10, 1))]
    match = [player("A", *rows), player("B", *lost)]
    found = score(match, ScoreRules())
    assert (found.items, [row.h for row in found.players]) == (1, [0.8, 0.9])
    assert [(unit.item, unit.by) for unit in found.dropped] == [("i1", ("B",))]
    assert found.players[1].answer_rate == 0.5
    penalised = score(match, ScoreRules(refusals="penalised"))
    assert [row.h for row in penalised.players] == [pytest.approx(0.7), pytest.approx(0.45)]
