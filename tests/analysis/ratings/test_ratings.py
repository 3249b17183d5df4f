"""Ratings of tournaments: outcomes by resampled items, intervals, ranks and doubts."""

import math
from itertools import permutations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from mashq.analysis.intervals import draws
from mashq.analysis.ratings.bradley_terry import SPREAD, TIE_SPREAD
from mashq.analysis.ratings.fit import Game, Ratings, game, rate
from mashq.analysis.ratings.notes import surprises
from mashq.analysis.ratings.outcomes import contests, pair_outcomes, records, soft_contests, soft_pair_outcomes
from mashq.analysis.results import Row, from_rows
from mashq.errors import DataError
from mashq.protocol.results import Floats
from mashq.protocol.score import TIE, ScoreRules, figures, view
from tests.analysis.ratings.fits import bradley_terry

RULES = ScoreRules(weights={"tokens": 1.0})
NAMES = "ABCDEF"
levels = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def result(*q: float, seats: tuple[int, ...] = (0, 1), drawn: Floats | None = None) -> Game:
    return Game(seats, np.array(q), drawn)


def tournament(
    quality: Floats,
    items: int,
    resamples: int,
    random: np.random.Generator,
    seats: list[tuple[int, ...]] | None = None,
) -> list[Game]:
    """Matches over shared items, by a score of an item that is quality and noise."""
    found: list[Game] = []
    drawn = np.concatenate(list(draws(items, resamples, int(random.integers(2**31))))) / items
    shared = random.normal(0, 1, (len(quality), items))
    for one in seats or list(permutations(range(len(quality)), 2)):
        at = list(one)
        score = quality[at][:, None] + shared[at] + random.normal(0, 1, (len(at), items))
        found.append(Game(tuple(one), score.mean(axis=1), drawn @ score.T))
    return found


@given(st.lists(st.tuples(levels, levels), min_size=2, max_size=12))
def test_outcomes_of_resamples_are_counted_pair_by_pair(rows: list[tuple[float, float]]) -> None:
    """Against a count of all resamples of all resamples, one by one."""
    q, drawn = np.array(rows[0]), np.array(rows[1:])
    pairs, found = soft_pair_outcomes([Game((3, 1), q, drawn)])
    assert pairs.tolist() == [[1, 3]]
    for at, centre in enumerate([q, *drawn]):
        gaps = [float(np.diff(centre + way * (other - q))[0]) for other in drawn for way in (1, -1)]
        shares = [np.mean([gap >= TIE for gap in gaps]), 0.0, np.mean([gap <= -TIE for gap in gaps])]
        shares[1] = 1 - shares[0] - shares[2]
        assert found[at, 0] == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize(("gap", "outcome"), [(TIE, [1, 0, 0]), (TIE / 2, [0, 1, 0]), (-TIE, [0, 0, 1])])
def test_a_difference_of_a_tie_is_no_tie(gap: float, outcome: list[float]) -> None:
    one = result(gap, 0, drawn=np.array([[gap, 0.0]]))
    assert soft_pair_outcomes([one])[1].tolist() == [[outcome], [outcome]]
    assert pair_outcomes([one])[1].tolist() == [[outcome]]


def test_results_are_won_tied_or_lost() -> None:
    games = [
        result(1, 0),
        result(0, 1, seats=(1, 0)),
        result(0.5, 0.5 + TIE / 2),
        result(math.nan, 0.1, seats=(2, 0)),
    ]
    pairs, found = pair_outcomes(games)
    assert pairs.tolist() == [[0, 1], [0, 2]]
    assert found.tolist() == [[[2, 1, 0], [1, 0, 0]]]
    assert pair_outcomes([result(math.nan, math.nan)])[1].tolist() == [[[0, 1, 0]]]


def test_a_win_by_a_hair_is_little_more_than_half_a_win() -> None:
    random = np.random.default_rng(1)
    noise = random.normal(0, 1, (2000, 2))
    near = rate([Game((0, 1), np.array([0.1, 0.0]), np.array([0.1, 0.0]) + noise)], "AB", items=50).fit
    clear = rate([Game((0, 1), np.array([9.0, 0.0]), np.array([9.0, 0.0]) + noise)], "AB", items=50).fit
    assert 0.5 < near.win[0, 1] < 0.6 < clear.win[0, 1]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=12))
def test_a_win_is_never_less_than_half_a_win(rows: list[tuple[float, float]]) -> None:
    """However the resamples lean: a heavy item makes most of them lower than the results."""
    q, drawn = np.array(rows[0]), np.array(rows[1:])
    _, found = soft_pair_outcomes([Game((0, 1), q, drawn)])
    won, _, lost = found[0, 0]
    assert won >= lost if q[0] - q[1] >= TIE else won <= lost if q[1] - q[0] >= TIE else won == pytest.approx(lost)
    leaning = result(0.1, 0.0, drawn=np.array([[-0.05, 0.0]] * 9 + [[2.0, 0.0]]))
    assert soft_pair_outcomes([leaning])[1][0, 0].tolist() == pytest.approx([0.5, 0, 0.5], abs=0.06)
    placed = soft_contests([leaning], np.random.default_rng(0))[0][0].placed[0]
    assert placed[0] >= placed[1]


@given(st.lists(st.tuples(levels, levels, levels), min_size=2, max_size=9))
def test_contests_of_resamples_place_everyone_once(rows: list[tuple[float, float, float]]) -> None:
    table = np.array(rows)
    one, again = soft_contests([Game((0, 1, 2), table[0], table[1:])], np.random.default_rng(0))
    for part, fits in ((one[0], 1), (again[0], len(rows) - 1)):
        assert part.weights.shape == (fits, 4)  # all three, and the pairs that can be left
        assert part.weights[:, -1] == pytest.approx(1) and part.weights[:, :-1].sum(axis=1) == pytest.approx(1)
        assert part.placed.sum(axis=1) == pytest.approx(2)


def test_who_ties_is_placed_at_random_and_the_rest_is_not() -> None:
    q = np.array([0.5, 0.5, 0.1])
    (results,), (again,) = soft_contests(
        [Game((0, 1, 2), q, np.repeat(q[None], 500, axis=0))], np.random.default_rng(0)
    )
    assert results.placed[0] == pytest.approx([1, 1, 0])
    assert again.placed[:, 2] == pytest.approx(0)
    sets = {
        tuple(row): float(weight) for row, weight in zip(results.left[0].tolist(), results.weights[0], strict=True)
    }
    assert sets[True, False, True] == pytest.approx(0.5, abs=0.1) == sets[False, True, True]
    (exact,) = contests([result(0.5, 0.5, 0.1, seats=(0, 1, 2))], np.random.default_rng(0))
    assert exact.weights[0].tolist() == [0, 0.5, 0.5, 1]


def test_matches_of_many_seats_list_their_sets() -> None:
    random = np.random.default_rng(0)
    quality = np.linspace(1, -1, 9)
    found = rate(tournament(quality, 40, 60, random, [tuple(range(9))]), "ABCDEFGHI", items=40)
    assert found.fit.strength.argmax() <= 1 and found.fit.strength.argmin() >= 7
    check(found)
    assert found.resampled.shape == (60, 9)
    assert [name for name, low in zip("ABCDEFGHI", found.low, strict=True) if np.isnan(low)] == list("ABCHI")


def check(found: Ratings) -> None:
    """What must be true of any ratings."""
    given = ~np.isnan(found.low)
    assert (given == ~np.isnan(found.high)).all()
    assert (found.low <= found.fit.strength)[given].all() and (found.fit.strength <= found.high)[given].all()
    assert (found.points_low <= found.fit.points)[given].all()
    assert (found.fit.points <= found.points_high)[given].all()
    assert found.fit.strength.sum() == pytest.approx(0, abs=1e-9)
    size = len(found.fit.names)
    ranked = [rank for rank in found.ranks if rank is not None]
    assert len(ranked) in (0, size) and all(1 <= best <= worst <= size for best, worst in ranked)
    assert found.p_first.sum() == pytest.approx(1) if ranked else np.isnan(found.p_first).all()
    whole = found.fit.win + found.fit.win.T + found.fit.tie
    assert whole[~np.eye(size, dtype=bool)] == pytest.approx(1)


@settings(max_examples=30)
@given(st.data(), st.booleans(), st.sampled_from([2, 3]))
def test_ratings_of_any_tournament(data: st.DataObject, clustered: bool, size: int) -> None:
    """Ties, missing scores, few games: always finite, and the same again for the same seed."""
    score = st.one_of(levels, st.just(math.nan))
    games: list[Game] = []
    for _ in range(data.draw(st.integers(1, 5))):
        seats = tuple(data.draw(st.permutations(range(4)))[: data.draw(st.sampled_from([2, size]))])
        row = st.lists(score, min_size=len(seats), max_size=len(seats))
        drawn = np.array(data.draw(st.lists(row, min_size=6, max_size=6)))
        games.append(Game(seats, np.array(data.draw(row)), drawn))
    items = 7 if clustered else None
    found = rate(games, "ABCD", items, resamples=50, seed=3)
    check(found)
    again = rate(games, "ABCD", items, resamples=50, seed=3)
    assert (again.resampled == found.resampled).all() and again.ranks == found.ranks


def test_games_as_the_unit_are_bradley_terry() -> None:
    games = [result(1, 0)] * 6 + [result(0, 1)] * 2 + [result(0, 0)] * 2 + [result(1, 0, seats=(1, 2))] * 3
    wins, ties = np.zeros((3, 3)), np.zeros((3, 3))
    wins[0, 1], wins[1, 0], wins[1, 2], ties[0, 1], ties[1, 0] = 6, 2, 3, 2, 2
    found = rate(games, "ABC", resamples=4000)
    check(found)
    other = bradley_terry(wins, ties, "ABC")
    assert found.fit.strength == pytest.approx(other.strength, abs=1e-9) and found.fit.nu == pytest.approx(other.nu)
    assert found.ranks[0] is not None and found.ranks[0][0] == 1 and found.p_first[0] > 0.8
    middle = (found.low + found.high) / 2
    assert middle == pytest.approx(found.fit.strength, abs=0.15)


def test_more_games_make_shorter_intervals() -> None:
    few, many = rate([result(1, 0), result(0, 1)], "AB"), rate([result(1, 0), result(0, 1)] * 50, "AB")
    assert many.high[0] < few.high[0] / 4


@pytest.mark.parametrize("seats", [None, [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]])
def test_names_and_the_order_of_games_do_not_matter(seats: list[tuple[int, ...]] | None) -> None:
    random = np.random.default_rng(2)
    games = tournament(np.array([0.3, 0.1, 0.0, -0.2]), 50, 200, random, seats)
    renamed = [2, 0, 3, 1]
    moved = [Game(tuple(renamed[seat] for seat in one.seats), one.q, one.drawn) for one in reversed(games)]
    one, two = rate(games, "ABCD", items=50), rate(moved, "CADB", items=50)
    assert two.fit.strength[renamed] == pytest.approx(one.fit.strength, abs=1e-6)
    assert two.resampled[:, renamed] == pytest.approx(one.resampled, abs=1e-5)


@pytest.mark.parametrize("size", [2, 3])
def test_intervals_hold_the_truth_about_as_often_as_they_say(size: int) -> None:
    """Equal players: by symmetry the truth is 0 for all. `bench/ratings_coverage.py` does it at length."""
    random = np.random.default_rng(size)
    seats = None if size == 2 else list(permutations(range(4), 3))[::2]
    held: list[bool] = []
    for _ in range(80):
        found = rate(tournament(np.zeros(4), 40, 150, random, seats), "ABCD", items=40)
        held += ((found.low <= 0) & (found.high >= 0)).tolist()
    assert 0.90 <= np.mean(held) <= 0.99


def test_few_items_widen_and_too_few_say_nothing() -> None:
    random = np.random.default_rng(4)
    games = tournament(np.array([0.2, 0.0, -0.1]), 20, 300, random)
    few, many, none = (rate(games, "ABC", items=items) for items in (6, 600, 4))
    assert ((few.high - few.fit.strength) > 1.3 * (many.high - many.fit.strength)).all()
    assert np.isnan([none.low, none.high, none.points_low, none.points_high, none.p_first]).all()
    assert none.ranks == (None, None, None)
    assert none.notes[-1] == "Too few items count for an interval and ranks of A, B, C: use 5 or more."


def test_players_that_are_the_same_tie() -> None:
    drawn = np.repeat(np.random.default_rng(0).random((100, 1)), 2, axis=1)
    found = rate([Game((0, 1), np.array([0.5, 0.5]), drawn)], "AB", items=30)
    check(found)
    assert found.fit.tie[0, 1] > 0.9 and found.ranks == ((1, 2), (1, 2)) and found.p_first.tolist() == [0.5, 0.5]


def notes(*games: Game, names: str = "ABCD", items: int | None = None) -> tuple[str, ...]:
    return rate(games, names, items, resamples=20).notes


def test_who_never_met_is_said() -> None:
    both = [result(1, 0), result(0, 1), result(1, 0, seats=(2, 3)), result(0, 1, seats=(2, 3))]
    apart = "Not all have met: ratings mean nothing between A, B | C, D; intervals and ranks are unknown."
    assert notes(*both) == (apart,)
    found = rate(both, "ABCD", resamples=20)
    assert np.isnan([found.low, found.high, found.p_first]).all() and found.ranks == (None,) * 4
    assert "A, B | C" in notes(*both[:2], names="ABC")[0]


def test_whose_rating_the_prior_decides_is_said() -> None:
    circle = [result(1, 0), result(1, 0, seats=(1, 2)), result(1, 0, seats=(2, 0))]
    assert notes(*circle, names="ABC") == ()
    top = [result(1, 0, seats=(3, seat)) for seat in range(3)]
    assert notes(*circle, *top) == ("D won every game: the prior decides how far ahead it is.",)
    bottom = [result(0, 1, seats=(3, seat)) for seat in range(3)]
    assert notes(*circle, *bottom) == ("D lost every game: the prior decides how far behind it is.",)
    tied = [*top[:2], result(0, 0, seats=(3, 2))]
    assert notes(*circle, *tied) == ()


def test_gaps_in_the_middle_are_said() -> None:
    line = [result(1, 0, seats=(a, b)) for a in range(4) for b in range(a + 1, 4)]
    said = notes(*line)
    assert said[0].startswith("A won every game") and said[1].startswith("D lost every game")
    assert said[2] == "The stronger never lost between B | C: the prior decides how far apart they are."
    two = [result(1, 0), result(0, 1), result(1, 0, seats=(2, 3)), result(0, 1, seats=(2, 3))]
    said = notes(*two, result(0, 1, seats=(0, 2)))
    assert said == ("The stronger never lost between C, D | A, B: the prior decides how far apart they are.",)


def test_a_resample_that_goes_the_other_way_is_a_loss() -> None:
    drawn = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    said = notes(result(1, 0, drawn=drawn), names="AB", items=20)
    assert said == ("No interval for A, B: results so one-sided leave the rating to the prior.",)
    said = notes(result(1, 0, drawn=drawn[:9]), names="AB", items=20)
    assert said[0] == "A won every game in every resample of the items: the prior decides how far ahead it is."


@pytest.mark.parametrize(
    ("games", "items", "says"),
    [
        ([], None, "no games"),
        ([result(1, 0)], 10, "every game needs its Q"),
        ([result(1, 0, drawn=np.ones((3, 2))), result(1, 0, drawn=np.ones((4, 2)))], 10, "same draws"),
        ([result(1, seats=(0,))], None, "two or more"),
        ([result(1, 0, seats=(1, 1))], None, "different players"),
        ([result(1, 0, seats=(0, 4))], None, "below 4"),
        ([result(1, 0, 1)], None, "a Q for each seat"),
        ([result(1, 0, drawn=np.ones((3, 3)))], 10, "a Q for each seat"),
    ],
)
def test_what_cannot_be_rated_is_refused(games: list[Game], items: int | None, says: str) -> None:
    with pytest.raises(DataError, match=says):
        rate(games, "ABCD", items)


def certain(drawn: list[float], q: float, seats: tuple[int, int]) -> Game:
    """A match whose first seat is ahead by these amounts in the resamples, and by `q` in the results."""
    return Game(seats, np.array([q, 0.0]), np.array([[one, 0.0] for one in drawn]))


def test_ratings_of_one_sided_matches_have_no_interval() -> None:
    """One round: A beat B in every resample. It used to be 1723 (1723 to 1723)."""
    found = rate([certain([1.0] * 50, 1.0, (0, 1)), certain([1.0] * 50, 1.0, (0, 1))], "AB", items=30)
    assert found.fit.points == pytest.approx([1724, 1276], abs=60) and np.ptp(found.resampled[:, 0]) < 1e-6
    assert np.isnan(found.low).all() and np.isnan(found.high).all() and found.ranks == ((1, 1), (2, 2))
    assert found.notes == (
        "A won every game in every resample of the items: the prior decides how far ahead it is.",
        "B lost every game in every resample of the items: the prior decides how far behind it is.",
        "No interval for A, B: results so one-sided leave the rating to the prior.",
    )
    assert found.p_first.tolist() == [1, 0]


def test_who_is_out_of_reach_has_no_interval_and_the_others_may() -> None:
    """A beats B and C always; B and C are about even."""
    swing = np.random.default_rng(0).normal(0.1, 1.0, 400).tolist()
    games = [certain([5.0] * 400, 5.0, (0, 1)), certain([5.0] * 400, 5.0, (0, 2)), certain(swing, 0.1, (1, 2))]
    found = rate(games, "ABC", items=50)
    assert np.isnan(found.low[0]) and found.ranks[0] == (1, 1)
    assert np.isnan(rate(games[2:], "ABC", items=50).low).all(), "A has met nobody"
    alone = rate([certain(swing, 0.1, (0, 1))], "BC", items=50)
    assert alone.low[0] < -0.2 < alone.fit.strength[0] < 0.2 < alone.high[0]


def test_few_items_that_count_cost_only_their_player_its_interval() -> None:
    random = np.random.default_rng(4)
    games = tournament(np.array([0.2, 0.0, -0.1]), 20, 300, random)
    some = [Game(one.seats, one.q, one.drawn, 3 if 2 in one.seats else 20) for one in games]
    found = rate(some, "ABC", items=20)
    assert np.isnan(found.low).tolist() == [False, False, True], "half of the matches of A and B have all items"
    assert found.ranks[2] is None and None not in found.ranks[:2] and math.isnan(found.p_first[2])
    assert found.notes == ("Too few items count for an interval and ranks of C: use 5 or more.",)


def near(seats: tuple[int, int]) -> Game:
    """A win by a hair: in 56 of 100 resamples."""
    return certain([1.0] * 56 + [-1.0] * 44, 0.01, seats)


def clear(seats: tuple[int, int]) -> Game:
    """A win in 90 of 100 resamples."""
    return certain([1.0] * 90 + [-1.0] * 10, 1.0, seats)


def test_an_unbeaten_player_that_is_not_first_is_explained() -> None:
    """A won all by a hair, also against B, who won all others clearly."""
    games = [near((0, other)) for other in (1, 2, 3)] + [clear((1, 2)), clear((1, 3)), near((2, 3))]
    found = rate(games, "ABCD", items=100)
    assert found.fit.strength.argmax() == 1
    assert found.notes[0] == (
        "The order is not that of the records, for a rating counts how surely each match is won, and a win by a hair "
        "is little more than half a win: A (3-0-0) lost to nobody and is rated below B (2-0-1)."
    )
    plain = rate([clear((a, b)) for a in range(4) for b in range(a + 1, 4)], "ABCD", items=100)
    assert plain.fit.strength.argmax() == 0 and not any("order" in note for note in plain.notes)
    turned = rate(
        [*(near((0, other)) for other in (1, 2, 3)), clear((1, 2)), clear((1, 3)), clear((2, 3))], "ABCD", 100
    )
    assert "A (3-0-0) lost to nobody" in turned.notes[0]


def test_a_player_rated_below_one_that_it_beat_is_explained() -> None:
    """A and B have the same record, A beat B by a hair, and lost to C as B lost to D."""
    games = [near((0, 1)), near((0, 3)), clear((2, 0)), clear((1, 2)), clear((1, 3)), clear((3, 2))]
    found = rate(games, "ABCD", items=100)
    assert found.fit.strength[1] > found.fit.strength[0]
    assert found.notes[0].endswith(": A (2-0-1) beat B (2-0-1) and is rated below it.")
    assert not any("order" in note for note in rate([near((0, 1)), clear((1, 0))], "AB", items=100).notes)


def test_a_weak_field_explains_an_unbeaten_player_that_is_not_first() -> None:
    """A beat only the weak; B lost once to the strong C, whom it also beat, as it did all others, often."""
    games = [clear((0, 4)), *[clear((1, other)) for other in (2, 3, 4, 2, 3, 2)], clear((2, 1))]
    games += [clear((2, 4)), clear((3, 4)), clear((2, 3)), clear((4, 3))]
    found = rate(games, "ABCDE", items=100)
    assert found.fit.strength[1] > found.fit.strength[0]
    assert found.notes[0] == (
        "The order is not that of the records, for a rating counts how strong the opponents were: A (1-0-0) lost to "
        "nobody and is rated below B (6-0-1)."
    )


def test_many_surprises_are_one_sentence() -> None:
    order = list(range(6))
    games = [near((a, b)) for a in order for b in order[a + 1 :]]
    said = surprises(games, "ABCDEF", np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.zeros(6))
    assert len(said) == 1 and said[0].count("rated below") == 3 and said[0].endswith("; and 2 more.")
    assert surprises(games, "ABCDEF", -np.arange(6.0), np.zeros(6)) == ()


def test_an_upset_is_no_surprise() -> None:
    """C beat A, who beat everyone else, and lost to everyone else: it is below A as its record is."""
    games = [clear((0, 1)), clear((0, 3)), clear((2, 0)), clear((1, 2)), clear((3, 2)), clear((1, 3))]
    assert surprises(games, "ABCD", np.array([2.0, 1.0, -1.0, 0.0]), np.zeros(4)) == ()
    level = [clear((0, 1)), clear((0, 3)), clear((2, 0)), clear((1, 2)), clear((2, 3)), clear((1, 3))]
    said = surprises(level, "ABCD", np.array([2.0, 1.0, 0.5, 0.0]), np.zeros(4))
    assert said[0].endswith(": C (2-0-1) beat A (2-0-1) and is rated below it.")


def test_records_know_who_has_no_score() -> None:
    found = records([result(math.nan, 0.1), result(0.3, 0.2, 0.2, seats=(0, 1, 2))], 3)
    assert found.tolist() == [
        [[0, 0, 0], [1, 0, 1], [1, 0, 0]],
        [[1, 0, 1], [0, 0, 0], [0, 1, 0]],
        [[0, 0, 1], [0, 1, 0], [0, 0, 0]],
    ]


def davidson(theta: Floats, log_nu: float, shares: dict[tuple[int, int], list[float]], tied: bool) -> float:
    """Minus the log-posterior of shares of wins, ties and losses, written down from the definition."""
    total = (theta**2).sum() / (2 * SPREAD**2) + (log_nu**2 / (2 * TIE_SPREAD**2) if tied else 0.0)
    for (a, b), (won, drew, lost) in shares.items():
        high, low = math.exp(theta[a]), math.exp(theta[b])
        middle = math.exp(log_nu) * math.sqrt(high * low) if tied else 0.0
        whole = high + low + middle
        total -= won * math.log(high / whole) + lost * math.log(low / whole)
        total -= drew * math.log(middle / whole) if drew else 0.0
    return float(total)


@pytest.mark.parametrize("seed", range(12))
def test_ratings_of_random_tournaments_are_those_of_another_optimiser(seed: int) -> None:
    """Shares counted in loops, and the top of the posterior found by somebody else's method."""
    random = np.random.default_rng(seed)
    players, resamples = int(random.integers(2, 6)), 40
    meetings = [pair for pair in permutations(range(players), 2) if random.random() < 0.8] or [(0, 1)]
    games = tournament(random.normal(0, 0.3, players), 25, resamples, random, meetings)
    if seed % 2:  # whole numbers: ties abound
        games = [Game(one.seats, one.q.round(), one.drawn.round()) for one in games if one.drawn is not None]
    shares: dict[tuple[int, int], list[float]] = {}
    for one in games:
        assert one.drawn is not None
        first, second = one.seats
        row = shares.setdefault((first, second), [0.0, 0.0, 0.0])
        for drawn in [*one.drawn, *(2 * one.q - one.drawn)]:
            gap = drawn[0] - drawn[1]
            row[1 if abs(gap) < TIE else 0 if gap > 0 else 2] += 1 / resamples / 2
    tied = any(row[1] for row in shares.values())
    found = rate(games, NAMES[:players], items=25)

    def height(at: Floats) -> float:
        return davidson(at[:-1], float(at[-1]), shares, tied)

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000}
    best = cast(Any, minimize(height, np.zeros(players + 1), method="L-BFGS-B", options=options)).x
    assert found.fit.strength == pytest.approx(best[:-1] - best[:-1].mean(), abs=2e-4)
    assert found.fit.points == pytest.approx(1500 + 400 * (best[:-1] - best[:-1].mean()) / math.log(10), abs=0.05)
    if tied:
        assert found.fit.nu == pytest.approx(math.exp(best[-1]), rel=1e-3)


def rows(items: list[str], random: Any) -> list[Row]:
    return [
        Row(player, item, "", float(random.random()), "ok", {"tokens": float(random.integers(1, 9))})
        for player in "AB"
        for item in items
    ]


def test_games_of_one_seed_draw_the_same_items() -> None:
    items = [f"i{n}" for n in range(8)]
    random = np.random.default_rng(0)
    table = rows(items, random)
    whole = view(from_rows(table), "intersection", ("tokens",))
    part = view(from_rows([row for row in table if row.item in items[2:4]]), "intersection", ("tokens",))
    one, two = (game((1, 0), seen, RULES, items, 300, seed=7) for seen in (whole, part))
    drawn = np.concatenate(list(draws(8, 300, 7)))
    assert one.seats == (1, 0) and one.drawn is not None and two.drawn is not None
    assert one.drawn == pytest.approx(figures(whole, RULES, drawn).q)
    met = drawn[:, 2:4].sum(axis=1) > 0
    assert 0 < (~met).sum() < 300
    assert two.drawn[met] == pytest.approx(figures(part, RULES, drawn[met][:, 2:4]).q)
    assert two.drawn[~met] == pytest.approx(np.repeat(two.q[None], (~met).sum(), axis=0))
    assert rate([one, two], "AB", items=8).fit.names == ("A", "B")
