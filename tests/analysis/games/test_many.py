"""Games of many: pure and correlated equilibria."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mashq.analysis.games import linear_programs as linear
from mashq.analysis.games import many as games_many
from mashq.analysis.games.bimatrix import Bimatrix, equilibria
from mashq.analysis.games.bimatrix import exploitability as of_two
from mashq.analysis.games.bimatrix import pure_equilibria as pure_of_two
from mashq.analysis.games.many import correlated, disobedience, exploitability, pure_equilibria
from mashq.analysis.results import Floats
from mashq.errors import DataError

CHICKEN = np.array([[0.0, 7.0], [2.0, 6.0]])


def small(players: int) -> st.SearchStrategy[Floats]:
    sizes = st.lists(st.integers(1, 3), min_size=players, max_size=players)
    return sizes.flatmap(lambda sizes: arrays(np.float64, (players, *sizes), elements=st.integers(-2, 2).map(float)))


def majority() -> Floats:
    """Three vote yes or no; who votes with the majority gets 1."""
    votes = np.indices((2, 2, 2))
    return (votes == (votes.sum(axis=0) >= 2)).astype(np.float64)


def test_chicken_has_a_better_correlated_than_mixed_equilibrium() -> None:
    payoffs = np.stack([CHICKEN, CHICKEN.T])
    found = correlated(payoffs)
    assert found.joint == pytest.approx(np.array([[0, 0.25], [0.25, 0.5]]))
    assert found.payoffs == pytest.approx((5.25, 5.25)) and found.welfare == pytest.approx(10.5)
    assert found.regret <= 1e-9 and disobedience(payoffs, found.joint) <= 1e-8


def test_prisoners_cannot_be_told_to_cooperate() -> None:
    own = np.array([[3.0, 0.0], [5.0, 1.0]])
    assert correlated(np.stack([own, own.T])).joint == pytest.approx(np.array([[0, 0], [0, 1]]))


def test_a_majority_of_three() -> None:
    payoffs = majority()
    assert pure_equilibria(payoffs) == ((0, 0, 0), (1, 1, 1))
    assert correlated(payoffs).welfare == pytest.approx(3)
    half = [np.full(2, 0.5)] * 3
    assert exploitability(payoffs, half) == pytest.approx(0)
    # The third alone votes no: the majority has its way, and voting with it gains 1.
    votes = [np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    assert exploitability(payoffs, votes) == pytest.approx(1)


@given(small(2))
def test_two_players_are_a_bimatrix(payoffs: Floats) -> None:
    game = Bimatrix(payoffs[0], payoffs[1])
    assert pure_equilibria(payoffs) == pure_of_two(game)
    mixes = [np.full(size, 1 / size) for size in payoffs.shape[1:]]
    assert exploitability(payoffs, mixes) == pytest.approx(of_two(game, mixes[0], mixes[1]))
    found = correlated(payoffs)
    for one in equilibria(game).profiles:
        joint = one.row[:, None] * one.column
        assert disobedience(payoffs, joint) <= 1e-8
        assert found.welfare >= sum(one.payoffs) - 1e-8


@settings(max_examples=50)
@given(st.integers(1, 4).flatmap(small))
def test_nobody_gains_by_disobeying(payoffs: Floats) -> None:
    found = correlated(payoffs)
    assert found.joint.min() >= 0 and found.joint.sum() == pytest.approx(1)
    assert found.regret <= 1e-9 and disobedience(payoffs, found.joint) <= 1e-8
    for at in pure_equilibria(payoffs):
        assert found.welfare >= sum(own[at] for own in payoffs) - 1e-8
        single = np.zeros(payoffs.shape[1:])
        single[at] = 1
        assert disobedience(payoffs, single) <= 1e-9
        mixes = [np.eye(size)[strategy] for size, strategy in zip(payoffs.shape[1:], at, strict=True)]
        assert exploitability(payoffs, mixes) == pytest.approx(0)


@given(small(3))
def test_pure_equilibria_are_those_nobody_leaves(payoffs: Floats) -> None:
    found = set(pure_equilibria(payoffs))
    for at in np.ndindex(*payoffs.shape[1:]):
        moves = [
            (player, (*at[:player], other, *at[player + 1 :]))
            for player in range(3)
            for other in range(payoffs.shape[1 + player])
        ]
        assert (at in found) == all(payoffs[player][to] <= payoffs[player][at] for player, to in moves)


@pytest.mark.parametrize(
    ("payoffs", "says"),
    [
        (np.zeros(2), "an axis of strategies"),
        (np.zeros((3, 2, 2)), "an axis of strategies"),
        (np.zeros((2, 0, 2)), "an axis of strategies"),
        (np.full((2, 2, 2), math.nan), "finite"),
    ],
)
def test_what_is_no_game_is_refused(payoffs: Floats, says: str) -> None:
    with pytest.raises(DataError, match=says):
        correlated(payoffs)


def test_too_large_or_not_precise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games_many, "LIMIT", -1.0)
    with pytest.raises(DataError, match="is off by"):
        correlated(majority())
    monkeypatch.setattr(games_many, "MAX_CELLS", 10)
    with pytest.raises(DataError, match="too large"):
        correlated(majority())


def test_a_program_without_an_answer_says_so() -> None:
    with pytest.raises(ArithmeticError, match="no distribution"):
        linear.maximise(np.ones(2), np.ones((1, 2)))
