"""Games of two: known games, another way of finding equilibria, and what must be true of any game."""

import math
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import HalfspaceIntersection  # pyright: ignore[reportMissingTypeStubs]

from mashq.analysis.games import bimatrix as games
from mashq.analysis.games import supports as games_supports
from mashq.analysis.games.bimatrix import (
    LIMIT,
    Bimatrix,
    Equilibria,
    best_responses,
    equilibria,
    exploitability,
    learn,
    regrets,
    symmetric,
)
from mashq.analysis.games.dominance import Removed, dominance, dominated_in
from mashq.analysis.games.linear_programs import secure
from mashq.analysis.games.uncertainty import survival
from mashq.errors import DataError
from mashq.protocol.results import Floats

CHICKEN = np.array([[0.0, 7.0], [2.0, 6.0]])
WHEEL = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
PENNIES = Bimatrix(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]]))
SEXES = Bimatrix(np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[2.0, 0.0], [0.0, 3.0]]))
DILEMMA = symmetric(np.array([[3.0, 0.0], [5.0, 1.0]]))


def small(low: int = 1, high: int = 4) -> st.SearchStrategy[Bimatrix]:
    """Games with small whole payoffs, where ties abound."""

    def of(shape: tuple[int, int]) -> st.SearchStrategy[Bimatrix]:
        payoffs = arrays(np.float64, shape, elements=st.integers(-2, 2).map(float))
        return st.builds(Bimatrix, payoffs, payoffs)

    return st.tuples(st.integers(low, high), st.integers(low, high)).flatmap(of)


def mixes(found: Equilibria) -> list[tuple[list[float], list[float]]]:
    return [(one.row.round(9).tolist(), one.column.round(9).tolist()) for one in found.profiles]


def polytope(payoffs: Floats) -> tuple[Floats, Floats]:
    """Vertices y >= 0 of payoffs @ y <= 1 by qhull, normalised, with the labels: best rows, then zero columns."""
    rows, columns = payoffs.shape
    positive = payoffs - payoffs.min() + 1
    faces = np.block([[positive, -np.ones((rows, 1))], [-np.eye(columns), np.zeros((columns, 1))]])
    inside = np.full(columns, 0.5 / (positive.max() * columns))
    found = cast(Any, HalfspaceIntersection(faces, inside)).intersections
    points = np.unique(np.asarray(found, dtype=np.float64).round(11), axis=0)
    points = points[points.sum(axis=1) > 1e-9]
    labels = np.concatenate([points @ positive.T > 1 - 1e-8, points < 1e-9], axis=1)
    return points / points.sum(axis=1, keepdims=True), labels.astype(np.float64)


def brute(game: Bimatrix) -> list[tuple[Floats, Floats]]:
    """Equilibria as pairs of vertices that have all labels between them."""
    columns, own = polytope(game.row)
    rows, other = polytope(game.column.T)
    count = game.row.shape[1]
    other = np.concatenate([other[:, count:], other[:, :count]], axis=1)
    return [
        (rows[i], columns[j])
        for i in range(len(rows))
        for j in range(len(columns))
        if ((own[j] + other[i]) > 0).all()
    ]


def test_matching_pennies_has_one_equilibrium() -> None:
    found = equilibria(PENNIES)
    assert mixes(found) == [([0.5, 0.5], [0.5, 0.5])] and found.complete and not found.degenerate
    assert found.profiles[0].payoffs == pytest.approx((0, 0)) and not found.profiles[0].pure


def test_the_battle_of_the_sexes_has_three() -> None:
    found = equilibria(SEXES)
    assert mixes(found) == [([1, 0], [1, 0]), ([0, 1], [0, 1]), ([0.6, 0.4], [0.4, 0.6])] and found.complete
    assert [one.pure for one in found.profiles] == [True, True, False]
    assert found.profiles[2].payoffs == pytest.approx((1.2, 1.2))


def test_prisoners_defect() -> None:
    found = equilibria(DILEMMA)
    assert mixes(found) == [([0, 1], [0, 1])] and found.complete and found.profiles[0].supports == ((1,), (1,))
    assert exploitability(DILEMMA, np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 4
    assert regrets(DILEMMA, np.array([1.0, 0.0]), np.array([0.0, 1.0])) == (1, 0)


def test_rock_paper_scissors_has_one() -> None:
    found = equilibria(symmetric(WHEEL))
    assert len(found.profiles) == 1 and found.complete
    assert found.profiles[0].row == pytest.approx([1 / 3] * 3) == found.profiles[0].column
    assert best_responses(WHEEL, np.array([1.0, 0.0, 0.0])) == (1,)
    assert best_responses(WHEEL, np.full(3, 1 / 3)) == (0, 1, 2)


def test_chicken_has_three() -> None:
    found = equilibria(symmetric(CHICKEN))
    assert mixes(found)[:2] == [([1, 0], [0, 1]), ([0, 1], [1, 0])] and found.complete
    assert found.profiles[2].row == pytest.approx([1 / 3, 2 / 3])


def test_a_game_of_six_by_six_with_three_equilibria() -> None:
    """The battle of the sexes between two rock-paper-scissors: mix one wheel, mix the other, or mix both."""
    none = np.zeros((3, 3))
    game = Bimatrix(
        np.block([[WHEEL + 5, none], [none, WHEEL + 3]]), np.block([[3 - WHEEL, none], [none, 5 - WHEEL]])
    )
    found = equilibria(game)
    assert [one.supports for one in found.profiles] == [
        ((0, 1, 2), (0, 1, 2)),
        ((3, 4, 5), (3, 4, 5)),
        (tuple(range(6)), tuple(range(6))),
    ]
    assert found.complete and found.profiles[2].row == pytest.approx([5 / 24] * 3 + [1 / 8] * 3)
    assert len(brute(game)) == 3


def test_a_hundred_random_games_against_vertices_by_qhull() -> None:
    random = np.random.default_rng(2026)
    count = 0
    for _ in range(100):
        game = Bimatrix(random.random((4, 4)), random.random((4, 4)))
        found, other = equilibria(game), brute(game)
        assert found.complete and not found.degenerate and len(found.profiles) == len(other)
        for row, column in other:
            assert any(
                np.allclose(one.row, row, atol=1e-6) and np.allclose(one.column, column, atol=1e-6)
                for one in found.profiles
            )
        assert all(exploitability(game, one.row, one.column) <= 2 * LIMIT for one in found.profiles)
        count += len(other)
    assert count > 150


def test_not_square_and_single_strategies() -> None:
    random = np.random.default_rng(5)
    for shape in ((1, 1), (1, 4), (3, 1), (2, 5), (5, 3)):
        game = Bimatrix(random.random(shape), random.random(shape))
        found = equilibria(game)
        assert found.complete and found.profiles
        assert len(found.profiles) == len(brute(game)) if min(shape) > 1 else found.profiles[0].pure


def test_degenerate_games_are_reported_as_such() -> None:
    """The column player does not care at the first row: everything between two equilibria is one."""
    found = equilibria(Bimatrix(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 1.0]])))
    assert mixes(found) == [([1, 0], [1, 0]), ([1, 0], [0, 1])]
    assert found.degenerate and found.continuum and not found.complete
    flat = equilibria(symmetric(np.full((2, 2), 0.3)))
    assert len(flat.profiles) == 4 and flat.continuum and not flat.complete


def test_a_degenerate_game_with_isolated_equilibria_is_complete() -> None:
    """A tie that no equilibrium meets: the column player does not care at a row that is never played."""
    found = equilibria(Bimatrix(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])))
    assert found.degenerate and not found.continuum and found.complete and mixes(found) == [([1, 0], [1, 0])]


def test_an_even_number_or_a_profile_off_by_too_much_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    found = equilibria(SEXES)
    assert not Equilibria(found.profiles[:2], degenerate=False, continuum=False).complete
    monkeypatch.setattr(games, "LIMIT", -1.0)
    none = equilibria(SEXES)
    assert none.profiles == () and none.dropped == 3 and not none.complete


def test_points_between_vertices_are_not_taken_for_vertices() -> None:
    """A row that is the mean of the others: systems without a single answer, but for rounding, have one of many."""
    random = np.random.default_rng(0)
    for _ in range(60):
        payoffs = random.random((3, int(random.integers(3, 6))))
        payoffs[2] = payoffs[:2].mean(axis=0)
        assert len(games_supports.vertices(payoffs).mixes) == len(polytope(payoffs)[0])


def test_a_game_too_large_is_refused() -> None:
    with pytest.raises(DataError, match="12 x 12 strategies is too large"):
        games_supports.vertices(np.zeros((12, 12)))


@given(small())
def test_any_game_has_an_equilibrium_and_nobody_gains_by_leaving_one(game: Bimatrix) -> None:
    found = equilibria(game)
    assert found.profiles and found.dropped == 0
    for one in found.profiles:
        assert exploitability(game, one.row, one.column) <= 1e-8
        assert one.row.sum() == pytest.approx(1) and one.row.min() >= 0
        assert set(one.supports[0]) <= set(best_responses(game.row, one.column))
        assert set(one.supports[1]) <= set(best_responses(game.column.T, one.row))
    pure = {(one.supports[0][0], one.supports[1][0]) for one in found.profiles if one.pure}
    best = (game.row >= game.row.max(axis=0) - 1e-9) & (game.column >= game.column.max(axis=1, keepdims=True) - 1e-9)
    assert pure == {(int(i), int(j)) for i, j in zip(*np.nonzero(best), strict=True)}
    if not found.degenerate:
        assert len(found.profiles) % 2 == 1 and not found.continuum
    if found.continuum:
        one, two = next(
            (a, b)
            for a in found.profiles
            for b in found.profiles
            if a is not b and (np.allclose(a.row, b.row) or np.allclose(a.column, b.column))
        )
        assert exploitability(game, (one.row + two.row) / 2, (one.column + two.column) / 2) <= 1e-8


@settings(max_examples=50)
@given(small(2, 4))
def test_extreme_equilibria_of_games_full_of_ties_are_all_there(game: Bimatrix) -> None:
    found = equilibria(game)
    for row, column in brute(game):
        assert any(
            np.allclose(one.row, row, atol=1e-6) and np.allclose(one.column, column, atol=1e-6)
            for one in found.profiles
        )


@settings(max_examples=50)
@given(small(), st.floats(0.01, 100), st.floats(-50, 50))
def test_units_of_payoff_do_not_matter(game: Bimatrix, unit: float, shift: float) -> None:
    one, two = equilibria(game), equilibria(Bimatrix(game.row * unit + shift, game.column))
    assert [a.supports for a in one.profiles] == [b.supports for b in two.profiles]
    assert (one.degenerate, one.continuum) == (two.degenerate, two.continuum)


@pytest.mark.parametrize(
    ("row", "column", "says"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), "one size"),
        (np.zeros(2), np.zeros(2), "one size"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "one size"),
        (np.array([[math.nan]]), np.zeros((1, 1)), "finite"),
        (np.zeros((1, 1)), np.array([[math.inf]]), "finite"),
    ],
)
def test_what_is_no_game_is_refused(row: Floats, column: Floats, says: str) -> None:
    with pytest.raises(DataError, match=says):
        Bimatrix(row, column)


def test_dominated_strategies_go_one_after_another() -> None:
    found = dominance(DILEMMA)
    assert (found.rows, found.columns) == ((1,), (1,))
    assert found.removed == (Removed("row", 0, ((1, 1.0),)), Removed("column", 0, ((1, 1.0),)))
    assert dominance(PENNIES).removed == () and dominance(PENNIES).rows == (0, 1)


def test_a_mix_can_dominate_where_nothing_pure_does() -> None:
    row = np.array([[4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    found = dominance(Bimatrix(row, np.ones((3, 2))))
    assert found.rows == (0, 1) and found.columns == (0, 1)
    (removed,) = found.removed
    assert removed.strategy == 2 and dict(removed.by) == pytest.approx({0: 0.5, 1: 0.5})


@settings(max_examples=50)
@given(small())
def test_no_equilibrium_uses_a_dominated_strategy_and_no_pure_one_is_overlooked(game: Bimatrix) -> None:
    found = dominance(game)
    for one in equilibria(game).profiles:
        assert set(one.supports[0]) <= set(found.rows) and set(one.supports[1]) <= set(found.columns)
    left = game.row[np.ix_(found.rows, found.columns)]
    assert not any((left[a] < left[b]).all() for a in range(len(left)) for b in range(len(left)))
    for step in found.removed:
        assert sum(share for _, share in step.by) == pytest.approx(1)


def test_learners_of_pennies_go_around() -> None:
    """x(1-x) y(1-y) does not change along the way, and the middle is never reached."""
    for limit in (50, 500):
        found = learn(PENNIES, (np.array([0.7, 0.3]), np.array([0.4, 0.6])), limit)
        assert not found.converged and found.steps == limit
        assert found.row.prod() * found.column.prod() == pytest.approx(0.7 * 0.3 * 0.4 * 0.6, rel=1e-3)
    middle = learn(PENNIES)
    assert middle.converged and middle.steps == 0 and middle.row.tolist() == [0.5, 0.5] == middle.column.tolist()


def test_learners_of_the_dilemma_defect_and_the_absent_stay_so() -> None:
    found = learn(DILEMMA)
    assert found.converged and found.row == pytest.approx([0, 1], abs=1e-8) and found.column[1] > 1 - 1e-8
    never = learn(DILEMMA, (np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    assert never.row.tolist() == [1.0, 0.0] and never.column == pytest.approx([0, 1], abs=1e-6)
    assert not never.converged, "the row would gain by leaving, but knows no other strategy"


def test_learners_of_chicken_mix_and_those_of_a_wheel_turn_in_or_out() -> None:
    assert learn(symmetric(CHICKEN)).row == pytest.approx([1 / 3, 2 / 3], abs=1e-6)
    start = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2])
    good = learn(symmetric(np.where(WHEEL > 0, 2.0, WHEEL)), start)
    assert good.converged and good.row == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert not learn(symmetric(np.where(WHEEL < 0, -2.0, WHEEL)), start, 300).converged


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_a_strategy_that_is_better_by_a_hair_is_learned_in_any_unit(unit: float) -> None:
    """It is 0.005 better against everything, beside a third that is far worse against one of them."""
    payoffs = np.array([[0.590, 0.60, 0.60], [0.595, 0.605, 0.605], [0.1, 0.2, 0.55]]) * unit
    found = learn(symmetric(payoffs))
    assert found.converged and found.row == pytest.approx([0, 1, 0], abs=1e-5)
    flat = learn(symmetric(np.full((2, 2), 0.3 * unit)))
    assert flat.converged and flat.row.tolist() == [0.5, 0.5]


def test_where_learning_ends_is_an_equilibrium_or_it_did_not_converge() -> None:
    random = np.random.default_rng(13)
    settled = 0
    for at in range(60):
        payoffs = random.random((4, 4))
        game = symmetric(payoffs) if at % 3 else Bimatrix(payoffs, random.random((4, 4)))
        found = learn(game, limit=1000)
        assert found.row.sum() == pytest.approx(1) and found.row.min() >= 0 and found.steps <= 1000
        best = (game.row @ found.column).max(), (found.row @ game.column).max()
        gains = (
            (best[0] - found.row @ game.row @ found.column) / np.ptp(game.row),
            (best[1] - found.row @ game.column @ found.column) / np.ptp(game.column),
        )
        assert found.converged == (max(gains) <= 1e-9)
        settled += found.converged
        if found.converged:  # and the enumeration knows it
            near = min(
                np.abs(one.row - found.row).max() + np.abs(one.column - found.column).max()
                for one in equilibria(game).profiles
            )
            assert near < 1e-4
        elif at % 3:
            assert found.steps == 1000
    assert settled >= 45


@settings(max_examples=25)
@given(small(2, 4))
def test_equilibria_rest(game: Bimatrix) -> None:
    one = equilibria(game).profiles[0]
    still = learn(game, (one.row, one.column))
    assert still.converged and still.steps == 0 and still.row == pytest.approx(one.row, abs=1e-9)


def test_a_share_of_the_resamples_in_which_a_strategy_is_dominated() -> None:
    """The first is worse than the second against all in three of four; the third only than a mix of the others."""
    worse = np.array([[0.2, 0.3, 0.0], [0.4, 0.5, 0.01], [0.0, 0.0, 1.0]])
    other = worse.copy()
    other[0, 1] = 0.6
    assert dominated_in(np.array([worse, worse, other, worse])).tolist() == [0.75, 0, 0]
    assert dominated_in(other[None]).tolist() == [0, 0, 0]
    mixed = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 4.0], [1.0, 1.0, 1.0]])
    assert dominated_in(np.array([mixed, mixed + 0.5, -mixed, -mixed])).tolist() == [0, 0, 0.5]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_shortcuts_find_what_linear_programs_find(seed: int, size: int) -> None:
    """Whether a mix is better against everything, by the linear program alone."""
    payoffs = np.random.default_rng(seed).integers(0, 6, (size, size)).astype(np.float64)
    left = list(range(size))
    while True:
        gone = [
            at
            for at in left
            if len(left) > 1
            and secure(payoffs[np.ix_([one for one in left if one != at], left)] - payoffs[at, left])[1] > 1e-8
        ]
        if not gone:
            break
        left = [one for one in left if one not in gone]
    assert dominance(symmetric(payoffs)).rows == tuple(left)


def test_equilibria_that_all_resamples_have_survive_in_all() -> None:
    drawn = np.repeat(CHICKEN[None], 10, axis=0)
    every = (((0,), (1,)), ((1,), (0,)), ((0, 1), (0, 1)))
    assert [survival(supports, drawn) for supports in every] == [1, 1, 1]
    assert survival(((0,), (0,)), drawn) == 0 == survival(((1,), (1,)), drawn)


def test_a_doubtful_payoff_makes_a_doubtful_equilibrium() -> None:
    """Half of the time the dilemma is none: cooperating pays as long as the other does."""
    drawn = np.repeat(DILEMMA.row[None], 10, axis=0)
    drawn[5:, 1, 0] = 2.0
    assert survival(((1,), (1,)), drawn) == 1
    assert survival(((0,), (0,)), drawn) == 0.5 == survival(((0, 1), (0, 1)), drawn)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 4))
def test_shares_are_those_of_the_games_one_by_one(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    row, column = random.random((6, rows, columns)), random.random((6, rows, columns))
    expected: dict[Any, float] = {}
    for a, b in zip(row, column, strict=True):
        for one in equilibria(Bimatrix(a, b)).profiles:
            expected[one.supports] = expected.get(one.supports, 0) + 1 / 6
    assert {supports: survival(supports, row, column) for supports in expected} == pytest.approx(expected)


def test_equilibria_of_unequal_supports_are_not_counted() -> None:
    """The first row is safe, and the column player, who then does not care, mixes so that it is best."""
    row = np.array([[1.5, 1.5], [3.0, -1.0], [-1.0, 3.0]])
    column = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    whole = equilibria(Bimatrix(row, column))
    assert whole.continuum and all(one.supports == ((0,), (0, 1)) for one in whole.profiles)
    assert survival(((0,), (0, 1)), row[None], column[None]) is None


def test_resamples_that_are_no_games_are_refused() -> None:
    with pytest.raises(DataError, match="resamples x strategies"):
        survival(((0,), (0,)), np.zeros((2, 2, 2)), np.zeros((2, 2, 3)))
