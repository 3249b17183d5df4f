"""A Swiss tournament as a season: points are added after each round, and neighbours meet."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from mashq.config import check
from mashq.errors import ConfigError
from mashq.protocol.resources import FREE
from mashq.protocol.results import ItemResult, PlayerResult
from mashq.runs.seasons import Fixture, batches, checked

NAMES = "ABCDEFGH"


class Played:
    """A tournament in which H decides: that of each player or, where it is told, of the seats of a match."""

    def __init__(
        self,
        h: Sequence[float],
        odd: Mapping[tuple[int, ...], tuple[float, float]] | None = None,
        seed: int = 0,
        trials: int = 1,
        rounds: int = 2,
    ) -> None:
        players = [{"name": NAMES[at], "model": "simulated/default"} for at in range(len(h))]
        self._config = check(
            {"task": {"limit": 2}, "players": players, "score": {"beta": 0.0}, "seed": seed}, "a test"
        )
        self._h, self._odd = h, odd or {}
        self._trials = trials
        self._season = {"kind": "tournament", "system": "swiss", "seats": 2, "trials": trials, "rounds": rounds}
        self._fixtures: dict[str, Fixture] = {}

    def _results(self, match: str) -> list[PlayerResult]:
        fixture = self._fixtures[match]
        seats: tuple[int, ...] = dict(fixture.cell)["seats"]
        h = self._odd.get(seats, (self._h[seats[0]], self._h[seats[1]]))
        return [
            PlayerResult(player.name, tuple(ItemResult(f"i{n}", "ok", own, own, FREE) for n in range(2)))
            for player, own in zip(fixture.config.players, h, strict=True)
        ]

    def rounds(self) -> Iterator[list[frozenset[int]]]:
        """Who meets whom, round by round; each pair sits both ways."""
        for batch in batches(self._config, self._season, self._results):
            self._fixtures |= {fixture.id: fixture for fixture in batch}
            seats = [dict(fixture.cell)["seats"] for fixture in batch]
            assert sorted(seats) == sorted((two, one) for one, two in seats)
            assert len(seats) == 2 * self._trials * len({frozenset(pair) for pair in seats})
            yield [frozenset(pair) for pair in dict.fromkeys(frozenset(pair) for pair in seats)]


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("players", [4, 6, 8])
def test_neighbours_in_points_meet(players: int, trials: int) -> None:
    """The stronger always wins: after each round nobody meets who has not as many points, as far as that can be."""
    played = Played([1 - at / 10 for at in range(players)], rounds=3, trials=trials)
    points = dict.fromkeys(range(players), 0)
    met: set[frozenset[int]] = set()
    for number, pairs in enumerate(played.rounds()):
        gaps = sorted(abs(points[one] - points[two]) for one, two in map(sorted, pairs))
        if number == 1:
            lone = players // 2 % 2  # of an odd number of winners one meets a loser
            assert gaps == [0] * (len(pairs) - lone) + [2 * trials] * lone
        assert not met & set(pairs), "nobody met twice"
        met |= set(pairs)
        for pair in pairs:
            points[min(pair)] += 2 * trials
    assert points[0] == 6 * trials, "the strongest won all"


def test_the_second_round_follows_the_first_and_not_chance() -> None:
    """The same first round with other winners: the second pairs the winners, whoever they are."""
    first = next(Played([0.5] * 4, rounds=2).rounds())
    one, two = (tuple(sorted(pair)) for pair in first)
    for wins in (0, 1):
        for other in (0, 1):
            winners = {one[wins], two[other]}
            h = [0.9 if at in winners else 0.1 for at in range(4)]
            _, second = Played(h, rounds=2).rounds()
            assert set(second) == {frozenset(winners), frozenset(range(4)) - winners}


def test_a_tie_is_half_a_point_and_a_win_each_is_as_much() -> None:
    """Of six: one pair ties both ways, one wins once each, one is won twice. The four in the middle are equal."""
    opponents: set[str] = set()
    for seed in range(12):
        first = next(Played([0.5] * 6, seed=seed).rounds())
        even, split, won = (tuple(sorted(pair)) for pair in first)
        odd = {split: (0.9, 0.1), split[::-1]: (0.9, 0.1), won: (0.9, 0.1), won[::-1]: (0.1, 0.9)}
        _, second = Played([0.5] * 6, odd, seed).rounds()
        (leader,) = [pair - {won[0]} for pair in second if won[0] in pair]
        (last,) = [pair - {won[1]} for pair in second if won[1] in pair]
        assert leader <= {*even, *split} and last <= {*even, *split}
        opponents.add("even" if leader <= {*even} else "split")
    assert opponents == {"even", "split"}, "neither pair is ahead of the other"


def test_a_bye_is_worth_a_win_in_both_orders() -> None:
    """Of five: who sat out has as many points as the two winners, and is paired among them."""
    alone: set[bool] = set()
    for seed in range(12):
        played = Played([0.9, 0.7, 0.5, 0.3, 0.1], seed=seed)
        first, second = played.rounds()
        (out,) = frozenset(range(5)).difference(*first)
        top = {out, *(min(pair) for pair in first)}
        among = [pair for pair in second if pair <= top]
        assert len(among) == 1, "two of the three meet, and the third meets a loser"
        (down,) = top - among[0]
        assert any(down in pair for pair in second), "nobody at the top sits out"
        alone.add(down == out)
    assert alone == {True, False}, "the one that sat out is one of three equals"


def test_nobody_sits_out_twice_before_all_have() -> None:
    rounds = list(Played([0.9, 0.5, 0.1], rounds=3).rounds())
    out = [next(iter(frozenset(range(3)).difference(*pairs))) for pairs in rounds]
    assert sorted(out) == [0, 1, 2]


def test_a_swiss_tournament_without_its_rounds_is_refused() -> None:
    season = {"kind": "tournament", "system": "swiss", "seats": 2, "trials": 1}
    with pytest.raises(ConfigError, match="its 'rounds' is wrong"):
        checked(season)
    assert checked(season | {"rounds": 2})["rounds"] == 2 and checked(season | {"system": "round-robin"})
