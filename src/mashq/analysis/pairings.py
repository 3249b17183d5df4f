"""Pairings of a Swiss round.

A Swiss round pairs neighbours in the standings and repeats a pairing only if that cannot be avoided. From the top,
each player gets the nearest opponent that leaves the remaining players pairable with as few repeats as possible; this
is checked by a maximum matching of the players who have not met, found by Edmonds' algorithm.
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
    """Pairs, each with the player that sits first, and who sits out if the number is odd."""

    pairs: tuple[tuple[int, int], ...]
    bye: int | None = None


def swiss(
    standings: Sequence[float],
    played: Sequence[tuple[int, int]],
    random: np.random.Generator,
    byes: Sequence[int] = (),
) -> Round:
    """The next round, from every player's points, the pairs so far and past byes; equal points are ordered at random.

    With an odd number, the bye goes to the lowest-ranked of those with the fewest byes that can be spared. Whoever
    sat first less often sits first.
    """
    count = len(standings)
    shuffled: list[int] = random.permutation(count).tolist()
    order = sorted(shuffled, key=lambda player: -standings[player])
    meetings = _meetings(count, played, byes)
    if count % 2:
        order.append(count)  # a dummy player: whoever meets it sits out
    times_first = Counter(player_a for player_a, _ in played)
    pairs: list[tuple[int, int]] = []
    bye: int | None = None
    while order:
        player_a, player_b = order[0], _opponent(order, meetings)
        order = [player for player in order if player not in (player_a, player_b)]
        if player_b == count:
            bye = player_a
        else:
            pairs.append(_seated(player_a, player_b, times_first, random))
    return Round(tuple(pairs), bye)


def _meetings(count: int, played: Sequence[tuple[int, int]], byes: Sequence[int]) -> Counts:
    """How often two players met, less the minimum over all pairs; the last row and column count byes."""
    meetings: Counts = np.zeros((count + 1, count + 1), dtype=np.intp)
    for player_a, player_b in (*played, *((player, count) for player in byes)):
        meetings[player_a, player_b] += 1
        meetings[player_b, player_a] += 1
    if count > 1:
        meetings[:count, :count] -= meetings[:count, :count][~np.eye(count, dtype=bool)].min()
        meetings[count, :count] -= meetings[count, :count].min()
        meetings[:count, count] = meetings[count, :count]
    return meetings


def _opponent(order: Sequence[int], meetings: Counts) -> int:
    """The nearest opponent for the first player that keeps the number of repeated pairs minimal."""
    player, others = order[0], order[1:]
    best = _fresh_pairs(order, meetings)
    candidates = sorted(
        others, key=lambda other: int(meetings[player, other])
    )  # stable sort: the nearest comes first among equals
    return next(
        other
        for other in candidates
        if _fresh_pairs([remaining for remaining in others if remaining != other], meetings)
        + (meetings[player, other] == 0)
        == best
    )


def _fresh_pairs(players: Sequence[int], meetings: Counts) -> int:
    """The maximum number of pairs of players who have not met."""
    fresh = [
        [index for index, other in enumerate(players) if other != player and meetings[player, other] == 0]
        for player in players
    ]
    return sum(partner != -1 for partner in matching(fresh)) // 2


def _seated(player_a: int, player_b: int, times_first: Counter[int], random: np.random.Generator) -> tuple[int, int]:
    """Order a pair: whoever sat first less often sits first, at random if equal."""
    surplus = times_first[player_a] - times_first[player_b] or (1 if random.random() < 0.5 else -1)
    return (player_b, player_a) if surplus > 0 else (player_a, player_b)
