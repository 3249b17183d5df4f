"""What `mashq score` says, as types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from mashq.analysis.parts import OPTIONAL, BetaStretch, Costs, Lead, WeightStretch, flat
from mashq.analysis.passages import PassageViews
from mashq.analysis.substance import Floor
from mashq.protocol.results import COST_NAMES
from mashq.protocol.score import Height, Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPlayer:
    """A player of a score. An unknown is null."""

    name: str
    """Its name."""
    h: float | None
    """Mean factuality of its answers."""
    h_before_review: float | None
    """Mean factuality of its first answers; null where they are not known."""
    answer_rate: float | None
    """The share of what it was asked that it answered."""
    costs: Costs = field(metadata=flat(COST_NAMES))
    """Totals over the scored items, each averaged over its trials, with the charges for unknown attempts."""
    charged: Mapping[str, float]
    """By resource, how much of the total is a charge for what is unknown; nothing where all is known."""
    unknown_attempts: float
    """Attempts of unknown cost."""
    penalty: float | None
    """P: its costs, each relative to the largest or to the reference, times their weights."""
    q: float | None
    """alpha * H - beta * P."""
    q_min: float | None
    """Q with its own unknown costs at their worst case and everyone else's at nothing."""
    q_max: float | None
    """Q with everyone else's unknown costs at their worst case and its own at nothing."""
    q_low: float | None
    """Lower end of the 95% confidence interval of Q; the leader's, of more than three, is widened for its choice."""
    q_high: float | None
    """Upper end of the interval of Q."""
    p_win: float | None
    """The chance that it has the best Q, by resampled items; null where there are too few, and without rivals."""
    dollars_per_faithful: float | None
    """Dollars for each answer that the judge gives an H of 0.5 or more."""
    words: float | None = None
    """Mean number of words of its scored answers; null where their texts are not known."""
    coverage: float | None = None
    """Mean share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Mean share of their words inside runs of eight or more that stand in the source word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Who wins how often at a beta."""

    beta: float
    """The weight of P."""
    p: Mapping[str, float]
    """By player, the share of resampled matches that it wins; a tie is shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranking under a rule for refusals and a normaliser."""

    refusals: Refusals
    """The rule for refused and failed items."""
    normalise: Literal["match", "median", "reference", "per_item"]
    """What costs are relative to: the largest in the match, the median player's, or the reference."""
    h: Height = "faithful"
    """What H means."""
    items: int
    """How many items are scored."""
    ranking: Sequence[str] | None
    """The players, best first; null where no item is scored."""
    tied: Sequence[Sequence[str]] | None = field(default=None, metadata=OPTIONAL)
    """Those of them that share a place; absent where nobody does."""

    @property
    def leaders(self) -> tuple[str, ...]:
        """The players in first place, alone or tied; empty if no item is scored."""
        first = tuple((self.ranking or ())[:1])
        return next((tuple(names) for names in self.tied or () if names[0] in first), first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What a player refused, failed or was not asked."""

    missing: int
    """How many items, each trial counted."""
    alone: int
    """How many of them everyone else answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What the rule `intersection` leaves out."""

    items: int
    """How many items are left out in all their trials."""
    units: int
    """How many items, each trial counted."""
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
    normalise: Literal["match", "reference", "per_item"]
    """What costs are relative to: the largest in the match, or a reference (totals, or costs per item)."""
    refusals: Refusals
    """The rule for refused and failed items."""
    h: Height = "faithful"
    """What H means: the judge's score, or that score times how much of what matters an answer covers."""
    items: int | None
    """How many items are scored; null for totals."""
    units: int | None
    """How many answers of each player: items times their trials that are scored; null for totals."""
    trials: int
    """The most trials of an item; they are averaged first."""
    level: float
    """The level of the intervals."""
    players: Sequence[ScoredPlayer]
    """The players, in their seats."""
    floors: Sequence[Floor] = ()
    """What texts that take no model would have; empty where texts are not known or there is nothing to summarise."""
    winner: str | None
    """Who has the best Q; null for a tie, and while a run is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""
    best_set: Sequence[str]
    """The players that cannot be told apart from the best, the best included; empty where there are too few items."""
    headline: str
    """Who leads and how sure that is, in a sentence."""
    differences: Sequence[Lead]
    """Differences in Q, the better player first: of all pairs, or of the best against each other one."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta; empty where there is nobody to lead."""
    weight_envelopes: Mapping[str, Sequence[WeightStretch]]
    """By resource, who leads at which weight of it."""
    simplex: Mapping[str, float] | None
    """By player, the share of all weightings of the resources under which it wins; those of a tie are shared."""
    chance_along_beta: Sequence[Chances] | None
    """The chances of winning along beta; null without items or rivals."""
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
    passages: PassageViews | None = field(default=None, metadata=OPTIONAL)
    """What answers over documents came to; absent for other tasks."""


def chance_said(chance: float) -> str:
    """Format a probability without overstating it: all or none of the resamples is not certainty."""
    return ">0.999" if chance > 0.999 else "<0.001" if chance < 0.001 else f"{chance:.3f}"
