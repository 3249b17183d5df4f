"""What `mashq score` says, as types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from mashq.analysis.parts import BetaStretch, Costs, Lead, WeightStretch, flat
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPlayer:
    """A player of a score. An unknown is null."""

    name: str
    """Its name."""
    h: float | None
    """Mean factuality of its answers."""
    answer_rate: float | None
    """The share of its items that it answered."""
    costs: Costs = field(metadata=flat(RESOURCES))
    """Totals over the scored items."""
    penalty: float | None
    """P: its costs, each relative to the largest or to the reference, times their weights."""
    q: float | None
    """alpha * H - beta * P."""
    q_low: float | None
    """Lower end of the interval of Q."""
    q_high: float | None
    """Upper end of the interval of Q."""
    p_win: float | None
    """The share of resampled matches in which it has the best Q."""
    dollars_per_faithful: float | None
    """Dollars for each answer with an H of 0.5 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Who wins how often at a beta."""

    beta: float
    """The weight of P."""
    p: Mapping[str, float]
    """By player, the share of resampled matches that it wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranking under a rule for refusals and a normaliser."""

    refusals: Refusals
    """The rule for refused and failed items."""
    normalise: Literal["match", "median", "reference"]
    """What costs are relative to: the largest in the match, the median player's, or the reference."""
    items: int
    """How many items are scored."""
    ranking: Sequence[str] | None
    """The players, best first; null where no item is scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What a player left unanswered."""

    missing: int
    """How many items."""
    alone: int
    """How many of them everyone else answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Items that the rule `intersection` leaves out."""

    items: int
    """How many."""
    by: Mapping[str, Missing]
    """By player, those with most first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReport:
    """Everything that `mashq score` says of some results."""

    kind: ClassVar[str] = "score"

    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    weights: Mapping[str, float]
    """The resources that P counts, each with its weight."""
    normalise: Literal["match", "reference"]
    """What costs are relative to: the largest in the match, or fixed totals."""
    refusals: Refusals
    """The rule for refused and failed items."""
    items: int | None
    """How many items are scored; null for totals."""
    trials: int
    """The most trials of an item; they are averaged first."""
    level: float
    """The level of the intervals."""
    players: Sequence[ScoredPlayer]
    """The players, in their seats."""
    winner: str | None
    """Who has the best Q; null for a tie."""
    tied: Sequence[str]
    """Who shares the best Q."""
    differences: Sequence[Lead]
    """Differences in Q, the better player first: of all pairs, or of the best against each other one."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta."""
    weight_envelopes: Mapping[str, Sequence[WeightStretch]]
    """By resource, who leads at which weight of it."""
    simplex: Mapping[str, float] | None
    """By player, the share of all weightings of the resources under which it wins."""
    chance_along_beta: Sequence[Chances] | None
    """The chances of winning along beta; null without items."""
    pareto: Sequence[str]
    """The players whom nobody beats in both H and P."""
    pareto_by: Mapping[str, Sequence[str]]
    """The same by resource, for those that all players have."""
    views: Sequence[Ranking]
    """The ranking under each rule for refusals and each normaliser."""
    dropped: Dropped
    """Items that not everyone answered."""
    notes: Sequence[str]
    """What a reader must not miss."""
