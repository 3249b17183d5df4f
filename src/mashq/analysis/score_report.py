"""The full report on a score: what `mashq score` prints, and the result part of every other command."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

import numpy as np

from mashq.analysis import bundles
from mashq.analysis.flips import chance_along, envelope, pareto, simplex_shares
from mashq.analysis.intervals import FEWEST, LEVEL, MANY_PLAYERS, RESAMPLES, Resampled, compared, resample
from mashq.analysis.parts import BetaStretch, Lead, WeightStretch, shared
from mashq.analysis.score_types import Chances, Dropped, Missing, Ranking, ScoredPlayer, ScoreReport, chance_said
from mashq.analysis.substance import beaten, floors_under, headline_more, other_height
from mashq.protocol.resources import RESOURCES, TABLE
from mashq.protocol.results import ABSENT, Floats, Results
from mashq.protocol.score import (
    REFUSALS,
    TIE,
    Figures,
    PlayerScore,
    Refusals,
    Score,
    ScoreRules,
    View,
    by_item,
    figures,
    score,
    scored_units,
    share,
    some,
    under,
    view,
)

FAITHFUL = 0.5
HEAVY, FAIR = 0.1, 3.0  # an item's share of a total that is worth a note, and its minimum multiple of the fair share
SIMPLEX_DRAWS = 20_000
BETAS = tuple(round(0.01 * step, 2) for step in range(51))
SAYING = {
    "intersection": "if refusals are left out for all",
    "penalised": "if refusals score 0",
    "answered": "if everyone is averaged over its own answers",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge: the score rules, the number of resamples and their seed, and whether the run is finished."""

    rules: ScoreRules
    resamples: int = RESAMPLES
    seed: int = 0
    finished: bool = True


def judge(results: Results, options: Options, notes: Sequence[str] = ()) -> ScoreReport:
    """Score some results. If nothing can be scored, Q is null and a note explains why."""
    results = under(results, options.rules)
    result = score(results, options.rules)
    rules = result.rules
    item_view = view(results, rules.refusals, tuple(rules.weights))
    estimate = figures(item_view, rules)
    names = results.players
    pairs = compared(estimate.q[0])
    resampled = (
        None
        if results.totals or not item_view.items
        else resample(item_view, rules, pairs, options.resamples, options.seed)
    )
    leads = _leads(names, estimate.q[0], pairs, resampled)
    clear = options.finished and _clear(result, leads)
    floors = floors_under(results, rules)
    views = [*_views(results, rules), *_other_view(results, rules)]
    messages = [
        *notes,
        *result.notes,
        *_caveats(results, item_view, rules, resampled),
        *_heavy(item_view, names, rules),
    ]
    messages += beaten(floors, result.players, rules)
    known = [seat for seat, row in enumerate(result.players) if row.q is not None]
    heights, slopes = (rules.alpha * estimate.h[0, known]).tolist(), estimate.penalty[0, known].tolist()
    rivals = len(known) > 1
    stretches = envelope(heights, slopes) if rivals else ()
    return ScoreReport(
        alpha=rules.alpha,
        beta=rules.beta,
        weights=dict(rules.weights),
        normalise=normaliser(rules),
        refusals=rules.refusals,
        h=rules.h,
        items=None if results.totals else result.items,
        units=None if results.totals else result.units,
        trials=results.trials,
        level=LEVEL,
        players=_players(results, result, resampled, rivals=rivals),
        floors=floors,
        winner=result.winner if options.finished else None,
        tied=list(result.tied) if options.finished else [],
        clear=clear,
        best_set=_best_set(result, leads),
        headline=_headline(result, leads, resampled, options, results),
        differences=leads,
        envelope=[
            BetaStretch(s.start, s.end, *shared([names[known[index]] for index in s.winners])) for s in stretches
        ],
        weight_envelopes=_weight_envelopes(names, item_view, estimate, rules) if rivals else {},
        simplex=_simplex(names, item_view, estimate, rules, options.seed) if rivals else None,
        chance_along_beta=_chance(names, resampled, rules) if rivals else None,
        pareto=[
            names[known[index]]
            for index in pareto(estimate.h[0, known].tolist(), estimate.penalty[0, known].tolist())
        ],
        pareto_by=_fronts(results, rules, estimate, known),
        views=views,
        dropped=_dropped(results),
        notes=[*messages, *_dependence(views, rules)],
    )


def normaliser(rules: ScoreRules) -> Literal["match", "reference", "per_item"]:
    """What costs are relative to."""
    return "match" if rules.reference is None else "per_item" if rules.per_item else "reference"


def _leads(names: Sequence[str], q: Floats, pairs: list[tuple[int, int]], resampled: Resampled | None) -> list[Lead]:
    if resampled is None:
        return [Lead(names[a], names[b], float(q[a] - q[b]), None, None) for a, b in pairs]
    return [
        Lead(names[s.a], names[s.b], s.value, s.low, s.high, s.all_low, s.all_high) for s in resampled.differences
    ]


def _clear(result: Score, leads: Sequence[Lead]) -> bool:
    winner_leads = [lead for lead in leads if lead.a == result.winner]
    return bool(winner_leads) and all(lead.all_low is not None and lead.all_low > 0 for lead in winner_leads)


def _best_set(result: Score, leads: Sequence[Lead]) -> list[str]:
    """The leader, and everyone not clearly behind it."""
    if not leads or leads[0].all_low is None:
        return []
    leader = leads[0].a
    close = {lead.b for lead in leads if lead.a == leader and lead.all_low is not None and lead.all_low <= 0}
    return [row.name for row in result.players if row.name == leader or row.name in close]


def _headline(
    result: Score, leads: Sequence[Lead], resampled: Resampled | None, options: Options, results: Results
) -> str:
    """Who leads, how certain that is, and how much its answers carry."""
    text = _lead_sentence(result, leads, resampled, options, results)
    if not leads or result.tied:
        return text
    questions = results.content is not None and not results.content.floors
    return text + headline_more(result, leads[0].a, leads[0].b, questions=questions)


def _lead_sentence(
    result: Score, leads: Sequence[Lead], resampled: Resampled | None, options: Options, results: Results
) -> str:
    """Who leads, and how certain that is."""
    ranked = sorted(((row.q, row) for row in result.players if row.q is not None), key=lambda pair: -pair[0])
    prefix = "" if options.finished else "Not finished, so nobody has won yet. "
    if not ranked:
        return f"{prefix}No winner: Q is undefined."
    best, leader_row = ranked[0]
    if len(ranked) == 1:
        how = "played alone" if len(result.players) == 1 else "is the only one with a score"
        return f"{prefix}{leader_row.name} {how}: Q {_minus(best)}."
    if result.tied:
        return f"{prefix}A tie: {_joined(result.tied)} have the same Q, {_minus(best)}."
    lead = leads[0]
    if lead.low is None or resampled is None or resampled.p_win is None:
        reason = "totals have no confidence interval" if results.totals else _too_few(result.items)
        return f"{prefix}{lead.a} leads {lead.b} by {lead.dq:.4f} in Q; {reason}."
    ends = f"95% CI {_minus(lead.all_low or 0.0)} to {_minus(lead.all_high or 0.0)}"
    chance = f"P(win) {chance_said(float(resampled.p_win[results.players.index(lead.a)]))}"
    if _clear(result, leads) and options.finished:
        return f"Winner: {lead.a}, ahead of {lead.b} by {lead.dq:.4f} in Q ({ends}; {chance})."
    if not options.finished:
        return f"{prefix}So far {lead.a} leads {lead.b} by {lead.dq:.4f} in Q ({ends})."
    close = [
        other_lead.b
        for other_lead in leads
        if other_lead.a == lead.a and other_lead.all_low is not None and other_lead.all_low <= 0
    ]
    other = "" if close[:1] == [lead.b] else f"; it cannot be told apart from {some(close, 3)}"
    return f"No clear winner: {lead.a} leads {lead.b} by {lead.dq:.4f} in Q ({ends}; {chance}){other}."


def _too_few(items: int) -> str:
    return f"{items} {'item is' if items == 1 else 'items are'} too few for a confidence interval (it takes {FEWEST})"


def _joined(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) <= 5 else some(names)


def _minus(value: float) -> str:
    """Format a number with a true minus sign, and none before zero."""
    text = f"{value:.4f}"
    return text.replace("-", "−") if float(text) else f"{0.0:.4f}"


def _players(results: Results, result: Score, resampled: Resampled | None, *, rivals: bool) -> list[ScoredPlayer]:
    faithful = faithful_answers(results, result.rules.refusals)
    asked = np.asarray(results.present.any(axis=1))
    chances = None if resampled is None or not rivals else resampled.p_win
    return [
        _player(
            row,
            resampled,
            seat,
            None if results.totals else float(faithful[seat]),
            asked=bool(asked[seat]),
            chance=None if chances is None else _number(chances[seat]),
        )
        for seat, row in enumerate(result.players)
    ]


def _player(
    row: PlayerScore,
    resampled: Resampled | None,
    seat: int,
    faithful: float | None,
    *,
    asked: bool,
    chance: float | None,
) -> ScoredPlayer:
    dollars = row.costs["dollars"]
    low = None if resampled is None or resampled.low is None else _number(resampled.low[seat])
    high = None if resampled is None or resampled.high is None else _number(resampled.high[seat])
    return ScoredPlayer(
        name=row.name,
        h=row.h,
        h_before_review=row.h_before_review,
        answer_rate=row.answer_rate if asked else None,
        costs=row.costs,
        charged=row.charged,
        unknown_attempts=row.unknown_attempts,
        penalty=_finite(row.penalty),
        q=_finite(row.q),
        q_min=_finite(row.q_min),
        q_max=_finite(row.q_max),
        q_low=low,
        q_high=high,
        p_win=chance,
        dollars_per_faithful=None if dollars is None or not faithful else dollars / faithful,
        words=row.words,
        coverage=row.coverage,
        copied=row.copied,
    )


def faithful_answers(results: Results, refusals: Refusals) -> Floats:
    """How many of the scored items each player answered with an H, as the results have it, of FAITHFUL or more;
    trials of an item count by their mean."""
    good = (results.answered & (np.nan_to_num(results.h) >= FAITHFUL)).astype(np.float64)
    return np.nansum(by_item(results, good, scored_units(results, refusals)[1])[0], axis=1)


def _shares(item_view: View, estimate: Figures, rules: ScoreRules) -> dict[str, Floats]:
    """Each resource's contribution to P before weighting, by player."""
    return {
        name: share(cost[0], rules.each(name, max(len(item_view.items), 1))) for name, cost in estimate.costs.items()
    }


def _weight_envelopes(
    players: Sequence[str], item_view: View, estimate: Figures, rules: ScoreRules
) -> dict[str, list[WeightStretch]]:
    """Who wins as the weight of one resource increases from 0, with the others unchanged."""
    envelopes: dict[str, list[WeightStretch]] = {}
    known = np.flatnonzero(~np.isnan(estimate.q[0]))
    for name, shares in _shares(item_view, estimate, rules).items() if len(known) else ():
        height = estimate.q[0] + rules.beta * rules.weights[name] * shares
        stretches = envelope(height[known].tolist(), (rules.beta * shares)[known].tolist())
        envelopes[name] = [
            WeightStretch(s.start, s.end, *shared([players[int(known[index])] for index in s.winners]))
            for s in stretches
        ]
    return envelopes


def _simplex(
    players: Sequence[str], item_view: View, estimate: Figures, rules: ScoreRules, seed: int
) -> dict[str, float] | None:
    shares = _shares(item_view, estimate, rules)
    known = np.flatnonzero(~np.isnan(estimate.q[0]))
    if len(shares) < 2 or not len(known):
        return None
    matrix = np.stack(list(shares.values()), axis=1)[known]
    won = simplex_shares(estimate.h[0][known], matrix, rules.alpha, rules.beta, SIMPLEX_DRAWS, seed)
    return {
        players[seat]: float(won_share) for seat, won_share in zip(known.tolist(), won, strict=True) if won_share > 0
    }


def _chance(players: Sequence[str], resampled: Resampled | None, rules: ScoreRules) -> list[Chances] | None:
    """The probability of each winner along beta, for players that reach 1% somewhere; at the beta of the rules it is
    the probability of winning."""
    if resampled is None or resampled.p_win is None:
        return None
    betas = sorted({*BETAS, rules.beta}) if rules.beta <= BETAS[-1] else BETAS
    chances = chance_along(resampled.h, resampled.penalty, rules.alpha, betas)
    shown = [seat for seat in range(len(players)) if chances[:, seat].max() >= 0.01]
    return [
        Chances(beta=beta, p={players[seat]: float(row[seat]) for seat in shown})
        for beta, row in zip(betas, chances, strict=True)
    ]


def _fronts(results: Results, rules: ScoreRules, estimate: Figures, known: Sequence[int]) -> dict[str, list[str]]:
    """The accuracy-cost Pareto front for each resource that is known for all players."""
    cells = scored_units(results, rules.refusals)[1]
    fronts: dict[str, list[str]] = {}
    for name in RESOURCES:
        value = results.costs[name].value
        if known and not (np.isnan(value) & cells)[known].any():
            cost = np.nanmean(by_item(results, value, cells)[0][known], axis=1)
            front = pareto(estimate.h[0, known].tolist(), cost.tolist())
            fronts[name] = [results.players[known[index]] for index in front]
    return fronts


def _views(results: Results, rules: ScoreRules) -> list[Ranking]:
    """The ranking under each rule for refusals and each normaliser."""
    counted = tuple(rules.weights)
    views: list[Ranking] = []
    complete = not (results.broken | ~results.present).any()
    item_view = view(results, REFUSALS[0], counted)
    for refusals in REFUSALS:
        item_view = (
            item_view if complete else view(results, refusals, counted)
        )  # identical if everyone answered everything
        normalisers: dict[Literal["match", "median", "reference", "per_item"], ScoreRules] = {
            "match": replace(rules, reference=None),
            "median": replace(rules, reference=_median(item_view), per_item=True),
        }
        if rules.reference is not None:
            normalisers[normaliser(rules)] = rules
        for name, variant in normalisers.items():
            q = figures(item_view, variant).q[0] if item_view.items else np.array([np.nan])
            ranking, tied = (None, None) if np.isnan(q).all() else _ranked(results.players, q)
            views.append(
                Ranking(
                    refusals=refusals,
                    normalise=name,
                    h=rules.h,
                    items=len(item_view.items),
                    ranking=ranking,
                    tied=tied,
                )
            )
    return views


def _ranked(players: Sequence[str], q: Floats) -> tuple[list[str], list[list[str]] | None]:
    """The players, best first and those without a score last, and the groups that share a place."""
    order = sorted(range(len(q)), key=lambda seat: (math.inf if np.isnan(q[seat]) else -q[seat], seat))
    places: list[list[int]] = []
    for seat in order:
        if places and abs(q[places[-1][0]] - q[seat]) < TIE:
            places[-1].append(seat)
        else:
            places.append([seat])
    tied = [[players[seat] for seat in place] for place in places if len(place) > 1]
    return [players[seat] for seat in order], tied or None


def _other_view(results: Results, rules: ScoreRules) -> list[Ranking]:
    """The ranking with the other meaning of H, under the given rules."""
    other = other_height(results, rules)
    if other is None or not other.items:
        return []
    q = np.array([np.nan if row.q is None else row.q for row in other.players])
    ranking, tied = _ranked([row.name for row in other.players], q)
    return [
        Ranking(
            refusals=rules.refusals,
            normalise=normaliser(rules),
            h=other.rules.h,
            items=other.items,
            ranking=ranking,
            tied=tied,
        )
    ]


def _median(item_view: View) -> dict[str, float]:
    """The median player's mean costs, a normaliser that no single expensive player determines."""
    medians: dict[str, float] = {}
    for name, values in item_view.costs.items():
        counts = np.maximum(item_view.cost_counts.sum(axis=1), 1)
        means: list[float] = ((values * item_view.cost_counts).sum(axis=1) / counts).tolist()
        middle = median(means) if item_view.items else 0.0
        medians[name] = middle if middle > 0 else 1.0
    return medians


def _dependence(every: Sequence[Ranking], rules: ScoreRules) -> list[str]:
    """Notes if the leader depends on a choice of rules."""
    notes: list[str] = []
    views = [v for v in every if v.h == rules.h]
    current = next((v for v in views if (v.refusals, v.normalise) == (rules.refusals, normaliser(rules))), None)
    other = next((v for v in every if v.h != rules.h), None)
    first, second = (v.leaders if v is not None else () for v in (current, other))
    if other is not None and first and second and first != second:
        names_a, names_b = _joined(first), _joined(second)
        notes.append(
            f"The leader depends on what H means: {names_a} if it is {rules.h}, {names_b} if it is {other.h}."
        )
    leaders = {v.refusals: v.leaders for v in views if v.normalise == "match" and v.leaders}
    if len(set(leaders.values())) > 1:
        for names in dict.fromkeys(leaders.values()):
            conditions = [SAYING[rule] for rule, rule_leaders in leaders.items() if rule_leaders == names]
            verb = "leads" if len(names) == 1 else "tie"
            notes.append(f"{_joined(names)} {verb} only {' or '.join(conditions)}.")
    by_normaliser: dict[str, set[str]] = {}
    for v in views:
        if v.leaders:
            by_normaliser.setdefault(v.refusals, set()).add(_joined(v.leaders))
    for rule, leader_names in by_normaliser.items():
        if len(leader_names) > 1:
            notes.append(f"Under {rule} the leader depends on the normaliser: {' or '.join(sorted(leader_names))}.")
    return notes


def _dropped(results: Results) -> Dropped:
    """How much the intersection rule drops, and how much each player alone causes."""
    if results.totals:
        return Dropped(items=0, units=0, by={})
    lost = results.broken | (results.status == ABSENT)
    by: dict[str, Missing] = {}
    for seat, name in enumerate(results.players):
        alone = int((lost[seat] & ~np.delete(lost, seat, axis=0).any(axis=0)).sum())
        by[name] = Missing(missing=int(lost[seat].sum()), alone=alone)
    ordered = sorted((name for name in by if by[name].missing), key=lambda name: -by[name].missing)
    dropped = lost.any(axis=0)
    remaining = len(set(results.item_of[~dropped].tolist()))
    return Dropped(
        items=len(results.items) - remaining, units=int(dropped.sum()), by={name: by[name] for name in ordered}
    )


def _caveats(results: Results, item_view: View, rules: ScoreRules, resampled: Resampled | None) -> list[str]:
    notes: list[str] = []
    count = len(item_view.items)
    if results.totals:
        notes.append("These are totals: without items there are no intervals and no chances of winning.")
    elif resampled is not None and resampled.low is None:
        notes.append(f"{_too_few(count).capitalize()}.")
    elif resampled is not None and count < 30:
        notes.append(f"Only {count} items: the intervals are wide; more items would narrow them.")
    if resampled is not None:
        notes += bundles.told(count)
        notes += _likelier(results.players, rules, item_view, resampled)
    if results.trials > 1 and item_view.items:
        notes.append(f"Up to {results.trials} trials of an item are averaged first: the intervals are over items.")
    if resampled is not None and resampled.low is not None and len(results.players) > MANY_PLAYERS:
        notes.append(
            f"The best of {len(results.players)} players is partly the luckiest: the intervals of differences to the "
            "leader hold for all players together, and the leader's own interval is widened for having been picked."
        )
    dropped = _dropped(results)
    if rules.refusals == "intersection" and dropped.units and item_view.items:
        who = [f"{name} ({row.missing})" for name, row in dropped.by.items()]
        what = "items" if results.trials == 1 else "items (each trial counted)"
        how = [("refused or failed", results.broken), ("was not asked", results.status == ABSENT)]
        why = " or ".join(phrase for phrase, cells in how if cells.any())
        notes.append(
            f"{dropped.units} of {len(results.item_of)} {what} are left out for all because a player {why} them: "
            f"{some(who)}."
        )
        if (results.present & ~results.answered & ~results.broken).any():
            notes.append("What a player did not get to, as when its budget ends, is not left out: it scores 0.")
    if rules.refusals != "intersection" and (results.status == ABSENT).any():
        notes.append("Some players were not asked every item: means and costs are over the items each was asked.")
    return notes


def _likelier(players: Sequence[str], rules: ScoreRules, item_view: View, resampled: Resampled) -> list[str]:
    """A note if another player wins more resamples than the leader because its Q varies more."""
    q, chances = figures(item_view, rules).q[0], resampled.p_win
    if chances is None or np.isnan(q).all():
        return []
    leader, likely = int(np.nanargmax(q)), int(np.argmax(chances))
    if chances[likely] < chances[leader] + TIE or q[likely] > q[leader] - TIE:
        return []
    name, first = players[likely], players[leader]
    return [f"{name} has a larger P(win) than {first}, whose Q is higher: {name}'s Q varies more with the items."]


def _heavy(item_view: View, players: Sequence[str], rules: ScoreRules) -> list[str]:
    """A note on costs dominated by a single item: their intervals have less than the nominal coverage."""
    cases: list[str] = []
    for name, values in item_view.costs.items():
        if not TABLE[name].measures:  # counts are bounded by the rules of the match
            continue
        costs = values * item_view.cost_counts
        total, largest = costs.sum(axis=1), costs.max(axis=1, initial=0.0)
        part = np.divide(largest, total, out=np.zeros_like(total), where=total > 0)
        for seat in np.flatnonzero((part > HEAVY) & (part * item_view.cost_counts.sum(axis=1) > FAIR)).tolist():
            item = item_view.items[int(costs[seat].argmax())]
            cases.append(
                f"{part[seat]:.0%} of {players[seat]}'s {name} ({TABLE[name].shown(largest[seat])}, item {item})"
            )
    if not cases or not rules.beta:
        return []
    return [f"One item makes {some(cases, 3)}: with such a cost the intervals hold less often than 95%."]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite(value: float | None) -> float | None:
    return None if value is None else _number(value)
