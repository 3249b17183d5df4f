"""Games of two players, given by their payoffs: equilibria, best responses, dynamics.

Mixed equilibria are pairs of vertices of the two best-response polytopes that fit together. That finds every
equilibrium of a game whose equilibria are isolated; where there are infinitely many, it finds the extreme ones and
says so. A profile is returned only if nobody can gain more than 1e-9 of the range of its payoffs by leaving it.
"""

from dataclasses import dataclass

import numpy as np

from mashq.analysis.games.supports import vertices
from mashq.errors import DataError
from mashq.protocol.results import Floats

LIMIT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Bimatrix:
    """Payoffs of the row player and of the column player, both row strategies x column strategies."""

    row: Floats
    column: Floats

    def __post_init__(self) -> None:
        if self.row.ndim != 2 or self.row.shape != self.column.shape or self.row.size == 0:
            raise DataError(f"payoffs are {self.row.shape} and {self.column.shape}, must be two tables of one size")
        if not (np.isfinite(self.row).all() and np.isfinite(self.column).all()):
            raise DataError("payoffs must be finite: leave out strategies with a payoff that is not known")


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A mix for each player, what each expects, and the most either could gain, in parts of its payoffs' range."""

    row: Floats
    column: Floats
    payoffs: tuple[float, float]
    regret: float

    @property
    def supports(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The strategies that each player mixes."""
        return _support(self.row), _support(self.column)

    @property
    def pure(self) -> bool:
        """Whether neither mixes."""
        return all(len(support) == 1 for support in self.supports)


@dataclass(frozen=True, slots=True)
class Equilibria:
    """What was found. `degenerate`: some mix has more best responses than strategies in it.

    `continuum`: two of the profiles share a mix, and what lies between them is an equilibrium too. `dropped`: how
    many did not pass the check of their regret.
    """

    profiles: tuple[Profile, ...]
    degenerate: bool
    continuum: bool
    dropped: int = 0

    @property
    def complete(self) -> bool:
        """Whether these are all: a game that is not degenerate has an odd number of them."""
        odd = self.degenerate or len(self.profiles) % 2 == 1
        return odd and not self.continuum and not self.dropped


def symmetric(payoffs: Floats) -> Bimatrix:
    """The game in which both have the same strategies, and `payoffs[i, j]` is what i gets against j."""
    return Bimatrix(payoffs, payoffs.T)


def best_responses(payoffs: Floats, mix: Floats) -> tuple[int, ...]:
    """The chooser's best strategies against a mix; `payoffs` are its own strategies x the other's."""
    values = payoffs @ mix
    return tuple(np.flatnonzero(values >= values.max() - LIMIT * _range(payoffs)).tolist())


def regrets(game: Bimatrix, row: Floats, column: Floats) -> tuple[float, float]:
    """What each player could gain by leaving a profile for its best response."""
    rows, columns = game.row @ column, row @ game.column
    return float(rows.max() - row @ rows), float(columns.max() - columns @ column)


def exploitability(game: Bimatrix, row: Floats, column: Floats) -> float:
    """The sum of the regrets (NashConv): 0 at an equilibrium."""
    return sum(regrets(game, row, column))


def equilibria(game: Bimatrix) -> Equilibria:
    """All extreme equilibria, pure ones first; all there are, unless `complete` is false."""
    rows, columns = vertices(game.column.T), vertices(game.row)
    clash = rows.support.astype(np.float64) @ ~columns.best.T + ~rows.best @ columns.support.T.astype(np.float64)
    at, to = np.nonzero(clash == 0)
    found = [_profile(game, rows.mixes[i], columns.mixes[j]) for i, j in zip(at, to, strict=True)]
    kept = [one for one in found if one.regret <= LIMIT]
    kept.sort(key=lambda one: (len(one.supports[0]) + len(one.supports[1]), one.supports))
    degenerate = any(bool((one.best.sum(axis=1) > one.support.sum(axis=1)).any()) for one in (rows, columns))
    shared = len(set(at.tolist())) < len(at) or len(set(to.tolist())) < len(to)
    return Equilibria(tuple(kept), degenerate, shared, len(found) - len(kept))


def replicator(
    game: Bimatrix, steps: int, dt: float = 0.1, start: tuple[Floats, Floats] | None = None, seed: int = 0
) -> tuple[Floats, Floats]:
    """A path of the two-population replicator dynamics, (steps + 1) x strategies for each player.

    By Runge-Kutta on log-shares, so that shares stay shares; without a start, from a random one.
    """
    random = np.random.default_rng(seed)
    sizes = game.row.shape
    begin = start or (random.dirichlet(np.ones(sizes[0])), random.dirichlet(np.ones(sizes[1])))
    with np.errstate(divide="ignore"):
        row, column = np.log(begin[0]), np.log(begin[1])
    path = [(_shares(row), _shares(column))]

    def pull(one: Floats, two: Floats) -> tuple[Floats, Floats]:
        return game.row @ _shares(two), game.column.T @ _shares(one)

    for _ in range(steps):
        a = pull(row, column)
        b = pull(row + dt / 2 * a[0], column + dt / 2 * a[1])
        c = pull(row + dt / 2 * b[0], column + dt / 2 * b[1])
        d = pull(row + dt * c[0], column + dt * c[1])
        row = row + dt / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
        column = column + dt / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
        path.append((_shares(row), _shares(column)))
    return np.array([one for one, _ in path]), np.array([two for _, two in path])


def _profile(game: Bimatrix, row: Floats, column: Floats) -> Profile:
    payoffs = float(row @ game.row @ column), float(row @ game.column @ column)
    first, second = regrets(game, row, column)
    return Profile(row, column, payoffs, max(first / _range(game.row), second / _range(game.column)))


def _support(mix: Floats) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mix > LIMIT).tolist())


def _range(payoffs: Floats) -> float:
    """The range of payoffs, but not so small that rounding would matter."""
    return max(float(np.ptp(payoffs)), 1e-4 * float(np.abs(payoffs).max()), 1e-300)


def _shares(logs: Floats) -> Floats:
    power = np.exp(logs - logs.max())
    return power / power.sum()
