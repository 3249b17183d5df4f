"""`policy: bayes`: form a belief about each rival, and review when the expected gain in Q exceeds the cost.

A plan is a level of H below which every answer, present and future, is reviewed; its worth is what it adds to

    alpha * H - beta * P - rivalry * (the same for the best rival)

A first review gives information about g: for each of three values of g, the best plan is found that reviews the worst
answer now and either stops or continues. The worst answer is reviewed if that is worth more, on average over g, than
the best plan that waits, plus the price of disclosure. Free and deterministic. If `rules.tell` omits the formula, the
protocol's defaults are assumed.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mashq.players.policies.bayes_belief import ASSUMED, QUESTIONS, Assumed, Belief, Own, believe, own, rounds
from mashq.protocol.moves import Decision
from mashq.protocol.state import BINS, Observation

__all__ = ["ASSUMED", "QUESTIONS", "decide"]
NODES = ((-math.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (math.sqrt(3.0), 1 / 6))  # three points of a normal distribution


@dataclass(frozen=True, slots=True)
class Field:
    """The rivals at the end of the match, at three points of the beliefs: resource, weight, the best rival's total,
    the largest total."""

    rows: tuple[tuple[str, float, float, float], ...]
    assumed: Assumed

    @classmethod
    def of(cls, rivals: Sequence[Belief], me: Own, assumed: Assumed) -> "Field":
        """The field of these rivals; the best one is that with the highest expected Q."""

        def q(rival: Belief) -> float:
            shares = [
                (assumed.weight(name), rival.totals[name].mean, assumed.top(name, rival.totals[name].mean, mine))
                for name, mine in me.total.items()
            ]
            return rival.h - assumed.beta * sum(w * theirs / largest for w, theirs, largest in shares if largest > 0)

        best = max(rivals, key=q, default=None)
        rows: list[tuple[str, float, float, float]] = []
        for z, weight in NODES:
            for name in me.total:
                theirs = 0.0 if best is None else best.totals[name].at(z)
                largest = max((rival.totals[name].at(z) for rival in rivals), default=0.0)
                rows.append((name, assumed.beta * assumed.weight(name) * weight, theirs, largest))
        return cls(tuple(rows), assumed)

    def cost(self, mine: Mapping[str, float]) -> float:
        """What totals cost in the objective: the player's own P minus the best rival's."""
        value = 0.0
        for name, weight, theirs, largest in self.rows:
            top = self.assumed.top(name, mine[name], largest)
            if top > 0:
                value += weight * (mine[name] - self.assumed.rivalry * theirs) / top
        return value


@dataclass(frozen=True, slots=True)
class Plan:
    """Reviews from now on: the number of rewrites, their gain in H and their cost in the objective."""

    level: float
    rewrites: float
    gain: float
    cost: float

    @property
    def worth(self) -> float:
        """What the plan adds to the objective."""
        return self.gain - self.cost


def decide(seen: Observation, assumed: Assumed = ASSUMED) -> Decision:
    """The decision for this state."""
    current = None if seen.item is None else seen.item.id
    onward = "end" if seen.handled == seen.total else "continue"
    if not seen.memory.reviewable or seen.worst is None:
        return Decision(onward, current, None, "rule", "nothing can be reviewed")
    worst, h = seen.worst
    assumed = assumed.told(seen)
    me = own(seen, assumed)
    field = Field.of([believe(seen, sighting, me, assumed) for sighting in seen.memory.rivals], me, assumed)
    value, wait, price, summary = 0.0, 0.0, disclosure(seen, assumed), ""
    for z, weight in NODES:
        candidates = list(plans(seen, me, field, min(1.0, me.gain.at(z))))
        best = max((plan for plan in candidates if plan.level > h), key=lambda plan: plan.worth)
        value += weight * best.worth
        if z == 0:
            wait = max((plan.worth for plan in candidates if plan.level <= h), default=0.0)
            summary = f"{best.rewrites:.1f} rewrites: H {best.gain:+.4f}, cost {best.cost:.4f}"
    reason = f"a review is worth {value:+.4f} ({summary}) and discloses {price:.4f}"
    if value - price > max(wait, 0.0):
        return Decision("review", current, worst, "rule", reason)
    return Decision(onward, current, worst, "rule", reason)


def plans(seen: Observation, me: Own, field: Field, gain: float) -> Iterator[Plan]:
    """Candidate plans: review the worst answer and stop, or all answers below a level of H, lowest level first."""
    memory, worst = seen.memory, seen.memory.reviewable[0][0]
    now = field.cost(me.total)

    def plan(level: float, added: float, rewrites: float) -> Plan:
        spent = {name: me.total[name] + rewrites * me.rewrite[name] for name in me.total}
        cost = field.cost(spent) - now + seen.review_cost * rewrites / seen.total
        return Plan(level, rewrites, added / seen.total, cost)

    yield plan(math.inf, *review(seen, worst, gain))
    remaining, firsts = seen.total - seen.handled, memory.firsts
    turns = remaining + 1.0 if memory.turn == "cycle" else math.inf
    ratio = remaining / max(1, sum(firsts))
    start, added, rewrites = 0, 0.0, 0.0
    for edge in range(1, BINS + 1):
        level = math.inf if edge == BINS else edge / BINS
        stop = bisect_left(memory.reviewable, (level, -1), start)
        count = min(turns, stop - start + ratio * firsts[edge - 1])
        start, turns = stop, turns - count
        if count:
            has_worst = edge - 1 <= worst * BINS < edge
            each, times = review(seen, worst if has_worst else (edge - 0.5) / BINS, gain)
            added, rewrites = added + count * each, rewrites + count * times
            yield plan(level, added, rewrites)


def review(seen: Observation, h: float, gain: float) -> tuple[float, int]:
    """The expected gain in an answer's H from one decision to review, and the number of rewrites it takes."""
    room, times = (1 - h) * (1 - gain), 1
    limit = seen.max_reviews if seen.memory.turn == "cycle" else 1
    while times < limit and 1 - room < seen.threshold:
        room, times = room * (1 - gain), times + 1
    return 1 - h - room, times


def disclosure(seen: Observation, assumed: Assumed) -> float:
    """The price of being seen: how much more certain rivals become of the player's costs while they can still act on
    it."""
    memory = seen.memory
    if memory.vision.when != "review" or not memory.vision.show or not memory.rivals:
        return 0.0
    before = 0 if memory.shown is None else memory.shown + 1
    certainty = assumed.items / (assumed.items + before) - assumed.items / (assumed.items + rounds(seen) + 1)
    return assumed.disclosure * max(0.0, certainty) * (seen.total - seen.handled) / seen.total
