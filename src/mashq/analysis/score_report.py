"""Everything `mashq score` says of some results."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from mashq.analysis import bundles
from mashq.analysis.flips import chance_along, envelope, pareto, simplex_shares
from mashq.analysis.intervals import LEVEL, Resampled, resample
from mashq.analysis.parts import BetaStretch, Lead, WeightStretch
from mashq.analysis.results import Floats, Results
from mashq.analysis.score_types import Chances, Dropped, Missing, Ranking, ScoredPlayer, ScoreReport
from mashq.analysis.scoring import Figures, View, figures, scores, view
from mashq.errors import DataError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import TIE, Refusals, ScoreRules

REFUSALS: tuple[Refusals, ...] = ("intersection", "penalised", "answered")
MAX_PAIRED = 12
FAITHFUL = 0.5
SIMPLEX_DRAWS = 20_000
BETAS = tuple(round(0.01 * step, 2) for step in range(51))
SAYING = {
    "intersection": "if refusals are left out for all",
    "penalised": "if refusals score 0",
    "answered": "if everyone is averaged over its own answers",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge: the rules of the score, how many resamples, and their seed."""

    rules: ScoreRules
    resamples: int = 10_000
    seed: int = 0


def judge(results: Results, options: Options, notes: Sequence[str] = ()) -> ScoreReport:
    """Score some results. Raises DataError when there is nothing to compare."""
    notes = list(notes)
    rules = with_known(results, options.rules, notes)
    counted = tuple(rules.weights)
    seen = view(results, rules.refusals, counted)
    if not seen.items:
        raise DataError(nothing_common(results))
    now = figures(seen, rules)
    q = now.q[0]
    pairs = _pairs(q)
    drawn = None if results.totals else resample(seen, rules, pairs, options.resamples, options.seed)
    winner, tied = _winner(results.players, q)
    notes += _doubts(results, seen, rules, drawn)
    views = _views(results, rules)
    notes += _dependence(views)
    names = results.players
    stretches = envelope((rules.alpha * now.h[0]).tolist(), now.penalty[0].tolist())
    return ScoreReport(
        alpha=rules.alpha,
        beta=rules.beta,
        weights=dict(rules.weights),
        normalise="match" if rules.reference is None else "reference",
        refusals=rules.refusals,
        items=None if results.totals else len(seen.items),
        trials=results.trials,
        level=LEVEL,
        players=[_player(results, rules, now, drawn, seat) for seat in range(len(names))],
        winner=winner,
        tied=tied,
        differences=_differences(names, q, pairs, drawn),
        envelope=[BetaStretch(s.start, s.end, names[s.winner]) for s in stretches],
        weight_envelopes=_weight_envelopes(names, seen, now, rules),
        simplex=_simplex(names, seen, now, rules, options.seed),
        chance_along_beta=_chance(names, drawn, rules),
        pareto=[names[seat] for seat in pareto(now.h[0].tolist(), now.penalty[0].tolist())],
        pareto_by=_fronts(results, rules, now),
        views=views,
        dropped=_dropped(results),
        notes=notes,
    )


def with_known(results: Results, rules: ScoreRules, notes: list[str]) -> ScoreRules:
    """The rules with the resources that everyone has some known value of."""
    weights: dict[str, float] = {}
    for name, weight in rules.weights.items():
        known = ~np.isnan(results.costs[name])
        lacking = [player for player, row in zip(results.players, known, strict=True) if not row.any()]
        if len(lacking) == len(results.players):
            notes.append(f"{name} left out of P: the results do not have it.")
        elif lacking:
            notes.append(f"{name} left out of P: unknown for {_some(lacking)}.")
        elif rules.reference is not None and name not in rules.reference:
            notes.append(f"{name} left out of P: the reference gives no {name}.")
        else:
            weights[name] = weight
            holes = int((results.present & ~known).sum())
            if holes:
                notes.append(f"{name} is unknown for {holes} answer(s); the totals are of the known ones.")
    if not weights:
        notes.append("No resource is counted: P is 0 and Q is alpha times H.")
    return replace(rules, weights=weights)


def nothing_common(results: Results) -> str:
    usable = results.usable
    fewest = min(range(len(results.players)), key=lambda seat: int(usable[seat].sum()))
    return (
        f"the {len(results.players)} players have no item in common that all of them answered "
        f"({results.players[fewest]!r} answered {int(usable[fewest].sum())} of {len(results.items)}): "
        "leave a player out with --without, or use --refusals answered"
    )


def _pairs(q: Floats) -> list[tuple[int, int]]:
    """All pairs, the better first; among many players only the best against each other one."""
    ranked = sorted(range(len(q)), key=lambda seat: (-q[seat], seat))
    return list(combinations(ranked, 2)) if len(q) <= MAX_PAIRED else [(ranked[0], other) for other in ranked[1:]]


def _winner(players: Sequence[str], q: Floats) -> tuple[str | None, list[str]]:
    best = float(np.nanmax(q))
    leaders = [name for name, value in zip(players, q, strict=True) if value > best - TIE]
    return (leaders[0], []) if len(leaders) == 1 else (None, leaders)


def _player(results: Results, rules: ScoreRules, now: Figures, found: Resampled | None, seat: int) -> ScoredPlayer:
    keep = scores(results, rules.refusals)
    totals: dict[str, float | None] = {}
    for name in RESOURCES:
        own = results.costs[name][seat, keep]
        totals[name] = None if np.isnan(own).all() else _whole(float(np.nansum(own)))
    h = results.h[seat, keep]
    faithful = int((h[~np.isnan(h)] >= FAITHFUL).sum())
    dollars = totals["dollars"]
    low = None if found is None or found.low is None else float(found.low[seat])
    high = None if found is None or found.high is None else float(found.high[seat])
    each = None if dollars is None or not faithful or results.totals else dollars / faithful
    return ScoredPlayer(
        name=results.players[seat],
        h=_number(now.h[0, seat]),
        answer_rate=_number(results.answered[seat][results.present[seat]].mean()),
        costs=totals,
        penalty=_number(now.penalty[0, seat]),
        q=_number(now.q[0, seat]),
        q_low=low,
        q_high=high,
        p_win=None if found is None else _number(found.p_win[seat]),
        dollars_per_faithful=each,
    )


def _differences(
    players: Sequence[str], q: Floats, pairs: list[tuple[int, int]], found: Resampled | None
) -> list[Lead]:
    rows = [(a, b, float(q[a] - q[b]), None, None) for a, b in pairs] if found is None else found.differences
    return [Lead(players[a], players[b], dq, low, high) for a, b, dq, low, high in rows]


def _shares(seen: View, now: Figures, rules: ScoreRules) -> dict[str, Floats]:
    """Each resource's part of P before its weight, by player."""
    found: dict[str, Floats] = {}
    for name, cost in now.costs.items():
        largest = float(cost.max()) if rules.reference is None else rules.reference[name] / len(seen.items)
        found[name] = cost[0] / largest if largest > 0 else np.zeros_like(cost[0])
    return found


def _weight_envelopes(
    players: Sequence[str], seen: View, now: Figures, rules: ScoreRules
) -> dict[str, list[WeightStretch]]:
    """Who wins as the weight of one resource goes from 0 upwards, the others as they are."""
    shares = _shares(seen, now, rules)
    out: dict[str, list[WeightStretch]] = {}
    for name, share in shares.items():
        height = now.q[0] + rules.beta * rules.weights[name] * share
        found = envelope(height.tolist(), (rules.beta * share).tolist())
        out[name] = [WeightStretch(s.start, s.end, players[s.winner]) for s in found]
    return out


def _simplex(
    players: Sequence[str], seen: View, now: Figures, rules: ScoreRules, seed: int
) -> dict[str, float] | None:
    shares = _shares(seen, now, rules)
    if len(shares) < 2:
        return None
    matrix = np.stack(list(shares.values()), axis=1)
    won = simplex_shares(now.h[0], matrix, rules.alpha, rules.beta, SIMPLEX_DRAWS, seed)
    return {name: float(share) for name, share in zip(players, won, strict=True) if share > 0}


def _chance(players: Sequence[str], found: Resampled | None, rules: ScoreRules) -> list[Chances] | None:
    """The probability of each winner along beta, those with a chance of 1% somewhere."""
    if found is None:
        return None
    along = chance_along(found.h, found.penalty, rules.alpha, BETAS)
    shown = [seat for seat in range(len(players)) if along[:, seat].max() >= 0.01]
    return [
        Chances(beta=beta, p={players[seat]: float(row[seat]) for seat in shown})
        for beta, row in zip(BETAS, along, strict=True)
    ]


def _fronts(results: Results, rules: ScoreRules, now: Figures) -> dict[str, list[str]]:
    """The accuracy-cost Pareto front of each resource that all players have."""
    keep = scores(results, rules.refusals)
    fronts: dict[str, list[str]] = {}
    for name in RESOURCES:
        own = results.costs[name][:, keep]
        if not np.isnan(own).all(axis=1).any():
            cost = np.nanmean(own, axis=1) if np.isnan(own).any() else own.mean(axis=1)
            fronts[name] = [results.players[seat] for seat in pareto(now.h[0].tolist(), cost.tolist())]
    return fronts


def _views(results: Results, rules: ScoreRules) -> list[Ranking]:
    """The ranking under each rule for refusals and each normaliser."""
    counted = tuple(rules.weights)
    views: list[Ranking] = []
    whole = bool(results.usable.all() and results.present.all())
    seen = view(results, REFUSALS[0], counted)
    for refusals in REFUSALS:
        seen = seen if whole else view(results, refusals, counted)  # where all answered all, they are the same
        normalisers: dict[Literal["match", "median", "reference"], Mapping[str, float] | None] = {
            "match": None,
            "median": _median(seen),
        }
        if rules.reference is not None:
            normalisers["reference"] = rules.reference
        for name, reference in normalisers.items():
            ranking: list[str] | None = None
            if seen.items:
                q = figures(seen, replace(rules, reference=reference)).q[0]
                order = sorted(range(len(q)), key=lambda seat: (math.inf if np.isnan(q[seat]) else -q[seat], seat))
                ranking = [results.players[seat] for seat in order]
            views.append(Ranking(refusals=refusals, normalise=name, items=len(seen.items), ranking=ranking))
    return views


def _median(seen: View) -> dict[str, float]:
    """The middle player's totals, as a normaliser that no single spendthrift sets."""
    out: dict[str, float] = {}
    for name, values in seen.costs.items():
        total = float(np.median((values * seen.cost_counts).sum(axis=1))) if seen.items else 0.0
        out[name] = total if total > 0 else 1.0
    return out


def _dependence(views: Sequence[Ranking]) -> list[str]:
    """Plain sentences when the leader depends on a choice."""
    notes: list[str] = []
    leaders = {v.refusals: v.ranking[0] for v in views if v.normalise == "match" and v.ranking}
    if len(set(leaders.values())) > 1:
        for name in dict.fromkeys(leaders.values()):
            where = [SAYING[rule] for rule, leader in leaders.items() if leader == name]
            notes.append(f"{name} leads only {' or '.join(where)}.")
    by_normaliser: dict[str, set[str]] = {}
    for v in views:
        if v.ranking:
            by_normaliser.setdefault(v.refusals, set()).add(v.ranking[0])
    for rule, names in by_normaliser.items():
        if len(names) > 1:
            notes.append(f"Under {rule} the leader depends on the normaliser: {' or '.join(sorted(names))}.")
    return notes


def _dropped(results: Results) -> Dropped:
    """How many items are lost to the intersection, and who would give how many back by leaving."""
    if results.totals:
        return Dropped(items=0, by={})
    usable = results.usable
    lost = int((~usable.all(axis=0)).sum())
    alone = {
        name: int((~usable[seat] & np.delete(usable, seat, axis=0).all(axis=0)).sum())
        for seat, name in enumerate(results.players)
    }
    missing = {name: int((~usable[seat]).sum()) for seat, name in enumerate(results.players)}
    by = {
        n: Missing(missing=missing[n], alone=alone[n])
        for n in sorted(missing, key=lambda n: -missing[n])
        if missing[n]
    }
    return Dropped(items=lost, by=by)


def _doubts(results: Results, seen: View, rules: ScoreRules, found: Resampled | None) -> list[str]:
    notes: list[str] = []
    if results.totals:
        notes.append("These are totals: without items there are no intervals and no chances of winning.")
    elif found is not None and found.low is None:
        notes.append(f"{len(seen.items)} items are too few for an interval.")
    elif len(seen.items) < 30:
        notes.append(f"Only {len(seen.items)} items: the intervals are wide, and rightly so.")
    if found is not None:
        notes += bundles.told(len(seen.items))
    if results.trials > 1:
        notes.append(f"Up to {results.trials} trials of an item are averaged first: items are the unit.")
    if len(results.players) == 1 and rules.reference is None:
        notes.append("One player alone is its own normaliser: its penalty is always the full sum of the weights.")
    lost = _dropped(results)
    if rules.refusals == "intersection" and lost.items:
        worst = [f"{name} ({row.missing})" for name, row in lost.by.items()]
        notes.append(
            f"{lost.items} of {len(results.items)} items are left out because not everyone answered them; "
            f"unanswered most by {_some(worst)}."
        )
    if rules.refusals != "intersection" and not results.present.all():
        notes.append("Some players were not asked every item: means and costs are over the items each was asked.")
    return notes


def _some(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value
