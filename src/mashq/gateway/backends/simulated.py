"""A seeded statistical player: nothing real answers, time is virtual, and every output says so.

Each draw is keyed by (seed, player, item, purpose, n), so it does not depend on when or in which order it is made;
`common` leaves the player out of the key, so that equal players in equal positions behave equally. An answer's H is
the item's latent quality (shared by all draws of the item) plus noise; a review moves it towards 1.

A calibrated player (`mashq calibrate` writes one) draws from what was recorded instead of a bell: a table is a list
of equally likely values in ascending order, read at the rank that was drawn, so that it keeps its mean, its skew and
its heaps at 0 and 1. Where a table is missing, the plain parameters hold.
"""

import hashlib
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mashq.gateway.types import PLAY, Call, Completion, Outcome, Request, Usage

NOT_JSON = "[simulated: not the JSON asked for]"
NOTHING = Usage(0, 0, 0, 0)
NEAREST = 10
COST = 0.01  # what a review is told to cost where nothing is said
FARTHEST = math.sqrt(2 * 65 * math.log(2))  # no normal number is larger: the smallest uniform one is 0.5 / 2**64


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a simulated player is like. Rates are probabilities; spreads are standard deviations.

    A share says how much of a draw is the item's own, the same for every player. `rewrites` are recorded pairs of H
    before and after, in ascending order; `confidence` (see Told) are tables by H; `calls` (see Cost) by purpose, and
    under `failed` for failed attempts. `cost_response` and `snapshot_response` say how much the log-odds of a review
    fall for each COST that a review is told to cost more, and for each rival seen to spend.
    """

    h: float = 0.85
    h_spread: float = 0.15
    item_share: float = 0.6
    review_gain: float = 0.4
    review_spread: float = 0.1
    tokens_in: float = 600
    tokens_out: float = 120
    tokens_spread: float = 0.25
    seconds: float = 1.5
    seconds_spread: float = 0.35
    review_rate: float = 0.7
    refusal_rate: float = 0.0
    failure_rate: float = 0.0
    common: bool = False
    h_values: Sequence[float] = ()
    rewrites: Sequence[Sequence[float]] = ()
    rewrite_share: float = 0.0
    keeps_better: bool = False
    confidence: Sequence[Mapping[str, Any]] = ()
    review_anyway: float = 0.0
    end_rate: float = 0.0
    refusal_share: float = 0.0
    retry_rate: float = 0.0
    scale: float = 1.0
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    cost_response: float = 0.0
    snapshot_response: float = 0.0


@dataclass(frozen=True, slots=True)
class Told:
    """What the guide says of an answer whose H is at most `up_to`: one of `values`."""

    up_to: float
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls of one purpose: their tables; how much of the tokens is the item's own, and how closely the seconds
    follow the tokens out; how often a reply is not the JSON asked for, and is asked for again."""

    tokens_in: Sequence[float] = ()
    tokens_out: Sequence[float] = ()
    seconds: Sequence[float] = ()
    in_share: float = 0.0
    out_share: float = 0.0
    follow: float = 0.0
    again: float = 0.0


@dataclass(frozen=True, slots=True)
class Amounts:
    """What one attempt takes: on average, or at most."""

    tokens_in: float
    tokens_out: float
    seconds: float


def on_average(p: Parameters, purpose: str) -> Amounts:
    """What an attempt takes on average, unless it fails."""
    cost = Cost(**p.calls.get(purpose, {}))

    def mean(table: Sequence[float], median: float, spread: float) -> float:
        return p.scale * (sum(table) / len(table) if table else median * math.exp(spread**2 / 2))

    return Amounts(
        mean(cost.tokens_in, p.tokens_in, p.tokens_spread),
        mean(cost.tokens_out, p.tokens_out, p.tokens_spread),
        mean(cost.seconds, p.seconds, p.seconds_spread),
    )


def at_most(p: Parameters, purpose: str) -> Amounts:
    """The most that can be drawn for an attempt, failed or not."""
    cost, failed = Cost(**p.calls.get(purpose, {})), Cost(**p.calls.get("failed", {}))

    def whole(table: Sequence[float], median: float) -> int:
        return _whole(p.scale * table[-1], 1) if table else _lognormal(p.scale * median, p.tokens_spread, FARTHEST)

    seconds = p.scale * cost.seconds[-1] if cost.seconds else _milliseconds(p, FARTHEST) / 1000
    return Amounts(
        whole(cost.tokens_in, p.tokens_in),
        whole(cost.tokens_out, p.tokens_out),
        max(seconds, p.scale * failed.seconds[-1] if failed.seconds else 0.0) + 1e-6,  # what is drawn is rounded
    )


class Draws:
    """Uniform and normal numbers from a key, without state."""

    def __init__(self, *key: object) -> None:
        self._key = "\x1f".join(str(part) for part in key).encode()

    def uniform(self, name: str) -> float:
        """A number in (0, 1)."""
        digest = hashlib.blake2b(self._key + b"\x1e" + name.encode(), digest_size=8).digest()
        return (int.from_bytes(digest) + 0.5) / 2**64

    def normal(self, name: str) -> float:
        """A standard normal number (Box-Muller)."""
        return math.sqrt(-2 * math.log(self.uniform(name))) * math.cos(2 * math.pi * self.uniform(name + "'"))


class SimulatedBackend:
    """`simulated/…`: replies drawn from Parameters."""

    durable = False
    simulated = True

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self._p, self._seed = parameters, seed
        self._before = [before for before, _ in parameters.rewrites]
        self._told = [Told(**row) for row in parameters.confidence]
        self._costs = {purpose: Cost(**given) for purpose, given in parameters.calls.items()}
        self._tried: dict[Call, int] = {}

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Draw a reply, its cost and its time."""
        p = self._p
        who = "" if p.common else call.player
        moment = call.round if call.purpose == "decision" else call.n
        draws = Draws(self._seed, who, call.item, call.purpose, moment, call.ask)
        item = Draws(self._seed, "item", call.item)
        cost = self._costs.get(call.purpose, Cost())
        usage, seconds = self._cost(cost, draws, item)
        if p.retry_rate and self._passing(call, draws):
            failed = self._failed_seconds(Draws(draws.uniform("retry"), self._tried[call]), seconds)
            return Outcome("http", usage=NOTHING, seconds=failed, status=503, error="a simulated passing failure")
        if draws.uniform("failure") < p.failure_rate:
            failed = self._failed_seconds(draws, seconds)
            return Outcome("http", usage=NOTHING, seconds=failed, status=400, error="a simulated failure")
        if cost.again and len(request.messages) == 1 and draws.uniform("again") < cost.again:
            completion = Completion(NOT_JSON, "stop")
        elif call.purpose == "decision":
            completion = Completion(self._decision(request, draws), "stop")
        elif self._refuses(call, draws, item):
            completion = Completion("", "refusal", refused=True)
        else:
            completion = self._answer(request, call, who)
        kind = "refused" if completion.refused else "ok"
        return Outcome(kind, completion, usage, seconds)

    def _cost(self, cost: Cost, draws: Draws, item: Draws) -> tuple[Usage, float]:
        """What a call costs: from its tables where it has them."""
        p = self._p
        long = draws.normal("out")
        if cost.tokens_in:
            size = _mixed(cost.in_share, item.normal("size"), draws.normal("in"))
            tokens_in = _whole(p.scale * _at(cost.tokens_in, size), draws.uniform("whole in"))
        else:
            tokens_in = _lognormal(p.scale * p.tokens_in, p.tokens_spread, draws.normal("in"))
        if cost.tokens_out:
            long = _mixed(cost.out_share, item.normal("length"), long)
            tokens_out = _whole(p.scale * _at(cost.tokens_out, long), draws.uniform("whole out"))
        else:
            tokens_out = _lognormal(p.scale * p.tokens_out, p.tokens_spread, long)
        if cost.seconds:
            slow = cost.follow * long + math.sqrt(1 - cost.follow**2) * draws.normal("seconds")
            seconds = round(p.scale * _at(cost.seconds, slow), 6)
        else:
            seconds = round(_milliseconds(p, draws.normal("seconds")) / 1000, 3)
        return Usage(tokens_in, tokens_out, 0, 0), seconds

    def _passing(self, call: Call, draws: Draws) -> bool:
        """Whether this attempt fails in a way that is tried again; the attempts of one ask are drawn in turn.

        The count is the one thing kept here: a process killed between two attempts of one ask draws the first anew.
        """
        tried = self._tried.get(call, 0)
        if Draws(draws.uniform("retry"), tried).uniform("passing") >= self._p.retry_rate:
            return False
        self._tried[call] = tried + 1
        return True

    def _failed_seconds(self, draws: Draws, otherwise: float) -> float:
        table = self._costs.get("failed", Cost()).seconds
        return round(self._p.scale * _at(table, draws.normal("failed")), 6) if table else otherwise

    def _refuses(self, call: Call, draws: Draws, item: Draws) -> bool:
        """A refusal; among recorded rewrites the refused ones are those that left H as it was."""
        p = self._p
        if p.rewrites and call.purpose == "review":
            return False
        if not p.refusal_share:
            return draws.uniform("refusal") < p.refusal_rate
        return _rank(_mixed(p.refusal_share, item.normal("refusal"), draws.normal("refusal"))) < p.refusal_rate

    def _decision(self, request: Request, draws: Draws) -> str:
        p, facts = self._p, request.facts
        rate = p.review_rate if facts.get("recommended") else p.review_anyway
        if p.cost_response or p.snapshot_response:
            dearer = _amount(facts.get("review_cost", COST)) / COST - 1
            rate = _less(rate, p.cost_response * dearer + p.snapshot_response * _amount(facts.get("snapshots", 0)))
        reply = {
            "choice": "review" if draws.uniform("review") < rate else "continue",
            "question_id": request.facts.get("current_id"),
            "previous_id": request.facts.get("worst_id"),
        }
        return json.dumps(reply)

    def _answer(self, request: Request, call: Call, who: str) -> Completion:
        """The first answer's H, then each review's in turn, up to the n asked for."""
        p = self._p
        item = Draws(self._seed, "item", call.item)
        play, step = divmod(call.n, PLAY)
        first = Draws(self._seed, who, call.item, "answer", play)
        noise = math.sqrt(p.item_share) * item.normal("h") + math.sqrt(1 - p.item_share) * first.normal("h")
        h = _at(p.h_values, noise) if p.h_values else _clip(p.h + p.h_spread * noise)
        told = self._confidence(h, first)
        reviews = step + 1 if call.purpose == "review" else 0
        for n in range(reviews):
            one = Draws(self._seed, who, call.item, "review", play, n)
            new = self._rewritten(h, one, Draws(self._seed, who, call.item, "rewrites", play))
            said = self._confidence(new, one)
            if n + 1 == reviews or not p.keeps_better or said > told:
                h, told = new, said
        text = f"[simulated answer {call.n} to {call.item}]"
        ends = call.purpose == "review" and p.end_rate and "action" in _asked(request)
        action = "end" if ends and self._ends(call, who) else "answer"
        reply = {"summary": text, "answer": text, "confidence": round(told, 3), "action": action, "thought": ""}
        return Completion(json.dumps(reply), "stop", h=round(h, 6))

    def _rewritten(self, h: float, one: Draws, lasting: Draws) -> float:
        """H after a review: towards 1, or what one of the recorded rewrites nearest in H before came to."""
        p = self._p
        if not p.rewrites:
            return _clip(
                h + p.review_gain * (1 - h) * one.uniform("gain") * 2 + p.review_spread * one.normal("h") * (1 - h)
            )
        start, stop = nearest(self._before, h)
        outcomes = sorted(h if before == after else after for before, after in p.rewrites[start:stop])
        return _at(outcomes, _mixed(p.rewrite_share, lasting.normal("h"), one.normal("h")))

    def _confidence(self, h: float, draws: Draws) -> float:
        """What the player says it feels, or the guide says of it: H itself, or from the table."""
        row = next((row for row in self._told if h <= row.up_to), self._told[-1] if self._told else None)
        return h if row is None else _ranked(row.values, draws.uniform("confidence"))

    def _ends(self, call: Call, who: str) -> bool:
        return Draws(self._seed, who, call.item, "end", call.n).uniform("end") < self._p.end_rate

    async def close(self) -> None:
        """Nothing to let go of."""


def nearest(values: Sequence[float], x: float) -> tuple[int, int]:
    """The place of the NEAREST values to `x` in ascending ones, or of all that equal it, if they are more."""
    start, stop = bisect_left(values, x), bisect_right(values, x)
    while stop - start < min(NEAREST, len(values)):
        if stop == len(values) or (start > 0 and x - values[start - 1] <= values[stop] - x):
            start -= 1
        else:
            stop += 1
    return start, stop


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _less(rate: float, by: float) -> float:
    """A probability with its log-odds lowered; one that is certain stays so."""
    if not 0 < rate < 1:
        return rate
    return 1 / (1 + math.exp(min(700.0, by - math.log(rate / (1 - rate)))))


def _lognormal(median: float, spread: float, z: float) -> int:
    return max(1, round(median * math.exp(spread * z)))


def _milliseconds(p: Parameters, z: float) -> int:
    return _lognormal(p.scale * p.seconds * 1000, p.seconds_spread, z)


def _clip(h: float) -> float:
    return min(1.0, max(0.0, h))


def _mixed(share: float, common: float, own: float) -> float:
    """A standard normal number, of which `share` is common."""
    return math.sqrt(share) * common + math.sqrt(1 - share) * own


def _rank(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _ranked(table: Sequence[float], rank: float) -> float:
    """The value of a table at a rank from 0 to 1."""
    return table[min(len(table) - 1, max(0, int(rank * len(table))))]


def _at(table: Sequence[float], z: float) -> float:
    return _ranked(table, _rank(z))


def _whole(value: float, u: float) -> int:
    """A whole number that is `value` on average."""
    return math.floor(value + u)


def _asked(request: Request) -> Mapping[str, Any]:
    """The properties a reply must have."""
    properties: Any = (request.schema or {}).get("properties", {})
    return properties
