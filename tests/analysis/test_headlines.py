"""The one sentence that every command prints of a score: worked out by hand where the figures allow it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]

from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoreReport
from mashq.protocol.results import PENDING
from mashq.protocol.score import ScoreRules

RULES = ScoreRules(weights={"tokens": 1.0})


def report(h: Mapping[str, Sequence[float | None]], *, finished: bool = True, totals: bool = False) -> ScoreReport:
    """Players of equal cost (P is 1 for all, Q is H − 0.1) with these H by item; None is refused."""
    rows = [
        Row(name, f"i{at}", "", value, "refused" if value is None else "ok", {"tokens": 5.0})
        for name, values in h.items()
        for at, value in enumerate(values)
    ]
    return judge(from_rows(rows, totals=totals), Options(RULES, resamples=500, finished=finished))


def half(items: int) -> float:
    """Half the interval of a difference that is the same on every item: Student's quantile times half an item."""
    return float(stdtrit(items - 1, 0.975)) * 0.5 / items * min(1.0, 30 / items)


@pytest.mark.parametrize(("items", "dq"), [(40, 0.4), (12, 0.125)])
def test_a_clear_winner(items: int, dq: float) -> None:
    found = report({"a": [0.5] * items, "b": [0.5 + dq] * items})
    low, high = dq - half(items), dq + half(items)
    assert low > 0
    chance = ">0.999" if items == 40 else f"{found.players[1].p_win:.3f}"
    assert (
        found.headline == f"Winner: b, ahead of a by {dq:.4f} in Q (95% CI {low:.4f} to {high:.4f}; P(win) {chance})."
    )
    assert (found.players[1].p_win or 0.0) > 0.975, "the chance and the interval tell one story"
    assert (found.winner, found.clear, found.best_set) == ("b", True, ["b"])


def test_a_lead_that_is_not_clear() -> None:
    found = report({"a": [0.5] * 10, "b": [0.53] * 10})
    low, high = 0.03 - half(10), 0.03 + half(10)
    chance = f"{found.players[1].p_win:.3f}"
    assert found.headline == (
        f"No clear winner: b leads a by 0.0300 in Q (95% CI −{-low:.4f} to {high:.4f}; P(win) {chance})."
    )
    assert (found.winner, found.clear, found.best_set) == ("b", False, ["a", "b"])
    assert 0.5 < float(chance) < 0.975, "the chance and the interval tell one story"


def test_a_tie() -> None:
    two = report({"a": [0.5] * 10, "b": [0.5] * 10})
    assert two.headline == "A tie: a and b have the same Q, 0.4000."
    assert (two.winner, two.tied, two.clear) == (None, ["a", "b"], False)
    three = report({"a": [0.5] * 10, "b": [0.25] * 10, "c": [0.5] * 10, "d": [0.5] * 10})
    assert three.headline == "A tie: a, c and d have the same Q, 0.4000."
    six = report({name: [0.5] * 6 for name in "abcdefg"})
    assert six.headline == "A tie: a, b, c, d, e and 2 more have the same Q, 0.4000."


@pytest.mark.parametrize(
    ("items", "says"),
    [
        (1, "1 item is too few for a confidence interval (it takes 5)"),
        (4, "4 items are too few for a confidence interval (it takes 5)"),
    ],
)
def test_too_few_items(items: int, says: str) -> None:
    found = report({"a": [0.5] * items, "b": [0.75] * items})
    assert found.headline == f"b leads a by 0.2500 in Q; {says}."
    assert (found.winner, found.clear, found.best_set, found.players[0].p_win) == ("b", False, [], None)
    assert found.notes[0] == says[0].upper() + says[1:] + "."


def test_totals() -> None:
    found = report({"a": [0.5], "b": [0.75]}, totals=True)
    assert found.headline == "b leads a by 0.2500 in Q; totals have no confidence interval."
    assert found.items is None and not found.clear


def test_nothing_can_be_scored() -> None:
    found = report({"a": [None, 0.5], "b": [0.5, None]})
    assert found.headline == "No winner: Q is undefined."
    assert (found.winner, found.tied, found.clear, found.differences) == (None, [], False, [])
    assert found.notes == [
        "Q is undefined: no item was answered by every player (of 2, a answered 1): leave a player out with "
        "--without, or use --refusals answered."
    ]


def test_alone_and_the_only_one_with_a_score() -> None:
    assert report({"a": [0.5] * 6}).headline == "a played alone: Q 0.4000."
    rows = [Row("a", f"i{at}", "", 0.5, "ok", {"tokens": 5.0}) for at in range(6)]
    rows += [Row("b", f"i{at}", "", None, "failed", {"tokens": 5.0}) for at in range(6)]
    found = judge(from_rows(rows), Options(replace(RULES, refusals="answered"), resamples=500))
    assert found.headline == "a is the only one with a score: Q 0.4000."
    assert (found.players[1].q, found.players[1].penalty, found.players[1].h) == (None, 1.0, None)


def test_a_run_that_goes_on_claims_nothing() -> None:
    found = report({"a": [0.5] * 40, "b": [0.9] * 40}, finished=False)
    low, high = 0.4 - half(40), 0.4 + half(40)
    assert found.headline == (
        f"Not finished, so nobody has won yet. So far b leads a by 0.4000 in Q (95% CI {low:.4f} to {high:.4f})."
    )
    assert (found.winner, found.clear) == (None, False)
    few = report({"a": [0.5], "b": [0.75]}, finished=False)
    assert few.headline.startswith("Not finished, so nobody has won yet. b leads a by 0.2500 in Q; 1 item is too few")
    none = report({"a": [None], "b": [0.5]}, finished=False)
    assert none.headline == "Not finished, so nobody has won yet. No winner: Q is undefined."


def test_what_is_yet_to_be_played_is_said() -> None:
    rows = [Row(name, f"i{at}", "", 0.5, "ok", {"tokens": 5.0}) for name in "ab" for at in range(6)]
    results = from_rows(rows)
    results.status[1, 2:] = PENDING
    found = judge(results, Options(RULES, resamples=500, finished=False))
    assert (
        found.notes[0] == "Not finished: each player is scored over what it has played so far (of 6 items: a 6, b 2)."
    )
    assert [player.costs["tokens"] for player in found.players] == [30.0, 10.0]


def test_more_than_three_players() -> None:
    """The leader is claimed only against all: here the third cannot be told from it, though the second can."""
    h = {"a": [0.9] * 20, "b": [0.8] * 20, "c": [1.0, 1.0, 1.0, 0.0] * 5, "d": [0.2] * 20}
    found = report(h)
    assert [lead.b for lead in found.differences if lead.a == "a"] == ["b", "c", "d"]
    assert found.headline.startswith("No clear winner: a leads b by 0.1000 in Q (95% CI 0.")
    assert found.headline.endswith("; it cannot be told apart from c.")
    assert (found.clear, found.best_set) == (False, ["a", "c"])
    assert (
        "The best of 4 players is partly the luckiest: the intervals of differences to the leader hold for all "
        "players together, and the leader's own interval is widened for having been picked." in found.notes
    )
    clear = report(h | {"c": [0.3] * 20})
    assert clear.headline.startswith("Winner: a, ahead of b by 0.1000 in Q (95% CI 0.") and clear.best_set == ["a"]


def test_unknown_costs_that_could_change_the_winner_are_told() -> None:
    """One row of a does not tell: it is taken as the mean of its others, at worst as the largest of all rows."""
    spent: dict[str, list[float | None]] = {"a": [None, 10, 10, 10, 10, 10], "b": [40, 8, 8, 8, 8, 8]}
    rows = [
        Row(name, f"i{at}", "", 0.5, "ok", {} if tokens is None else {"tokens": tokens})
        for name, own in spent.items()
        for at, tokens in enumerate(own)
    ]
    found = judge(from_rows(rows), Options(RULES, resamples=500))
    a, b = found.players
    assert (a.costs["tokens"], dict(a.charged), b.costs["tokens"], dict(b.charged)) == (60, {"tokens": 10.0}, 80, {})
    assert (a.q, b.q) == (pytest.approx(0.5 - 0.1 * 60 / 80), pytest.approx(0.4))
    assert (a.q_min, a.q_max) == (pytest.approx(0.5 - 0.1), pytest.approx(0.5 - 0.1 * 50 / 80)), "90, or 50 of 80"
    assert (b.q_min, b.q_max) == (pytest.approx(0.5 - 0.1), pytest.approx(0.5 - 0.1 * 80 / 90))
    assert found.winner == "a"
    assert found.notes[:2] == [
        "Some costs are unknown and are estimated in the totals (a 10 tokens), which leaves Q between: a 0.4000 to "
        "0.4375.",
        "The unknown costs could change the winner: b could still win.",
    ]
