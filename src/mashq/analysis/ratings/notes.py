"""Limits of ratings: who never met, and which gaps the prior determines; and why their order may surprise."""

from collections.abc import Sequence
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.ratings.outcomes import Game, filled, records
from mashq.protocol.results import Floats
from mashq.protocol.score import TIE

Flags = NDArray[np.bool_]
NAMED = 3
EVEN = 1e-6
SURELY = "a rating counts how surely each match is won, and a win by a hair is little more than half a win"
OPPONENTS = "a rating counts how strong the opponents were"


def doubts(games: Sequence[Game], names: Sequence[str], items: int | None) -> tuple[str, ...]:
    """One sentence for each: groups that never met, players that never lost or never won, one-sided gaps."""
    scored_against = _scored_against(games, len(names), items is not None)
    meetings = scored_against | scored_against.T
    often = "every game in every resample of the items" if items is not None else "every game"
    notes: list[str] = []
    groups = _components(meetings, names, "weak")
    if len(groups) > 1:
        notes.append(
            f"Not all have met: ratings mean nothing between {_listed(groups)}; intervals and ranks are unknown."
        )
    top = [seat for seat in range(len(names)) if meetings[seat].any() and not scored_against[:, seat].any()]
    bottom = [seat for seat in range(len(names)) if meetings[seat].any() and not scored_against[seat].any()]
    notes += [f"{names[seat]} won {often}: the prior decides how far ahead it is." for seat in top]
    notes += [f"{names[seat]} lost {often}: the prior decides how far behind it is." for seat in bottom]
    middle = [seat for seat in range(len(names)) if seat not in top and seat not in bottom]
    middle_names = [names[seat] for seat in middle]
    within = scored_against[np.ix_(middle, middle)]
    blocks = _components(within, middle_names, "strong")
    if len(blocks) > len(_components(within | within.T, middle_names, "weak")):
        notes.append(f"The stronger never lost between {_listed(blocks)}: the prior decides how far apart they are.")
    return tuple(notes)


def all_met(games: Sequence[Game], players: int) -> bool:
    """Whether all players are connected by who met whom."""
    meetings = records(games, players).sum(axis=2) > 0
    return len(_components(meetings, [""] * players, "weak")) == 1


def surprises(games: Sequence[Game], names: Sequence[str], strength: Floats, counted: Floats) -> tuple[str, ...]:
    """One sentence with the reason if the order of `strength` differs from that of the records, else none.

    A player is too low if it lost to nobody and is below one that lost or has the worse record, or if it is below one
    that it beat (more often than it lost) and whose record is no better. `counted` are strengths by wins alone.
    """
    record = records(games, len(names))
    total = record.sum(axis=1)
    played = total.sum(axis=1)
    points = np.divide(total[:, 0] + total[:, 1] / 2, played, out=np.zeros(len(names)), where=played > 0)
    order: list[int] = np.argsort(-strength, kind="stable").tolist()
    cases: list[str] = []
    why: set[str] = set()
    for position, low in enumerate(order):
        if not played[low]:
            continue
        for high in (rival for rival in order[:position] if played[rival] and strength[rival] - strength[low] > EVEN):
            unbeaten = not total[low, 2] and bool(total[high, 2] or points[low] > points[high] + TIE)
            beat = record[low, high, 0] > record[low, high, 2] and points[low] >= points[high] - TIE
            if unbeaten or beat:
                low_text, high_text = (
                    f"{names[seat]} ({'-'.join(map(str, total[seat].tolist()))})" for seat in (low, high)
                )
                what = (
                    f"lost to nobody and is rated below {high_text}"
                    if unbeaten
                    else f"beat {high_text} and is rated below it"
                )
                cases.append(f"{low_text} {what}")
                why.add(OPPONENTS if counted[high] - counted[low] > EVEN else SURELY)
                break
    if not cases:
        return ()
    more = f"; and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    reasons = ", and ".join(reason for reason in (SURELY, OPPONENTS) if reason in why)
    return (f"The order is not that of the records, for {reasons}: {'; '.join(cases[:NAMED])}{more}.",)


def _scored_against(games: Sequence[Game], players: int, resampled: bool) -> Flags:
    """Whether the row's player ever won or tied against the column's."""
    scored = np.zeros((players, players), dtype=bool)
    for game in games:
        q = filled(game, resampled)
        for first, second in permutations(range(len(game.seats)), 2):
            scored[game.seats[first], game.seats[second]] |= bool((q[:, first] - q[:, second] > -TIE).any())
    return scored


def _components(edges: Flags, names: Sequence[str], connection: Literal["weak", "strong"]) -> list[list[str]]:
    """The groups of players that reach each other, along edges in either direction (weak) or in both (strong); the
    group that scored against the most others comes first."""
    reached = np.eye(len(names), dtype=bool) | (edges | edges.T if connection == "weak" else edges)
    for _ in range(max(1, len(names)).bit_length()):  # each pass doubles the length of the paths
        reached = (reached.astype(np.float64) @ reached) > 0
    mutual = {row.tobytes(): np.flatnonzero(row).tolist() for row in reached & reached.T}
    groups = sorted(mutual.values(), key=lambda group: (-int(edges[group].any(axis=0).sum()), group))
    return [[names[seat] for seat in group] for group in groups]


def _listed(groups: Sequence[Sequence[str]]) -> str:
    return " | ".join(", ".join(group) for group in groups)
