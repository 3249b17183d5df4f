"""What ratings cannot say: who never met, and whose gaps the prior decides; and why their order may surprise."""

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
    """A sentence for each: groups that never met, players that never lost or never won, one-sided gaps."""
    took = _took(games, len(names), items is not None)
    met = took | took.T
    often = "every game in every resample of the items" if items is not None else "every game"
    said: list[str] = []
    groups = _components(met, names, "weak")
    if len(groups) > 1:
        said.append(
            f"Not all have met: ratings mean nothing between {_listed(groups)}; intervals and ranks are unknown."
        )
    top = [at for at in range(len(names)) if met[at].any() and not took[:, at].any()]
    bottom = [at for at in range(len(names)) if met[at].any() and not took[at].any()]
    said += [f"{names[at]} won {often}: the prior decides how far ahead it is." for at in top]
    said += [f"{names[at]} lost {often}: the prior decides how far behind it is." for at in bottom]
    middle = [at for at in range(len(names)) if at not in top and at not in bottom]
    inner = [names[at] for at in middle]
    within = took[np.ix_(middle, middle)]
    blocks = _components(within, inner, "strong")
    if len(blocks) > len(_components(within | within.T, inner, "weak")):
        said.append(f"The stronger never lost between {_listed(blocks)}: the prior decides how far apart they are.")
    return tuple(said)


def all_met(games: Sequence[Game], players: int) -> bool:
    """Whether everyone is tied to everyone by who met whom."""
    met = records(games, players).sum(axis=2) > 0
    return len(_components(met, [""] * players, "weak")) == 1


def surprises(games: Sequence[Game], names: Sequence[str], strength: Floats, counted: Floats) -> tuple[str, ...]:
    """One sentence where the order of `strength` is not that of the records, with why; none where it is.

    A player is too low if it lost to nobody and is below one that lost or has the poorer record, or if it is below
    one that it beat (more often than it lost) and whose record is no better. `counted` are strengths by wins alone.
    """
    found = records(games, len(names))
    total = found.sum(axis=1)
    played = total.sum(axis=1)
    points = np.divide(total[:, 0] + total[:, 1] / 2, played, out=np.zeros(len(names)), where=played > 0)
    order: list[int] = np.argsort(-strength, kind="stable").tolist()
    said: list[str] = []
    why: set[str] = set()
    for at, low in enumerate(order):
        if not played[low]:
            continue
        for high in (one for one in order[:at] if played[one] and strength[one] - strength[low] > EVEN):
            unbeaten = not total[low, 2] and bool(total[high, 2] or points[low] > points[high] + TIE)
            beat = found[low, high, 0] > found[low, high, 2] and points[low] >= points[high] - TIE
            if unbeaten or beat:
                one, two = (f"{names[seat]} ({'-'.join(map(str, total[seat].tolist()))})" for seat in (low, high))
                what = f"lost to nobody and is rated below {two}" if unbeaten else f"beat {two} and is rated below it"
                said.append(f"{one} {what}")
                why.add(OPPONENTS if counted[high] - counted[low] > EVEN else SURELY)
                break
    if not said:
        return ()
    more = f"; and {len(said) - NAMED} more" if len(said) > NAMED else ""
    reasons = ", and ".join(reason for reason in (SURELY, OPPONENTS) if reason in why)
    return (f"The order is not that of the records, for {reasons}: {'; '.join(said[:NAMED])}{more}.",)


def _took(games: Sequence[Game], players: int, resampled: bool) -> Flags:
    """Whether the row's player ever won or tied against the column's."""
    took = np.zeros((players, players), dtype=bool)
    for game in games:
        q = filled(game, resampled)
        for one, two in permutations(range(len(game.seats)), 2):
            took[game.seats[one], game.seats[two]] |= bool((q[:, one] - q[:, two] > -TIE).any())
    return took


def _components(edges: Flags, names: Sequence[str], connection: Literal["weak", "strong"]) -> list[list[str]]:
    """The groups of players who reach each other, either way along an edge or each along its direction; the one that
    took something off most others first."""
    reached = np.eye(len(names), dtype=bool) | (edges | edges.T if connection == "weak" else edges)
    for _ in range(max(1, len(names)).bit_length()):  # each time the paths get twice as long
        reached = (reached.astype(np.float64) @ reached) > 0
    mutual = {row.tobytes(): np.flatnonzero(row).tolist() for row in reached & reached.T}
    groups = sorted(mutual.values(), key=lambda group: (-int(edges[group].any(axis=0).sum()), group))
    return [[names[at] for at in group] for group in groups]


def _listed(groups: Sequence[Sequence[str]]) -> str:
    return " | ".join(", ".join(group) for group in groups)
