"""All figures of a match or of its trials in a report: computed once, shown by the sections and the charts."""

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
from mashq.protocol.results import STATUSES, Cost, Floats, Results
from mashq.protocol.score import ScoreRules, View, by_item, figures, reduce, scored_units, under, view, with_known
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.documents.match import Match
from mashq.report.documents.match import document as match_document
from mashq.report.documents.trials import Trials
from mashq.report.documents.trials import document as trials_document
from mashq.report.html.events import Course, course_of
from mashq.runs.open import Played, Season
from mashq.runs.reading import read_review_spend
from mashq.runs.setup import score_rules_of

BAND_RESAMPLES = 1000
BAND_STEPS = 16
BINS = 10


@dataclass(frozen=True, slots=True)
class Decisive:
    """An item's influence on the lead: `part` is its share to first order, `without` the lead without the item."""

    item: str
    part: float
    without: float
    h: tuple[float, float]
    tokens: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ReviewEffect:
    """H and P of a player with and without its reviews."""

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
        """Q without the reviews."""
        return q_of(self.rules, beta, self.h_without, self.penalty_without)

    @property
    def gain(self) -> float:
        """What the reviews add to Q, not counting their cost."""
        return self.q(0.0) - self.q_without(0.0)

    @property
    def price(self) -> float:
        """What the reviews add to P."""
        return self.penalty - self.penalty_without


@dataclass(frozen=True)
class Facts:
    """Figures of a match. `judged` is the report of `mashq score`; None if nothing is scored, because of `why`."""

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
        """The report of `mashq score`, for sections that need one; raises LookupError if nothing is scored."""
        if self.judged is None:
            raise LookupError(self.why)
        return self.judged

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the players, in seat order."""
        return self.results.players

    @cached_property
    def seen(self) -> View:
        """The part of the results that the rule for refusals scores."""
        return view(self.results, self.rules.refusals, tuple(self.rules.weights))

    @cached_property
    def plays(self) -> list[Played]:
        """The match, or all its scored trials."""
        if len(self.matches) == 1:
            return [self.played]
        return [played for played in self.season.fixtures_played() if played.fixture.id in self.matches]

    @cached_property
    def course(self) -> Course:
        """The course and the story of the match, or of its first trial."""
        return course_of(self.played)

    @cached_property
    def kept(self) -> Any:
        """Which items are scored."""
        return np.isin(np.array(self.results.items), np.array(self.seen.items))

    @cached_property
    def before(self) -> Results:
        """The results as if nobody had reviewed: first answers, and each unit without what its own reviews cost."""
        results = self.results
        seats = {name: seat for seat, name in enumerate(results.players)}
        places = {item: place for place, item in enumerate(results.items)}
        costs = {name: cost.value.copy() for name, cost in results.costs.items()}
        for trial, match in enumerate(self.matches):
            for (player, item), spend in read_review_spend(self.season.path, match).items():
                unit = seats[player], places[item] * len(self.matches) + trial
                for name in costs:
                    costs[name][unit] -= spend.cost(name)
        costs["reviews"] = np.zeros_like(results.h)
        return replace(results, h=results.h_first, costs={name: Cost.known(value) for name, value in costs.items()})

    @cached_property
    def review_effects(self) -> list[ReviewEffect]:
        """The effect of the reviews of each player with a score."""
        effects: list[ReviewEffect] = []
        for seat, player in enumerate(self.report.players):
            if player.h is not None and player.penalty is not None:
                h, penalty = (float(values[seat]) for values in self.without_reviews)
                reviews = player.costs["reviews"] or 0.0
                effects.append(ReviewEffect(player.name, reviews, h, player.h, penalty, player.penalty, self.rules))
        return effects

    @cached_property
    def without_reviews(self) -> tuple[Floats, Floats]:
        """H and P of each player if it alone had not reviewed, with costs relative to the match as it was played."""
        seen = view(self.before, self.rules.refusals, tuple(self.rules.weights))
        rules = self.rules
        if rules.reference is None:
            largest_costs = {name: float(cost.max()) for name, cost in figures(self.seen, rules).costs.items()}
            reference = {name: largest if largest > 0 else 1.0 for name, largest in largest_costs.items()}
            rules = replace(rules, reference=reference, per_item=True)
        totals = figures(seen, rules)
        return totals.h[0], totals.penalty[0]

    @cached_property
    def top(self) -> tuple[int, int] | None:
        """The seats of the two best players; None if fewer than two have a score."""
        q = figures(self.seen, self.rules).q[0]
        ranked = sorted((seat for seat in range(len(q)) if not np.isnan(q[seat])), key=lambda seat: (-q[seat], seat))
        return (ranked[0], ranked[1]) if len(ranked) > 1 else None

    @cached_property
    def most_beta(self) -> float:
        """The end of the beta axis: twice the run's beta, or beyond the last nearby change of the leader."""
        beta = self.rules.beta or 0.1
        flips = [] if self.judged is None else [s.beta_from for s in self.judged.envelope if s.beta_from]
        return max([2 * beta, *(1.25 * flip for flip in flips if flip <= 8 * beta)])

    @cached_property
    def band(self) -> list[dict[str, Any]]:
        """Q of every player and the lead of the best player along beta, with 95% intervals."""
        pairs = [] if self.top is None else [self.top]
        rows: list[dict[str, Any]] = []
        for beta in np.linspace(0, self.most_beta, BAND_STEPS + 1).tolist():
            rules = replace(self.rules, beta=beta)
            resampled = resample(self.seen, rules, pairs, BAND_RESAMPLES, 0, keep=1)
            q = figures(self.seen, rules).q[0]
            low, high = (resampled.low, resampled.high) if resampled.low is not None else (None, None)
            rows.append(
                {"beta": beta, "q": q, "low": low, "high": high, "lead": next(iter(resampled.differences), None)}
            )
        return rows

    @cached_property
    def decisive(self) -> list[Decisive]:
        """The scored items with the largest influence on the lead, in either direction, strongest first."""
        if self.top is None or len(self.seen.items) < 2:
            return []
        a, b = self.top
        count = len(self.seen.items)
        parts = influence(self.seen, self.rules)
        q = figures(self.seen, self.rules).q[0]
        pull = (parts[a] - parts[b] - (q[a] - q[b])) / count
        order: list[int] = np.argsort(-np.abs(pull), kind="stable").tolist()
        rows: list[Decisive] = []
        tokens = self._means("tokens")
        for index in order[:12]:
            weights = np.ones((1, count))
            weights[0, index] = 0.0
            q_without = figures(self.seen, self.rules, weights).q[0]
            h = float(self.seen.h[a, index]), float(self.seen.h[b, index])
            cost = tuple(None if np.isnan(tokens[seat, index]) else float(tokens[seat, index]) for seat in (a, b))
            rows.append(
                Decisive(
                    self.seen.items[index],
                    float(pull[index]),
                    float(q_without[a] - q_without[b]),
                    h,
                    (cost[0], cost[1]),
                )
            )
        return rows

    @cached_property
    def fewest_to_flip(self) -> int | None:
        """How many of the items that favour the winner most must go until it loses; None if more than half."""
        if self.top is None:
            return None
        a, b = self.top
        parts = influence(self.seen, self.rules)
        order = np.argsort(-(parts[a] - parts[b]), kind="stable")
        count = len(order)
        weights = np.ones((count // 2, count))
        for removed in range(count // 2):
            weights[removed, order[: removed + 1]] = 0.0
        if not len(weights):
            return None
        q = figures(self.seen, self.rules, weights).q
        lost = np.flatnonzero(q[:, a] < q[:, b])
        return int(lost[0]) + 1 if len(lost) else None

    @cached_property
    def shares(self) -> list[list[float]]:
        """The distribution of each player's H over ten bins, as shares of its scored items."""
        h = np.where(self.seen.h_counts > 0, self.seen.h, np.nan)
        rows: list[list[float]] = []
        for player_h in h:
            known = player_h[~np.isnan(player_h)]
            rows.append((np.histogram(known, BINS, (0, 1))[0] / max(1, len(known))).tolist())
        return rows

    def front(self, cost: Floats) -> tuple[int, ...]:
        """Return the players on the Pareto front of H against a cost."""
        return pareto(figures(self.seen, self.rules).h[0].tolist(), cost.tolist())

    def cost(self, name: str) -> Floats | None:
        """Return the mean cost per scored item by player; None if it is entirely unknown for some player."""
        means = self._means(name)
        return None if not means.size or np.isnan(means).all(axis=1).any() else np.nanmean(means, axis=1)

    def _means(self, name: str) -> Floats:
        """Return the cost by player and scored item; NaN if it is unknown or does not count."""
        cells = scored_units(self.results, self.rules.refusals)[1]
        return by_item(self.results, self.results.costs[name].value, cells)[0][:, self.kept]


def q_of(rules: ScoreRules, beta: float, h: float, penalty: float) -> float:
    """Compute Q from H and P at another beta."""
    unit_weights = {"P": 1.0}
    changed = replace(rules, beta=beta, weights=unit_weights, reference=unit_weights, per_item=True)
    return float(reduce(np.array([h]), {"P": np.array([penalty])}, changed)[1][0])


def facts(season: Season, changed: Sequence[Played] | None = None) -> Facts:
    """Compute the figures of a match, or of its ended trials; `changed` are its trials under another judge."""
    trials = trials_of(season) if changed is None else list(changed)
    configured = score_rules_of(season.config)
    results = under(season_results(trials), configured)
    statuses = {
        name: Counter({status: int((status_row == code).sum()) for code, status in enumerate(STATUSES)})
        for name, status_row in zip(results.players, results.status, strict=True)
    }
    report = judge(results, Options(configured, finished=season.finished))
    why = "" if report.items else next((note for note in report.notes if note.startswith("Q is")), report.headline)
    matches = tuple(played.fixture.id for played in trials)
    rules = with_known(results, configured, [])
    scored_report = report if report.items else None
    return Facts(season, _document(season), trials[0], matches, results, statuses, rules, scored_report, why)


def _document(season: Season) -> Match | Trials:
    if season.manifest.get("season", {}).get("trials", 1) > 1:
        return trials_document(season)
    return match_document(next(season.fixtures_played()))
