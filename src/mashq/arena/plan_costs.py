"""Planned costs: an amount of every resource of the table, each known or unknown, and of elapsed time.

The cost of one attempt is computed from its tokens and seconds by the rows of the resource table; costs add up, and
an unknown part makes a sum unknown.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mashq.arena.endpoints import concurrency_of, output_limit_of, per_minute_of, place_of, rates_of
from mashq.config import Config, ModelConfig
from mashq.gateway.backends import simulated
from mashq.gateway.backends.simulated import Parameters
from mashq.gateway.prices import Rate
from mashq.protocol.resources import RESOURCES, TABLE, UNKNOWN, Unknown

Planned = float | Unknown
CLOCK = "clock"  # elapsed seconds without any concurrency: service, pauses and gaps between requests
NAMES = (*RESOURCES, CLOCK)
SECONDS_HTTP, SECONDS_LOCAL = 3.0, 4.5


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of each of NAMES."""

    amounts: dict[str, Planned]

    def __getitem__(self, name: str) -> Planned:
        return self.amounts[name]

    def __add__(self, other: "Cost") -> "Cost":
        return Cost({name: added(self[name], other[name]) for name in NAMES})

    def times(self, factor: float) -> "Cost":
        """The cost multiplied by a factor; zero times an unknown is zero."""
        return Cost({name: times(self[name], factor) for name in NAMES})

    def within(self, most: "Cost") -> "Cost":
        """A bound that is no more than `most`, where that is known; it also bounds unknown amounts."""
        return Cost({name: least(self[name], most[name]) for name in NAMES})

    def capped(self, most: "Cost") -> "Cost":
        """The same for expected costs, where a bound does not make an unknown amount known."""
        return Cost({name: UNKNOWN if self[name] is UNKNOWN else least(self[name], most[name]) for name in NAMES})


NOTHING = Cost(dict.fromkeys(NAMES, 0.0))
NOT_KNOWN = Cost(dict.fromkeys(NAMES, UNKNOWN))


def added(a: Planned, b: Planned) -> Planned:
    """A sum; unknown if either part is."""
    return UNKNOWN if isinstance(a, Unknown) or isinstance(b, Unknown) else a + b


def times(a: Planned, factor: float) -> Planned:
    """A multiple; nothing of an unknown is nothing."""
    if not factor:
        return 0.0
    return UNKNOWN if isinstance(a, Unknown) else a * factor


def least(a: Planned, limit: Planned) -> Planned:
    """The smaller value, if the limit is known: a limit also bounds an unknown amount."""
    if isinstance(limit, Unknown):
        return a
    return limit if isinstance(a, Unknown) else min(a, limit)


def most(a: Planned, b: Planned) -> Planned:
    """The larger value; unknown if either is."""
    return UNKNOWN if isinstance(a, Unknown) or isinstance(b, Unknown) else max(a, b)


def largest(costs: Iterable[Cost]) -> Cost:
    """The maximum of each resource."""
    maximum = NOTHING
    for cost in costs:
        maximum = Cost({name: most(maximum[name], cost[name]) for name in NAMES})
    return maximum


def smallest(costs: Sequence[Cost]) -> Cost:
    """The minimum of each resource; zero where some are unknown."""
    minima: dict[str, Planned] = {}
    for name in NAMES:
        known = [amount for cost in costs if not isinstance(amount := cost[name], Unknown)]
        minima[name] = min(known) if len(known) == len(costs) else 0.0
    return Cost(minima)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The amounts of one attempt; `pause` is the waiting time around it."""

    tokens_in: Planned
    tokens_out: Planned
    seconds: Planned
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Load:
    """The load on one place: seconds and calls in total, how many at once, how many per minute."""

    seconds: float
    calls: float
    at_once: int
    per_minute: float | None

    def __add__(self, other: "Load") -> "Load":
        return Load(self.seconds + other.seconds, self.calls + other.calls, self.at_once, self.per_minute)

    def times(self, factor: float) -> "Load":
        """The load multiplied by a factor."""
        return Load(self.seconds * factor, self.calls * factor, self.at_once, self.per_minute)

    @property
    def lasts(self) -> float:
        """The minimum time it takes."""
        return max(self.seconds / self.at_once, 60 * self.calls / self.per_minute if self.per_minute else 0.0)


Loads = Mapping[str, Load]


def loaded(parts: Iterable[Loads]) -> dict[str, Load]:
    """The total load on each place."""
    totals: dict[str, Load] = {}
    for part in parts:
        for place, load in part.items():
            totals[place] = totals[place] + load if place in totals else load
    return totals


class Priced:
    """A model, the possible amounts of an attempt at it, and their cost."""

    name: str
    settings: ModelConfig
    longest: int
    provider: str

    def __init__(self, config: Config, name: str) -> None:
        self.name, self.settings = name, config.model(name)
        self.longest = output_limit_of(name, self.settings).longest  # the longest output, in tokens
        self.provider = name.partition("/")[0]
        self._config = config

    @cached_property
    def _rates(self) -> dict[str, Rate]:
        return rates_of(self.name, self.settings)

    @property
    def attempts(self) -> int:
        """The maximum number of attempts per request."""
        return self.settings.retry.attempts

    @cached_property
    def simulated(self) -> Parameters | None:
        """The parameters its replies are drawn from; None: it is a real model."""
        return Parameters(**self.settings.simulate.model_dump()) if self.provider == "simulated" else None

    @cached_property
    def pause(self) -> float:
        """The maximum wait before an attempt: retries back off, and requests are rate limited."""
        retry = self.settings.retry
        if self.provider in ("local", "recorded") or (self.simulated and retry.attempts == 1):
            return 0.0
        if self.simulated:
            return retry.cap
        per_minute = per_minute_of(self._config, self.name)
        backing_off = max(retry.cap, retry.retry_after_cap) if retry.attempts > 1 else 0.0
        return backing_off + (60 / per_minute if per_minute else 0.0)

    def on_average(self, purpose: str, tokens_in: Planned, tokens_out: int) -> Attempt:
        """An expected attempt."""
        if self.simulated is not None:
            amounts = simulated.on_average(self.simulated, purpose)
            return Attempt(amounts.tokens_in, amounts.tokens_out, amounts.seconds)
        if self.provider == "recorded":
            return Attempt(UNKNOWN, UNKNOWN, UNKNOWN)
        seconds = SECONDS_LOCAL if self.provider == "local" else SECONDS_HTTP
        return Attempt(tokens_in, min(tokens_out, self.longest), seconds)

    def at_most(self, purpose: str, tokens_in: Planned) -> Attempt:
        """A worst-case attempt: simulated and recorded models respect no limit, and in-process models no time-out."""
        if self.simulated is not None:
            amounts = simulated.at_most(self.simulated, purpose)
            return Attempt(amounts.tokens_in, amounts.tokens_out, amounts.seconds, self.pause)
        if self.provider == "recorded":
            return Attempt(UNKNOWN, UNKNOWN, UNKNOWN)
        seconds = UNKNOWN if self.provider == "local" else self.settings.timeout
        return Attempt(tokens_in, self.longest, seconds, self.pause)

    def overrun(self, most: Cost) -> Cost:
        """By how much an attempt may exceed what a budget reserved for it, if it costs `most` at worst."""
        excess = dict(NOTHING.amounts)
        if self.simulated is not None or self.provider == "recorded":
            excess = {name: most[name] for name in NAMES}
        elif self.provider == "local":
            excess["seconds"] = UNKNOWN
        return Cost(excess | {"calls": 0.0})

    def load(self, attempt: Attempt, count: float) -> Loads:
        """The load of `count` attempts on the model's place; simulated and recorded models take no time."""
        if self.provider in ("simulated", "recorded") or isinstance(attempt.seconds, Unknown):
            return {}
        if self.provider == "local":
            return {"local": Load(attempt.seconds * count, count, 1, None)}
        limits = concurrency_of(self._config, self.name), per_minute_of(self._config, self.name)
        return {place_of(self._config, self.name): Load(attempt.seconds * count, count, *limits)}

    def cost(self, attempt: Attempt, *, at_worst: bool) -> Cost:
        """One attempt as an amount of each resource."""
        amounts: dict[str, Planned] = {"calls": 1.0, "reviews": 0.0}
        for row in TABLE.values():
            if row.rated:
                amounts[row.name] = self._rated(row.name, attempt, at_worst=at_worst)
            elif row.measures:
                total: Planned = 0.0
                for measure in row.measures:
                    total = added(total, getattr(attempt, measure))
                amounts[row.name] = total
        elapsed = 0.0 if self.provider in ("simulated", "recorded") else attempt.seconds
        return Cost(amounts | {CLOCK: added(elapsed, attempt.pause)})

    def _rated(self, name: str, attempt: Attempt, *, at_worst: bool) -> Planned:
        """The amount by the rate; at worst with all or none of the prompt cached, whichever is more expensive."""
        rate, tokens_in, tokens_out = self._rates.get(name), attempt.tokens_in, attempt.tokens_out
        if rate is None or isinstance(tokens_in, Unknown) or isinstance(tokens_out, Unknown):
            return UNKNOWN
        tokens = math.ceil(tokens_in), math.ceil(tokens_out)
        plain = rate.of(*tokens, 0)
        return max(plain, rate.of(*tokens, tokens[0])) if at_worst else plain


@dataclass(frozen=True, slots=True)
class Asked:
    """A number of equal attempts at a model."""

    model: Priced
    count: float
    attempt: Attempt

    def cost(self, *, at_worst: bool) -> Cost:
        """Their total cost."""
        return self.model.cost(self.attempt, at_worst=at_worst).times(self.count)


def total(asked: Iterable[Asked], reviews: float, *, at_worst: bool) -> Cost:
    """The total cost of all attempts, with this many reviews."""
    counts: dict[tuple[str, Attempt], Asked] = {}
    for part in asked:
        key = part.model.name, part.attempt
        counts[key] = replace(part, count=part.count + (counts[key].count if key in counts else 0))
    cost = Cost(NOTHING.amounts | {"reviews": reviews})
    for part in counts.values():
        cost += part.cost(at_worst=at_worst)
    return cost
