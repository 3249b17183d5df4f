"""A tournament: ratings with intervals, the win matrix, and Q against one fixed reference."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.parts import OPTIONAL, Costs, flat
from mashq.analysis.ratings.fit import Ratings, game, rate
from mashq.analysis.ratings.outcomes import Game, records
from mashq.errors import DataError
from mashq.players.registry import all_drawn
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import (
    CARRIED,
    ScoreRules,
    by_item,
    carried,
    figures,
    reduce,
    scored_units,
    under,
    view,
    with_known,
)
from mashq.report.documents.base import DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_trials
from mashq.report.documents.notes import notes_on_run
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
    """Lower end of its 95% interval over resampled items; null where the prior decides, or nothing can be said."""
    high: float | None
    """Upper end of its 95% interval; null where the lower one is."""
    rank_best: int | None
    """The best rank that it may have; null where too few items count, or not all have met."""
    rank_worst: int | None
    """The worst rank that it may have; null where the best one is."""
    p_first: float | None
    """The share of resampled tournaments in which it is first; null where its ranks are."""
    h: float | None
    """Mean factuality over its matches."""
    costs: Costs = field(metadata=flat(RESOURCES))
    """Mean totals over its matches, over the units that H is over: where a match leaves some out, what all of its
    items would cost at the mean of those that count. Null where some match's is not known."""
    charged: Mapping[str, float]
    """How much of a mean total is a charge for attempts that did not tell; only resources that have one."""
    q_reference: float | None
    """Q of these means, with costs relative to the largest of the field (`reference`)."""
    words: float | None = None
    """Mean number of words of its answers; null where their texts are not known."""
    coverage: float | None = None
    """Mean share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Mean share of their words inside runs of eight or more that stand in the source word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How one player did against another."""

    a: str
    """The player."""
    b: str
    """The other one."""
    won: int
    """Pairings in which it has the higher Q."""
    tied: int
    """Pairings with the same Q."""
    lost: int
    """Pairings in which it has the lower Q."""
    predicted: float
    """The chance of winning that the ratings predict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tournament(SeasonDocument):
    """Ratings of players that met in many matches."""

    kind: ClassVar[str] = "tournament"

    system: str
    """Who meets whom."""
    trials: int
    """How many trials each pairing has."""
    items: int
    """How many items a match has."""
    matches: int
    """How many pairings were played."""
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
    """Compute ratings, the win matrix, and each player's mean H, costs and Q against a reference."""
    names = [player.name for player in season.config.players]
    rules = score_rules_of(season.config)
    meetings = [(seats, under(results, rules)) for seats, results in _meetings(season)]
    notes = list(notes_on_run(season.path, season.manifest))
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
    games = _games(meetings, rules, notes)
    rated_seats = sorted({seat for game_record in games for seat in game_record.seats})
    absent = [name for seat, name in enumerate(names) if seat not in rated_seats]
    try:
        rated = rate(
            _renumbered(games, rated_seats),
            [names[seat] for seat in rated_seats],
            season.manifest["items"],
            RESAMPLES,
        )
    except DataError as error:
        return replace(unrated, notes=[*notes, str(error)])
    if absent:
        notes.append(f"Not rated, for want of a match that counts: {', '.join(absent)}.")
    means = _means(meetings, rules, rated_seats)
    reference = _reference(means, rules)
    order = sorted(range(len(rated_seats)), key=lambda index: -rated.fit.strength[index])
    return replace(
        unrated,
        players=[_player(index, rated, means[index], _q(means[index], rules, reference)) for index in order],
        wins=_wins(_renumbered(games, rated_seats), rated),
        reference=reference,
        notes=[*notes, *_left_out(meetings, rules), *rated.notes],
    )


def _renumbered(games: Sequence[Game], rated_seats: Sequence[int]) -> list[Game]:
    """Renumber the seats of the games to consecutive numbers of the players who played."""
    number = {seat: index for index, seat in enumerate(rated_seats)}
    return [replace(game_record, seats=tuple(number[seat] for seat in game_record.seats)) for game_record in games]


def _meetings(season: Season) -> list[Meeting]:
    """Return the seats and the results of every pairing, over its ended trials."""
    ended = read_matches(season.path)
    by_pair: dict[tuple[int, ...], list[Fixture]] = {}
    for fixture in season.fixtures():
        if ended.get(fixture.id):
            by_pair.setdefault(dict(fixture.cell)["seats"], []).append(fixture)
    return [(seats, ended_trials(season, fixtures)) for seats, fixtures in by_pair.items()]


def _games(meetings: list[Meeting], rules: ScoreRules, notes: list[str]) -> list[Game]:
    games: list[Game] = []
    for seats, results in meetings:
        known_rules = with_known(results, rules, [])
        scored = view(results, known_rules.refusals, tuple(known_rules.weights))
        if not scored.items:
            notes.append(f"{' and '.join(results.players)} have no item that all answered: their match is left out.")
            continue
        games.append(game(seats, scored, known_rules, results.items, RESAMPLES))
    return games


def _left_out(meetings: list[Meeting], rules: ScoreRules) -> list[str]:
    """Note how many units H and costs leave out, if any."""
    units = [(results.present, scored_units(results, rules.refusals)[1]) for _, results in meetings]
    out = sum(int((present & ~cells).any(axis=0).sum()) for present, cells in units)
    if not out:
        return []
    all_ = sum(int(present.any(axis=0).sum()) for present, _ in units)
    return [
        f"{out} of {all_} units (an item in a trial of a match) are left out because not everyone answered them: H, "
        "costs and Q (ref.) are over the others, the costs taken to a match of all items."
    ]


@dataclass(frozen=True, slots=True)
class _Mean:
    """A player's means over its matches: H, total costs, and content measures of its answers."""

    h: float | None
    costs: Costs
    charged: Mapping[str, float]
    carried: Mapping[str, float | None]


def _means(meetings: list[Meeting], rules: ScoreRules, rated_seats: Sequence[int]) -> list[_Mean]:
    """Average over the matches of each player who played, in seat order; skip matches without a scored item."""
    totals, lower_bounds, scores = ({seat: list[dict[str, float]]() for seat in rated_seats} for _ in range(3))
    for seats, results in meetings:
        scored_view = view(results, rules.refusals, ())
        if not scored_view.items:
            continue
        h = figures(scored_view, replace(rules, weights={})).h[0]
        content = {name: carried(results, rules.refusals, name) for name in CARRIED}
        cells = scored_units(results, rules.refusals)[1]
        for index, seat in enumerate(seats):
            if seat not in totals:
                continue
            totals[seat].append({name: _total(results, cells, name, index, "value") for name in RESOURCES})
            lower_bounds[seat].append({name: _total(results, cells, name, index, "low") for name in RESOURCES})
            known_content = {name: value for name, values in content.items() if (value := values[index]) is not None}
            scores[seat].append({"h": float(h[index]), **known_content})
    return [
        _Mean(
            _average(scores[seat], "h"),
            {name: _average(totals[seat], name) for name in RESOURCES},
            _charges(totals[seat], lower_bounds[seat]),
            {name: _average(scores[seat], name) for name in CARRIED},
        )
        for seat in rated_seats
    ]


def _reference(means: Sequence[_Mean], rules: ScoreRules) -> dict[str, float]:
    """Return the largest mean cost of the field, for each resource that is known for all players."""
    costs = {name: [mean.costs[name] for mean in means] for name in rules.weights}
    return {
        name: max(value for value in values if value is not None)
        for name, values in costs.items()
        if None not in values
    }


def _q(mean: _Mean, rules: ScoreRules, reference: Mapping[str, float]) -> float | None:
    """Compute Q of a player's means, with the largest costs of the field as the reference."""
    if mean.h is None:
        return None
    weights = {name: rules.weights[name] for name in reference}
    fixed = replace(rules, weights=weights, reference=reference, per_item=False)
    costs = {name: np.array([mean.costs[name]], dtype=np.float64) for name in reference}
    return float(reduce(np.array([mean.h]), costs, fixed)[1][0])


def _average(rows: Sequence[Mapping[str, float]], name: str) -> float | None:
    """Return the mean over rows; None if one of the values is unknown."""
    values = [row.get(name, math.nan) for row in rows]
    return float(np.mean(values)) if values and not np.isnan(values).any() else None


def _charges(totals: Sequence[Mapping[str, float]], lower_bounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return how much of each mean total is a charge for attempts of unknown cost."""
    charges: dict[str, float] = {}
    for name in RESOURCES:
        value, low = _average(totals, name), _average(lower_bounds, name)
        if value is not None and low is not None and value != low:
            charges[name] = value - low
    return charges


def _total(results: Results, cells: NDArray[np.bool_], name: str, index: int, part: Literal["value", "low"]) -> float:
    """Extrapolate the mean cost of the scored items, each averaged over its trials, to all items; NaN if unknown."""
    cost = results.costs[name]
    values: Floats = getattr(cost, part)
    if not cells[index].any() or np.isnan(cost.value[index][cells[index]]).any():
        return math.nan
    means, counts = by_item(results, values, cells)
    return float(np.nansum(means[index])) * (len(results.items) / int((counts[index] > 0).sum()))


def _player(index: int, rated: Ratings, mean: _Mean, q: float | None) -> RatedPlayer:
    ranks = rated.ranks[index] or (None, None)
    return RatedPlayer(
        name=rated.fit.names[index],
        rating=float(rated.fit.points[index]),
        low=_known(rated.points_low[index]),
        high=_known(rated.points_high[index]),
        rank_best=ranks[0],
        rank_worst=ranks[1],
        p_first=_known(rated.p_first[index]),
        h=mean.h,
        costs=mean.costs,
        charged=mean.charged,
        q_reference=q,
        **mean.carried,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _wins(games: Sequence[Game], rated: Ratings) -> list[Pairing]:
    """Return, for each ordered pair that met, the matches won, tied and lost, and the predicted chance of winning."""
    names = rated.fit.names
    counts = records(games, len(names))
    pairs = np.argwhere(counts.sum(axis=2) > 0).tolist()
    return [
        Pairing(
            a=names[a],
            b=names[b],
            won=int(counts[a, b, 0]),
            tied=int(counts[a, b, 1]),
            lost=int(counts[a, b, 2]),
            predicted=float(rated.fit.win[a, b]),
        )
        for a, b in pairs
    ]
