"""A second implementation of the score, from the protocol alone, in plain loops over exact fractions, without mashq.

Numbers are taken as written in a file (0.1 is a tenth), so that what ties on paper ties here. Slow, and meant to
be read alongside the protocol: steps share nothing but the rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from statistics import median
from typing import Literal

Status = Literal["ok", "refused", "failed", "unanswered", "pending"]
Refusals = Literal["intersection", "penalised", "answered"]
Normaliser = Literal["match", "median", "totals", "per_item"]
Charge = Literal["mean", "none", "worst"]
Unit = tuple[str, int]

RESOURCES = ("tokens", "calls", "reviews", "seconds", "dollars")
COSTS = (*RESOURCES, "tokens_in", "tokens_out")
REFUSALS: tuple[Refusals, ...] = ("intersection", "penalised", "answered")
TIE = Fraction("1e-9")
FAITHFUL = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Row:
    """A player's result on an item in a trial; `pending` if it has not reached it yet. A cost that is not in `costs`
    is unknown."""

    player: str
    item: str
    trial: int
    h: float | None
    status: Status
    costs: Mapping[str, float]


def counted_by_default() -> dict[str, float]:
    """Return a weight of 1 for every resource except dollars."""
    return dict.fromkeys(RESOURCES[:4], 1.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """The scoring rules; `reference` is the declared cost of one match, or of one item."""

    alpha: float = 1.0
    beta: float = 0.1
    weights: Mapping[str, float] = field(default_factory=counted_by_default)
    refusals: Refusals = "intersection"
    normaliser: Normaliser = "match"
    reference: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Standing:
    """A player's result; None is unknown."""

    name: str
    h: Fraction | None
    answer_rate: Fraction | None
    totals: Mapping[str, Fraction | None]
    per_item: Mapping[str, Fraction | None]
    charged: Mapping[str, Fraction]
    ratios: Mapping[str, Fraction]
    penalty: Fraction | None
    q: Fraction | None
    q_min: Fraction | None
    q_max: Fraction | None
    dollars_per_faithful: Fraction | None


@dataclass(frozen=True, slots=True)
class Loss:
    """Units that a player refused, failed or has no row for, and those of them that nobody else lost."""

    missing: int
    alone: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Who leads from where to where (None: no end)."""

    begin: Fraction
    end: Fraction | None
    winner: str


@dataclass(frozen=True, slots=True)
class Score:
    """Everything that follows from the rows and the rules without resampling."""

    items: int
    units: int
    trials: int
    weights: Mapping[str, Fraction]
    players: tuple[Standing, ...]
    winner: str | None
    tied: tuple[str, ...]
    lost_items: int
    lost_units: int
    losses: Mapping[str, Loss]

    def of(self, name: str) -> Standing:
        """Return a player's result."""
        return next(player for player in self.players if player.name == name)


@lru_cache(maxsize=10_000)
def exact(value: float) -> Fraction:
    """Return a number as it is written."""
    return Fraction(str(value))


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the mean of at least one value."""
    return sum(values, Fraction()) / len(values)


def item_means(values: Iterable[tuple[str, Fraction]]) -> list[Fraction]:
    """Return the mean over its trials for each item: items are the unit."""
    by_item: dict[str, list[Fraction]] = {}
    for item, value in values:
        by_item.setdefault(item, []).append(value)
    return [mean(trial_values) for trial_values in by_item.values()]


# Which units count


class Results:
    """Rows, sorted once by player; results are equal only to themselves."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        # The players, in the order in which they appear.
        self.seats = tuple(dict.fromkeys(row.player for row in rows))
        # The rows each player has played so far.
        self.own = {
            player: tuple(row for row in rows if row.player == player and row.status != "pending")
            for player in self.seats
        }
        # Every item and trial that anybody has a row for.
        self.units = tuple(dict.fromkeys((row.item, row.trial) for row in rows))
        # The units that a player keeps: it answered, or did not reach it, which scores 0 under every rule, or
        # has not reached it yet. Not those that it refused or failed, nor those that it has no row for.
        self.kept = {
            player: {
                (row.item, row.trial)
                for row in rows
                if row.player == player and row.status in ("ok", "unanswered", "pending")
            }
            for player in self.seats
        }
        # The units that every player keeps.
        self.common = {unit for unit in self.units if all(unit in some for some in self.kept.values())}


def charged_rows(results: Results, player: str, refusals: Refusals) -> list[Row]:
    """Return the rows whose costs a player pays: of the common units, or of all it was given."""
    if refusals == "intersection":
        return [row for row in results.own[player] if (row.item, row.trial) in results.common]
    return list(results.own[player])


def scored_items(results: Results, refusals: Refusals) -> int:
    """Return the number of scored items."""
    return len({row.item for player in results.seats for row in charged_rows(results, player, refusals)})


def scored_units(results: Results, refusals: Refusals) -> int:
    """Return the number of scored units: items, each trial counted."""
    return len({(row.item, row.trial) for player in results.seats for row in charged_rows(results, player, refusals)})


def losses(results: Results) -> dict[str, Loss]:
    """Return, by player, the units it removed from the intersection."""
    by_player: dict[str, Loss] = {}
    for player in results.seats:
        missing = [unit for unit in results.units if unit not in results.kept[player]]
        others = [results.kept[other] for other in results.seats if other != player]
        alone = [unit for unit in missing if all(unit in kept for kept in others)]
        if missing:
            by_player[player] = Loss(len(missing), len(alone))
    return by_player


# H


def factuality(results: Results, player: str, refusals: Refusals) -> Fraction | None:
    """Return H: the mean over items of the mean over their trials; None when nothing is scored."""
    values: list[tuple[str, Fraction]] = []
    for row in charged_rows(results, player, refusals):
        if row.status == "ok":
            assert row.h is not None
            values.append((row.item, exact(row.h)))
        elif row.status == "unanswered" or refusals == "penalised":
            values.append((row.item, Fraction()))
    means = item_means(values)
    return mean(means) if means else None


def answer_rate(results: Results, player: str) -> Fraction | None:
    """Return the share of the units a player has played that it answered."""
    played = results.own[player]
    return Fraction(sum(row.status == "ok" for row in played), len(played)) if played else None


# Costs


def known(results: Results, player: str, resource: str) -> list[Fraction]:
    """Return a player's known costs of a resource, over all its rows."""
    return [exact(row.costs[resource]) for row in results.own[player] if resource in row.costs]


def largest_known(results: Results, resource: str) -> Fraction:
    """Return the largest known cost of one row, of any player."""
    return max(exact(row.costs[resource]) for row in results.rows if resource in row.costs)


def counted(results: Results, weights: Mapping[str, float]) -> dict[str, Fraction]:
    """Return the weights of the resources that are known in some row of every player that has played."""
    return {
        resource: exact(weight)
        for resource, weight in weights.items()
        if all(known(results, player, resource) for player in results.seats if results.own[player])
    }


def total(
    results: Results, player: str, resource: str, refusals: Refusals, charge: Charge = "mean"
) -> Fraction | None:
    """Return the sum over items of the mean cost over trials, missing costs charged by `charge`; None if unknown."""
    known_costs = known(results, player, resource)
    paid_rows = charged_rows(results, player, refusals)
    if not known_costs or not paid_rows:
        return None
    if charge == "mean":
        substitute = mean(known_costs)
    elif charge == "worst":
        substitute = largest_known(results, resource)
    else:
        substitute = Fraction()
    return sum(
        item_means(
            (row.item, exact(row.costs[resource]) if resource in row.costs else substitute) for row in paid_rows
        ),
        Fraction(),
    )


@lru_cache(maxsize=10_000)
def per_item(
    results: Results, player: str, resource: str, refusals: Refusals, charge: Charge = "mean"
) -> Fraction | None:
    """Return the mean cost per scored item."""
    summed = total(results, player, resource, refusals, charge)
    return None if summed is None else summed / len({row.item for row in charged_rows(results, player, refusals)})


def charged(results: Results, player: str, refusals: Refusals) -> dict[str, Fraction]:
    """Return, by resource, how much of a total is a charge for missing costs, if these could be more than 0."""
    by_resource: dict[str, Fraction] = {}
    for resource in COSTS:
        total_, least, highest = (
            total(results, player, resource, refusals, charge) for charge in ("mean", "none", "worst")
        )
        if total_ is not None and least is not None and highest != least:
            by_resource[resource] = total_ - least
    return by_resource


def ratio(
    results: Results, player: str, resource: str, rules: Rules, own: Charge = "mean", others: Charge = "mean"
) -> Fraction:
    """Return a player's cost relative to the normaliser; 0 for a resource that nobody used."""
    costs: dict[str, Fraction] = {}
    for seat in results.seats:
        cost = per_item(results, seat, resource, rules.refusals, own if seat == player else others)
        assert (cost is None) == (not charged_rows(results, seat, rules.refusals))
        if cost is not None:
            costs[seat] = cost
    if rules.normaliser == "match":
        unit = max(costs.values())
    elif rules.normaliser == "median":
        unit = median(costs.values())
    elif rules.normaliser == "per_item":
        unit = exact(rules.reference[resource])
    else:
        unit = exact(rules.reference[resource]) / scored_items(results, rules.refusals)
    return costs[player] / unit if unit else Fraction()


def penalty(
    results: Results, player: str, rules: Rules, own: Charge = "mean", others: Charge = "mean"
) -> Fraction | None:
    """Return P, the weighted sum of the ratios; None when nothing is scored."""
    if not charged_rows(results, player, rules.refusals):
        return None
    return sum(
        (
            weight * ratio(results, player, resource, rules, own, others)
            for resource, weight in counted(results, rules.weights).items()
        ),
        Fraction(),
    )


def quality(
    results: Results, player: str, rules: Rules, own: Charge = "mean", others: Charge = "mean"
) -> Fraction | None:
    """Return Q = alpha H - beta P."""
    h, p = factuality(results, player, rules.refusals), penalty(results, player, rules, own, others)
    return None if h is None or p is None else exact(rules.alpha) * h - exact(rules.beta) * p


def dollars_per_faithful(results: Results, player: str, refusals: Refusals) -> Fraction | None:
    """Return dollars per faithful answer, both averaged over an item's trials first."""
    dollars = total(results, player, "dollars", refusals)
    shares = item_means(
        (row.item, Fraction(row.status == "ok" and row.h is not None and exact(row.h) >= FAITHFUL))
        for row in charged_rows(results, player, refusals)
    )
    faithful = sum(shares, Fraction())
    return dollars / faithful if dollars is not None and faithful else None


# The whole


def standing(results: Results, player: str, rules: Rules) -> Standing:
    """Return everything about one player."""
    weights = counted(results, rules.weights)
    anything = bool(charged_rows(results, player, rules.refusals))
    return Standing(
        name=player,
        h=factuality(results, player, rules.refusals),
        answer_rate=answer_rate(results, player),
        totals={name: total(results, player, name, rules.refusals) for name in COSTS},
        per_item={name: per_item(results, player, name, rules.refusals) for name in RESOURCES},
        charged=charged(results, player, rules.refusals),
        ratios={name: ratio(results, player, name, rules) for name in weights} if anything else {},
        penalty=penalty(results, player, rules),
        q=quality(results, player, rules),
        q_min=quality(results, player, rules, own="worst", others="none"),
        q_max=quality(results, player, rules, own="none", others="worst"),
        dollars_per_faithful=dollars_per_faithful(results, player, rules.refusals),
    )


def leaders(qs: Mapping[str, Fraction | None]) -> list[str]:
    """Return the players whose Q is the highest, or so close to it that they tie."""
    known_qs = {name: q for name, q in qs.items() if q is not None}
    return [name for name, q in known_qs.items() if max(known_qs.values()) - q < TIE]


def score(rows: Sequence[Row], rules: Rules) -> Score:
    """Score the rows."""
    results = Results(rows)
    players = tuple(standing(results, player, rules) for player in results.seats)
    first = leaders({standing_.name: standing_.q for standing_ in players})
    return Score(
        items=scored_items(results, rules.refusals),
        units=scored_units(results, rules.refusals),
        trials=max(len({unit for unit in results.units if unit[0] == item}) for item, _ in results.units),
        weights=counted(results, rules.weights),
        players=players,
        winner=first[0] if len(first) == 1 else None,
        tied=tuple(first) if len(first) > 1 else (),
        lost_items=len({item for item, _ in results.units} - {item for item, _ in results.common}),
        lost_units=len(results.units) - len(results.common),
        losses=losses(results),
    )


def view(rows: Sequence[Row], rules: Rules, refusals: Refusals, normaliser: Normaliser) -> dict[str, Fraction | None]:
    """Return every player's Q under another rule for refusals and another normaliser."""
    results = Results(rows)
    other = replace(rules, refusals=refusals, normaliser=normaliser)
    return {player: quality(results, player, other) for player in results.seats}


def upper_envelope(lines: Mapping[str, tuple[Fraction, Fraction]]) -> list[Stretch]:
    """Return who leads along x >= 0, where each player's value is its intercept minus x times its slope."""
    begin = Fraction()
    leader = max(lines, key=lambda name: (lines[name][0], -lines[name][1]))
    stretches: list[Stretch] = []
    while True:
        height, slope = lines[leader]
        crossings = {
            name: (height - other) / (slope - flatter) for name, (other, flatter) in lines.items() if flatter < slope
        }
        if not crossings:
            return [*stretches, Stretch(begin, None, leader)]
        crossing = min(crossings.values())
        stretches.append(Stretch(begin, crossing, leader))
        begin = crossing
        leader = min((name for name in crossings if crossings[name] == crossing), key=lambda name: lines[name][1])


def beta_lines(result: Score, rules: Rules) -> dict[str, tuple[Fraction, Fraction]]:
    """Return every player's Q as a line in beta."""
    return {
        player.name: (exact(rules.alpha) * player.h, player.penalty)
        for player in result.players
        if player.h is not None and player.penalty is not None
    }


def weight_lines(result: Score, rules: Rules, resource: str) -> dict[str, tuple[Fraction, Fraction]]:
    """Return every player's Q as a line in the weight of one resource."""
    beta = exact(rules.beta)
    lines: dict[str, tuple[Fraction, Fraction]] = {}
    for player in result.players:
        if player.q is not None:
            part = player.ratios[resource]
            lines[player.name] = (player.q + beta * result.weights[resource] * part, beta * part)
    return lines


def front(points: Mapping[str, tuple[Fraction, Fraction]], blur: Fraction = Fraction()) -> set[str]:
    """Return the players nobody beats: better in H (the first) or in cost (the second) and no worse in the other.

    With a `blur`, values that differ by less than that, but are not equal, may be better or worse:
    a positive blur returns everyone who could be on the front; a negative one, only those who must be.
    """

    def beats(first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]) -> bool:
        gains = [first[0] - second[0], second[1] - first[1]]
        gains = [gain if gain == 0 or abs(gain) > abs(blur) else -blur for gain in gains]
        return min(gains) >= 0 and max(gains) > 0

    return {name for name, point in points.items() if not any(beats(other, point) for other in points.values())}


# Adequacy


@dataclass(frozen=True, slots=True)
class Carried:
    """The length of an answer, and its coverage of the source's key words."""

    words: int
    coverage: float


def adequacy(own: Carried, source: int, lead: Carried, target: float | None, longest: float) -> Fraction:
    """Return the factor on H: the share of the target coverage reached, times how far the answer is from a copy."""
    most = max(Fraction(30), exact(longest) * source)
    if target is not None:
        wanted = exact(target)
    else:
        wanted = exact(lead.coverage) * min(Fraction(1), most / max(lead.words, 1))
    reached = min(Fraction(1), exact(own.coverage) / wanted) if wanted else Fraction(1)
    if source <= most:
        return reached
    return reached * max(Fraction(), min(Fraction(1), (source - own.words) / (source - most)))
