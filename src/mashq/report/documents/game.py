"""The game behind the match: policies as strategies, their payoffs, its equilibria, and what disclosure costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from mashq.analysis.games import bimatrix as games
from mashq.analysis.games.dominance import dominance
from mashq.analysis.games.uncertainty import uncertain_equilibria
from mashq.analysis.intervals import draws
from mashq.analysis.paired import Condition, Difference, differences
from mashq.analysis.parts import flat
from mashq.errors import DataError
from mashq.protocol.results import Floats, Results, from_matches
from mashq.protocol.score import ScoreRules, figures, view
from mashq.report.documents.base import DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_results
from mashq.report.documents.seasons import all_drawn
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

RESAMPLES = 500
STEPS = 400
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
    survives: float
    """The share of resamples of the items in which there is one with the same policies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Where learning by the replicator dynamics leads."""

    start: Mapping[str, float]
    """The mix that it starts from."""
    end: Mapping[str, float]
    """The mix after the last step."""
    steps: int
    """How many steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The game under one vision."""

    payoffs: Sequence[Sequence[float]]
    """Q of the row's policy against the column's, the two orders averaged."""
    low: Sequence[Sequence[float]]
    """Lower ends of their 95% intervals over resampled items."""
    high: Sequence[Sequence[float]]
    """Upper ends of their 95% intervals."""
    best_responses: Mapping[str, Sequence[str]]
    """By policy, what is best against it."""
    exploitability: Mapping[str, float]
    """By policy, what the best response gains when both play it."""
    dominated: Sequence[str]
    """Policies that another is better than, whatever the rival plays."""
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
    """What showing snapshots changes for one policy against another, paired by item."""

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

    @property
    def any(self) -> bool:
        """Whether anything changed at all."""
        return any(change.value for change in self.changes.values())


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


def document(season: Season) -> Game:
    """Payoffs, equilibria, best responses and the path of learning under each vision; the price of disclosure."""
    names = [player.name for player in season.config.players]
    rules = score_rules_of(season.config)
    played = _meetings(season)
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
        disclosure=_disclosure(names, played, rules),
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
        when: {
            seats: from_matches(ended_results(season, f.id) for f in fixtures) for seats, fixtures in pairs.items()
        }
        for when, pairs in found.items()
    }


def _solved(names: list[str], meetings: Meetings, rules: ScoreRules) -> Solved | Unsolved:
    count = len(names)
    try:
        payoffs, drawn = _payoffs(count, meetings, rules)
        game = games.symmetric(payoffs)
        found, survive = games.equilibria(game), uncertain_equilibria(drawn)
    except DataError as nothing:
        return Unsolved(notes=[str(nothing)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    alone, even = np.eye(count), np.full(count, 1 / count)
    path = games.replicator(game, STEPS, start=(even, even))[0]
    left = dominance(game)
    return Solved(
        payoffs=payoffs.tolist(),
        low=low.tolist(),
        high=high.tolist(),
        best_responses={names[j]: [names[i] for i in games.best_responses(payoffs, alone[j])] for j in range(count)},
        exploitability={names[i]: games.exploitability(game, alone[i], alone[i]) for i in range(count)},
        dominated=[names[i] for i in range(count) if i not in left.rows],
        equilibria=[
            Equilibrium(
                row=_mix(names, profile.row),
                column=_mix(names, profile.column),
                payoffs=list(profile.payoffs),
                regret=profile.regret,
                pure=profile.pure,
                survives=next((s.share for s in survive.found if (s.rows, s.columns) == profile.supports), 0.0),
            )
            for profile in found.profiles
        ],
        degenerate=found.degenerate,
        replicator=Learning(start=_mix(names, path[0]), end=_mix(names, path[-1]), steps=STEPS),
        notes=[] if found.complete else ["The game is degenerate: there may be equilibria beside these."],
    )


def _payoffs(count: int, meetings: Meetings, rules: ScoreRules) -> tuple[Floats, Floats]:
    """Q of each policy against each, the two orders averaged; and the same in every resample of the items."""
    payoffs = np.full((count, count), np.nan)
    drawn = np.full((RESAMPLES, count, count), np.nan)
    for i in range(count):
        for j in range(count):
            pairs = {(i, j): 0, (j, i): 1} if i != j else {(i, i): 0}
            if not pairs.keys() <= meetings.keys():
                raise DataError("not every pair has played under this vision: resume the run")
            both = [_q(meetings[seats], rules) for seats in pairs]
            if i == j:
                payoffs[i, i] = both[0][0].mean()
                drawn[:, i, i] = both[0][1].mean(axis=1)
                continue
            payoffs[i, j] = np.mean([q[at] for (q, _), at in zip(both, pairs.values(), strict=True)])
            drawn[:, i, j] = np.mean([d[:, at] for (_, d), at in zip(both, pairs.values(), strict=True)], axis=0)
    return payoffs, drawn


def _q(results: Results, rules: ScoreRules) -> tuple[Floats, Floats]:
    known = {
        name: w for name, w in rules.weights.items() if not np.isnan(results.costs[name].value).all(axis=1).any()
    }
    own = replace(rules, weights=known)
    seen = view(results, rules.refusals, tuple(known))
    if not seen.items:
        raise DataError(f"{' and '.join(results.players)} have no item that both answered: play more items")
    place = {item: at for at, item in enumerate(results.items)}
    columns = [place[item] for item in seen.items]
    found: list[Floats] = []
    for weights in draws(len(results.items), RESAMPLES, 0):
        mine = weights[:, columns]
        mine[mine.sum(axis=1) == 0] = 1.0
        found.append(figures(seen, own, mine).q)
    return figures(seen, own).q[0], np.concatenate(found)


def _disclosure(names: list[str], played: dict[str, Meetings], rules: ScoreRules) -> list[Disclosure]:
    """Q with snapshots shown minus Q without, for each pair of policies, paired by item."""
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
                changes = differences(Condition(results, rules), before, player)
                rows.append(
                    Disclosure(
                        vision=when,
                        policy=names[seats[at]],
                        against=names[seats[1 - at]],
                        seat=at,
                        changes={name: changes[name] for name in CHANGES if name in changes},
                    )
                )
    return rows


def _mix(names: list[str], shares: Floats) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 1e-6}
