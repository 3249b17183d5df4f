"""A tournament: ratings with intervals, who beats whom, and Q against one fixed reference beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from mashq.analysis.parts import OPTIONAL, Costs, flat
from mashq.analysis.ratings.fit import Ratings, game, rate
from mashq.analysis.ratings.outcomes import Game
from mashq.errors import DataError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Results, from_matches
from mashq.protocol.score import TIE, ScoreRules, figures, reduce, view
from mashq.report.documents.base import DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_results
from mashq.report.documents.seasons import all_drawn
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

RESAMPLES = 1000
Meeting = tuple[tuple[int, ...], Results]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPlayer:
    """A player with its rating."""

    name: str
    """Its name."""
    rating: float
    """In points: 400 are odds of 10 to 1."""
    low: float | None
    """Lower end of its 95% interval over resampled items."""
    high: float | None
    """Upper end of its 95% interval."""
    rank_best: int
    """The best rank that it may have."""
    rank_worst: int
    """The worst rank that it may have."""
    p_first: float
    """The share of resampled tournaments in which it is first."""
    h: float | None
    """Mean factuality over its matches."""
    costs: Costs = field(metadata=flat(RESOURCES))
    """Mean totals over its matches."""
    q_reference: float | None
    """Q of these means, with costs relative to the largest of the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How one player did against another."""

    a: str
    """The player."""
    b: str
    """The other one."""
    won: int
    """Meetings in which it has the higher Q."""
    tied: int
    """Meetings with the same Q."""
    lost: int
    """Meetings in which it has the lower Q."""
    predicted: float
    """The chance of winning that the ratings predict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournament(SeasonDocument):
    """Ratings of players that met in many matches."""

    kind: ClassVar[str] = "tournament"

    system: str
    """Who meets whom."""
    trials: int
    """How many trials each meeting has."""
    items: int
    """How many items a match has."""
    matches: int
    """How many meetings were played."""
    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    players: Sequence[RatedPlayer]
    """The players, best rating first."""
    wins: Sequence[Pairing]
    """For each ordered pair that met, who won."""
    notes: Sequence[str]
    """What a reader must not miss."""
    reference: Mapping[str, float] | None = field(default=None, metadata=OPTIONAL)
    """The largest mean costs of the field, by resource; missing where nothing is rated."""


def document(season: Season) -> Tournament:
    """Ratings, the win matrix, and each player's mean H, costs and Q against a reference."""
    names = [player.name for player in season.config.players]
    rules, meetings, notes = score_rules_of(season.config), _meetings(season), list[str]()
    unrated = Tournament(
        run=str(season.path),
        finished=season.finished,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**season.manifest["detector"]),
        system=season.manifest["season"]["system"],
        trials=season.manifest["season"]["trials"],
        items=season.manifest["items"],
        matches=len(meetings),
        alpha=rules.alpha,
        beta=rules.beta,
        players=[],
        wins=[],
        notes=notes,
    )
    try:
        games = _games(meetings, rules, notes)
        rated = rate(games, names, season.manifest["items"], RESAMPLES)
    except DataError as nothing:
        return replace(unrated, notes=[*notes, str(nothing)])
    reference, means = _means(meetings, rules, len(names))
    order = sorted(range(len(names)), key=lambda seat: -rated.fit.strength[seat])
    return replace(
        unrated,
        players=[_player(names[seat], seat, rated, means[seat]) for seat in order],
        wins=_wins(names, games, rated),
        reference=reference,
        notes=[*notes, *rated.notes],
    )


def _meetings(season: Season) -> list[Meeting]:
    """Who met whom, each meeting's trials averaged by item first."""
    there = read_matches(season.path)
    by_pair: dict[tuple[int, ...], list[Fixture]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            by_pair.setdefault(dict(fixture.cell)["seats"], []).append(fixture)
    return [
        (seats, from_matches(ended_results(season, fixture.id) for fixture in fixtures))
        for seats, fixtures in by_pair.items()
    ]


def _games(meetings: list[Meeting], rules: ScoreRules, notes: list[str]) -> list[Game]:
    games: list[Game] = []
    for seats, results in meetings:
        known = {
            name: w for name, w in rules.weights.items() if not np.isnan(results.costs[name].value).all(axis=1).any()
        }
        own = replace(rules, weights=known)
        seen = view(results, rules.refusals, tuple(known))
        if not seen.items:
            notes.append(f"{' and '.join(results.players)} have no item that all answered: their match is left out.")
            continue
        games.append(game(seats, seen, own, results.items, RESAMPLES))
    return games


@dataclass(frozen=True, slots=True)
class _Mean:
    """A player's means over its meetings, and the Q that they give."""

    h: float | None
    costs: Costs
    q: float | None = None


def _means(meetings: list[Meeting], rules: ScoreRules, players: int) -> tuple[dict[str, float], list[_Mean]]:
    """Each player's mean H and costs over its meetings, and Q with the largest mean costs of all as the reference."""
    rows: list[list[dict[str, float]]] = [[] for _ in range(players)]
    for seats, results in meetings:
        seen = view(results, rules.refusals, ())
        h = figures(seen, replace(rules, weights={})).h[0] if seen.items else np.full(len(seats), np.nan)
        for at, seat in enumerate(seats):
            costs = {
                name: float(np.nansum(results.costs[name].value[at]))
                for name in RESOURCES
                if _known(results, name, at)
            }
            rows[seat].append({"h": float(h[at]), **costs})
    means = [_Mean(_average(own, "h"), {name: _average(own, name) for name in RESOURCES}) for own in rows]
    reference: dict[str, float] = {}
    for name in rules.weights:
        known = [value for mean in means if (value := mean.costs[name]) is not None]
        if len(known) == len(means):
            reference[name] = max(known)
    fixed = replace(rules, weights={name: rules.weights[name] for name in reference}, reference=reference)
    costs = {name: np.array([mean.costs[name] for mean in means], dtype=np.float64) for name in reference}
    h = np.array([np.nan if mean.h is None else mean.h for mean in means])
    _, q = reduce(h, costs, fixed)
    return reference, [
        replace(mean, q=None if mean.h is None else float(worth)) for mean, worth in zip(means, q, strict=True)
    ]


def _average(rows: Sequence[Mapping[str, float]], name: str) -> float | None:
    values = [row[name] for row in rows if name in row and not np.isnan(row[name])]
    return float(np.mean(values)) if values else None


def _known(results: Results, name: str, at: int) -> bool:
    return not bool(np.isnan(results.costs[name].value[at]).all())


def _player(name: str, seat: int, rated: Ratings, mean: _Mean) -> RatedPlayer:
    low, high = rated.points_low, rated.points_high
    return RatedPlayer(
        name=name,
        rating=float(rated.fit.points[seat]),
        low=None if low is None else float(low[seat]),
        high=None if high is None else float(high[seat]),
        rank_best=rated.ranks[seat][0],
        rank_worst=rated.ranks[seat][1],
        p_first=float(rated.p_first[seat]),
        h=mean.h,
        costs=mean.costs,
        q_reference=mean.q,
    )


def _wins(names: list[str], games: list[Game], rated: Ratings) -> list[Pairing]:
    """For each ordered pair: meetings won, tied and lost, and the predicted chance."""
    tally: dict[tuple[int, int], list[int]] = {}
    for one in games:
        for at, first in enumerate(one.seats):
            for other, second in enumerate(one.seats):
                if at != other:
                    gap = float(one.q[at] - one.q[other])
                    row = tally.setdefault((first, second), [0, 0, 0])
                    row[1 if abs(gap) < TIE else 0 if gap > 0 else 2] += 1
    return [
        Pairing(a=names[a], b=names[b], won=row[0], tied=row[1], lost=row[2], predicted=float(rated.fit.win[a, b]))
        for (a, b), row in sorted(tally.items())
    ]
