"""The game behind the match: policies as strategies, their payoffs, its equilibria, and what disclosure costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mashq.analysis.games import bimatrix as games
from mashq.analysis.games.dominance import dominance, dominated_in
from mashq.analysis.games.uncertainty import survival
from mashq.analysis.intervals import FEWEST, LEVEL, draws
from mashq.analysis.paired import Common, Condition, Difference, common, differences, mean
from mashq.analysis.parts import OPTIONAL, flat
from mashq.analysis.scoring import influence
from mashq.errors import DataError
from mashq.players.registry import all_drawn
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import ScoreRules, figures, under, view, with_known
from mashq.report.documents.base import DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_trials
from mashq.report.documents.notes import notes_on_run, uneven
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

RESAMPLES = 500
CHANGES = ("q", "h", "reviews", "tokens")
Meetings = dict[tuple[int, ...], Results]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equilibrium:
    """A pair of mixes from which neither side gains by leaving."""

    row: Mapping[str, float]
    """How often the row plays each policy."""
    column: Mapping[str, float]
    """How often the column does."""
    payoffs: Sequence[float]
    """Q of the row and of the column."""
    regret: float
    """The most that a side would gain by leaving."""
    pure: bool
    """Whether each side plays one policy."""
    survives: float | None
    """The share of resamples of the items in which there is one with the same policies; null where there are too few
    items to say, or its sides mix unequally many policies, as they may in a degenerate game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Where learning by the replicator dynamics leads."""

    start: Mapping[str, float]
    """The mix that it starts from."""
    end: Mapping[str, float]
    """The mix after the last step."""
    steps: int
    """How many steps."""
    converged: bool
    """Whether it came to rest, where nobody gains by leaving; else it was stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The game under one vision."""

    payoffs: Sequence[Sequence[float]]
    """Q of the row's policy against the column's, the two orders averaged."""
    low: Sequence[Sequence[float | None]]
    """Lower ends of their 95% intervals over resampled items; null where there are too few items."""
    high: Sequence[Sequence[float | None]]
    """Upper ends of their 95% intervals; null where there are too few items."""
    best_responses: Mapping[str, Sequence[str]]
    """By policy, what is best against it."""
    exploitability: Mapping[str, float]
    """By policy, what the best responses gain when both play it, both sides' gains added; 0 at an equilibrium."""
    dominated: Sequence[str]
    """Policies never worth playing, in the results and in at least 95% of the resamples of the items: others, or a
    mix of them, do better whatever reasonable policy the rival plays."""
    dominated_in: Mapping[str, float | None]
    """By policy that is never worth playing in the results, the share of the resamples in which that holds; null
    where there are too few items to say."""
    equilibria: Sequence[Equilibrium]
    """The equilibria."""
    degenerate: bool
    """Whether there may be more."""
    replicator: Learning
    """Where learning leads."""
    notes: Sequence[str]
    """What a reader must not miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsolved:
    """A vision under which not every pair has a score."""

    payoffs: None = None
    """There are none."""
    notes: Sequence[str]
    """Why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """What showing snapshots changes for one policy against another, over the units scored with and without."""

    vision: str
    """When snapshots were shown."""
    policy: str
    """The policy."""
    against: str
    """Its rival's."""
    seat: int
    """Its seat, from 0."""
    changes: Mapping[str, Difference] = field(metadata=flat(CHANGES, some=True))
    """Differences in Q, H and, per item, in some resources."""
    units: Common | None = field(default=None, metadata=OPTIONAL)
    """How many units (an item in a trial) that is, where not the same are scored in both; else missing."""

    @property
    def any(self) -> bool:
        """Whether anything changed, or the changes are unknown."""
        return not self.changes or any(change.value for change in self.changes.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Game(SeasonDocument):
    """Policies as strategies: payoffs, equilibria, and the price of disclosure."""

    kind: ClassVar[str] = "game"

    trials: int
    """How many trials each pair has."""
    items: int
    """How many items a match has."""
    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    policies: Sequence[str]
    """The strategies, in the order of rows and columns."""
    games: Mapping[str, Solved | Unsolved]
    """The game by when snapshots are shown."""
    disclosure: Sequence[Disclosure]
    """What showing snapshots changes."""
    notes: Sequence[str] = ()
    """What a reader must not miss of all games."""


@dataclass(frozen=True, slots=True, eq=False)
class _Played:
    """A match of two players: Q by seat, each item's influence on it (seats x items), and Q by resample and seat."""

    items: tuple[str, ...]
    q: Floats
    parts: Floats
    drawn: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Payoff:
    """A cell of the payoff matrix: Q, its interval, Q by resample, and the smaller item count of the two matches."""

    q: float
    interval: Difference
    drawn: Floats
    items: int


def document(season: Season) -> Game:
    """Compute payoffs, equilibria, best responses and learning under each vision, and the price of disclosure."""
    names = [player.name for player in season.config.players]
    rules = score_rules_of(season.config)
    played = {
        when: {seats: under(results, rules) for seats, results in meetings.items()}
        for when, meetings in _meetings(season).items()
    }
    priced = _disclosure(names, played, rules)
    return Game(
        run=str(season.path),
        finished=season.finished,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**season.manifest["detector"]),
        trials=season.manifest["season"]["trials"],
        items=season.manifest["items"],
        alpha=rules.alpha,
        beta=rules.beta,
        policies=names,
        games={when: _solved(names, meetings, rules) for when, meetings in played.items()},
        disclosure=priced,
        notes=[
            *notes_on_run(season.path, season.manifest),
            *uneven((f"{row.policy} against {row.against} ({row.vision})", row.units) for row in priced),
        ],
    )


def _meetings(season: Season) -> dict[str, Meetings]:
    """Return the results of every ordered pair by vision, over their ended trials."""
    ended = read_matches(season.path)
    fixtures_by_vision: dict[str, dict[tuple[int, ...], list[Fixture]]] = {}
    for fixture in season.fixtures():
        if ended.get(fixture.id):
            cell = dict(fixture.cell)
            fixtures_by_vision.setdefault(cell["vision"], {}).setdefault(cell["seats"], []).append(fixture)
    return {
        when: {seats: ended_trials(season, fixtures) for seats, fixtures in pairs.items()}
        for when, pairs in fixtures_by_vision.items()
    }


def _solved(names: list[str], meetings: Meetings, rules: ScoreRules) -> Solved | Unsolved:
    count = len(names)
    try:
        cells = _cells(count, meetings, rules)
        game = games.symmetric(np.array([[cell.q for cell in row] for row in cells]))
        equilibria = games.equilibria(game)
    except DataError as error:
        return Unsolved(notes=[str(error)])
    drawn = _resampled_payoffs(cells)
    pure_strategies = np.eye(count)
    undominated = dominance(game).rows
    dominated_shares = None if drawn is None else dominated_in(drawn)
    shares = {
        names[i]: None if dominated_shares is None else float(dominated_shares[i])
        for i in range(count)
        if i not in undominated
    }
    path = games.learn(game)
    uniform = np.full(count, 1 / count)
    return Solved(
        payoffs=game.row.tolist(),
        low=[[cell.interval.low for cell in row] for row in cells],
        high=[[cell.interval.high for cell in row] for row in cells],
        best_responses={
            names[j]: [names[i] for i in games.best_responses(game.row, pure_strategies[j])] for j in range(count)
        },
        exploitability={
            names[i]: games.exploitability(game, pure_strategies[i], pure_strategies[i]) for i in range(count)
        },
        dominated=[name for name, share in shares.items() if share is not None and share >= LEVEL],
        dominated_in=shares,
        equilibria=[
            Equilibrium(
                row=_mix(names, profile.row),
                column=_mix(names, profile.column),
                payoffs=list(profile.payoffs),
                regret=profile.regret,
                pure=profile.pure,
                survives=None if drawn is None else survival(profile.supports, drawn),
            )
            for profile in equilibria.profiles
        ],
        degenerate=equilibria.degenerate,
        replicator=Learning(
            start=_mix(names, uniform), end=_mix(names, path.row), steps=path.steps, converged=path.converged
        ),
        notes=_notes(cells, equilibria),
    )


def _notes(cells: Sequence[Sequence[_Payoff]], equilibria: games.Equilibria) -> list[str]:
    fewest = min(cell.items for row in cells for cell in row)
    notes = [] if equilibria.complete else ["The game is degenerate: there may be equilibria beside these."]
    if fewest < FEWEST:
        notes.append(
            f"? is for what too few items cannot say: a pair has {fewest} that count, an interval takes {FEWEST}."
        )
    return notes


def _cells(count: int, meetings: Meetings, rules: ScoreRules) -> list[list[_Payoff]]:
    """Compute Q of each policy against each other, averaged over the two seat orders."""
    pairs = [(i, j) for i in range(count) for j in range(count)]
    if not set(pairs) <= meetings.keys():
        raise DataError("not every pair has played under this vision: resume the run")
    played = {seats: _played(meetings[seats], rules) for seats in pairs}

    def cell(i: int, j: int) -> _Payoff:
        return _payoff([(played[i, j], 0), (played[j, i], 1)], rules.alpha)

    return [[cell(i, j) for j in range(count)] for i in range(count)]


def _payoff(seats: Sequence[tuple[_Played, int]], alpha: float) -> _Payoff:
    """Average Q over some seats, with an interval from the influence of each item, as for any difference in Q."""
    items = list(dict.fromkeys(item for played, _ in seats for item in played.items))
    column = {item: index for index, item in enumerate(items)}
    q = float(np.mean([played.q[seat] for played, seat in seats]))
    parts = np.full(len(items), q)
    for played, seat in seats:
        weight = len(items) / len(played.items) / len(seats)
        parts[[column[item] for item in played.items]] += weight * (played.parts[seat] - played.q[seat])
    fewest = min(len(played.items) for played, _ in seats)
    interval = mean(parts, alpha=alpha) if fewest >= FEWEST else Difference(q)
    return _Payoff(q, interval, np.mean([played.drawn[:, seat] for played, seat in seats], axis=0), fewest)


def _played(results: Results, rules: ScoreRules) -> _Played:
    """Compute a match's Q, the influence of each item, and Q in every resample of items (the same draws for all)."""
    known_rules = with_known(results, rules, [])
    scored = view(results, known_rules.refusals, tuple(known_rules.weights))
    if not scored.items:
        raise DataError(f"{' and '.join(results.players)} have no item that both answered: play more items")
    column = {item: index for index, item in enumerate(results.items)}
    columns = [column[item] for item in scored.items]
    resampled_q: list[Floats] = []
    for weights in draws(len(results.items), RESAMPLES, 0):
        item_weights = weights[:, columns]
        item_weights[item_weights.sum(axis=1) == 0] = 1.0
        resampled_q.append(figures(scored, known_rules, item_weights).q)
    return _Played(
        scored.items, figures(scored, known_rules).q[0], influence(scored, known_rules), np.concatenate(resampled_q)
    )


def _resampled_payoffs(cells: Sequence[Sequence[_Payoff]]) -> Floats | None:
    """Return the payoffs of every resample in which all are known; None if there are too few items to resample."""
    if min(cell.items for row in cells for cell in row) < FEWEST:
        return None
    drawn = np.array([[cell.drawn for cell in row] for row in cells]).transpose(2, 0, 1)
    known = drawn[np.isfinite(drawn).all(axis=(1, 2))]
    return known if len(known) else None


def _disclosure(names: list[str], played: dict[str, Meetings], rules: ScoreRules) -> list[Disclosure]:
    """Compute Q with snapshots shown minus Q without, for each pair of policies, paired by unit."""
    hidden = played.get("never")
    rows: list[Disclosure] = []
    for when, meetings in played.items():
        if when == "never" or hidden is None:
            continue
        for seats, results in meetings.items():
            if seats not in hidden:
                continue
            before = Condition(hidden[seats], rules)
            for seat, player in enumerate(results.players):
                shown = Condition(results, rules)
                changes = differences(shown, before, player)
                rows.append(
                    Disclosure(
                        vision=when,
                        policy=names[seats[seat]],
                        against=names[seats[1 - seat]],
                        seat=seat,
                        changes={name: changes[name] for name in CHANGES if name in changes},
                        units=common(shown, before, player),
                    )
                )
    return rows


def _mix(names: list[str], shares: Floats) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 1e-6}
