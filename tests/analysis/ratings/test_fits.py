"""Bradley-Terry with ties and Plackett-Luce: what must be true of any fit, and against fits made in another way."""

import math
from collections.abc import Sequence
from itertools import chain, permutations, product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from mashq.analysis.ratings import bradley_terry as ratings_pairs
from mashq.analysis.ratings import plackett_luce as ratings_orders
from mashq.analysis.ratings.bradley_terry import SPREAD, TIE_SPREAD, Strengths, fit_pairs
from mashq.analysis.ratings.newton import climb
from mashq.analysis.ratings.plackett_luce import TABLED, contest, fit_orders, untied
from mashq.protocol.results import Floats
from tests.analysis.ratings.fits import bradley_terry, plackett_luce

NAMES = "ABCDEFGHIJ"


def lowest(function: Any, start: Floats) -> Floats:
    """Where a function is lowest, by somebody else's optimiser."""
    found = cast(Any, minimize(function, start, method="BFGS", options={"gtol": 1e-9}))
    return np.asarray(found.x, dtype=np.float64)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Wins and ties among two to five players."""
    size = draw(st.integers(2, 5))
    counts = st.one_of(st.just(0.0), st.integers(0, 30).map(float), st.floats(0, 5))
    wins, ties = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            wins[i, j], wins[j, i] = draw(counts), draw(counts)
            ties[i, j] = ties[j, i] = draw(counts)
    return wins, ties


@st.composite
def rankings(draw: st.DrawFn, most: int = 5) -> list[list[list[int]]]:
    """Rankings with ties among the first five players."""
    found: list[list[list[int]]] = []
    for _ in range(draw(st.integers(1, 6))):
        players = draw(st.permutations(range(5)))[: draw(st.integers(2, most))]
        groups = [[players[0]]]
        for player in players[1:]:
            if draw(st.booleans()):
                groups.append([player])
            else:
                groups[-1].append(player)
        found.append(groups)
    return found


def test_two_players_have_the_odds_of_their_games() -> None:
    found = bradley_terry(np.array([[0, 3000.0], [1000, 0]]), None, "AB")
    assert found.names == ("A", "B") and found.nu == 0
    assert found.strength[0] - found.strength[1] == pytest.approx(math.log(3), abs=1e-3)
    assert found.win[0, 1] == pytest.approx(0.75, abs=1e-3) and found.win[1, 0] == pytest.approx(0.25, abs=1e-3)
    assert found.tie[0, 1] == 0 and math.isnan(found.win[0, 0]) and math.isnan(found.tie[1, 1])
    assert found.points.sum() == pytest.approx(3000)
    assert found.points[0] - found.points[1] == pytest.approx(400 * math.log10(3), abs=0.5)


def test_ties_have_their_share() -> None:
    found = bradley_terry(np.array([[0, 500.0], [300, 0]]), np.array([[0, 200.0], [200, 0]]), "AB")
    assert found.win[0, 1] == pytest.approx(0.5, abs=1e-3)
    assert found.tie[0, 1] == found.tie[1, 0] == pytest.approx(0.2, abs=1e-3)
    assert found.nu == pytest.approx(0.2 / math.sqrt(0.5 * 0.3), abs=1e-2)


def test_an_undefeated_player_stays_finite_and_only_ties_make_equals() -> None:
    wins = np.zeros((3, 3))
    wins[0, 1] = wins[0, 2] = 50
    found = bradley_terry(wins, None, "ABC").strength
    assert 3 < found[0] < 10 and found[1] == pytest.approx(found[2])
    tied = bradley_terry(np.zeros((2, 2)), np.array([[0, 9.0], [9, 0]]), "AB")
    assert np.abs(tied.strength).max() < 1e-9 and tied.tie[0, 1] > 0.99 and math.isfinite(tied.nu)


def test_no_games_no_difference() -> None:
    assert not bradley_terry(np.zeros((3, 3)), None, "ABC").strength.any()
    assert not plackett_luce([], "ABC").strength.any()


@given(tables())
def test_what_was_scored_is_what_is_expected_but_for_the_prior(table: tuple[Floats, Floats]) -> None:
    """The slope of the posterior is 0 at the fit; it is strictly concave, so that there is one such point."""
    wins, ties = table
    found = bradley_terry(wins, ties, NAMES[: len(wins)])
    games = wins + wins.T + ties
    win, tie = np.nan_to_num(found.win), np.nan_to_num(found.tie)
    scored = (wins + ties / 2).sum(axis=1) - (games * (win + tie / 2)).sum(axis=1)
    assert scored == pytest.approx(found.strength / SPREAD**2, abs=1e-5)
    assert found.strength.sum() == pytest.approx(0, abs=1e-9)
    if ties.any():
        over = (ties - games * tie).sum() / 2
        assert over == pytest.approx(math.log(found.nu) / TIE_SPREAD**2, abs=1e-5)
    else:
        assert found.nu == 0


@settings(max_examples=50)
@given(tables(), st.randoms())
def test_names_do_not_matter(table: tuple[Floats, Floats], random: Any) -> None:
    wins, ties = table
    order = list(range(len(wins)))
    random.shuffle(order)
    one = bradley_terry(wins, ties, NAMES[: len(wins)])
    two = bradley_terry(wins[np.ix_(order, order)], ties[np.ix_(order, order)], NAMES[: len(wins)])
    assert two.strength == pytest.approx(one.strength[order], abs=1e-6)


@settings(max_examples=50)
@given(tables())
def test_a_win_more_helps_the_winner(table: tuple[Floats, Floats]) -> None:
    wins, ties = table
    before = bradley_terry(wins, ties, NAMES[: len(wins)]).strength
    more = wins.copy()
    more[0, 1] += 1
    after = bradley_terry(more, ties, NAMES[: len(wins)]).strength
    assert after[0] - after[1] > before[0] - before[1] - 1e-9


def test_many_fits_in_parts_are_the_fits_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    outcomes = random.gamma(1.0, size=(7, 3, 3))
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    monkeypatch.setattr(ratings_pairs, "CHUNK", 50)
    found = fit_pairs(pairs, outcomes, 3, np.ones(3))
    for at in range(7):
        alone = fit_pairs(pairs, outcomes[at : at + 1], 3)
        assert found.strength[at] == pytest.approx(alone.strength[0], abs=1e-6)
        assert found.nu[at] == pytest.approx(alone.nu[0], rel=1e-5)


def test_a_step_too_far_is_halved() -> None:
    def valley(at: Floats) -> tuple[Floats, Floats, Floats]:
        """-log cosh: from 2 a whole step of Newton's goes to -11, and the next one ever farther."""
        slope = -np.tanh(at)
        return -np.log(np.cosh(at[:, 0])), slope, (1 - slope**2)[..., None]

    point, curvature = climb(valley, np.array([[2.0], [-3.0], [0.1]]))
    assert np.abs(point).max() < 1e-6 and curvature[:, 0, 0] == pytest.approx(1)
    near, _ = climb(valley, np.array([[0.1]]), steps=1)
    assert 0 < abs(near[0, 0]) < 0.01


def test_a_slope_that_points_the_wrong_way_does_not_hang() -> None:
    def wrong(at: Floats) -> tuple[Floats, Floats, Floats]:
        return -(at[:, 0] ** 2), 2 * at, np.full((len(at), 1, 1), 2.0)

    point, _ = climb(wrong, np.array([[1.0]]), steps=1)
    assert point[0, 0] == pytest.approx(1.0)


def posterior(strength: Floats, games: Sequence[Sequence[Sequence[int]]]) -> float:
    """Minus the log-posterior of rankings, written down from the definition: ties averaged over orders."""
    total = -(strength**2).sum() / (2 * SPREAD**2)
    for ranking in games:
        orders = [list(chain.from_iterable(one)) for one in product(*map(permutations, ranking))]
        for order in orders:
            for place in range(len(order)):
                left = strength[order[place:]]
                total += (strength[order[place]] - np.log(np.exp(left).sum())) / len(orders)
    return -float(total)


@settings(max_examples=25)
@given(rankings(most=4))
def test_plackett_luce_is_where_its_posterior_is_highest(games: list[list[list[int]]]) -> None:
    found = plackett_luce(games, "ABCDE")

    def height(at: Floats) -> float:
        return posterior(at, games)

    other = lowest(height, np.zeros(5))
    assert found.strength == pytest.approx(other - other.mean(), abs=1e-4)
    assert found.nu == 0 and not np.nan_to_num(found.tie).any()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] != p[1]), min_size=1))
def test_two_players_without_ties_are_bradley_terry(won: list[tuple[int, int]]) -> None:
    wins = np.zeros((5, 5))
    for one, two in won:
        wins[one, two] += 1
    found = plackett_luce([[[one], [two]] for one, two in won], "ABCDE")
    assert found.strength == pytest.approx(bradley_terry(wins, None, "ABCDE").strength, abs=1e-6)


def test_a_tie_of_two_is_half_a_win_each() -> None:
    wins = np.array([[0, 2.5, 0], [0.5, 0, 1], [0, 0, 0]])
    found = plackett_luce([[[0], [1]], [[0, 1]], [[1], [2]]], "ABC", weights=[2, 1, 1])
    assert found.strength == pytest.approx(bradley_terry(wins, None, "ABC").strength, abs=1e-6)


@settings(max_examples=50)
@given(rankings())
def test_sets_left_counted_or_listed_fit_alike(games: list[list[list[int]]]) -> None:
    counted = plackett_luce(games, "ABCDE").strength
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratings_orders, "TABLED", 1)
        assert plackett_luce(games, "ABCDE").strength == pytest.approx(counted, abs=1e-6)


def test_the_mean_of_many_fits_counted_or_listed_is_the_fit_of_all_games() -> None:
    random = np.random.default_rng(6)
    order = np.argsort(random.random((4, 30, 5)) + 0.2 * np.arange(4)[:, None, None], axis=0)
    places = np.argsort(order, axis=0)
    counted = contest((0, 1, 2, 3), places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratings_orders, "TABLED", 1)
        listed = contest((0, 1, 2, 3), places)
    whole = contest((0, 1, 2, 3), places.reshape(4, 1, 150))
    one, two, three = (fit_orders([each], 4, 1).strength[0] for each in (counted.mean(), listed.mean(), whole))
    assert one == pytest.approx(three, abs=1e-6) and two == pytest.approx(three, abs=1e-6)
    assert fit_orders([counted], 4, 30).strength == pytest.approx(fit_orders([listed], 4, 30).strength, abs=1e-6)


def test_ties_of_many_are_drawn() -> None:
    random = np.random.default_rng(0)
    every = untied([[0], [1, 2, 3, 4, 5]], random)
    assert len({tuple(order) for order in every.tolist()}) == len(every) == 120
    drawn = untied([[0], [1, 2, 3, 4, 5, 6]], random)
    assert drawn.shape == (120, 7) and (drawn[:, 0] == 0).all() and (np.sort(drawn, axis=1) == np.arange(7)).all()
    found = plackett_luce([[[6], [0, 1, 2, 3, 4, 5]]], "ABCDEFG").strength
    assert found.argmax() == 6 and np.ptp(found[:6]) < 0.5


def test_known_strengths_come_back_from_many_games_of_four() -> None:
    random = np.random.default_rng(5)
    truth = np.array([1.0, 0.4, 0.0, -0.3, -1.1])
    games: list[list[list[int]]] = []
    for _ in range(4000):
        seats = random.permutation(5)[:4]
        order = seats[np.argsort(-(truth[seats] + random.gumbel(size=4)))]
        games.append([[int(player)] for player in order])
    assert plackett_luce(games, "ABCDE").strength == pytest.approx(truth - truth.mean(), abs=0.1)


def test_strengths_without_a_fit() -> None:
    assert Strengths(("A", "B"), np.array([200.0, -200.0]), 1.0).win[0, 1] == 1.0


@pytest.mark.parametrize("fits", [1, 2, 3])
def test_the_mean_of_contests_is_one_fit(fits: int) -> None:
    size = TABLED + 1
    places = np.stack([np.random.default_rng(n).permuted(np.arange(size)) for n in range(fits)], axis=1)[:, :, None]
    whole = contest(range(size), places)
    one = whole.mean()
    assert len(one.left) == len(one.weights) == len(one.placed) == 1
    assert one.weights.shape[1] == one.left.shape[1]
    assert one.placed[0] == pytest.approx(whole.placed.mean(axis=0))
    assert one.weights.sum() == pytest.approx(whole.weights.sum() / fits)
