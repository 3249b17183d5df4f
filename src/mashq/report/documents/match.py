"""A match as it stands: the result, how sure it is, and what went wrong."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from mashq.analysis.bundles import told as bundling_notes
from mashq.analysis.columns import Columns, scored
from mashq.analysis.parts import OPTIONAL, BetaStretch, Costs, Lead, flat
from mashq.analysis.results import from_match
from mashq.analysis.score_report import Options, judge
from mashq.errors import DataError
from mashq.gateway.types import REFEREE
from mashq.protocol.resources import Amount, Unknown
from mashq.protocol.score import PlayerScore, Refusals, Score, ScoreRules
from mashq.report.documents.base import MEASURED, DetectorVersion
from mashq.report.documents.columns import results_of
from mashq.runs.open import Played
from mashq.runs.reading import read_last_error, read_lost, read_refusals, read_unstated
from mashq.runs.setup import score_rules_of

RESAMPLES = 2000
REFUSALS: tuple[Refusals, ...] = ("intersection", "penalised", "answered")


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
    """What it spent on the scored items."""
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
    normalise: Literal["match", "reference"]
    """What costs are relative to: the largest in the match, or fixed totals."""
    refusals: Refusals
    """The rule for refused and failed items."""
    simulated: bool
    """Whether some player was not a real model."""
    detector: DetectorVersion
    """Who scored."""
    players: Sequence[MatchPlayer]
    """The players, in their seats."""
    differences: Sequence[Lead]
    """Differences in Q, the better player first."""
    p_win: Mapping[str, float | None]
    """By player, the share of resampled matches in which it has the best Q."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta."""
    winner: str | None
    """Who has the best Q; null for a tie, and while the match is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
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


@dataclass(frozen=True, slots=True)
class ReviewSpend:
    """What a player's reviews took."""

    tokens: float
    seconds: float


def document(played: Played) -> Match:
    """The result of a match as it stands."""
    rules = score_rules_of(played.config)
    results = results_of(played)
    result = scored(results, rules)
    doubt = _doubt(results, rules)
    return Match(
        run=str(played.path),
        finished=played.finished,
        items=result.items,
        alpha=rules.alpha,
        beta=rules.beta,
        task=played.config.task.kind,
        guide=played.manifest.get("guide", "judge"),
        normalise="match" if rules.reference is None else "reference",
        refusals=rules.refusals,
        simulated=played.manifest["simulated"],
        detector=DetectorVersion(**played.manifest["detector"]),
        players=[_player(played, own, row) for own, row in zip(results, result.players, strict=True)],
        differences=doubt.differences,
        p_win=doubt.p_win,
        envelope=doubt.envelope,
        winner=result.winner if played.finished else None,
        tied=list(result.tied) if played.finished else [],
        attempts=_attempts(played.attempts, [row.name for row in result.players]),
        referee=_referee(played.attempts),
        dropped=[DroppedItem(item=item, by=list(by)) for item, by in result.dropped],
        views=[
            _view(rule, scored(results, replace(rules, refusals=rule)) if result.dropped else result)
            for rule in REFUSALS
        ],
        notes=[*result.notes, *doubt.notes, *_troubles(played, results)],
    )


def review_spend(played: Played) -> dict[str, ReviewSpend]:
    """What the reviews of each player took, as far as it is known."""
    rows = [row for row in played.attempts if row["purpose"] == "review"]
    names = dict.fromkeys(row["player"] for row in rows)
    return {
        name: ReviewSpend(*(sum(row[key] for row in rows if row["player"] == name) for key in ("tokens", "seconds")))
        for name in names
    }


def _player(played: Played, own: Columns, row: PlayerScore) -> MatchPlayer:
    config = next(player for player in played.config.players if player.name == row.name)
    h_guide, before, overfit = _guided(own)
    return MatchPlayer(
        name=row.name,
        model=config.model,
        agent=config.agent,
        score=figures(row),
        h_guide=h_guide,
        h_guide_before_review=before,
        overfit=overfit,
        T=own.threshold,
        R=own.max_reviews,
        stopped=own.stopped,
    )


def _guided(player: Columns) -> tuple[float | None, float | None, float | None]:
    """The guide's scores after and before review, where the guide is not the judge; and what was gained on the guide
    but not on the judge."""
    h, guide = player.values["h"], player.values["guide"]
    both = ~(np.isnan(h) | np.isnan(guide))
    count = int(both.sum())
    if not count:
        return None, None, None
    before_review = np.nan_to_num(player.values["guide_first"][both])
    after, before = math.fsum(guide[both].tolist()) / count, math.fsum(before_review.tolist()) / count
    gained = math.fsum((h[both] - np.nan_to_num(player.values["h_first"][both])).tolist()) / count
    return after, before, after - before - gained


@dataclass(frozen=True, slots=True)
class _Doubt:
    """How sure a result is."""

    differences: Sequence[Lead] = ()
    p_win: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    envelope: Sequence[BetaStretch] = ()
    notes: Sequence[str] = ()


def _doubt(results: Sequence[Columns], rules: ScoreRules) -> _Doubt:
    """Intervals of the differences, chances of winning, and who leads at which beta."""
    if not results[0].items:
        return _Doubt()
    try:
        report = judge(from_match(results), Options(rules, resamples=RESAMPLES))
    except DataError:
        return _Doubt()
    chances = {player.name: player.p_win for player in report.players}
    return _Doubt(report.differences, chances, report.envelope, bundling_notes(report.items or 0))


def figures(row: PlayerScore) -> PlayerFigures:
    """One player's score as a document has it."""
    amounts = {"tokens_in": row.tokens_in, "tokens_out": row.tokens_out, **row.totals}
    return PlayerFigures(
        h=row.h,
        h_before_review=row.h_before_review,
        answer_rate=row.answer_rate,
        costs={name: _plain(amounts[name]) for name in MEASURED},
        unknown_attempts=row.unknown_attempts,
        penalty=_finite(row.penalty),
        q=_finite(row.q),
        q_min=_finite(row.q_min),
        q_max=_finite(row.q_max),
    )


def _plain(amount: Amount) -> float | None:
    value = amount.value
    if isinstance(value, Unknown) or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and value < 2**53 else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _view(rule: Refusals, result: Score) -> RefusalView:
    players = {row.name: ViewedPlayer(h=row.h, q=_finite(row.q)) for row in result.players}
    return RefusalView(refusals=rule, items=result.items, winner=result.winner, players=players)


def _attempts(rows: Sequence[Mapping[str, Any]], players: Sequence[str]) -> Attempts:
    """How the attempts ended, in all and by player."""
    by = {player: counted([row for row in rows if row["player"] == player]) for player in players}
    every = {name: sum(getattr(own, name) for own in by.values()) for name in COUNTS}
    return Attempts(**every, by_player=by)


COUNTS = ("opened", "closed", "unresolved", "failed")


def counted(rows: Sequence[Mapping[str, Any]]) -> AttemptCounts:
    """Rows of attempts added up."""
    return AttemptCounts(**{name: sum(row[name] for row in rows) for name in COUNTS})


def _referee(rows: Sequence[Mapping[str, Any]]) -> RefereeBill | None:
    own = [row for row in rows if row["player"] == REFEREE]
    names = ("opened", "failed", "unresolved", "tokens", "seconds")
    return RefereeBill(**{name: sum(row[name] for row in own) for name in names}) if own else None


def _troubles(played: Played, results: Sequence[Columns]) -> list[str]:
    """What went wrong for a player, in a sentence each."""
    notes: list[str] = []
    path, match = played.path, played.fixture.id
    unstated = read_unstated(path, match) if played.config.guided_by == "confidence" else {}
    for name, count in unstated.items():
        notes.append(f"{name} stated no confidence with {count} answer(s); each was guided as if it had said 0.5.")
    for player in results:
        failed, refused = player.count("failed"), player.count("refused")
        if failed:
            why = read_last_error(path, match, player.name) or "no reason was given"
            notes.append(f"{player.name} failed {failed} of {len(player.items)} items; the last error: {why}")
        if refused:
            notes.append(f"{player.name} refused {refused} of {len(player.items)} items.")
        if player.stopped is not None:
            notes.append(f"{player.name} stopped: {player.stopped}.")
    for row in read_refusals(path):
        who = row["player"] or "Someone unknown"
        notes.append(
            f"{who} made {row['requests']} request(s) that were turned away ({row['status']}: {row['reason']})."
        )
    lost = read_lost(path)
    if lost:
        notes.append(
            f"The machine went down while the run was played: up to {lost} attempt(s) may have been sent that the "
            "ledger does not have, so costs may be a little higher than shown."
        )
    return notes
