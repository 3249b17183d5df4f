"""The trials of a match: mean and standard deviation over trials, and the interval over items.

The standard deviation says how much a repeat differs; it is not how sure the result is, for all trials share their
items. The interval is: an item's part in Q is averaged over the trials first, then items are resampled.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import ClassVar, Literal

from mashq.analysis import bundles
from mashq.analysis.columns import Columns, scored
from mashq.analysis.flips import envelope
from mashq.analysis.parts import BetaStretch, Costs, Lead, flat
from mashq.analysis.repeats import Repeats, repeats
from mashq.protocol.score import TIE, Refusals, ScoreRules
from mashq.report.documents.base import MEASURED, DetectorVersion
from mashq.report.documents.columns import ended_results
from mashq.report.documents.match import AttemptCounts, PlayerFigures, counted, figures
from mashq.report.documents.seasons import all_drawn
from mashq.runs.open import Season
from mashq.runs.reading import read_attempts, read_matches
from mashq.runs.setup import score_rules_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """A statistic over trials of a player's figures; null where a trial does not know one."""

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
    """The means over trials."""
    sd: TrialFigures
    """Standard deviations over trials: how much a repeat differs, not how sure the mean is."""
    q_low: float | None
    """Lower end of the interval of its mean Q."""
    q_high: float | None
    """Upper end of the interval of its mean Q."""
    p_win: float | None
    """The share of resamples of the items in which it has the best mean Q."""
    wins: int
    """In how many trials it has the best Q."""


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
    """How many items a trial has."""
    alpha: float
    """The weight of H."""
    beta: float
    """The weight of P."""
    normalise: Literal["match", "reference"]
    """What costs are relative to: the largest in the match, or fixed totals."""
    refusals: Refusals
    """The rule for refused and failed items."""
    simulated: bool
    """Whether some player was not a real model."""
    drawn: bool
    """Whether no player was."""
    detector: DetectorVersion
    """Who scored."""
    players: Sequence[TrialsPlayer]
    """The players, in their seats."""
    winner: str | None
    """Who has the best mean Q; null for a tie."""
    tied: Sequence[str]
    """Who shares the best mean Q."""
    differences: Sequence[Lead]
    """Differences in mean Q, the better player first."""
    envelope: Sequence[BetaStretch]
    """Who has the best mean Q at which beta."""
    attempts: AttemptCounts
    """How the attempts ended, over all trials."""
    notes: Sequence[str]
    """What a reader must not miss."""


def document(season: Season) -> Trials:
    """The result of a match played several times."""
    rules = score_rules_of(season.config)
    ended = [match for match, over in read_matches(season.path).items() if over]
    each: list[Sequence[PlayerFigures]] = []
    wins: Counter[str] = Counter()
    found = repeats(_scored_each(season, ended, rules, each, wins), rules)
    players = [
        TrialsPlayer(
            name=player.name,
            model=player.model,
            agent=player.agent,
            mean=_over([trial[seat] for trial in each], _mean),
            sd=_over([trial[seat] for trial in each], _spread),
            q_low=None if found is None else found.q[seat].low,
            q_high=None if found is None else found.q[seat].high,
            p_win=None if found is None else float(found.p_win[seat]),
            wins=wins[player.name],
        )
        for seat, player in enumerate(season.config.players)
    ]
    best = _best(players)
    return Trials(
        run=str(season.path),
        finished=season.finished,
        trials=len(ended),
        planned=season.manifest["season"]["trials"],
        items=season.manifest["items"],
        alpha=rules.alpha,
        beta=rules.beta,
        normalise="match" if rules.reference is None else "reference",
        refusals=rules.refusals,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**season.manifest["detector"]),
        players=players,
        winner=best[0] if len(best) == 1 else None,
        tied=best if len(best) > 1 else [],
        differences=[] if found is None else _differences(found),
        envelope=[] if found is None else _envelope(found, rules.alpha),
        attempts=counted(read_attempts(season.path)),
        notes=_notes(season.manifest["items"], each, found),
    )


def _scored_each(
    season: Season,
    matches: Sequence[str],
    rules: ScoreRules,
    each: list[Sequence[PlayerFigures]],
    wins: Counter[str],
) -> Iterator[Sequence[Columns]]:
    """The results of every trial, one at a time; its figures and its winner are put down on the way."""
    for match in matches:
        results = ended_results(season, match)
        result = scored(results, rules)
        each.append([figures(row) for row in result.players])
        if result.winner is not None:
            wins[result.winner] += 1
        yield results


def _notes(items: int, each: Sequence[Sequence[PlayerFigures]], found: Repeats | None) -> list[str]:
    notes = [] if found is not None else ["No trial has a score yet."]
    if items < 30:
        notes.append(f"Only {items} items: the intervals are wide, and rightly so.")
    notes += [] if found is None else bundles.told(items)
    if len(each) > 1 and len({repr([(row.h, row.penalty) for row in trial]) for trial in each}) == 1:
        notes.append("All trials are the same: at temperature 0 a repeat tells nothing new.")
    return notes


def _differences(found: Repeats) -> list[Lead]:
    names = found.players
    return [Lead(names[a], names[b], one.value, one.low, one.high) for a, b, one in found.differences]


def _envelope(found: Repeats, alpha: float) -> list[BetaStretch]:
    stretches = envelope((alpha * found.h).tolist(), found.penalty.tolist())
    return [BetaStretch(s.start, s.end, found.players[s.winner]) for s in stretches]


def _best(players: Sequence[TrialsPlayer]) -> list[str]:
    """Who has the highest mean Q."""
    known = {player.name: player.mean.q for player in players if player.mean.q is not None}
    return [name for name, q in known.items() if q > max(known.values()) - TIE]


def _over(trials: Sequence[PlayerFigures], statistic: Callable[[Sequence[float]], float | None]) -> TrialFigures:
    def over(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistic(known) if known and len(known) == len(values) else None

    return TrialFigures(
        h=over([trial.h for trial in trials]),
        h_before_review=over([trial.h_before_review for trial in trials]),
        answer_rate=over([trial.answer_rate for trial in trials]),
        costs={name: over([trial.costs[name] for trial in trials]) for name in MEASURED},
        penalty=over([trial.penalty for trial in trials]),
        q=over([trial.q for trial in trials]),
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values)


def _spread(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None
