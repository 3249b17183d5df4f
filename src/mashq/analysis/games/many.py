"""Games of any number of players: pure and correlated equilibria.

`payoffs` are players x the first's strategies x the second's x ... A correlated equilibrium is a distribution over
joint strategies from which a trusted third party draws, telling each player only its own: nobody gains by doing
something else than told. It always exists and is a linear program, where mixed equilibria of three players are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mashq.analysis.games.linear_programs import maximise
from mashq.analysis.results import Floats
from mashq.errors import DataError

LIMIT = 1e-9
MAX_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Correlated:
    """A distribution over joint strategies, what each player expects, and the most anyone gains by disobeying.

    The gain is a part of the range of that player's payoffs.
    """

    joint: Floats
    payoffs: tuple[float, ...]
    regret: float

    @property
    def welfare(self) -> float:
        """What all expect together."""
        return sum(self.payoffs)


def pure_equilibria(payoffs: Floats) -> tuple[tuple[int, ...], ...]:
    """Joint strategies from which nobody gains by moving alone."""
    ranges = _checked(payoffs)
    stays = np.ones(payoffs.shape[1:], dtype=bool)
    for player, own in enumerate(payoffs):
        stays &= own >= own.max(axis=player, keepdims=True) - LIMIT * ranges[player]
    return tuple(tuple(map(int, at)) for at in np.argwhere(stays))


def exploitability(payoffs: Floats, mixes: Sequence[Floats]) -> float:
    """The sum of what each could gain by leaving a profile of mixes for its best response: 0 at an equilibrium."""
    _checked(payoffs)
    total = 0.0
    for player, own in enumerate(payoffs):
        values = np.moveaxis(own, player, 0)
        for mix in reversed([mix for other, mix in enumerate(mixes) if other != player]):
            values = values @ mix
        total += float(values.max() - mixes[player] @ values)
    return total


def correlated(payoffs: Floats) -> Correlated:
    """The correlated equilibrium with the highest sum of payoffs."""
    ranges = _checked(payoffs)
    unit = payoffs / ranges.reshape(-1, *[1] * (payoffs.ndim - 1))
    gains = np.concatenate([_gains(own, player) for player, own in enumerate(unit)])
    if gains.size > MAX_CELLS:
        raise DataError(
            f"a game of {payoffs.shape[1:]} strategies is too large for a correlated equilibrium: leave some out"
        )
    welfare = payoffs.sum(axis=0).ravel()
    above = welfare - welfare.min()
    joint = np.maximum(maximise(above / max(float(above.max()), 1e-300), gains), 0.0)
    joint /= joint.sum()
    regret = max(float((gains @ joint).max(initial=0.0)), 0.0)
    if regret > LIMIT:
        raise DataError(
            f"the correlated equilibrium is off by {regret:.1e} of the payoffs: their ranges differ too much"
        )
    shaped = joint.reshape(payoffs.shape[1:])
    return Correlated(shaped, tuple(float((own * shaped).sum()) for own in payoffs), regret)


def disobedience(payoffs: Floats, joint: Floats) -> float:
    """The most that anyone gains by a rule 'when told a, do b' against a joint distribution."""
    _checked(payoffs)
    return max(float((_gains(own, player) @ joint.ravel()).max(initial=0.0)) for player, own in enumerate(payoffs))


def _gains(own: Floats, player: int) -> Floats:
    """One row for each (told a, does b): what that gains in every joint strategy, 0 where not told a."""
    strategies = own.shape[player]
    moved = np.moveaxis(own, player, 0)
    rows: list[Floats] = []
    for told in range(strategies):
        for does in range(strategies):
            if does != told:
                row = np.zeros_like(moved)
                row[told] = moved[does] - moved[told]
                rows.append(np.moveaxis(row, 0, player).ravel())
    return np.array(rows).reshape(len(rows), own.size)


def _checked(payoffs: Floats) -> Floats:
    """The ranges of the players' payoffs; refuses what is no game."""
    if payoffs.ndim < 2 or len(payoffs) != payoffs.ndim - 1 or payoffs.size == 0:
        raise DataError(f"payoffs are {payoffs.shape}, must be players x an axis of strategies for each of them")
    if not np.isfinite(payoffs).all():
        raise DataError("payoffs must be finite: leave out strategies with a payoff that is not known")
    flat = payoffs.reshape(len(payoffs), -1)
    return np.maximum(np.maximum(np.ptp(flat, axis=1), 1e-4 * np.abs(flat).max(axis=1)), 1e-300)
