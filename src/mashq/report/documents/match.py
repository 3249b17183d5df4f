"""A match in its current state: the result, its uncertainty, and what went wrong."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from mashq.analysis.parts import OPTIONAL, BetaStretch, Costs, Lead, flat
from mashq.analysis.passages import PassageViews
from mashq.analysis.score_report import Options, judge, normaliser
from mashq.analysis.score_types import ScoredPlayer
from mashq.analysis.story.words import plural
from mashq.analysis.substance import Floor
from mashq.gateway.types import REFEREE
from mashq.protocol.results import Columns, Results, from_match
from mashq.protocol.score import (
    REFUSALS,
    Height,
    PlayerScore,
    Refusals,
    Score,
    ScoreRules,
    dropped_units,
    score,
    scored_units,
)
from mashq.report.documents.base import MEASURED, DetectorVersion
from mashq.report.documents.columns import results_of
from mashq.report.documents.first_byte import FirstByte, first_bytes
from mashq.report.documents.notes import advice, notes_on_run, outside_length
from mashq.report.documents.passages import passage_views
from mashq.runs.open import Played
from mashq.runs.reading import ReviewSpend, read_last_error, read_review_spend, read_unstated
from mashq.runs.setup import score_rules_of, wanted_length


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerFigures:
    """What a player's match was worth. An unknown is null, never 0."""

    h: float | None
    """Mean factuality of its final answers."""
    h_before_review: float | None
    """Mean factuality of its first answers."""
    answer_rate: float
    """The share of items that it answered."""
    costs: Costs = field(metadata=flat(MEASURED))
    """What it spent on the scored items, with the charges for attempts of unknown cost."""
    charged: Mapping[str, float]
    """By resource, how much of the total is such a charge; nothing where all is known."""
    unknown_attempts: float
    """Attempts whose cost is unknown."""
    penalty: float | None
    """P: its costs, each relative to the largest or to the reference, times their weights."""
    q: float | None
    """alpha * H - beta * P."""
    q_min: float | None
    """Q with its own unknown attempts at their worst case and everyone else's at nothing."""
    q_max: float | None
    """Q with everyone else's unknown attempts at their worst case and its own at nothing."""
    words: float | None = None
    """Mean number of words of its scored answers; null where their texts are not known."""
    coverage: float | None = None
    """Mean share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Mean share of their words inside runs of eight or more that stand in the source word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95% confidence interval; null where there are too few items."""

    low: float | None
    """Its lower end."""
    high: float | None
    """Its upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlayer:
    """A player of a match."""

    name: str
    """Its name."""
    model: str
    """The model that it asks."""
    agent: str
    """What kind of agent it is."""
    score: PlayerFigures = field(metadata=flat())
    """What its match was worth."""
    h_guide: float | None
    """The guide's mean score of its final answers, where the guide is not the judge."""
    h_guide_before_review: float | None
    """The guide's mean score of its first answers."""
    overfit: float | None
    """What its reviews gained on the guide and not on the judge."""
    T: float
    """The score below which it is recommended to review."""
    R: int
    """The most reviews of an item."""
    stopped: str | None
    """Why it stopped before the end; null: it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCounts:
    """How attempts ended."""

    opened: int
    """Requests that were written into the ledger."""
    closed: int
    """Requests of which the end is known."""
    unresolved: int
    """Requests of which it is not."""
    failed: int
    """Requests that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts(AttemptCounts):
    """How attempts ended, in all and by player."""

    by_player: Mapping[str, AttemptCounts] | None = field(default=None, metadata=OPTIONAL)
    """The same for each player."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeBill:
    """What the judge asked a model, charged to nobody."""

    opened: int
    """Its requests."""
    failed: int
    """Those that failed."""
    unresolved: int
    """Those of which the end is not known."""
    tokens: float
    """Known tokens."""
    seconds: float
    """Known seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedItem:
    """An item that somebody refused or failed."""

    item: str
    """Its id."""
    by: Sequence[str]
    """By whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedPlayer:
    """H and Q of a player under a rule for refusals."""

    h: float | None
    """Mean factuality."""
    q: float | None
    """alpha * H - beta * P."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalView:
    """The score under a rule for refusals."""

    refusals: Refusals
    """The rule."""
    items: int
    """How many items it scores."""
    winner: str | None
    """Who has the best Q; null for a tie."""
    players: Mapping[str, ViewedPlayer]
    """H and Q by player."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a policy made of the advice to review."""

    advised: int
    """How often the state that it decided in recommended a review."""
    did: int
    """How often it then decided to review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The result of a match."""

    kind: ClassVar[str] = "match"

    run: str
    """The run directory."""
    finished: bool
    """Whether it was played to the end."""
    items: int
    """How many items are scored."""
    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    task: str
    """What the items are."""
    guide: str
    """Whose score the players were shown."""
    normalise: Literal["match", "reference", "per_item"]
    """What costs are relative to: the largest in the match, or a reference (totals, or costs per item)."""
    refusals: Refusals
    """The rule for refused and failed items."""
    h: Height = "faithful"
    """What H means: the judge's score, or that score times how much of what matters an answer covers."""
    simulated: bool
    """Whether some player was not a real model."""
    detector: DetectorVersion
    """Who scored."""
    players: Sequence[MatchPlayer]
    """The players, in their seats."""
    floors: Sequence[Floor] = ()
    """What texts that take no model would have; empty where texts are not known or there is nothing to summarise."""
    differences: Sequence[Lead]
    """Differences in Q, the better player first."""
    intervals: Mapping[str, Interval]
    """By player, the 95% confidence interval of its Q."""
    p_win: Mapping[str, float | None]
    """By player, the chance that it has the best Q, by resampled items; null where there are too few."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta."""
    winner: str | None
    """Who has the best Q; null for a tie, and while the match is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""
    best_set: Sequence[str]
    """The players that cannot be told apart from the best, the best included; empty where there are too few items."""
    headline: str
    """Who leads and how sure that is, in a sentence."""
    attempts: Attempts
    """How the attempts ended, over all items."""
    referee: RefereeBill | None
    """The referee's own bill, when its judge is a model."""
    dropped: Sequence[DroppedItem]
    """Items that somebody refused or failed."""
    views: Sequence[RefusalView]
    """The score under each rule for refusals."""
    notes: Sequence[str]
    """What a reader must not miss."""
    passages: PassageViews | None = field(default=None, metadata=OPTIONAL)
    """What answers over documents came to; absent for other tasks."""
    advice: Mapping[str, Advice] | None = field(default=None, metadata=OPTIONAL)
    """By player whose policy was advised to review, how often that was and how often it did."""
    first_byte: Mapping[str, FirstByte] | None = field(default=None, metadata=OPTIONAL)
    """By player that had replies streamed, how long they took to begin; absent where nobody had."""


def document(played: Played) -> Match:
    """Return the result of a match in its current state."""
    rules = score_rules_of(played.config)
    columns = results_of(played)
    results = from_match(columns)
    report = judge(results, Options(rules, finished=played.finished))
    dropped = dropped_units(results)
    advice_by_player = advice(played.path, played.config, played.fixture.id)
    return Match(
        run=str(played.path),
        finished=played.finished,
        items=report.items or 0,
        alpha=rules.alpha,
        beta=rules.beta,
        task=played.config.task.kind,
        guide=played.manifest.get("guide", "judge"),
        normalise=normaliser(rules),
        refusals=rules.refusals,
        h=rules.h,
        simulated=played.manifest["simulated"],
        detector=DetectorVersion(**played.manifest["detector"]),
        players=[_player(played, column, row) for column, row in zip(columns, report.players, strict=True)],
        floors=report.floors,
        differences=report.differences,
        intervals={row.name: Interval(low=row.q_low, high=row.q_high) for row in report.players},
        p_win={row.name: row.p_win for row in report.players},
        envelope=report.envelope,
        winner=report.winner,
        tied=report.tied,
        clear=report.clear,
        best_set=report.best_set,
        headline=report.headline,
        attempts=_attempts(played.attempts, [column.name for column in columns]),
        referee=_referee(played.attempts),
        dropped=[DroppedItem(item=unit.item, by=list(unit.by)) for unit in dropped],
        views=refusal_views(results, rules),
        notes=[*report.notes, *outside_length(results, wanted_length(played.config)), *_troubles(played, columns)],
        passages=passage_views([played], report.players, rules.refusals),
        advice={
            name: Advice(advised=advised_count, did=reviewed_count)
            for name, (advised_count, reviewed_count) in advice_by_player.items()
        }
        or None,
        first_byte=first_bytes(played.path, [played.fixture.id]),
    )


def refusal_views(results: Results, rules: ScoreRules) -> list[RefusalView]:
    """Score the results under each rule for refusals."""
    return [_view(rule, score(results, replace(rules, refusals=rule))) for rule in REFUSALS]


def review_spend(played: Played) -> dict[str, ReviewSpend]:
    """Return what each player's reviews cost on the items that are scored."""
    results = from_match(results_of(played))
    cells = scored_units(results, score_rules_of(played.config).refusals)[1]
    scored = {
        (player, item)
        for player, player_cells in zip(results.players, cells.tolist(), strict=True)
        for item, is_scored in zip(results.items, player_cells, strict=True)
        if is_scored
    }
    totals: dict[str, ReviewSpend] = {}
    for (player, item), spend in read_review_spend(played.path, played.fixture.id).items():
        if (player, item) in scored:
            totals[player] = totals.get(player, ReviewSpend()) + spend
    return totals


def _player(played: Played, column: Columns, row: ScoredPlayer) -> MatchPlayer:
    config = next(player for player in played.config.players if player.name == row.name)
    h_guide, before, overfit = _guided(column)
    return MatchPlayer(
        name=row.name,
        model=config.model,
        agent=config.agent,
        score=figures(row),
        h_guide=h_guide,
        h_guide_before_review=before,
        overfit=overfit,
        T=column.threshold,
        R=column.max_reviews,
        stopped=column.stopped,
    )


def _guided(player: Columns) -> tuple[float | None, float | None, float | None]:
    """Return the guide's mean score after and before review, and the gain on the guide beyond that on the judge; None
    if the guide is the judge."""
    h, guide = player.values["h"], player.values["guide"]
    both = ~(np.isnan(h) | np.isnan(guide))
    count = int(both.sum())
    if not count:
        return None, None, None
    before_review = np.nan_to_num(player.values["guide_first"][both])
    after, before = math.fsum(guide[both].tolist()) / count, math.fsum(before_review.tolist()) / count
    judge_gain = math.fsum((h[both] - np.nan_to_num(player.values["h_first"][both])).tolist()) / count
    return after, before, after - before - judge_gain


def figures(row: ScoredPlayer | PlayerScore) -> PlayerFigures:
    """Convert one player's score to document fields."""
    return PlayerFigures(
        h=row.h,
        h_before_review=row.h_before_review,
        answer_rate=row.answer_rate or 0.0,
        costs={name: row.costs[name] for name in MEASURED},
        charged=row.charged,
        unknown_attempts=row.unknown_attempts,
        penalty=row.penalty,
        q=row.q,
        q_min=row.q_min,
        q_max=row.q_max,
        words=row.words,
        coverage=row.coverage,
        copied=row.copied,
    )


def _view(rule: Refusals, result: Score) -> RefusalView:
    players = {row.name: ViewedPlayer(h=row.h, q=row.q) for row in result.players}
    return RefusalView(refusals=rule, items=result.items, winner=result.winner, players=players)


def _attempts(rows: Sequence[Mapping[str, Any]], players: Sequence[str]) -> Attempts:
    """Count how the attempts ended, in total and by player."""
    by_player = {player: counted([row for row in rows if row["player"] == player]) for player in players}
    totals = {name: sum(getattr(counts, name) for counts in by_player.values()) for name in COUNTS}
    return Attempts(**totals, by_player=by_player)


COUNTS = ("opened", "closed", "unresolved", "failed")


def counted(rows: Sequence[Mapping[str, Any]]) -> AttemptCounts:
    """Sum rows of attempt counts."""
    return AttemptCounts(**{name: sum(row[name] for row in rows) for name in COUNTS})


def _referee(rows: Sequence[Mapping[str, Any]]) -> RefereeBill | None:
    referee_rows = [row for row in rows if row["player"] == REFEREE]
    names = ("opened", "failed", "unresolved", "tokens", "seconds")
    return RefereeBill(**{name: sum(row[name] for row in referee_rows) for name in names}) if referee_rows else None


def _troubles(played: Played, results: Sequence[Columns]) -> list[str]:
    """Describe what went wrong for each player, one sentence per problem."""
    path, match = played.path, played.fixture.id
    notes: list[str] = []
    unstated = read_unstated(path, match) if played.config.guided_by == "confidence" else {}
    for name, count in unstated.items():
        notes.append(
            f"{name} stated no confidence with {plural(count, 'answer')}; each was guided as if it had said 0.5."
        )
    for player in results:
        failed, refused = player.count("failed"), player.count("refused")
        if failed:
            reason = read_last_error(path, match, player.name) or "no reason was given"
            notes.append(f"{player.name} failed {failed} of {len(player.items)} items; the last error: {reason}")
        if refused:
            notes.append(f"{player.name} refused {refused} of {len(player.items)} items.")
        if player.stopped is not None:
            notes.append(f"{player.name} stopped: {player.stopped}.")
    return [*notes, *notes_on_run(path, played.manifest, match)]
