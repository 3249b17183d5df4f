"""What `policy: bayes` believes: about its own answers and reviews, and about each rival at the end of the match.

A belief is a pure function of the observation, whose `memory` summarises the earlier rounds, so a resumed match
decides like the uninterrupted one. A round in which a rival's review would have been visible and was not seen is one
without a review.

    theta ~ Beta       how often a rival reviews; prior: how often the player's own first answers are below T
    total of a rival   what was shown + its cost per item x the items (and reviews, in items) since then and to come
    cost per item      a mean of what was shown and the player's own; the less was shown, the more uncertain
    gain of a rewrite  g x (1 - H), where g is the ridge regression over the player's own rewrites, and normal
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mashq.protocol.state import BINS, Observation, Sighting


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions made before anything is observed; the weights of priors are counts of pseudo-observations."""

    beta: float = 0.1
    rivalry: float = 1.0  # 1: maximise the margin over the best rival; 0: only the own Q
    gain: float = 0.5  # of one rewrite, as a share of 1 - H: the mean of a uniform prior
    gain_spread: float = 0.29
    gain_weight: float = 0.1  # in sums of (1 - H)^2: about one rewrite at H = 0.7
    review_weight: float = 2.0  # pseudo-reviews that cost as much as an answer
    items: float = 4.0  # pseudo-items of a rival at the player's own cost
    spread: float = 0.5  # relative spread of a rival's cost per item
    rounds: float = 2.0  # pseudo-rounds of a rival, for how often it reviews
    cycle: float = 1.5  # rewrites per round with at least one
    disclosure: float = 0.01  # in Q: the most that can be lost by being seen
    weights: tuple[tuple[str, float], ...] = ()  # resources whose weight is not 1
    reference: tuple[tuple[str, float], ...] = ()  # what totals are relative to; empty: the largest in the match

    def told(self, seen: Observation) -> "Assumed":
        """A copy with the formula of the match, if it is told; beta is in units of alpha."""
        payoff = seen.rules.payoff
        if "formula" not in seen.rules.tell:
            return self
        items = seen.total if payoff.per_item else 1
        reference = tuple((name, value * items) for name, value in payoff.reference)
        return replace(self, beta=payoff.beta / payoff.alpha, weights=payoff.weights, reference=reference)

    def weight(self, name: str) -> float:
        """The weight of a resource."""
        return dict(self.weights).get(name, 1.0)

    def top(self, name: str, *totals: float) -> float:
        """What totals of a resource are relative to."""
        return dict(self.reference).get(name) or max(totals)


ASSUMED = Assumed()
QUESTIONS = Assumed(beta=0.001)  # for tasks where an answer is either right or wrong


@dataclass(frozen=True, slots=True)
class Normal:
    """A belief about a number: a rival's final total of a resource, or the gain of a rewrite."""

    mean: float
    spread: float = 0.0
    least: float = 0.0

    def at(self, z: float) -> float:
        """The value `z` standard deviations from the mean, but not below what was seen."""
        return max(self.least, self.mean + z * self.spread)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed about a rival at the end of the match."""

    h: float
    review_rate: float
    totals: Mapping[str, Normal]


@dataclass(frozen=True, slots=True)
class Own:
    """The player's own side: per resource the cost of an answer, of a rewrite, and the total if nothing more is
    reviewed."""

    answer: Mapping[str, float]
    rewrite: Mapping[str, float]
    total: Mapping[str, float]
    gain: Normal


def own(seen: Observation, assumed: Assumed = ASSUMED) -> Own:
    """What the player's own answers and rewrites have cost, and what a rewrite gains."""
    past, count = seen.memory.past, max(1, seen.handled)
    answer: dict[str, float] = {}
    rewrite: dict[str, float] = {}
    total: dict[str, float] = {}
    for name in seen.resources:
        spent = _spent(seen, name)
        on_reviews = float(past.count if name == "reviews" else past.spend.amount(_measure(seen, name)).total)
        answer[name] = max(0.0, spent - on_reviews) / count
        rewrite[name] = 1.0
        if name != "reviews":
            weight = assumed.review_weight
            rewrite[name] = (weight * answer[name] + on_reviews) / (weight + past.count)
        total[name] = spent + (seen.total - seen.handled) * answer[name]
    known = assumed.gain_weight + past.room
    gain = (assumed.gain_weight * assumed.gain + past.gained) / known
    return Own(answer, rewrite, total, Normal(gain, assumed.gain_spread * math.sqrt(assumed.gain_weight / known)))


def believe(seen: Observation, sighting: Sighting, me: Own, assumed: Assumed = ASSUMED) -> Belief:
    """The belief about a rival, given everything that was shown of it and everything that was not."""
    last, known = sighting.last, sighting.review_rounds
    shown = {} if last is None else {name: value for name, value in last.fields if value is not None}
    done = 0.0 if last is None else shown.get("items_done", min(seen.total, last.round + 1))
    stopped = last is not None and last.stopped
    watched = 0 if known is None else rounds(seen)
    rate, rewrites_per_round, rounds_left = (
        review_rate(seen, known, assumed),
        assumed.cycle,
        float(seen.total - watched),
    )
    reviews = shown.get("reviews", 0.0)
    if known and "reviews" in shown:
        rewrites_per_round = (assumed.cycle + reviews) / (1 + known)
    elif known:
        reviews = rewrites_per_round * known
    if stopped:
        rounds_left = 0.0
    weight = assumed.rounds + watched
    expected_reviews = rounds_left * rate * rewrites_per_round
    review_variance = rounds_left * rate * (1 - rate) * rewrites_per_round**2 * (weight + rounds_left) / (weight + 1)
    totals = {"reviews": Normal(reviews + expected_reviews, math.sqrt(review_variance), reviews)}
    for name in seen.resources:
        if name == "reviews":
            continue
        as_items = me.rewrite[name] / me.answer[name] if me.answer[name] else 1.0
        spent = shown.get(_measure(seen, name), 0.0)
        seen_work = done + as_items * reviews if spent else 0.0
        unit_cost = (assumed.items * me.answer[name] + spent) / (assumed.items + seen_work)
        remaining = max(0.0, (done if stopped else seen.total) + as_items * (reviews + expected_reviews) - seen_work)
        spread = assumed.spread**2 * assumed.items / (assumed.items + seen_work)
        variance = (remaining * unit_cost) ** 2 * spread + (unit_cost * as_items) ** 2 * review_variance
        totals[name] = Normal(spent + remaining * unit_cost, math.sqrt(variance), spent)
    return Belief(_rival_h(seen, shown.get("average_h"), done, assumed), rate, totals)


def review_rate(seen: Observation, known: int | None, assumed: Assumed = ASSUMED) -> float:
    """How often a rival reviews: Beta-Bernoulli over the rounds in which a review would have been visible."""
    firsts = seen.memory.firsts
    below = sum(firsts[: round(seen.threshold * BINS)])
    prior = (below + 1) / (sum(firsts) + 2)
    if known is None:
        return prior
    return (assumed.rounds * prior + known) / (assumed.rounds + max(known, rounds(seen)))


def rounds(seen: Observation) -> int:
    """The number of rounds in which a rival could have been seen, at most its number of items."""
    return min(seen.total, seen.round if seen.memory.turn == "cycle" else seen.handled)


def _rival_h(seen: Observation, shown: float | None, done: float, assumed: Assumed) -> float:
    """A rival's mean H at the end: what was shown, and for the other items a mean of that and the player's own."""
    mine = seen.average_h or 0.0
    if shown is None or not done:
        return mine
    expected = (assumed.items * mine + done * shown) / (assumed.items + done)
    return (done * shown + (seen.total - done) * expected) / seen.total


def _measure(seen: Observation, name: str) -> str:
    """The measure to use for a resource: seconds that are not shown are assumed proportional to tokens."""
    return "tokens" if name == "seconds" and not seen.show_seconds else name


def _spent(seen: Observation, name: str) -> float:
    return seen.spend.amount(_measure(seen, name)).total
