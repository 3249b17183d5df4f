"""Two-player games given by their payoffs: equilibria, best responses, dynamics.

Mixed equilibria are compatible pairs of vertices of the two best-response polytopes. This finds every equilibrium of
a game whose equilibria are isolated; if there are infinitely many, it finds the extreme ones and reports that. A
profile is returned only if nobody can gain more than 1e-9 of the range of its payoffs by deviating.
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
    """A mix for each player, the expected payoffs, and the largest possible gain by deviating, relative to the payoff
    range."""

    row: Floats
    column: Floats
    payoffs: tuple[float, float]
    regret: float

    @property
    def supports(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The strategies in each player's mix."""
        return _support(self.row), _support(self.column)

    @property
    def pure(self) -> bool:
        """Whether both players use a single strategy."""
        return all(len(support) == 1 for support in self.supports)


@dataclass(frozen=True, slots=True)
class Equilibria:
    """The equilibria found. `degenerate`: some mix has more best responses than strategies in it.

    `continuum`: two of the profiles share a mix, and the profiles between them are equilibria too. `dropped`: how
    many did not pass the regret check.
    """

    profiles: tuple[Profile, ...]
    degenerate: bool
    continuum: bool
    dropped: int = 0

    @property
    def complete(self) -> bool:
        """Whether these are all equilibria: a game that is not degenerate has an odd number of them."""
        odd = self.degenerate or len(self.profiles) % 2 == 1
        return odd and not self.continuum and not self.dropped


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The result of learning: the last mixes, the number of steps, and whether they are an equilibrium."""

    row: Floats
    column: Floats
    steps: int
    converged: bool


def symmetric(payoffs: Floats) -> Bimatrix:
    """The game in which both have the same strategies, and `payoffs[i, j]` is the payoff of i against j."""
    return Bimatrix(payoffs, payoffs.T)


def best_responses(payoffs: Floats, mix: Floats) -> tuple[int, ...]:
    """The best strategies against a mix; `payoffs` are own strategies x the opponent's."""
    values = payoffs @ mix
    return tuple(np.flatnonzero(values >= values.max() - LIMIT * _range(payoffs)).tolist())


def regrets(game: Bimatrix, row: Floats, column: Floats) -> tuple[float, float]:
    """How much each player could gain by deviating to its best response."""
    rows, columns = game.row @ column, row @ game.column
    return float(rows.max() - row @ rows), float(columns.max() - columns @ column)


def exploitability(game: Bimatrix, row: Floats, column: Floats) -> float:
    """The sum of the regrets (NashConv): 0 at an equilibrium."""
    return sum(regrets(game, row, column))


def equilibria(game: Bimatrix) -> Equilibria:
    """All extreme equilibria, pure ones first; these are all equilibria unless `complete` is false."""
    rows, columns = vertices(game.column.T), vertices(game.row)
    conflicts = rows.support.astype(np.float64) @ ~columns.best.T + ~rows.best @ columns.support.T.astype(np.float64)
    row_index, column_index = np.nonzero(conflicts == 0)
    candidates = [
        _profile(game, rows.mixes[i], columns.mixes[j]) for i, j in zip(row_index, column_index, strict=True)
    ]
    kept = [profile for profile in candidates if profile.regret <= LIMIT]
    kept.sort(key=lambda profile: (len(profile.supports[0]) + len(profile.supports[1]), profile.supports))
    degenerate = any(bool((side.best.sum(axis=1) > side.support.sum(axis=1)).any()) for side in (rows, columns))
    shared = len(set(row_index.tolist())) < len(row_index) or len(set(column_index.tolist())) < len(column_index)
    return Equilibria(tuple(kept), degenerate, shared, len(candidates) - len(kept))


def learn(game: Bimatrix, start: tuple[Floats, Floats] | None = None, limit: int = MAX_STEPS) -> Learned:
    """Follow the two-population replicator dynamics to a rest point, from an even start unless another is given.

    Payoffs are divided by their range, so that their unit does not matter. Uses Runge-Kutta on log-shares, so that
    shares stay valid and steps near the rest point may be arbitrarily long; a step that disagrees with two steps of
    half its length is repeated at half its length.
    """
    rows, columns = game.row / _range(game.row), game.column.T / _range(game.column)
    first_start, second_start = start or (np.full(len(rows), 1 / len(rows)), np.full(len(columns), 1 / len(columns)))
    with np.errstate(divide="ignore"):
        logs = np.log(first_start), np.log(second_start)

    def gradient(at: Logs) -> Logs:
        return rows @ _shares(at[1]), columns @ _shares(at[0])

    length, taken = 0.5, 0
    while True:
        first, second = _shares(logs[0]), _shares(logs[1])
        gains = gradient(logs)
        at_rest = max(gains[0].max() - first @ gains[0], gains[1].max() - second @ gains[1]) <= LIMIT
        if at_rest or taken == limit:
            return Learned(first, second, taken, bool(at_rest))
        half = _step(gradient, _step(gradient, logs, length / 2), length / 2)
        error = _gap(_step(gradient, logs, length), half)
        if error <= CLOSE:
            logs = half
        length = length / 2 if error > CLOSE else min(length * 2, LONGEST) if error < CLOSE / 32 else length
        taken += 1


def _step(gradient: Callable[[Logs], Logs], at: Logs, length: float) -> Logs:
    """One Runge-Kutta step, normalised so that each player's highest log-share is 0."""

    def moved(by: float, along: Logs) -> Logs:
        return at[0] + by * along[0], at[1] + by * along[1]

    a = gradient(at)
    b = gradient(moved(length / 2, a))
    c = gradient(moved(length / 2, b))
    d = gradient(moved(length, c))
    mean = (a[0] + 2 * b[0] + 2 * c[0] + d[0]) / 6, (a[1] + 2 * b[1] + 2 * c[1] + d[1]) / 6
    first, second = moved(length, mean)
    return first - first.max(), second - second.max()


def _gap(logs_a: Logs, logs_b: Logs) -> float:
    """The relative distance between two log-shares, ignoring strategies that nobody plays."""
    gaps = [
        float(np.max(np.abs(a[played] - b[played]) / (1 - b[played])))
        for a, b in zip(logs_a, logs_b, strict=True)
        if (played := np.isfinite(b)).any()
    ]
    return max(gaps)


def _profile(game: Bimatrix, row: Floats, column: Floats) -> Profile:
    payoffs = float(row @ game.row @ column), float(row @ game.column @ column)
    first, second = regrets(game, row, column)
    return Profile(row, column, payoffs, max(first / _range(game.row), second / _range(game.column)))


def _support(mix: Floats) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mix > LIMIT).tolist())


def _range(payoffs: Floats) -> float:
    """The range of payoffs, bounded below so that rounding does not matter."""
    return max(float(np.ptp(payoffs)), 1e-4 * float(np.abs(payoffs).max()), 1e-300)


def _shares(logs: Floats) -> Floats:
    power = np.exp(logs - logs.max())
    return power / power.sum()
