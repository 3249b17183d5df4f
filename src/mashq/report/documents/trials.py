"""The trials of a match: one score over all of them, and how much they vary.

As everywhere, each item is first averaged over its trials, then the match is scored. The standard deviation over
trials measures how much repeats vary, not the uncertainty of the result, because all trials share their items; the
confidence interval does that.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import ClassVar, Literal

from mashq.analysis.parts import OPTIONAL, BetaStretch, Costs, Lead, flat
from mashq.analysis.passages import PassageViews
from mashq.analysis.score_report import Options, judge, normaliser
from mashq.analysis.score_types import Dropped, ScoredPlayer
from mashq.analysis.substance import Floor
from mashq.players.registry import all_drawn
from mashq.protocol.results import from_match, from_matches
from mashq.protocol.score import Height, PlayerScore, Refusals, score
from mashq.report.documents.base import MEASURED, DetectorVersion
from mashq.report.documents.columns import results_of, trials_of
from mashq.report.documents.first_byte import FirstByte, first_bytes
from mashq.report.documents.match import AttemptCounts, RefusalView, counted, refusal_views
from mashq.report.documents.notes import notes_on_run, outside_length
from mashq.report.documents.passages import passage_views
from mashq.runs.open import Played, Season
from mashq.runs.reading import read_attempts
from mashq.runs.setup import score_rules_of, wanted_length


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """A player's figures over trials; null where one is not known."""

    h: float | None
    """Of the mean factuality of its final answers."""
    h_before_review: float | None
    """Of the mean factuality of its first answers."""
    answer_rate: float | None
    """Of the share of items that it answered."""
    costs: Costs = field(metadata=flat(MEASURED))
    """Of what it spent on the scored items."""
    penalty: float | None
    """Of P."""
    q: float | None
    """Of Q."""
    words: float | None = None
    """Of the number of words of its scored answers."""
    coverage: float | None = None
    """Of the share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Of the share of their words inside runs of eight or more that stand in the source word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialsPlayer:
    """A player of a match that was played several times."""

    name: str
    """Its name."""
    model: str
    """The model that it asks."""
    agent: str
    """What kind of agent it is."""
    mean: TrialFigures = field(metadata=flat())
    """Its score: every item averaged over its trials."""
    charged: Mapping[str, float]
    """By resource, how much of the total is a charge for attempts of unknown cost."""
    sd: TrialFigures
    """Standard deviations over trials: how much a repeat differs, not how sure the mean is."""
    q_low: float | None
    """Lower end of the 95% confidence interval of its Q."""
    q_high: float | None
    """Upper end of that interval."""
    p_win: float | None
    """The chance that it has the best Q, by resampled items."""
    wins: int
    """In how many trials it has the best Q, alone or tied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """The result of a match that was played several times."""

    kind: ClassVar[str] = "trials"

    run: str
    """The run directory."""
    finished: bool
    """Whether every trial was played to the end."""
    trials: int
    """How many have ended."""
    planned: int
    """How many there are to be."""
    items: int
    """How many items are scored."""
    units: int
    """How many answers of each player are scored: items times their trials that count."""
    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    normalise: Literal["match", "reference", "per_item"]
    """What costs are relative to: the largest in the match, or a reference (totals, or costs per item)."""
    refusals: Refusals
    """The rule for refused and failed items."""
    h: Height = "faithful"
    """What H means: the judge's score, or that score times how much of what matters an answer covers."""
    simulated: bool
    """Whether some player was not a real model."""
    drawn: bool
    """Whether no player was."""
    detector: DetectorVersion
    """Who scored."""
    players: Sequence[TrialsPlayer]
    """The players, in their seats."""
    floors: Sequence[Floor] = ()
    """What texts that take no model would have; empty where texts are not known or there is nothing to summarise."""
    winner: str | None
    """Who has the best Q; null for a tie, and while the run is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""
    best_set: Sequence[str]
    """The players that cannot be told apart from the best, the best included; empty where there are too few items."""
    headline: str
    """Who leads and how sure that is, in a sentence."""
    differences: Sequence[Lead]
    """Differences in Q, the better player first."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta."""
    dropped: Dropped
    """What not everyone answered."""
    views: Sequence[RefusalView]
    """The score under each rule for refusals."""
    attempts: AttemptCounts
    """How the attempts ended, over all trials."""
    notes: Sequence[str]
    """What a reader must not miss."""
    passages: PassageViews | None = field(default=None, metadata=OPTIONAL)
    """What answers over documents came to; absent for other tasks."""
    first_byte: Mapping[str, FirstByte] | None = field(default=None, metadata=OPTIONAL)
    """By player that had replies streamed, how long they took to begin; absent where nobody had."""


def document(season: Season, changed: Sequence[Played] | None = None) -> Trials:
    """Score a match that was played several times; `changed` are its trials under another judge."""
    rules = score_rules_of(season.config)
    trials = trials_of(season) if changed is None else changed
    matches = [results_of(trial) for trial in trials]
    results = from_matches(matches)
    report = judge(results, Options(rules, finished=season.finished))
    trial_scores = [score(from_match(match), rules) for match in matches]
    wins = Counter(name for trial_score in trial_scores for name in trial_score.tied or (trial_score.winner,))
    ended_count = sum(trial.finished for trial in trials)
    identical = (
        len({repr([(row.h, row.penalty) for row in trial_score.players]) for trial_score in trial_scores}) == 1
    )
    identical_note = (
        ["All trials are the same: at temperature 0 a repeat tells nothing new."]
        if ended_count > 1 and identical and report.items
        else []
    )
    return Trials(
        run=str(season.path),
        finished=season.finished,
        trials=ended_count,
        planned=season.manifest["season"]["trials"],
        items=report.items or 0,
        units=report.units or 0,
        alpha=rules.alpha,
        beta=rules.beta,
        normalise=normaliser(rules),
        refusals=rules.refusals,
        h=rules.h,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**trials[0].manifest["detector"]),
        players=[
            TrialsPlayer(
                name=player.name,
                model=player.model,
                agent=player.agent,
                mean=_figures(row),
                charged=row.charged,
                sd=_deviations([trial_score.players[seat] for trial_score in trial_scores]),
                q_low=row.q_low,
                q_high=row.q_high,
                p_win=row.p_win,
                wins=wins[player.name],
            )
            for seat, (player, row) in enumerate(zip(season.config.players, report.players, strict=True))
        ],
        floors=report.floors,
        winner=report.winner,
        tied=report.tied,
        clear=report.clear,
        best_set=report.best_set,
        headline=report.headline,
        differences=report.differences,
        envelope=report.envelope,
        dropped=report.dropped,
        views=refusal_views(results, rules),
        attempts=counted(read_attempts(season.path)),
        notes=[
            *report.notes,
            *outside_length(results, wanted_length(season.config)),
            *identical_note,
            *notes_on_run(season.path, season.manifest),
        ],
        passages=passage_views(trials, report.players, rules.refusals),
        first_byte=first_bytes(season.path, [trial.fixture.id for trial in trials]),
    )


def _figures(row: ScoredPlayer) -> TrialFigures:
    return TrialFigures(
        h=row.h,
        h_before_review=row.h_before_review,
        answer_rate=row.answer_rate,
        costs={name: row.costs[name] for name in MEASURED},
        penalty=row.penalty,
        q=row.q,
        words=row.words,
        coverage=row.coverage,
        copied=row.copied,
    )


def _deviations(trials: Sequence[PlayerScore]) -> TrialFigures:
    """Return the standard deviations over trials."""

    def deviation(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return stdev(known) if len(known) == len(values) > 1 else None

    return TrialFigures(
        h=deviation([trial.h for trial in trials]),
        h_before_review=deviation([trial.h_before_review for trial in trials]),
        answer_rate=deviation([trial.answer_rate for trial in trials]),
        costs={name: deviation([trial.costs[name] for trial in trials]) for name in MEASURED},
        penalty=deviation([trial.penalty for trial in trials]),
        q=deviation([trial.q for trial in trials]),
        words=deviation([trial.words for trial in trials]),
        coverage=deviation([trial.coverage for trial in trials]),
        copied=deviation([trial.copied for trial in trials]),
    )
