"""H, P and Q: the score of a match, or of the trials of one.

    H = mean of the judge's score over the scored items (an unanswered item is 0)
    P = sum over the counted resources of weight * own total / largest total in the match (or a reference)
    Q = alpha * H - beta * P

H is the judge's score as it is (`faithful`), or multiplied by how much of what matters an answer contains
(`adequate`: see `content`).

The unit is an item in a trial. The rule for refusals decides which units count; an item is the mean of its counted
units, so an item with many trials weighs no more than another; H is the mean over items, and a total is the sum over
items. An unfinished match is scored over what each player has played. Attempts with unknown costs are charged an
estimate (`results.Cost`); `q_min` and `q_max` set those attempts to their worst case and to zero, in the way that
hurts or helps a player most.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, permutations
from numbers import Real
from typing import Literal, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from mashq.errors import ConfigError
from mashq.protocol.content import LONGEST
from mashq.protocol.resources import COUNTED, TABLE
from mashq.protocol.results import ABSENT, COST_NAMES, OK, Floats, Match, Results, from_match
from mashq.protocol.state import MatchState

Refusals = Literal["intersection", "penalised", "answered"]
Height = Literal["faithful", "adequate"]
Bounds = Literal["value", "low", "high"]
HEIGHTS: tuple[Height, ...] = ("faithful", "adequate")
REFUSALS: tuple[Refusals, ...] = ("intersection", "penalised", "answered")
CARRIED = ("words", "coverage", "copied")
TIE = 1e-9
LARGEST = sys.float_info.max
CRUMBS = 1e-12  # relative rounding error tolerated in a sum


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """How a match is scored. A `reference` replaces the largest totals of the match: totals, or costs `per_item`.

    `h` selects what H means; for an adequate H, `target` is the coverage that is sufficient (None: that of the first
    three sentences of the item) and `longest` the share of its source's length that an answer may have.
    """

    alpha: float = 1.0
    beta: float = 0.1
    weights: Mapping[str, float] = field(default_factory=lambda: {name: TABLE[name].weight for name in COUNTED})
    reference: Mapping[str, float] | None = None
    refusals: Refusals = "intersection"
    per_item: bool = False
    h: Height = "faithful"
    target: float | None = None
    longest: float = LONGEST

    def __post_init__(self) -> None:
        for name, value, known in (("refusals", self.refusals, REFUSALS), ("h", self.h, HEIGHTS)):
            if value not in known:
                raise ConfigError(f"{name} is {value!r}, must be one of {', '.join(known)}")
        positive("alpha", self.alpha)
        for name, number in (("beta", self.beta), *self.weights.items(), *(self.reference or {}).items()):
            if number != 0:  # 0 is allowed: a reference may be 0 if nobody spent any
                positive(name, number)

    @property
    def named(self) -> tuple[str, ...]:
        """The resources with a non-zero weight."""
        return tuple(name for name, weight in self.weights.items() if weight != 0)

    def each(self, name: str, items: float) -> float | None:
        """What a resource is relative to, per item out of `items`; None: the largest in the match."""
        if self.reference is None:
            return None
        return self.reference[name] if self.per_item else self.reference[name] / items


def positive(name: str, value: object) -> float:
    """The value as a positive float; raises ConfigError for anything else."""
    number = cast(float, value) if not isinstance(value, bool) and isinstance(value, Real) else math.nan
    if not 0 < number <= LARGEST:
        raise ConfigError(f"the value of {name} is {value!r}, must be a positive number")
    return float(number)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is scored under a rule for refusals: values and counts, players x items (only the items that count)."""

    items: tuple[str, ...]
    h: Floats
    h_counts: Floats
    costs: Mapping[str, Floats]
    cost_counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """H, P and Q, resamples x players (one row for the results themselves), and the mean costs that P is computed
    from."""

    h: Floats
    penalty: Floats
    q: Floats
    costs: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class PlayerScore:
    """One row of the result. None means unknown or undefined, never zero.

    `costs` are totals by name; `charged` is how much of a total was charged for attempts of unknown cost. `words`,
    `coverage` and `copied` are means over the scored answers.
    """

    name: str
    h: float | None
    h_before_review: float | None
    answer_rate: float
    costs: Mapping[str, float | None]
    charged: Mapping[str, float]
    unknown_attempts: float
    penalty: float | None
    q: float | None
    q_min: float | None
    q_max: float | None
    words: float | None
    coverage: float | None
    copied: float | None


@dataclass(frozen=True, slots=True)
class DroppedUnit:
    """An item (in a trial, if there are several) that some players refused, failed, were cut off in or lack."""

    item: str
    trial: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """The result. `rules` has the resources that count; `dropped` lists each omitted unit with the players
    responsible."""

    rules: ScoreRules
    players: tuple[PlayerScore, ...]
    items: int
    units: int
    winner: str | None
    tied: tuple[str, ...]
    dropped: tuple[DroppedUnit, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A player's score while the match is in progress: over the items it has handled so far."""

    h: float | None
    penalty: float
    q: float | None


def standings(state: MatchState, rules: ScoreRules) -> tuple[Standing, ...]:
    """The players' scores so far from the judge and the known costs, cheap enough to compute after every move."""
    means = [player.average_judge_h for player in state.players]
    h = np.array([np.nan if mean is None else mean for mean in means])
    totals = {
        name: np.array([float(player.spend.amount(name).total) for player in state.players])
        for name in counted_so_far(rules)
    }
    handled = np.array([player.position for player in state.players], dtype=np.float64)
    penalty, q = scores_so_far(rules, h, totals, handled)
    return tuple(
        Standing(mean, p, None if mean is None else worth)
        for mean, p, worth in zip(means, penalty.tolist(), q.tolist(), strict=True)
    )


def counted_so_far(rules: ScoreRules) -> tuple[str, ...]:
    """The resources that count in P before it is known which of them are known for everyone."""
    return tuple(name for name in rules.named if rules.reference is None or name in rules.reference)


def scores_so_far(
    rules: ScoreRules, h: Floats, totals: Mapping[str, Floats], handled: Floats
) -> tuple[Floats, Floats]:
    """P and Q of an unfinished match, players on the last axis.

    `h` is the mean over the answers so far (NaN before the first), `totals` are known costs, and `handled` counts the
    items that those were spent on: refused and failed ones cost too. At the end of a match without unknown costs and
    stopped players this is the score with refusals `answered`.
    """
    each = np.maximum(handled, 1.0) if rules.per_item else 1.0
    return reduce(h, {name: totals[name] / each for name in counted_so_far(rules)}, rules)


def share(costs: Floats, reference: float | None = None) -> Floats:
    """A resource's part of P before weighting: own cost over the largest, or over a reference; players on the last
    axis. 0 where nobody used it, and for a player that has played nothing (NaN)."""
    most = np.fmax.reduce(costs, axis=-1, keepdims=True) if reference is None else reference
    largest = np.asarray(most, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.where(costs == largest, 1.0, costs / largest)
    return np.where((costs > 0) & (largest > 0), ratio, 0.0)


def reduce(h: Floats, costs: Mapping[str, Floats], rules: ScoreRules, items: float = 1.0) -> tuple[Floats, Floats]:
    """Compute P and Q from H and the counted costs; this is the only place that does.

    Arrays have the players on their last axis; any axes before it (resamples) are scored side by side. `items` is the
    number of items by which a cost must be multiplied to give a total, if costs are means per item.
    """
    penalty = np.zeros(np.shape(h))
    for name, values in costs.items():
        penalty = penalty + rules.weights[name] * share(values, rules.each(name, items))
    return penalty, rules.alpha * h - rules.beta * penalty if rules.beta else rules.alpha * h


def scored_units(results: Results, refusals: Refusals) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where H counts and where costs count under a rule for refusals, players x units.

    A unit that a player has not reached yet counts only for the others.
    """
    present, broken = results.present, results.broken
    if refusals == "intersection":
        whole = ~(broken | (results.status == ABSENT)).any(axis=0)
        return present & whole, present & whole
    if refusals == "answered":
        return present & ~broken, present
    if refusals == "penalised":
        return present, present
    assert_never(refusals)


def by_item(results: Results, values: Floats, cells: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The mean of each item over its counted units, players x items, NaN where none counts; and the number of counted
    units."""
    if len(results.item_of) == len(results.items):
        counts = cells.astype(np.float64)
        return np.where(cells, values, np.nan), counts
    shape = len(results.players), len(results.items)
    sums, counts = np.zeros(shape), np.zeros(shape)
    filled = np.where(cells, values, 0.0)
    for seat in range(shape[0]):
        sums[seat] = np.bincount(results.item_of, filled[seat], shape[1])
        counts[seat] = np.bincount(results.item_of, cells[seat], shape[1])
    with np.errstate(invalid="ignore"):
        return np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0), counts


def view(results: Results, refusals: Refusals, counted: Sequence[str], costs_at: Bounds = "value") -> View:
    """What is scored under a rule for refusals, with the costs as charged or at one of their bounds."""
    return view_of(results, scored_units(results, refusals), counted, costs_at)


def view_of(
    results: Results,
    cells: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    counted: Sequence[str],
    costs_at: Bounds = "value",
) -> View:
    """The same as `view`, for given masks of where H and costs count."""
    h_cells, cost_cells = cells
    h, h_counts = by_item(results, final_h(results), h_cells)
    costs = {name: by_item(results, getattr(results.costs[name], costs_at), cost_cells)[0] for name in counted}
    cost_counts = by_item(results, np.zeros(results.h.shape), cost_cells)[1]
    keep = np.asarray(((h_counts > 0) | (cost_counts > 0)).any(axis=0))
    items = results.items if keep.all() else tuple(compress(results.items, keep.tolist()))
    return View(
        items,
        np.nan_to_num(h[:, keep]),
        (h_counts[:, keep] > 0).astype(np.float64),
        {name: np.where(np.isnan(values[:, keep]), 0.0, values[:, keep]) for name, values in costs.items()},
        (cost_counts[:, keep] > 0).astype(np.float64),
    )


def under(results: Results, rules: ScoreRules) -> Results:
    """The results with H as defined by the rules; raises ConfigError if that needs texts that are not known."""
    content = results.content
    if content is not None and "h" in content.answers:  # already adequate, possibly with another target
        originals = {name: values for name, values in content.answers.items() if name not in ("h", "h_first")}
        plain = replace(content, answers=originals)
        results = replace(results, h=content.answers["h"], h_first=content.answers["h_first"], content=plain)
        content = plain
    if rules.h == "faithful":
        return results
    if content is None:
        raise ConfigError(
            "an adequate H needs the texts of the answers, and these results have none: score them with "
            "'--h faithful' (score.h)"
        )
    lacking = np.asarray((results.answered & np.isnan(content.answers["coverage"])).any(axis=1))
    if lacking.any():
        raise without_texts(list(compress(results.players, lacking.tolist())))
    final, first = (
        content.adequacy(
            content.answers[f"words{suffix}"], content.answers[f"coverage{suffix}"], rules.target, rules.longest
        )
        for suffix in ("", "_first")
    )
    answers = {**content.answers, "h": results.h, "h_first": results.h_first}
    return replace(
        results, h=results.h * final, h_first=results.h_first * first, content=replace(content, answers=answers)
    )


def without_texts(players: Sequence[str]) -> ConfigError:
    """The error raised when an adequate H is asked for and the texts of these players' answers are not known."""
    return ConfigError(
        f"an adequate H needs the texts of the answers, and those of {some(players)} are not known: score them with "
        "'--h faithful' (score.h)"
    )


def final_h(results: Results) -> Floats:
    """H of every unit as it is scored: 0 where there is no answer."""
    return np.where(results.status == OK, np.nan_to_num(results.h), 0.0)


def figures(seen: View, rules: ScoreRules, weights: Floats | None = None) -> Figures:
    """Score every row of `weights` (resamples x items: how often each was drawn); None scores the results as they
    are."""
    drawn = np.ones((1, len(seen.items))) if weights is None else weights
    h = _mean(drawn, [seen.h], seen.h_counts)[0]
    costs = dict(zip(seen.costs, _mean(drawn, [*seen.costs.values()], seen.cost_counts)))
    penalty, q = reduce(h, costs, rules, max(len(seen.items), 1))
    return Figures(h, penalty, q, costs)


def _mean(drawn: Floats, measures: Sequence[Floats], counts: Floats) -> list[Floats]:
    """The mean of each measure over the counted items, by resample and player; NaN where none was drawn.

    The draws are by far the largest array here, so one pass serves all measures.
    """
    if not measures:
        return []
    whole = bool((counts == 1).all())
    rows = [*(values if whole else values * counts for values in measures), counts[:1] if whole else counts]
    if len(drawn) == 1:  # separately, so that no reported figure depends on which other measures are counted
        sums = [drawn @ row.T for row in rows]
    else:
        ends = np.cumsum([len(row) for row in rows])[:-1]
        sums = np.split(drawn @ np.concatenate(rows).T, ends, axis=1)
    *parts, totals = sums
    return [np.divide(part, totals, out=np.full(part.shape, np.nan), where=totals > 0) for part in parts]


def with_known(results: Results, rules: ScoreRules, notes: list[str]) -> ScoreRules:
    """The rules, restricted to the resources whose cost is known or charged wherever the score needs it."""
    weights: dict[str, float] = {}
    cells, present = scored_units(results, rules.refusals)[1], results.present
    for name in rules.named:
        unknown = np.isnan(results.costs[name].value)
        nowhere = present.any(axis=1) & (unknown | ~present).all(axis=1)
        lacks = np.asarray((unknown & cells).any(axis=1) | nowhere)
        lacking = list(compress(results.players, lacks.tolist()))
        if lacking and len(lacking) == len(results.players):
            notes.append(f"{name} left out of P: the results do not have it.")
        elif lacking:
            notes.append(f"{name} left out of P: unknown for {some(lacking)}.")
        elif rules.reference is not None and name not in rules.reference:
            notes.append(f"{name} left out of P: the reference gives no {name}.")
        else:
            weights[name] = rules.weights[name]
    if not weights:
        notes.append("No resource is counted: P is 0 and Q is alpha times H.")
    return replace(rules, weights=weights)


def score(results: Results | Match, rules: ScoreRules) -> Score:
    """Score a match, or the trials of one."""
    table = under(results if isinstance(results, Results) else from_match(results), rules)
    notes: list[str] = []
    rules = with_known(table, rules, notes)
    counted = tuple(rules.weights)
    seen = view(table, rules.refusals, counted)
    current = figures(seen, rules)
    _check_finite(table, current)
    before = _before_review(table, rules.refusals)
    ends, count = _ends(table, rules), max(len(seen.items), 1)
    bounds = _bounds(ends, rules, current, count)
    cells = scored_units(table, rules.refusals)[1]
    costs, charged = _totals(table, cells)
    carried_means = {name: carried(table, rules.refusals, name) for name in CARRIED}
    rows: list[PlayerScore] = []
    for seat, name in enumerate(table.players):
        usable = bool(seen.h_counts[seat].any())
        asked = int(table.present[seat].sum())
        rows.append(
            PlayerScore(
                name=name,
                h=float(current.h[0, seat]) if usable else None,
                h_before_review=before[seat] if usable else None,
                answer_rate=int(table.answered[seat].sum()) / asked if asked else 0.0,
                costs=costs[seat],
                charged=charged[seat],
                unknown_attempts=_without_residue(float(table.unknown[seat, cells[seat]].sum())),
                penalty=float(current.penalty[0, seat]) if cells[seat].any() else None,
                q=float(current.q[0, seat]) if usable else None,
                q_min=float(bounds[0][seat]) if usable else None,
                q_max=float(bounds[1][seat]) if usable else None,
                **{name: values[seat] for name, values in carried_means.items()},
            )
        )
    units = int(cells.any(axis=0).sum())
    winner, tied = winner_of(rows)
    notes += _warnings(table, rows, rules)
    if ends is not None:
        notes += _unknown_costs(rows, rules, lambda a, b: _best_difference(ends, rules, current.h[0], count, a, b))
    return Score(rules, tuple(rows), len(seen.items), units, winner, tied, dropped_units(table), tuple(notes))


def _check_finite(results: Results, current: Figures) -> None:
    """Raise ConfigError if costs are so far from their reference that P or Q overflows."""
    infinite = np.asarray(np.isinf(current.penalty[0]) | np.isinf(current.q[0]))
    if infinite.any():
        raise ConfigError(
            f"P of {some(list(compress(results.players, infinite.tolist())))} is larger than any number: give a "
            "larger reference, or smaller weights and beta"
        )


def _before_review(results: Results, refusals: Refusals) -> list[float | None]:
    """Each player's mean H of the first answers; None where none is known."""
    first = np.where(results.status == OK, np.nan_to_num(results.h_first), 0.0)
    h, counts = by_item(results, first, scored_units(results, refusals)[0])
    known = np.asarray((~np.isnan(results.h_first)).any(axis=1) | ~results.answered.any(axis=1))
    return [
        float(h[seat][counts[seat] > 0].mean()) if known[seat] and counts[seat].any() else None
        for seat in range(len(results.players))
    ]


def carried(results: Results, refusals: Refusals, name: str) -> list[float | None]:
    """Each player's mean of one of `content.ANSWERS` over its scored answers; None unless it is known for all of
    them."""
    if results.content is None:
        return [None] * len(results.players)
    values, cells = results.content.answers[name], scored_units(results, refusals)[0] & results.answered
    means, counts = by_item(results, np.nan_to_num(values), cells)
    known = np.asarray(cells.any(axis=1) & ~(np.isnan(values) & cells).any(axis=1))
    return [float(means[seat][counts[seat] > 0].mean()) if known[seat] else None for seat in range(len(known))]


def _totals(
    results: Results, cells: NDArray[np.bool_]
) -> tuple[list[dict[str, float | None]], list[dict[str, float]]]:
    """Per player and cost name, the sum over items of the means over trials (None unless all of it is known); and the
    charged part."""
    costs: list[dict[str, float | None]] = [{} for _ in results.players]
    charged: list[dict[str, float]] = [{} for _ in results.players]
    for name in COST_NAMES:
        cost = results.costs[name]
        known = np.asarray(~(np.isnan(cost.value) & cells).any(axis=1) & cells.any(axis=1))
        totals = np.nansum(by_item(results, cost.value, cells)[0], axis=1)
        if not cost.estimated:
            lowest, uncertain = totals, np.zeros(len(totals), dtype=bool)
        else:
            lowest = np.nansum(by_item(results, cost.low, cells)[0], axis=1)
            uncertain = np.asarray(((cost.high != cost.low) & cells).any(axis=1))
        for seat, row in enumerate(costs):
            row[name] = _without_residue(float(totals[seat])) if known[seat] and math.isfinite(totals[seat]) else None
            if row[name] is not None and (uncertain[seat] or totals[seat] != lowest[seat]):
                charged[seat][name] = float(totals[seat] - lowest[seat])
    return costs, charged


def _bounds(ends: "_Ends | None", rules: ScoreRules, current: Figures, items: float) -> tuple[Floats, Floats]:
    """The lowest and the highest Q of each player: its own unknown attempts at worst and the others' at zero, and
    vice versa.
    """
    lowest, highest = current.q[0].copy(), current.q[0].copy()
    if ends is None:
        return lowest, highest
    for seat in range(len(lowest)):
        for out, own, others in ((lowest, ends.high, ends.low), (highest, ends.low, ends.high)):
            costs = {name: values.copy() for name, values in others.items()}
            for name, values in costs.items():
                values[seat] = own[name][seat]
            out[seat] = reduce(current.h[0], costs, rules, items)[1][seat]
    return lowest, highest


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Mean costs by player with the unknown attempts at zero and at their worst case, which may be infinite."""

    low: Mapping[str, Floats]
    high: Mapping[str, Floats]


def _ends(results: Results, rules: ScoreRules) -> _Ends | None:
    """None if every counted cost is known."""
    if not any(results.costs[name].estimated for name in rules.weights):
        return None
    low, high = (view(results, rules.refusals, tuple(rules.weights), bound) for bound in ("low", "high"))
    return _Ends(_means(low), _means(high))


def _best_difference(ends: _Ends, rules: ScoreRules, h: Floats, items: float, a: int, b: int) -> float:
    """The most that a player's Q can exceed another's: its unknown costs at zero, the other's at their worst, and
    everyone else's at the end that helps, which is the same for both since it only moves the normaliser."""
    difference = rules.alpha * float(h[a] - h[b])
    for name, low in ends.low.items():
        gains: list[float] = []
        for others in (low, ends.high[name]):
            costs = others.copy()
            costs[a], costs[b] = low[a], ends.high[name][b]
            shares = share(costs, rules.each(name, items))
            gains.append(float(shares[b] - shares[a]))
        difference += rules.beta * rules.weights[name] * max(gains)
    return difference


def _means(seen: View) -> dict[str, Floats]:
    """Mean costs by player, which may be infinite."""
    counts = np.maximum(seen.cost_counts.sum(axis=1), 1)
    return {
        name: np.where(seen.cost_counts > 0, values, 0.0).sum(axis=1) / counts for name, values in seen.costs.items()
    }


def dropped_units(results: Results) -> tuple[DroppedUnit, ...]:
    """Every unit that some player refused, failed or was cut off in, or was not asked while another was, with those
    players."""
    lost = results.broken | (results.status == ABSENT)
    dropped: list[DroppedUnit] = []
    for unit in np.flatnonzero(lost.any(axis=0)).tolist():
        players = tuple(compress(results.players, lost[:, unit].tolist()))
        dropped.append(DroppedUnit(results.items[int(results.item_of[unit])], results.trial_of[unit], players))
    return tuple(dropped)


def winner_of(rows: Sequence[PlayerScore]) -> tuple[str | None, tuple[str, ...]]:
    """The player with the highest Q, or those tied for it."""
    known = [(row.q, row.name) for row in rows if row.q is not None]
    if not known:
        return None, ()
    best = max(q for q, _ in known)
    leaders = tuple(name for q, name in known if abs(q - best) < TIE)
    return (leaders[0], ()) if len(leaders) == 1 else (None, leaders)


def nothing_common(results: Results) -> str:
    """The reason why no unit is scored."""
    answered = (results.present & ~results.broken).sum(axis=1)
    fewest = int(np.argmin(answered))
    if not results.present.any():
        return "Q is undefined: no item has been played yet."
    if not answered.any():
        return "Q is undefined: nobody answered any item."
    return (
        f"Q is undefined: no item was answered by every player (of {len(results.item_of)}, "
        f"{results.players[fewest]} answered {answered[fewest]}): leave a player out with --without, or use "
        "--refusals answered."
    )


def _warnings(results: Results, rows: Sequence[PlayerScore], rules: ScoreRules) -> list[str]:
    """Notes that a reader must not miss."""
    notes: list[str] = []
    if len(results.items) and all(row.q is None for row in rows):
        notes.append(nothing_common(results))
    if results.unfinished:
        done = [f"{name} {int(played.sum())}" for name, played in zip(results.players, results.present, strict=True)]
        notes.append(
            f"Not finished: each player is scored over what it has played so far (of {len(results.item_of)} items: "
            f"{some(done)})."
        )
    if len(rows) == 1 and rules.reference is None:
        notes.append("One player alone is its own normaliser: every resource that it uses counts in full.")
    if rules.reference is not None and not rules.per_item and dropped_units(results):
        notes.append(
            "The reference is in totals, and items were left out: P is lower than over all items, and not comparable "
            "with a match that scores another number of them. A reference per_item is."
        )
    return notes


def _unknown_costs(
    rows: Sequence[PlayerScore], rules: ScoreRules, most_ahead: Callable[[int, int], float]
) -> list[str]:
    """Notes on the uncertainty left by unknown costs; `most_ahead`: the most by which one seat can lead another."""
    notes: list[str] = []
    estimated = [row for row in rows if any(name in row.charged for name in rules.weights)]
    if not estimated:
        return notes
    spans = [f"{row.name} {row.q_min:.4f} to {row.q_max:.4f}" for row in estimated if row.q is not None]
    charges = [
        f"{row.name} {', '.join(f'{TABLE[n].shown(row.charged[n])}' for n in rules.weights if n in row.charged)}"
        for row in estimated
    ]
    notes.append(
        f"Some costs are unknown and are estimated in the totals ({'; '.join(charges)}), which leaves Q between: "
        f"{', '.join(spans) or 'unknown'}."
    )
    known = [(row.q, seat) for seat, row in enumerate(rows) if row.q is not None]
    if len(known) < 2:
        return notes
    best = max(q for q, _ in known)
    leaders = [seat for q, seat in known if best - q < TIE]
    others = [seat for q, seat in known if best - q >= TIE]
    rivals = [rows[seat].name for seat in others if all(most_ahead(seat, leader) >= 0 for leader in leaders)]
    if rivals:
        notes.append(f"The unknown costs could change the winner: {', '.join(rivals)} could still win.")
    elif any(most_ahead(a, b) >= TIE for a, b in permutations(leaders, 2)):
        notes.append("The unknown costs could break the tie.")
    return notes


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _without_residue(value: float) -> float:
    """A sum without floating-point residue: rounded if it is within rounding error of an integer."""
    near = round(value)
    return near if abs(value - near) <= CRUMBS * abs(near) else value
