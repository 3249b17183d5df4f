"""What `policy: bayes` believes: of its own answers and reviews, and of each rival at the end of the match.

A belief is a pure function of the observation, whose `memory` sums up the earlier rounds, so a resumed match decides
as the uninterrupted one. A round in which a rival could have been seen to review and was not is one without a review.

    theta ~ Beta       how often a rival reviews; prior: how often the own first answers are below T
    total of a rival   what was shown + its cost an item x the items (and reviews, in items) since and to come
    cost an item       a mean of what was shown and the own, as uncertain as little was shown
    gain of a rewrite  g x (1 - H), where g is the ridge regression over the own rewrites, and normal
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mashq.protocol.state import BINS, Observation, Sighting


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is taken for granted before anything is seen; the weights of priors are counts of pseudo-observations."""

    beta: float = 0.1
    rivalry: float = 1.0  # 1: the margin over the best rival; 0: the own Q alone
    gain: float = 0.5  # by one rewrite, of 1 - H: as if any share of it were as likely as any other
    gain_spread: float = 0.29
    gain_weight: float = 0.1  # in sums of (1 - H)^2: about one rewrite at H 0.7
    review_weight: float = 2.0  # reviews that cost what an answer does
    items: float = 4.0  # items at the own cost, for a rival
    spread: float = 0.5  # of a rival's cost an item, relative
    rounds: float = 2.0  # of a rival, for how often it reviews
    cycle: float = 1.5  # rewrites in a round that has any
    disclosure: float = 0.01  # in Q: all that can ever be lost by being seen
    weights: tuple[tuple[str, float], ...] = ()  # those that are not 1
    reference: tuple[tuple[str, float], ...] = ()  # what totals are relative to; none: the largest in the match

    def told(self, seen: Observation) -> "Assumed":
        """The same with the formula of the match, where it is told; beta is in units of alpha."""
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
QUESTIONS = Assumed(beta=0.001)  # where an answer is right or wrong


@dataclass(frozen=True, slots=True)
class Normal:
    """A belief about a number: a rival's final total of a resource, or the gain of a rewrite."""

    mean: float
    spread: float = 0.0
    least: float = 0.0

    def at(self, z: float) -> float:
        """The number `z` standard deviations from the mean, but not below what was seen."""
        return max(self.least, self.mean + z * self.spread)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of a rival at the end of the match."""

    h: float
    review_rate: float
    totals: Mapping[str, Normal]


@dataclass(frozen=True, slots=True)
class Own:
    """The own side: by resource the cost of an answer and of a rewrite, and the total if nothing more is reviewed."""

    answer: Mapping[str, float]
    rewrite: Mapping[str, float]
    total: Mapping[str, float]
    gain: Normal


def own(seen: Observation, assumed: Assumed = ASSUMED) -> Own:
    """What the own answers and rewrites have cost, and what a rewrite gains."""
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
    """The belief about a rival, after all that was shown of it and all that was not."""
    last, known = sighting.last, sighting.review_rounds
    shown = {} if last is None else {name: value for name, value in last.fields if value is not None}
    done = 0.0 if last is None else shown.get("items_done", min(seen.total, last.round + 1))
    stopped = last is not None and last.stopped
    watched = 0 if known is None else rounds(seen)
    rate, length, ahead = review_rate(seen, known, assumed), assumed.cycle, float(seen.total - watched)
    made = shown.get("reviews", 0.0)
    if known and "reviews" in shown:
        length = (assumed.cycle + made) / (1 + known)
    elif known:
        made = length * known
    if stopped:
        ahead = 0.0
    weight = assumed.rounds + watched
    to_come = ahead * rate * length
    doubt = ahead * rate * (1 - rate) * length**2 * (weight + ahead) / (weight + 1)
    totals = {"reviews": Normal(made + to_come, math.sqrt(doubt), made)}
    for name in seen.resources:
        if name == "reviews":
            continue
        as_items = me.rewrite[name] / me.answer[name] if me.answer[name] else 1.0
        spent = shown.get(_measure(seen, name), 0.0)
        seen_work = done + as_items * made if spent else 0.0
        a_unit = (assumed.items * me.answer[name] + spent) / (assumed.items + seen_work)
        left = max(0.0, (done if stopped else seen.total) + as_items * (made + to_come) - seen_work)
        spread = assumed.spread**2 * assumed.items / (assumed.items + seen_work)
        sure = (left * a_unit) ** 2 * spread + (a_unit * as_items) ** 2 * doubt
        totals[name] = Normal(spent + left * a_unit, math.sqrt(sure), spent)
    return Belief(_rival_h(seen, shown.get("average_h"), done, assumed), rate, totals)


def review_rate(seen: Observation, known: int | None, assumed: Assumed = ASSUMED) -> float:
    """How often a rival reviews: Beta-Bernoulli over the rounds in which it could have been seen to."""
    firsts = seen.memory.firsts
    below = sum(firsts[: round(seen.threshold * BINS)])
    prior = (below + 1) / (sum(firsts) + 2)
    if known is None:
        return prior
    return (assumed.rounds * prior + known) / (assumed.rounds + max(known, rounds(seen)))


def rounds(seen: Observation) -> int:
    """The rounds a rival could have been seen in, as many as it has items at most."""
    return min(seen.total, seen.round if seen.memory.turn == "cycle" else seen.handled)


def _rival_h(seen: Observation, shown: float | None, done: float, assumed: Assumed) -> float:
    """A rival's mean H at the end: what was shown, and for the rest a mean between that and the own."""
    mine = seen.average_h or 0.0
    if shown is None or not done:
        return mine
    rest = (assumed.items * mine + done * shown) / (assumed.items + done)
    return (done * shown + (seen.total - done) * rest) / seen.total


def _measure(seen: Observation, name: str) -> str:
    """Seconds that may not be shown are taken to go with the tokens."""
    return "tokens" if name == "seconds" and not seen.show_seconds else name


def _spent(seen: Observation, name: str) -> float:
    return seen.spend.amount(_measure(seen, name)).total
