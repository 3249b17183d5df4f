"""All that a report says of a match or of its trials, as numbers: made once, shown by the sections and the charts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mashq.analysis.flips import pareto
from mashq.analysis.intervals import resample
from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoreReport
from mashq.analysis.scoring import influence
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import STATUSES, Cost, Floats, Results
from mashq.protocol.score import ScoreRules, View, by_item, figures, reduce, scored_units, under, view, with_known
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.documents.match import Match
from mashq.report.documents.match import document as match_document
from mashq.report.documents.trials import Trials
from mashq.report.documents.trials import document as trials_document
from mashq.report.html.events import Course, course_of, review_costs
from mashq.runs.open import Played, Season
from mashq.runs.setup import score_rules_of

BAND_RESAMPLES = 1000
BAND_STEPS = 16
BINS = 10


@dataclass(frozen=True, slots=True)
class Decisive:
    """An item's part in the lead of the first over the second: `part` to first order, `without` the lead less it."""

    item: str
    part: float
    without: float
    h: tuple[float, float]
    tokens: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ReviewEffect:
    """H and P of a player without its reviews and with them."""

    player: str
    reviews: float
    h_without: float
    h: float
    penalty_without: float
    penalty: float
    rules: ScoreRules

    def q(self, beta: float) -> float:
        """Q with the reviews."""
        return q_of(self.rules, beta, self.h, self.penalty)

    def q_without(self, beta: float) -> float:
        """Q without them."""
        return q_of(self.rules, beta, self.h_without, self.penalty_without)

    @property
    def gain(self) -> float:
        """What they add to Q before their price."""
        return self.q(0.0) - self.q_without(0.0)

    @property
    def price(self) -> float:
        """What they add to P."""
        return self.penalty - self.penalty_without


@dataclass(frozen=True)
class Facts:
    """A match of a run. `judged` is what `mashq score` says; None, with `why`, where no item can be scored."""

    season: Season
    document: Match | Trials
    played: Played
    matches: tuple[str, ...]
    results: Results
    statuses: dict[str, Counter[str]]
    rules: ScoreRules
    judged: ScoreReport | None
    why: str = ""

    @property
    def report(self) -> ScoreReport:
        """What `mashq score` says, for the sections that a page has only where something is scored."""
        if self.judged is None:
            raise LookupError(self.why)
        return self.judged

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The players, in their seats."""
        return self.results.players

    @cached_property
    def seen(self) -> View:
        """What the rule for refusals scores."""
        return view(self.results, self.rules.refusals, tuple(self.rules.weights))

    @cached_property
    def plays(self) -> list[Played]:
        """The match, or every trial that is scored."""
        if len(self.matches) == 1:
            return [self.played]
        return [one for one in self.season.fixtures_played() if one.fixture.id in self.matches]

    @cached_property
    def course(self) -> Course:
        """The course and the story of the match, the first of several."""
        return course_of(self.played)

    @cached_property
    def kept(self) -> Any:
        """Which items are scored."""
        return np.isin(np.array(self.results.items), np.array(self.seen.items))

    @cached_property
    def before(self) -> Results:
        """The results as if nobody had reviewed: first answers, without the known cost of the reviews."""
        found = self.results
        spent = review_costs(self.season.path, self.matches, self.names, found.items)
        costs = {
            name: Cost.known(np.maximum(found.costs[name].value - spent[name][:, found.item_of], 0.0))
            for name in RESOURCES
        }
        costs["reviews"] = Cost.known(np.zeros_like(found.h))
        return replace(found, h=found.h_first, costs={**found.costs, **costs})

    @cached_property
    def review_effects(self) -> list[ReviewEffect]:
        """What each player's reviews did, of those with a score."""
        effects: list[ReviewEffect] = []
        for seat, player in enumerate(self.report.players):
            if player.h is not None and player.penalty is not None:
                h, penalty = (float(values[seat]) for values in self.without_reviews)
                reviews = player.costs["reviews"] or 0.0
                effects.append(ReviewEffect(player.name, reviews, h, player.h, penalty, player.penalty, self.rules))
        return effects

    @cached_property
    def without_reviews(self) -> tuple[Floats, Floats]:
        """H and P of each player if it alone had not reviewed: costs relative to the match as it was played."""
        seen = view(self.before, self.rules.refusals, tuple(self.rules.weights))
        under = self.rules
        if under.reference is None:
            most = {name: float(cost.max()) for name, cost in figures(self.seen, under).costs.items()}
            each = {name: largest if largest > 0 else 1.0 for name, largest in most.items()}
            under = replace(under, reference=each, per_item=True)
        found = figures(seen, under)
        return found.h[0], found.penalty[0]

    @cached_property
    def top(self) -> tuple[int, int] | None:
        """The seats of the two best, where there are two with a score."""
        q = figures(self.seen, self.rules).q[0]
        ranked = sorted((seat for seat in range(len(q)) if not np.isnan(q[seat])), key=lambda seat: (-q[seat], seat))
        return (ranked[0], ranked[1]) if len(ranked) > 1 else None

    @cached_property
    def most_beta(self) -> float:
        """How far the axis of beta goes: twice the run's, or on to the last change of the lead that is near."""
        beta = self.rules.beta or 0.1
        flips = [] if self.judged is None else [s.beta_from for s in self.judged.envelope if s.beta_from]
        return max([2 * beta, *(1.25 * flip for flip in flips if flip <= 8 * beta)])

    @cached_property
    def band(self) -> list[dict[str, Any]]:
        """Q of every player and the lead of the best, with 95% intervals, along beta."""
        pairs = [] if self.top is None else [self.top]
        rows: list[dict[str, Any]] = []
        for beta in np.linspace(0, self.most_beta, BAND_STEPS + 1).tolist():
            rules = replace(self.rules, beta=beta)
            found = resample(self.seen, rules, pairs, BAND_RESAMPLES, 0, keep=1)
            q = figures(self.seen, rules).q[0]
            low, high = (found.low, found.high) if found.low is not None else (None, None)
            rows.append({"beta": beta, "q": q, "low": low, "high": high, "lead": next(iter(found.differences), None)})
        return rows

    @cached_property
    def decisive(self) -> list[Decisive]:
        """The scored items by their part in the lead, the strongest first, whichever way they pull."""
        if self.top is None or len(self.seen.items) < 2:
            return []
        a, b = self.top
        count = len(self.seen.items)
        parts = influence(self.seen, self.rules)
        q = figures(self.seen, self.rules).q[0]
        pull = (parts[a] - parts[b] - (q[a] - q[b])) / count
        order: list[int] = np.argsort(-np.abs(pull), kind="stable").tolist()
        found: list[Decisive] = []
        tokens = self._means("tokens")
        for at in order[:12]:
            weights = np.ones((1, count))
            weights[0, at] = 0.0
            less = figures(self.seen, self.rules, weights).q[0]
            h = float(self.seen.h[a, at]), float(self.seen.h[b, at])
            cost = tuple(None if np.isnan(tokens[seat, at]) else float(tokens[seat, at]) for seat in (a, b))
            found.append(
                Decisive(self.seen.items[at], float(pull[at]), float(less[a] - less[b]), h, (cost[0], cost[1]))
            )
        return found

    @cached_property
    def fewest_to_flip(self) -> int | None:
        """How many of the items that favour the winner most must go before it loses; None when half would not do."""
        if self.top is None:
            return None
        a, b = self.top
        parts = influence(self.seen, self.rules)
        order = np.argsort(-(parts[a] - parts[b]), kind="stable")
        count = len(order)
        weights = np.ones((count // 2, count))
        for gone in range(count // 2):
            weights[gone, order[: gone + 1]] = 0.0
        if not len(weights):
            return None
        q = figures(self.seen, self.rules, weights).q
        lost = np.flatnonzero(q[:, a] < q[:, b])
        return int(lost[0]) + 1 if len(lost) else None

    @cached_property
    def shares(self) -> list[list[float]]:
        """How the H of each player's scored items is spread over ten bins, as shares."""
        h = np.where(self.seen.h_counts > 0, self.seen.h, np.nan)
        rows: list[list[float]] = []
        for own in h:
            known = own[~np.isnan(own)]
            rows.append((np.histogram(known, BINS, (0, 1))[0] / max(1, len(known))).tolist())
        return rows

    def front(self, cost: Floats) -> tuple[int, ...]:
        """Who is not beaten in both H and a cost."""
        return pareto(figures(self.seen, self.rules).h[0].tolist(), cost.tolist())

    def cost(self, name: str) -> Floats | None:
        """A resource's mean an item over the scored items by player; None where somebody's is not known at all."""
        own = self._means(name)
        return None if not own.size or np.isnan(own).all(axis=1).any() else np.nanmean(own, axis=1)

    def _means(self, name: str) -> Floats:
        """A resource by player and scored item; NaN where it is not known, or does not count."""
        cells = scored_units(self.results, self.rules.refusals)[1]
        return by_item(self.results, self.results.costs[name].value, cells)[0][:, self.kept]


def q_of(rules: ScoreRules, beta: float, h: float, penalty: float) -> float:
    """Q of an H and a P at another beta."""
    whole = {"P": 1.0}
    changed = replace(rules, beta=beta, weights=whole, reference=whole, per_item=True)
    return float(reduce(np.array([h]), {"P": np.array([penalty])}, changed)[1][0])


def facts(season: Season, changed: Sequence[Played] | None = None) -> Facts:
    """The facts of a match, or of the trials that have ended; `changed` are those under another judge."""
    begun = trials_of(season) if changed is None else list(changed)
    given = score_rules_of(season.config)
    results = under(season_results(begun), given)
    statuses = {
        name: Counter({status: int((own == at).sum()) for at, status in enumerate(STATUSES)})
        for name, own in zip(results.players, results.status, strict=True)
    }
    judged = judge(results, Options(given, finished=season.finished))
    why = "" if judged.items else next((note for note in judged.notes if note.startswith("Q is")), judged.headline)
    matches = tuple(played.fixture.id for played in begun)
    rules = with_known(results, given, [])
    kept = judged if judged.items else None
    return Facts(season, _document(season), begun[0], matches, results, statuses, rules, kept, why)


def _document(season: Season) -> Match | Trials:
    if season.manifest.get("season", {}).get("trials", 1) > 1:
        return trials_document(season)
    return match_document(next(season.fixtures_played()))
