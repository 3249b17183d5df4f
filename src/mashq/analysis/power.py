"""How many items are needed to tell two players apart.

Recorded items are drawn with replacement, n of them at a time, all players' scores and costs of an item together; the
power at n is the share of such samples in which the interval of the difference in Q excludes 0 on the right side. The
interval is the one that `score` prints, which among more than two players is simultaneous over all differences:
during the search its multiple of the standard error comes from the drawn samples themselves, and at the resulting
number it is computed in full in a few hundred samples, which gives the power reported there.

All of this takes the recorded difference as the true one, and that difference is itself uncertain: a lucky record
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
MAX_ITEMS = 1_000_000
RESAMPLES, WORK, STEPS = 400, 30_000_000, 5
CHUNK = 2_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """The level of the intervals and the desired power; how many samples are drawn, and for how many the interval is
    computed in full; the seed; the resamples behind the recorded interval."""

    level: float = 0.95
    power: float = 0.8
    samples: int = 3000
    full: int = 300
    seed: int = 0
    resamples: int = 10_000


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference in Q and its interval; the ends are None if there is no interval."""

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
    costs_per_item: Costs
    """What one item of a match, with its trials, costs all players together, by resource; null is unknown."""
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
    """Samples of one size: the deviation of each sample's difference from the recorded one, and half its interval's
    width."""

    moved: Floats
    half: Floats

    def power(self, effect: float) -> float:
        """The share of samples whose interval would lie above 0 if the difference were `effect`."""
        return float((self.moved + effect > self.half).mean())

    def detectable(self, power: float) -> float:
        """The smallest difference that would be distinguished from 0 with this probability."""
        return float(np.quantile(self.half - self.moved, power, method="inverted_cdf"))


def power(
    results: Results,
    rules: ScoreRules,
    pair: tuple[str, str] | None = None,
    options: Options | None = None,
    notes: Sequence[str] = (),
    effect: Effect | None = None,
) -> PowerReport:
    """How many items tell two players apart. Without a pair, the best two are compared; the better comes first.

    With an `effect`, these results only provide the variance of differences; the difference itself comes from
    elsewhere, for the pair in its given order. Raises DataError if there is nothing to compare.
    """
    options, messages = options or Options(), list(notes)
    if results.totals:
        raise DataError("these are totals: how many items are needed can only be told from results by item")
    if len(results.players) < 2:
        raise DataError("there is one player: two are needed to tell apart")
    results = under(results, rules)
    rules = with_known(results, rules, messages)
    item_view = view(results, rules.refusals, tuple(rules.weights))
    if len(item_view.items) < FEWEST:
        raise DataError(
            nothing_common(results)
            if not item_view.items
            else f"there are {len(item_view.items)} scored items: at least {FEWEST} are needed to say anything"
        )
    a, b = _pair(results, item_view, rules, pair, in_order=effect is not None)
    pairs = _with_others(item_view, rules, (a, b))
    resampled = resample(item_view, rules, pairs, options.resamples, options.seed, level=options.level)
    span = resampled.differences[0]
    recorded = span.value
    effect = effect or Effect(recorded, span.all_low, span.all_high)
    sample_of = _sampler(item_view, rules, pairs, options)
    needed, full = _confirmed(sample_of, item_view, rules, pairs, effect.value, recorded, options)
    scored_share = len(item_view.items) / len(set(results.item_of[results.present.any(axis=0)].tolist()))
    messages += _notes(len(item_view.items), scored_share, results.trials)
    return PowerReport(
        players=[results.players[a], results.players[b]],
        items=len(item_view.items),
        trials=results.trials,
        level=options.level,
        power=options.power,
        dq=effect.value,
        low=effect.low,
        high=effect.high,
        own_dq=recorded,
        needed=needed,
        asked=None if needed is None else math.ceil(needed / scored_share),
        costs_per_item=_costs(results, 1),
        in_full=full,
        most=MAX_ITEMS,
        if_low=_needed_if(sample_of, effect.low, options),
        if_high=_needed_if(sample_of, effect.high, options),
        detectable=sample_of(len(item_view.items)).detectable(options.power),
        curve=[
            PowerPoint(
                items=n,
                power=sample_of(n).power(effect.value),
                detectable=sample_of(n).detectable(options.power),
                costs=_costs(results, n / scored_share),
            )
            for n in _sizes(sample_of, effect.value, len(item_view.items), needed)
        ],
        notes=messages,
    )


def _pair(
    results: Results, item_view: View, rules: ScoreRules, pair: tuple[str, str] | None, *, in_order: bool
) -> tuple[int, int]:
    """The two seats, the better first unless the pair is in order already."""
    q = figures(item_view, rules).q[0]
    seats = range(len(q)) if pair is None else [results.players.index(name) for name in pair]
    ranked = list(seats) if in_order else sorted(seats, key=lambda seat: (-q[seat], seat))
    return ranked[0], ranked[1]


def _with_others(item_view: View, rules: ScoreRules, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """The pair, and the other differences that its interval is simultaneous with."""
    others = [other for other in compared(figures(item_view, rules).q[0]) if set(other) != set(pair)]
    return [pair, *others]


def _sampler(
    item_view: View, rules: ScoreRules, pairs: Sequence[tuple[int, int]], options: Options
) -> Callable[[int], Sampled]:
    """A cached function that draws samples of a given size; the first of the pairs is the one of interest."""
    contributions, estimate = influence(item_view, rules), figures(item_view, rules).q[0]
    better, worse = np.array(pairs).T
    deviations = (contributions[better] - contributions[worse] - (estimate[better] - estimate[worse])[:, None]).T
    squares, pair_variances = deviations**2, variances(contributions - estimate[:, None])

    @cache
    def sample_of(size: int) -> Sampled:
        blocks: list[tuple[Floats, Floats, Floats]] = []
        for drawn in _item_counts(len(deviations), size, options):
            q = figures(item_view, rules, drawn).q - estimate
            spread = drawn @ squares / size - (drawn @ deviations / size) ** 2
            errors = np.sqrt(np.maximum(spread, 0.0) / max(size - 1, 1))
            blocks.append((q[:, better] - q[:, worse], errors, farthest_pair(q, np.sqrt(pair_variances / size))))
        moved, errors, farthest = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
        ratios = ratio(np.abs(moved), errors * math.sqrt((size - 1) / size))
        family = Family(len(estimate), ratios, farthest)
        half = half_width(errors[:, 0], ratios[:, 0], size, rules.alpha, options.level, family)
        return Sampled(moved[:, 0], half)

    return sample_of


def _item_counts(items: int, size: int, options: Options) -> Iterator[Floats]:
    """Yield how often each item is drawn in samples of `size`, in chunks of samples."""
    random = np.random.default_rng([options.seed, size])
    chunk = max(1, CHUNK // items)
    for start in range(0, options.samples, chunk):
        count = min(chunk, options.samples - start)
        yield random.multinomial(size, np.full(items, 1 / items), count).astype(np.float64)


def _needed(sample_of: Callable[[int], Sampled], effect: float, options: Options) -> int | None:
    """The fewest items with the desired power, accurate to a few percent; None if even MAX_ITEMS is not enough."""

    def enough(size: int) -> bool:
        return sample_of(size).power(effect) >= options.power

    if effect < TIE:
        return None
    normal = NormalDist()
    quantiles = normal.inv_cdf(0.5 + options.level / 2) + normal.inv_cdf(options.power)
    spread = float(sample_of(1000).moved.std()) * math.sqrt(1000)
    guess = (quantiles * spread / effect) ** 2
    if guess > 2 * MAX_ITEMS:
        return None
    high = min(MAX_ITEMS, max(FEWEST, round(guess)))
    while not enough(high):
        if high >= MAX_ITEMS:
            return None
        high = min(MAX_ITEMS, math.ceil(high * 1.4))
    low = FEWEST - 1
    while high - low > max(1, high // 50):
        # Try near the guess first: power rises with the size, so the answer is not far below.
        middle = max((low + high) // 2, round(high / 1.2)) if low < high / 2 else (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _needed_if(sample_of: Callable[[int], Sampled], effect: float | None, options: Options) -> int | None:
    """The items needed if the difference were `effect`; None if no number is enough."""
    return None if effect is None else _needed(sample_of, effect, options)


def _confirmed(
    sample_of: Callable[[int], Sampled],
    item_view: View,
    rules: ScoreRules,
    pairs: Sequence[tuple[int, int]],
    effect: float,
    recorded: float,
    options: Options,
) -> tuple[int | None, InFull | None]:
    """The items needed, raised until fully computed intervals agree within their sampling error."""
    needed = _needed(sample_of, effect, options)
    if needed is None:
        return None, None
    full = _in_full(item_view, rules, pairs, needed, effect - recorded, options)
    for _ in range(STEPS):
        error = 1.0 if full is None else math.sqrt(options.power * (1 - options.power) / full.samples)
        if full is None or full.power >= options.power - 2 * error:
            break
        needed = min(MAX_ITEMS, math.ceil(1.1 * needed))
        full = _in_full(item_view, rules, pairs, needed, effect - recorded, options)
    return needed, full


def _in_full(
    item_view: View, rules: ScoreRules, pairs: Sequence[tuple[int, int]], size: int, shift: float, options: Options
) -> InFull | None:
    """The power at a size from fully computed intervals, shifted by `shift`; None if that would take too long."""
    samples = min(options.full, WORK // size // RESAMPLES)
    if samples < 20:
        return None
    if rules.reference is not None and not rules.per_item:  # the totals cover the recorded items
        growth = size / len(item_view.items)
        rules = replace(rules, reference={name: total * growth for name, total in rules.reference.items()})
    random = np.random.default_rng([options.seed, size, 1])
    seeds: list[int] = random.integers(2**31, size=samples).tolist()
    distinguished = 0
    for seed in seeds:
        picked = random.integers(0, len(item_view.items), size)
        resampled = resample(
            _sample_of_items(item_view, picked), rules, pairs, RESAMPLES, seed, keep=1, level=options.level
        )
        low = resampled.differences[0].all_low
        distinguished += low is not None and low + shift > 0
    return InFull(samples=samples, power=distinguished / samples)


def _sample_of_items(item_view: View, picked: NDArray[np.int64]) -> View:
    """A view of a sample of the items."""
    return View(
        tuple(map(str, range(len(picked)))),
        item_view.h[:, picked],
        item_view.h_counts[:, picked],
        {name: values[:, picked] for name, values in item_view.costs.items()},
        item_view.cost_counts[:, picked],
    )


def _sizes(sample_of: Callable[[int], Sampled], effect: float, present: int, needed: int | None) -> list[int]:
    """The sizes to show: a ladder up to where the power is nearly 1, the present size, and the one needed."""
    sizes = set(LADDER) | {present} | ({needed} if needed is not None else set[int]())
    step, rung = 0, 1000
    while max(sizes) < MAX_ITEMS and sample_of(max(sizes)).power(effect) < 0.99 and step < 7:
        sizes.add(rung)
        step, rung = step + 1, rung * (2, 2.5, 2)[step % 3]
        rung = int(rung)
    return sorted(size for size in sizes if size >= FEWEST)


def _costs(results: Results, items: float) -> dict[str, float | None]:
    """The total cost of a match of `items` items for all players; None if any player's cost is unknown."""
    costs: dict[str, float | None] = {}
    for name in RESOURCES:
        values = np.where(results.present, results.costs[name].value, np.nan)
        unknown = (np.isnan(values) & results.present).any() or np.isnan(values).all(axis=1).any()
        costs[name] = None if unknown else float(np.nanmean(values, axis=1).sum() * items * results.trials)
    return costs


def _notes(items: int, scored: float, trials: int) -> list[str]:
    notes: list[str] = []
    if trials > 1:
        notes.append(f"Every item is played {trials} times, as in the record, and the costs are of all of them.")
    if items < 30:
        notes.append(f"Only {items} items: resampling so few cannot show kinds of items that are not among them.")
    if scored < 1:
        notes.append(
            f"{1 - scored:.0%} of the items were left out of the score: the costs are of all that would be asked."
        )
    return notes
