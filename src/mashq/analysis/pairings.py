"""Who plays whom in a Swiss round.

A Swiss round pairs neighbours in the standings and repeats a pairing only if there is no way around it. From the
top, each player gets the nearest opponent that leaves the rest pairable with as few repeats as possible; whether it
does is a maximum matching of those who have not met, found by Edmonds' algorithm.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.matching import matching

Counts = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Round:
    """Pairs, the first of each sitting first, and who sits out when the number is odd."""

    pairs: tuple[tuple[int, int], ...]
    bye: int | None = None


def swiss(
    standings: Sequence[float],
    played: Sequence[tuple[int, int]],
    random: np.random.Generator,
    byes: Sequence[int] = (),
) -> Round:
    """The next round, from every player's points, the pairs so far and who had a bye; equal points fall at random.

    With an odd number the bye goes to the lowest who had the fewest and can be spared. Who sat first less often does.
    """
    count = len(standings)
    shuffled: list[int] = random.permutation(count).tolist()
    order = sorted(shuffled, key=lambda player: -standings[player])
    met = _meetings(count, played, byes)
    if count % 2:
        order.append(count)  # nobody: whoever meets it sits out
    first = Counter(one for one, _ in played)
    pairs: list[tuple[int, int]] = []
    bye: int | None = None
    while order:
        one, two = order[0], _opponent(order, met)
        order = [player for player in order if player not in (one, two)]
        if two == count:
            bye = one
        else:
            pairs.append(_seated(one, two, first, random))
    return Round(tuple(pairs), bye)


def _meetings(count: int, played: Sequence[tuple[int, int]], byes: Sequence[int]) -> Counts:
    """How much more often than the least two players met, the last row and column being those of byes."""
    met: Counts = np.zeros((count + 1, count + 1), dtype=np.intp)
    for one, two in (*played, *((player, count) for player in byes)):
        met[one, two] += 1
        met[two, one] += 1
    if count > 1:
        met[:count, :count] -= met[:count, :count][~np.eye(count, dtype=bool)].min()
        met[count, :count] -= met[count, :count].min()
        met[:count, count] = met[count, :count]
    return met


def _opponent(order: Sequence[int], met: Counts) -> int:
    """The nearest opponent for the first, such that as few pairs as can be are repeats."""
    one, rest = order[0], order[1:]
    most = _fresh_pairs(order, met)
    candidates = sorted(rest, key=lambda two: int(met[one, two]))  # a stable sort: the nearest of equals first
    return next(
        two
        for two in candidates
        if _fresh_pairs([player for player in rest if player != two], met) + (met[one, two] == 0) == most
    )


def _fresh_pairs(players: Sequence[int], met: Counts) -> int:
    """How many pairs can be made of players who have not met."""
    fresh = [[at for at, two in enumerate(players) if two != one and met[one, two] == 0] for one in players]
    return sum(partner != -1 for partner in matching(fresh)) // 2


def _seated(one: int, two: int, first: Counter[int], random: np.random.Generator) -> tuple[int, int]:
    """Who sat first less often sits first; at random if equal."""
    ahead = first[one] - first[two] or (1 if random.random() < 0.5 else -1)
    return (two, one) if ahead > 0 else (one, two)
