"""The mean Q of repeated matches, with intervals over items.

Each repeat has a Q of its own, under its own normaliser, and each item has a part in it, known to first order. An
item's parts are averaged over the repeats, so that items stay the unit, and their mean over items is the mean Q.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from mashq.analysis.bundles import bundled
from mashq.analysis.intervals import draws
from mashq.analysis.paired import Difference, mean
from mashq.analysis.results import Floats, Match, Results, from_match
from mashq.analysis.scoring import figures, influence, scores, view
from mashq.protocol.score import TIE, ScoreRules

RESAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Mean H, P and Q over repeats, each player's interval of Q, the differences of pairs, the chance to win."""

    players: tuple[str, ...]
    items: int
    h: Floats
    penalty: Floats
    q: tuple[Difference, ...]
    differences: tuple[tuple[int, int, Difference], ...]
    p_win: Floats


def repeats(matches: Iterable[Match], rules: ScoreRules, seed: int = 0) -> Repeats | None:
    """From the results of each repeat, one at a time; None when none has a score."""
    total, count, players = None, 0, ()
    h, penalty = np.zeros(0), np.zeros(0)
    for results in matches:
        found = _parts(from_match(results), rules)
        if found is None:
            continue
        parts, own_h, own_penalty = found
        players = tuple(player.name for player in results)
        total = parts if total is None else total + parts
        h, penalty = (own_h, own_penalty) if not count else (h + own_h, penalty + own_penalty)
        count += 1
    if total is None:
        return None
    part = total / count
    middle = part.mean(axis=1)
    order = sorted(range(len(players)), key=lambda seat: (-middle[seat], seat))
    return Repeats(
        players,
        part.shape[1],
        h / count,
        penalty / count,
        tuple(mean(row, seed, rules.alpha) for row in part),
        tuple((a, b, mean(part[a] - part[b], seed, rules.alpha)) for a, b in combinations(order, 2)),
        _chances(part, seed),
    )


def _parts(results: Results, rules: ScoreRules) -> tuple[Floats, Floats, Floats] | None:
    """Each item's part in Q, players x items; an item that is left out has none of its own."""
    known = {name: w for name, w in rules.weights.items() if not np.isnan(results.costs[name]).all(axis=1).any()}
    own = replace(rules, weights=known)
    seen = view(results, rules.refusals, tuple(known))
    if not seen.items:
        return None
    now = figures(seen, own)
    keep = scores(results, rules.refusals)
    q = now.q[0][:, None]
    parts = np.repeat(q, len(results.items), axis=1)
    parts[:, keep] += (influence(seen, own) - q) * len(results.items) / len(seen.items)
    return parts, now.h[0], now.penalty[0]


def _chances(part: Floats, seed: int) -> Floats:
    """The share of resamples of the items in which each player is best, ties shared."""
    wins, part = np.zeros(len(part)), bundled(part, seed)
    for drawn in draws(part.shape[1], RESAMPLES, seed):
        q = drawn @ part.T / part.shape[1]
        best = q >= q.max(axis=1, keepdims=True) - TIE
        wins += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    return wins / RESAMPLES
