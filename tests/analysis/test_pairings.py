"""Who plays whom."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mashq.analysis.matching import matching
from mashq.analysis.pairings import Round, swiss


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(0, 9))
    edges = [pair for pair in combinations(range(size), 2) if draw(st.booleans())]
    return [[b if a == at else a for a, b in edges if at in (a, b)] for at in range(size)]


def most(neighbours: list[list[int]], left: tuple[int, ...]) -> int:
    """The size of a largest matching, by trying everything."""
    if not left:
        return 0
    one, rest = left[0], left[1:]
    best = most(neighbours, rest)
    for two in rest:
        if two in neighbours[one]:
            best = max(best, 1 + most(neighbours, tuple(v for v in rest if v != two)))
    return best


@given(graphs())
def test_a_matching_is_one_and_the_largest(neighbours: list[list[int]]) -> None:
    partner = matching(neighbours)
    assert all(two == -1 or (partner[two] == one and two in neighbours[one]) for one, two in enumerate(partner))
    assert sum(two != -1 for two in partner) // 2 == most(neighbours, tuple(range(len(neighbours))))


def test_a_matching_through_blossoms() -> None:
    """Two triangles joined by a path, and a cycle of five with a tail: odd cycles that a simple search gets wrong."""
    joined = [[1, 2], [0, 2], [0, 1, 3], [2, 4], [3, 5, 6], [4, 6], [4, 5, 7], [6]]
    assert -1 not in matching(joined)
    assert -1 not in matching([[1, 4], [0, 2], [1, 3], [2, 4, 5], [3, 0], [3]])
    assert -1 not in matching([[1, 2, 5], [0, 2], [0, 1, 3], [2, 4, 5], [3], [0, 3]])  # the way leads through one


def repeats(found: Round, played: list[tuple[int, int]]) -> int:
    met = {frozenset(pair) for pair in played}
    return sum(frozenset(pair) in met for pair in found.pairs)


@settings(max_examples=50)
@given(st.integers(0, 9), st.data(), st.integers(0, 99))
def test_a_swiss_round_seats_everyone_once_and_repeats_no_more_than_it_must(
    players: int, data: st.DataObject, seed: int
) -> None:
    pairs = list(combinations(range(players), 2))
    played = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    points = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=players, max_size=players))
    found = swiss(points, played, np.random.default_rng(seed))
    busy = [player for pair in found.pairs for player in pair] + ([] if found.bye is None else [found.bye])
    assert sorted(busy) == list(range(players)) and (found.bye is None) == (players % 2 == 0)
    if len(played) < len(pairs):
        size = players + players % 2
        fresh = [
            [two for two in range(size) if two != one and (one, two) not in played and (two, one) not in played]
            for one in range(size)
        ]
        assert repeats(found, played) == size // 2 - most(fresh, tuple(range(size)))
    assert swiss(points, played, np.random.default_rng(seed)) == found


def test_a_swiss_round_pairs_neighbours() -> None:
    found = swiss([5, 4, 3, 2, 1, 0], [], np.random.default_rng(0))
    assert {frozenset(pair) for pair in found.pairs} == {frozenset(pair) for pair in [(0, 1), (2, 3), (4, 5)]}
    again = swiss([5, 4, 3, 2, 1, 0], [(0, 1)], np.random.default_rng(0))
    assert {frozenset(pair) for pair in again.pairs} == {frozenset(pair) for pair in [(0, 2), (1, 3), (4, 5)]}


def test_when_all_have_met_nobody_meets_a_third_time_who_need_not() -> None:
    """The nearest to the first is the third, but that would leave two who met twice."""
    played = [*combinations(range(4), 2), (0, 1), (1, 3)]
    found = swiss([3, 2, 1, 0], played, np.random.default_rng(0))
    assert {frozenset(pair) for pair in found.pairs} == {frozenset((0, 3)), frozenset((1, 2))}


@pytest.mark.parametrize("players", [2, 4, 5, 8, 9])
def test_a_whole_swiss_tournament_is_fair(players: int) -> None:
    """Twice as many rounds as it takes to meet everyone: nobody is met or sits out much more often than another."""
    random = np.random.default_rng(players)
    points = [0.0] * players
    played: list[tuple[int, int]] = []
    byes: list[int] = []
    for at in range(players - 1 if players % 2 == 0 else players):
        found = swiss(points, played, random, byes)
        if at < players // 2:
            assert repeats(found, played) == 0
        played += found.pairs
        if found.bye is not None:
            byes.append(found.bye)
            points[found.bye] += 1
        for one, two in found.pairs:
            points[min(one, two)] += 1
    first = Counter(one for one, _ in played)
    assert max(first.values()) - min(first[player] for player in range(players)) <= 3
    assert all(count <= 2 for count in Counter(byes).values())
    assert max(Counter(map(frozenset, played)).values()) <= 2


def test_the_bye_goes_to_the_lowest_who_had_the_fewest() -> None:
    points = [3.0, 2.0, 1.0, 0.0, -1.0]
    assert swiss(points, [], np.random.default_rng(0)).bye == 4
    assert swiss(points, [], np.random.default_rng(0), [4]).bye == 3
    assert swiss(points, [], np.random.default_rng(0), [4, 3, 2, 1, 0, 4]).bye == 3


def test_who_sat_first_less_often_sits_first() -> None:
    assert swiss([0, 0], [(0, 1)], np.random.default_rng(0)).pairs == ((1, 0),)
    assert swiss([0, 0], [(1, 0)], np.random.default_rng(0)).pairs == ((0, 1),)
    both = {swiss([0, 0], [], np.random.default_rng(seed)).pairs for seed in range(20)}
    assert both == {((0, 1),), ((1, 0),)}
    assert swiss([1.0], [], np.random.default_rng(0)) == Round((), 0)
