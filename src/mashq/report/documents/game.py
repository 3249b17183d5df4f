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
    """By policy, what the best response gains when both play it."""
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
        """Whether anything changed at all, or nobody can tell."""
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
    """A meeting of two: Q by seat, each item's part in it (seats x items), and Q by resample and seat."""

    items: tuple[str, ...]
    q: Floats
    parts: Floats
    drawn: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Payoff:
    """A cell of the matrix: Q, its interval, Q by resample, and how many items count where the fewest do."""

    q: float
    interval: Difference
    drawn: Floats
    items: int


def document(season: Season) -> Game:
    """Payoffs, equilibria, best responses and the path of learning under each vision; the price of disclosure."""
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
    """The results of every ordered pair under each vision, trials averaged by item; only those all played."""
    there = read_matches(season.path)
    found: dict[str, dict[tuple[int, ...], list[Fixture]]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            cell = dict(fixture.cell)
            found.setdefault(cell["vision"], {}).setdefault(cell["seats"], []).append(fixture)
    return {
        when: {seats: ended_trials(season, fixtures) for seats, fixtures in pairs.items()}
        for when, pairs in found.items()
    }


def _solved(names: list[str], meetings: Meetings, rules: ScoreRules) -> Solved | Unsolved:
    count = len(names)
    try:
        cells = _cells(count, meetings, rules)
        game = games.symmetric(np.array([[cell.q for cell in row] for row in cells]))
        found = games.equilibria(game)
    except DataError as nothing:
        return Unsolved(notes=[str(nothing)])
    drawn = _drawn(cells)
    alone = np.eye(count)
    left = dominance(game).rows
    again = None if drawn is None else dominated_in(drawn)
    shares = {names[i]: None if again is None else float(again[i]) for i in range(count) if i not in left}
    path = games.learn(game)
    even = np.full(count, 1 / count)
    return Solved(
        payoffs=game.row.tolist(),
        low=[[cell.interval.low for cell in row] for row in cells],
        high=[[cell.interval.high for cell in row] for row in cells],
        best_responses={names[j]: [names[i] for i in games.best_responses(game.row, alone[j])] for j in range(count)},
        exploitability={names[i]: games.exploitability(game, alone[i], alone[i]) for i in range(count)},
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
            for profile in found.profiles
        ],
        degenerate=found.degenerate,
        replicator=Learning(
            start=_mix(names, even), end=_mix(names, path.row), steps=path.steps, converged=path.converged
        ),
        notes=_notes(cells, found),
    )


def _notes(cells: Sequence[Sequence[_Payoff]], found: games.Equilibria) -> list[str]:
    fewest = min(cell.items for row in cells for cell in row)
    notes = [] if found.complete else ["The game is degenerate: there may be equilibria beside these."]
    if fewest < FEWEST:
        notes.append(
            f"? is for what too few items cannot say: a pair has {fewest} that count, an interval takes {FEWEST}."
        )
    return notes


def _cells(count: int, meetings: Meetings, rules: ScoreRules) -> list[list[_Payoff]]:
    """Q of each policy against each, the two orders averaged."""
    wanted = [(i, j) for i in range(count) for j in range(count)]
    if not set(wanted) <= meetings.keys():
        raise DataError("not every pair has played under this vision: resume the run")
    played = {seats: _played(meetings[seats], rules) for seats in wanted}

    def cell(i: int, j: int) -> _Payoff:
        return _payoff([(played[i, j], 0), (played[j, i], 1)], rules.alpha)

    return [[cell(i, j) for j in range(count)] for i in range(count)]


def _payoff(seats: Sequence[tuple[_Played, int]], alpha: float) -> _Payoff:
    """The mean of some seats' Q. Each item's part in it gives its interval, as it does for any difference in Q."""
    items = list(dict.fromkeys(item for played, _ in seats for item in played.items))
    place = {item: at for at, item in enumerate(items)}
    q = float(np.mean([played.q[at] for played, at in seats]))
    parts = np.full(len(items), q)
    for played, at in seats:
        weight = len(items) / len(played.items) / len(seats)
        parts[[place[item] for item in played.items]] += weight * (played.parts[at] - played.q[at])
    fewest = min(len(played.items) for played, _ in seats)
    interval = mean(parts, alpha=alpha) if fewest >= FEWEST else Difference(q)
    return _Payoff(q, interval, np.mean([played.drawn[:, at] for played, at in seats], axis=0), fewest)


def _played(results: Results, rules: ScoreRules) -> _Played:
    """A meeting's Q, each item's part in it, and Q in every resample of the items (the same draws for all)."""
    own = with_known(results, rules, [])
    seen = view(results, own.refusals, tuple(own.weights))
    if not seen.items:
        raise DataError(f"{' and '.join(results.players)} have no item that both answered: play more items")
    place = {item: at for at, item in enumerate(results.items)}
    columns = [place[item] for item in seen.items]
    found: list[Floats] = []
    for weights in draws(len(results.items), RESAMPLES, 0):
        mine = weights[:, columns]
        mine[mine.sum(axis=1) == 0] = 1.0
        found.append(figures(seen, own, mine).q)
    return _Played(seen.items, figures(seen, own).q[0], influence(seen, own), np.concatenate(found))


def _drawn(cells: Sequence[Sequence[_Payoff]]) -> Floats | None:
    """The payoffs of every resample in which all are known; None where the items are too few to be drawn again."""
    if min(cell.items for row in cells for cell in row) < FEWEST:
        return None
    drawn = np.array([[cell.drawn for cell in row] for row in cells]).transpose(2, 0, 1)
    known = drawn[np.isfinite(drawn).all(axis=(1, 2))]
    return known if len(known) else None


def _disclosure(names: list[str], played: dict[str, Meetings], rules: ScoreRules) -> list[Disclosure]:
    """Q with snapshots shown minus Q without, for each pair of policies, paired by unit."""
    hidden = played.get("never")
    rows: list[Disclosure] = []
    for when, meetings in played.items():
        if when == "never" or hidden is None:
            continue
        for seats, results in meetings.items():
            if seats not in hidden:
                continue
            before = Condition(hidden[seats], rules)
            for at, player in enumerate(results.players):
                shown = Condition(results, rules)
                changes = differences(shown, before, player)
                rows.append(
                    Disclosure(
                        vision=when,
                        policy=names[seats[at]],
                        against=names[seats[1 - at]],
                        seat=at,
                        changes={name: changes[name] for name in CHANGES if name in changes},
                        units=common(shown, before, player),
                    )
                )
    return rows


def _mix(names: list[str], shares: Floats) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 1e-6}
