"""H, P and Q: what a match was worth.

    H = mean of the judge's score over the scored items (an unanswered item is 0)
    P = sum over the counted resources of weight * own total / largest total in the match (or a reference total)
    Q = alpha * H - beta * P

Totals are the known sums; `q_min` and `q_max` put the attempts whose cost is unknown at their reserved worst case
and at nothing, in the way that hurts or helps a player most.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.resources import COUNTED, FREE, RATED, RESOURCES, TABLE, Amount, Spend, Unknown
from mashq.protocol.state import MatchState

Refusals = Literal["intersection", "penalised", "answered"]
ResultStatus = Literal["ok", "refused", "failed", "unanswered"]
TIE = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """How one player did on one item. `guide` and `guide_first` are the guide's scores where it is not the judge."""

    item: str
    status: ResultStatus
    h: float | None
    h_first: float | None
    spend: Spend
    guide: float | None = None
    guide_first: float | None = None
    length: int = 0


@dataclass(frozen=True, slots=True)
class PlayerResult:
    """A player's items, and what it spent on no item in particular (charged to all evenly)."""

    name: str
    items: tuple[ItemResult, ...]
    shared: Spend = FREE
    threshold: float = 0.0
    max_reviews: int = 0
    stopped: str | None = None

    @property
    def unrated(self) -> frozenset[str]:
        """The rated resources of which nothing is known though there were attempts: unknown for every item."""
        spends = [row.spend for row in self.items]
        if not any(spend.attempts for spend in spends):
            return frozenset()
        return frozenset(name for name in RATED if not any(spend.measured(name).known for spend in spends))


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """How a match is scored. `reference` totals replace the largest of the match when given."""

    alpha: float = 1.0
    beta: float = 0.1
    weights: Mapping[str, float] = field(default_factory=lambda: {name: TABLE[name].weight for name in COUNTED})
    reference: Mapping[str, float] | None = None
    refusals: Refusals = "intersection"


@dataclass(frozen=True, slots=True)
class PlayerScore:
    """One row of the result. None is unknown or undefined, never zero."""

    name: str
    h: float | None
    h_before_review: float | None
    answer_rate: float
    totals: Mapping[str, Amount]
    tokens_in: Amount
    tokens_out: Amount
    unknown_attempts: float
    penalty: float | None
    q: float | None
    q_min: float | None
    q_max: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a match. `dropped` names the players that cost the match each item left out."""

    players: tuple[PlayerScore, ...]
    items: int
    winner: str | None
    tied: tuple[str, ...]
    dropped: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]


def results_of(state: MatchState) -> tuple[PlayerResult, ...]:
    """The per-item results of a match as it stands, by the judge; items not handled yet are unanswered."""
    out: list[PlayerResult] = []
    for player in state.players:
        rows: list[ItemResult | None] = [None] * len(state.items)
        for at, work in zip(player.order, player.items, strict=True):
            status: ResultStatus = "unanswered" if work.status == "pending" else work.status
            apart = work.judged is not None
            first = work.h_first if work.judged_first is None else work.judged_first
            rows[at] = ItemResult(
                state.items[at].id,
                status,
                work.judged if apart else work.h,
                first,
                work.spend,
                work.h if apart else None,
                work.h_first if apart else None,
                len(work.text),
            )
        items = tuple(row for row in rows if row is not None)
        out.append(
            PlayerResult(player.name, items, player.shared, player.threshold, player.max_reviews, player.stopped)
        )
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a player stands while the match goes on: over the items it has handled so far."""

    h: float | None
    penalty: float
    q: float | None


def standings(state: MatchState, rules: ScoreRules) -> tuple[Standing, ...]:
    """The players' scores so far, cheap enough to ask for after every move."""
    totals = [{name: player.spend.amount(name) for name in _named(rules)} for player in state.players]
    counted = tuple(n for n in _named(rules) if rules.reference is None or n in rules.reference)
    h = [player.average_h for player in state.players]
    penalty, q = _scored(h, totals, counted, rules)
    return tuple(
        Standing(own, float(p), None if own is None else float(worth))
        for own, p, worth in zip(h, penalty, q, strict=True)
    )


def share(costs: Floats, reference: float | None = None) -> Floats:
    """A resource's part in P before its weight: own cost over the largest, or over a reference; players on the last
    axis. 0 where nobody used it."""
    largest = costs.max(axis=-1, keepdims=True) if reference is None else np.asarray(reference, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(costs == largest, 1.0, costs / largest)
    return np.where((costs > 0) & (largest > 0), ratio, 0.0)


def reduce(h: Floats, costs: Mapping[str, Floats], rules: ScoreRules, units: float = 1.0) -> tuple[Floats, Floats]:
    """P and Q from H and the counted costs: the one place where they are worked out.

    Arrays have the players on their last axis; any axes before it (resamples) are scored side by side. `units` is how
    many items a cost has to be multiplied by to be a total, where costs are means per item.
    """
    penalty = np.zeros(np.shape(h))
    for name, own in costs.items():
        reference = None if rules.reference is None else rules.reference[name] / units
        penalty = penalty + rules.weights[name] * share(own, reference)
    return penalty, rules.alpha * h - rules.beta * penalty if rules.beta else rules.alpha * h


def _scored(
    h: Sequence[float | None], totals: Sequence[Mapping[str, Amount]], counted: tuple[str, ...], rules: ScoreRules
) -> tuple[Floats, Floats]:
    """P and Q of the known totals; an unknown H counts 0."""
    costs = {name: np.array([float(own[name].total) for own in totals]) for name in counted}
    return reduce(np.array([own or 0.0 for own in h]), costs, rules)


def _bound(
    seat: int,
    h: float | None,
    totals: Sequence[Mapping[str, Amount]],
    counted: tuple[str, ...],
    rules: ScoreRules,
    *,
    own: bool,
) -> float:
    """Q of a player with its own unknown attempts, or all others', at their worst case; the rest at nothing."""
    at_worst = [(at == seat) == own for at in range(len(totals))]
    costs = {
        name: np.array(
            [
                float(amounts[name].total + (amounts[name].worst if worst else 0))
                for amounts, worst in zip(totals, at_worst, strict=True)
            ]
        )
        for name in counted
    }
    _, q = reduce(np.full(len(totals), h or 0.0), costs, rules)
    return float(q[seat])


def score(results: Sequence[PlayerResult], rules: ScoreRules) -> Score:
    """Score a match."""
    count = len(results[0].items)
    dropped = _dropped(results)
    left_out = {item for item, _ in dropped} if rules.refusals == "intersection" else set[str]()
    scored = count - len(left_out)
    spends = [_spend(result, left_out) for result in results]
    totals = [{name: spend.amount(name) for name in _named(rules)} for spend in spends]
    notes: list[str] = []
    counted = _counted(totals, rules, results, notes)
    rows: list[PlayerScore] = []
    accuracy = [_accuracy(result, left_out, rules.refusals) for result in results]
    penalties, worths = _scored([h for h, _ in accuracy], totals, counted, rules)
    sure = not any(own[name].unknown for own in totals for name in counted)
    for seat, (result, (h, before)) in enumerate(zip(results, accuracy, strict=True)):
        usable = h is not None and scored > 0
        penalty, q = float(penalties[seat]), float(worths[seat])
        lowest = q if sure else _bound(seat, h, totals, counted, rules, own=True)
        highest = q if sure else _bound(seat, h, totals, counted, rules, own=False)
        rows.append(
            PlayerScore(
                name=result.name,
                h=h,
                h_before_review=before,
                answer_rate=sum(row.status == "ok" for row in result.items) / count if count else 0.0,
                totals={name: spends[seat].amount(name) for name in RESOURCES},
                tokens_in=spends[seat].tokens_in,
                tokens_out=spends[seat].tokens_out,
                unknown_attempts=spends[seat].unknown,
                penalty=penalty if usable else None,
                q=q if usable else None,
                q_min=lowest if usable else None,
                q_max=highest if usable else None,
            )
        )
    if rules.refusals == "intersection" and count and not scored:
        notes.append(
            "Q is undefined: no item was answered by every player (every one was refused or failed by some)."
        )
    winner, tied = _winner(rows)
    notes += _doubts(rows, counted, rules)
    return Score(tuple(rows), scored, winner, tied, dropped, tuple(notes))


def _named(rules: ScoreRules) -> tuple[str, ...]:
    return tuple(name for name, weight in rules.weights.items() if weight != 0)


def _dropped(results: Sequence[PlayerResult]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every item some player refused or failed, with those players."""
    out: list[tuple[str, tuple[str, ...]]] = []
    for rows in zip(*(result.items for result in results), strict=True):
        guilty = tuple(r.name for r, row in zip(results, rows, strict=True) if row.status in ("refused", "failed"))
        if guilty:
            out.append((rows[0].item, guilty))
    return tuple(out)


def _spend(result: PlayerResult, left_out: set[str]) -> Spend:
    """All a player spent on the scored items, with its share of what belongs to no item."""
    total = Spend()
    kept = 0
    for row in result.items:
        if row.item not in left_out:
            total += row.spend
            kept += 1
    return total + result.shared.share(kept / len(result.items) if result.items else 1)


def _accuracy(result: PlayerResult, left_out: set[str], rule: Refusals) -> tuple[float | None, float | None]:
    """Mean H after and before review over the items this rule scores."""
    after: list[float] = []
    before: list[float] = []
    for row in result.items:
        if row.item in left_out or (rule == "answered" and row.status in ("refused", "failed")):
            continue
        after.append(row.h if row.status == "ok" and row.h is not None else 0.0)
        before.append(row.h_first if row.status == "ok" and row.h_first is not None else 0.0)
    if not after:
        return None, None
    return math.fsum(after) / len(after), math.fsum(before) / len(before)


def _counted(
    totals: Sequence[Mapping[str, Amount]],
    rules: ScoreRules,
    results: Sequence[PlayerResult],
    notes: list[str],
) -> tuple[str, ...]:
    """The resources that enter P: all but those of which some player has no known value at all."""
    counted: list[str] = []
    for name in _named(rules):
        lacking = [r.name for r, own in zip(results, totals, strict=True) if isinstance(own[name].value, Unknown)]
        if lacking:
            notes.append(f"{name} left out of P: unknown for {', '.join(lacking)}.")
        elif rules.reference is not None and name not in rules.reference:
            notes.append(f"{name} left out of P: the reference gives no {name}.")
        else:
            counted.append(name)
    return tuple(counted)


def _winner(rows: Sequence[PlayerScore]) -> tuple[str | None, tuple[str, ...]]:
    known = [(row.q, row.name) for row in rows if row.q is not None]
    if not known:
        return None, ()
    best = max(q for q, _ in known)
    leaders = tuple(name for q, name in known if abs(q - best) < TIE)
    return (leaders[0], ()) if len(leaders) == 1 else (None, leaders)


def _doubts(rows: Sequence[PlayerScore], counted: tuple[str, ...], rules: ScoreRules) -> list[str]:
    """Sentences a reader must not miss."""
    notes: list[str] = []
    if len(rows) == 1 and rules.reference is None:
        notes.append("One player alone is its own normaliser: its penalty is always the full sum of the weights.")
    unknown = [row for row in rows if any(row.totals[name].unknown for name in counted)]
    if not unknown:
        return notes
    spans = ", ".join(f"{row.name} {row.q_min:.4f} to {row.q_max:.4f}" for row in unknown if row.q is not None)
    notes.append(f"The cost of some attempts is unknown, which leaves Q between: {spans or 'unknown'}.")
    best = max((row.q for row in rows if row.q is not None), default=None)
    if best is None or len(rows) == 1:
        return notes
    leaders = [row for row in rows if row.q is not None and best - row.q < TIE]
    floor = min(row.q_min for row in leaders if row.q_min is not None)
    others = [row for row in rows if row.q is not None and row.q_max is not None and row not in leaders]
    rivals = [row.name for row in others if row.q_max is not None and row.q_max >= floor]
    if rivals:
        notes.append(f"The unknown costs could change the winner: {', '.join(rivals)} could still win.")
    elif len(leaders) > 1:
        notes.append("The unknown costs could break the tie.")
    return notes
