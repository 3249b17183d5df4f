"""How many items does it take to tell two players apart?

Recorded items are drawn with replacement, n of them at a time, all players' scores and costs of an item together; the
power at n is the share of such samples in which the interval of Q's difference lies on its side of 0. The interval is
the one that `score` prints, which among more than two players holds together with those of all differences: in the
search its multiple of the standard error comes from the drawn samples themselves, and at the number found it is made
anew, in full, in a few hundred samples, which is the power reported there.

All of this takes the recorded difference for the true one, and that difference is itself uncertain: a lucky record
promises too much. So the number is also given for both ends of the difference's interval.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mashq.analysis.intervals import FEWEST, Family, compared, farthest_pair, half_width, ratio, resample, variances
from mashq.analysis.parts import Costs
from mashq.analysis.scoring import influence
from mashq.errors import DataError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import TIE, ScoreRules, View, figures, nothing_common, under, view, with_known

LADDER = (30, 50, 100, 200, 500)
MAX_COST = 1_000_000
RESAMPLES, WORK, STEPS = 400, 30_000_000, 5
CHUNK = 2_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """The level of the intervals and the power wanted; how many samples are drawn, and of how many an interval is
    made in full; the seed; the resamples behind the recorded interval."""

    level: float = 0.95
    power: float = 0.8
    samples: int = 3000
    full: int = 300
    seed: int = 0
    resamples: int = 10_000


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference in Q and its interval; the ends are None where there is none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPoint:
    """What some number of items would give."""

    items: int
    """How many scored items."""
    power: float
    """The chance that the interval of the difference lies above 0."""
    detectable: float
    """The smallest difference that would be seen with the power wanted."""
    costs: Costs
    """What a match of so many items costs all its players together, by resource; null is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFull:
    """The power by intervals that were made in full."""

    power: float
    """The share of samples whose interval lies above 0."""
    samples: int
    """How many samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReport:
    """How many items tell two players apart."""

    players: Sequence[str]
    """The two, the better first."""
    items: int
    """How many items were scored."""
    trials: int
    """The most trials of an item."""
    level: float
    """The level of the intervals."""
    power: float
    """The power wanted."""
    dq: float
    """The difference in Q that is taken for the true one."""
    low: float | None
    """Lower end of its interval, which holds together with those of all other differences, as in a score."""
    high: float | None
    """Upper end of its interval."""
    own_dq: float
    """The difference in the results that samples are drawn from."""
    needed: int | None
    """The scored items needed; null: more than `most`."""
    asked: int | None
    """The items that a match needs for that, with those that would be left out of the score."""
    in_full: InFull | None
    """The power at that number by intervals made in full; null where that would take too long."""
    most: int
    """Where the search ends."""
    if_low: int | None
    """The items needed if the difference is really the lower end."""
    if_high: int | None
    """The items needed if it is really the upper end."""
    detectable: float
    """The smallest difference that the present items would show with the power wanted."""
    curve: Sequence[PowerPoint]
    """Power by the number of items."""
    notes: Sequence[str]
    """What a reader must not miss."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Samples of one size: how far each one's difference is from the recorded one, and half its interval's width."""

    moved: Floats
    half: Floats

    def power(self, effect: float) -> float:
        """The share of samples whose interval would lie above 0, if the difference were `effect`."""
        return float((self.moved + effect > self.half).mean())

    def detectable(self, power: float) -> float:
        """The smallest difference that would be told from 0 with this probability."""
        return float(np.quantile(self.half - self.moved, power, method="inverted_cdf"))


def power(
    results: Results,
    rules: ScoreRules,
    pair: tuple[str, str] | None = None,
    options: Options | None = None,
    notes: Sequence[str] = (),
    effect: Effect | None = None,
) -> PowerReport:
    """How many items tell two players apart. Without a pair it is about the best two; the better comes first.

    With an `effect` these results only say how much differences vary; what the difference is was found elsewhere, of
    the pair in its order. Raises DataError where there is nothing to compare.
    """
    options, said = options or Options(), list(notes)
    if results.totals:
        raise DataError("these are totals: how many items are needed can only be told from results by item")
    if len(results.players) < 2:
        raise DataError("there is one player: two are needed to tell apart")
    results = under(results, rules)
    rules = with_known(results, rules, said)
    seen = view(results, rules.refusals, tuple(rules.weights))
    if len(seen.items) < FEWEST:
        raise DataError(
            nothing_common(results)
            if not seen.items
            else f"there are {len(seen.items)} scored items: at least {FEWEST} are needed to say anything"
        )
    a, b = _pair(results, seen, rules, pair, in_order=effect is not None)
    pairs = _with_others(seen, rules, (a, b))
    found = resample(seen, rules, pairs, options.resamples, options.seed, level=options.level)
    span = found.differences[0]
    own = span.value
    effect = effect or Effect(own, span.all_low, span.all_high)
    at = _sampler(seen, rules, pairs, options)
    needed, full = _confirmed(at, seen, rules, pairs, effect.value, own, options)
    asked = len(seen.items) / len(set(results.item_of[results.present.any(axis=0)].tolist()))
    said += _doubts(len(seen.items), asked, results.trials)
    return PowerReport(
        players=[results.players[a], results.players[b]],
        items=len(seen.items),
        trials=results.trials,
        level=options.level,
        power=options.power,
        dq=effect.value,
        low=effect.low,
        high=effect.high,
        own_dq=own,
        needed=needed,
        asked=None if needed is None else math.ceil(needed / asked),
        in_full=full,
        most=MAX_COST,
        if_low=_needed_if(at, effect.low, options),
        if_high=_needed_if(at, effect.high, options),
        detectable=at(len(seen.items)).detectable(options.power),
        curve=[
            PowerPoint(
                items=n,
                power=at(n).power(effect.value),
                detectable=at(n).detectable(options.power),
                costs=_costs(results, n / asked),
            )
            for n in _sizes(at, effect.value, len(seen.items), needed)
        ],
        notes=said,
    )


def _pair(
    results: Results, seen: View, rules: ScoreRules, pair: tuple[str, str] | None, *, in_order: bool
) -> tuple[int, int]:
    """The two seats, the better first unless they stand in order."""
    q = figures(seen, rules).q[0]
    seats = range(len(q)) if pair is None else [results.players.index(name) for name in pair]
    ranked = list(seats) if in_order else sorted(seats, key=lambda seat: (-q[seat], seat))
    return ranked[0], ranked[1]


def _with_others(seen: View, rules: ScoreRules, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """The pair, and the other differences that its interval holds together with."""
    others = [other for other in compared(figures(seen, rules).q[0]) if set(other) != set(pair)]
    return [pair, *others]


def _sampler(
    seen: View, rules: ScoreRules, pairs: Sequence[tuple[int, int]], options: Options
) -> Callable[[int], Sampled]:
    """Samples of a size, drawn when asked for and remembered; the first of the pairs is the one in question."""
    parts, now = influence(seen, rules), figures(seen, rules).q[0]
    first, second = np.array(pairs).T
    part = (parts[first] - parts[second] - (now[first] - now[second])[:, None]).T
    squares, apart = part**2, variances(parts - now[:, None])

    @cache
    def at(size: int) -> Sampled:
        blocks: list[tuple[Floats, Floats, Floats]] = []
        for drawn in _drawn(len(part), size, options):
            q = figures(seen, rules, drawn).q - now
            spread = drawn @ squares / size - (drawn @ part / size) ** 2
            errors = np.sqrt(np.maximum(spread, 0.0) / max(size - 1, 1))
            blocks.append((q[:, first] - q[:, second], errors, farthest_pair(q, np.sqrt(apart / size))))
        moved, errors, farthest = (np.concatenate(own) for own in zip(*blocks, strict=True))
        ratios = ratio(np.abs(moved), errors * math.sqrt((size - 1) / size))
        family = Family(len(now), ratios, farthest)
        half = half_width(errors[:, 0], ratios[:, 0], size, rules.alpha, options.level, family)
        return Sampled(moved[:, 0], half)

    return at


def _drawn(items: int, size: int, options: Options) -> Iterator[Floats]:
    """How often each item is drawn in samples of `size`, some samples at a time."""
    random = np.random.default_rng([options.seed, size])
    at_once = max(1, CHUNK // items)
    for start in range(0, options.samples, at_once):
        count = min(at_once, options.samples - start)
        yield random.multinomial(size, np.full(items, 1 / items), count).astype(np.float64)


def _needed(at: Callable[[int], Sampled], effect: float, options: Options) -> int | None:
    """The fewest items with the power wanted, good to some percent; None where even MAX_COST would not do."""

    def enough(size: int) -> bool:
        return at(size).power(effect) >= options.power

    if effect < TIE:
        return None
    normal = NormalDist()
    sizes = normal.inv_cdf(0.5 + options.level / 2) + normal.inv_cdf(options.power)
    spread = float(at(1000).moved.std()) * math.sqrt(1000)
    guess = (sizes * spread / effect) ** 2
    if guess > 2 * MAX_COST:
        return None
    high = min(MAX_COST, max(FEWEST, round(guess)))
    while not enough(high):
        if high >= MAX_COST:
            return None
        high = min(MAX_COST, math.ceil(high * 1.4))
    low = FEWEST - 1
    while high - low > max(1, high // 50):
        # Near the guess first: the power rises with the size, so the answer is not far below.
        middle = max((low + high) // 2, round(high / 1.2)) if low < high / 2 else (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _needed_if(at: Callable[[int], Sampled], effect: float | None, options: Options) -> int | None:
    """The items needed if the difference were `effect`; None where no number would do."""
    return None if effect is None else _needed(at, effect, options)


def _confirmed(
    at: Callable[[int], Sampled],
    seen: View,
    rules: ScoreRules,
    pairs: Sequence[tuple[int, int]],
    effect: float,
    own: float,
    options: Options,
) -> tuple[int | None, InFull | None]:
    """The items needed, raised until intervals made in full agree as well as their number can tell."""
    needed = _needed(at, effect, options)
    if needed is None:
        return None, None
    full = _in_full(seen, rules, pairs, needed, effect - own, options)
    for _ in range(STEPS):
        error = 1.0 if full is None else math.sqrt(options.power * (1 - options.power) / full.samples)
        if full is None or full.power >= options.power - 2 * error:
            break
        needed = min(MAX_COST, math.ceil(1.1 * needed))
        full = _in_full(seen, rules, pairs, needed, effect - own, options)
    return needed, full


def _in_full(
    seen: View, rules: ScoreRules, pairs: Sequence[tuple[int, int]], size: int, shift: float, options: Options
) -> InFull | None:
    """The power at a size by intervals made in full, moved by `shift`; None where that would take too long."""
    samples = min(options.full, WORK // size // RESAMPLES)
    if samples < 20:
        return None
    if rules.reference is not None and not rules.per_item:  # its totals are of the recorded items
        grown = size / len(seen.items)
        rules = replace(rules, reference={name: total * grown for name, total in rules.reference.items()})
    random = np.random.default_rng([options.seed, size, 1])
    seeds: list[int] = random.integers(2**31, size=samples).tolist()
    told = 0
    for seed in seeds:
        picked = random.integers(0, len(seen.items), size)
        found = resample(_part(seen, picked), rules, pairs, RESAMPLES, seed, keep=1, level=options.level)
        low = found.differences[0].all_low
        told += low is not None and low + shift > 0
    return InFull(samples=samples, power=told / samples)


def _part(seen: View, picked: NDArray[np.int64]) -> View:
    """A sample of the items."""
    return View(
        tuple(map(str, range(len(picked)))),
        seen.h[:, picked],
        seen.h_counts[:, picked],
        {name: values[:, picked] for name, values in seen.costs.items()},
        seen.cost_counts[:, picked],
    )


def _sizes(at: Callable[[int], Sampled], effect: float, present: int, needed: int | None) -> list[int]:
    """The sizes to show: a ladder up to where the power is nearly 1, the present size, and the one needed."""
    sizes = set(LADDER) | {present} | ({needed} if needed is not None else set[int]())
    step, rung = 0, 1000
    while max(sizes) < MAX_COST and at(max(sizes)).power(effect) < 0.99 and step < 7:
        sizes.add(rung)
        step, rung = step + 1, rung * (2, 2.5, 2)[step % 3]
        rung = int(rung)
    return sorted(size for size in sizes if size >= FEWEST)


def _costs(results: Results, asked: float) -> dict[str, float | None]:
    """What a match of so many items costs all its players together; None where some player's cost is unknown."""
    found: dict[str, float | None] = {}
    for name in RESOURCES:
        values = np.where(results.present, results.costs[name].value, np.nan)
        unknown = (np.isnan(values) & results.present).any() or np.isnan(values).all(axis=1).any()
        found[name] = None if unknown else float(np.nanmean(values, axis=1).sum() * asked * results.trials)
    return found


def _doubts(items: int, asked: float, trials: int) -> list[str]:
    said: list[str] = []
    if trials > 1:
        said.append(f"Every item is played {trials} times, as in the record, and the costs are of all of them.")
    if items < 30:
        said.append(f"Only {items} items: what is drawn from so few cannot show what they have not met.")
    if asked < 1:
        said.append(
            f"{1 - asked:.0%} of the items were left out of the score: the costs are of all that would be asked."
        )
    return said
