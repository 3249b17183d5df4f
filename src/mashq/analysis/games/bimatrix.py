"""Games of two players, given by their payoffs: equilibria, best responses, dynamics.

Mixed equilibria are pairs of vertices of the two best-response polytopes that fit together. That finds every
equilibrium of a game whose equilibria are isolated; where there are infinitely many, it finds the extreme ones and
says so. A profile is returned only if nobody can gain more than 1e-9 of the range of its payoffs by leaving it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mashq.analysis.games.supports import vertices
from mashq.errors import DataError
from mashq.protocol.results import Floats

Logs = tuple[Floats, Floats]
LIMIT = 1e-9
CLOSE = 1e-6
LONGEST = 1e12
MAX_STEPS = 4000


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


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Where learning led: the last mixes, after how many steps, and whether they are an equilibrium."""

    row: Floats
    column: Floats
    steps: int
    converged: bool


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


def learn(game: Bimatrix, start: tuple[Floats, Floats] | None = None, limit: int = MAX_STEPS) -> Learned:
    """Follow the two-population replicator dynamics to where it rests, from an even start unless another is given.

    Payoffs are divided by their range, so that their unit does not matter. By Runge-Kutta on log-shares, so that
    shares stay shares and near rest a step may be as long as it likes; a step that two of half its length contradict
    is taken again, at half its length.
    """
    rows, columns = game.row / _range(game.row), game.column.T / _range(game.column)
    one, two = start or (np.full(len(rows), 1 / len(rows)), np.full(len(columns), 1 / len(columns)))
    with np.errstate(divide="ignore"):
        logs = np.log(one), np.log(two)

    def pull(at: Logs) -> Logs:
        return rows @ _shares(at[1]), columns @ _shares(at[0])

    length, taken = 0.5, 0
    while True:
        first, second = _shares(logs[0]), _shares(logs[1])
        gains = pull(logs)
        rests = max(gains[0].max() - first @ gains[0], gains[1].max() - second @ gains[1]) <= LIMIT
        if rests or taken == limit:
            return Learned(first, second, taken, bool(rests))
        half = _step(pull, _step(pull, logs, length / 2), length / 2)
        error = _gap(_step(pull, logs, length), half)
        if error <= CLOSE:
            logs = half
        length = length / 2 if error > CLOSE else min(length * 2, LONGEST) if error < CLOSE / 32 else length
        taken += 1


def _step(pull: Callable[[Logs], Logs], at: Logs, length: float) -> Logs:
    """One step of Runge-Kutta, the highest log-share of each player being 0."""

    def moved(by: float, along: Logs) -> Logs:
        return at[0] + by * along[0], at[1] + by * along[1]

    a = pull(at)
    b = pull(moved(length / 2, a))
    c = pull(moved(length / 2, b))
    d = pull(moved(length, c))
    mean = (a[0] + 2 * b[0] + 2 * c[0] + d[0]) / 6, (a[1] + 2 * b[1] + 2 * c[1] + d[1]) / 6
    one, two = moved(length, mean)
    return one - one.max(), two - two.max()


def _gap(one: Logs, two: Logs) -> float:
    """How far two log-shares are apart, in parts of their size; strategies that nobody plays aside."""
    gaps = [
        float(np.max(np.abs(a[there] - b[there]) / (1 - b[there])))
        for a, b in zip(one, two, strict=True)
        if (there := np.isfinite(b)).any()
    ]
    return max(gaps)


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
