"""Several runs side by side: the players they have in common, and the settings in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, ClassVar, cast

import numpy as np

from mashq.analysis.paired import scored as scored_in
from mashq.analysis.paired import units as units_of
from mashq.analysis.parts import OPTIONAL, Costs, flat
from mashq.analysis.score_report import Options, judge, normaliser
from mashq.analysis.score_types import ScoreReport
from mashq.errors import ConfigError
from mashq.players.registry import all_drawn, reviews_allowed
from mashq.protocol.results import Results
from mashq.protocol.score import Height, ScoreRules
from mashq.report.documents import earlier
from mashq.report.documents.base import COSTS
from mashq.report.documents.columns import season_results, trials_of
from mashq.runs.open import Season
from mashq.runs.reading import read_items
from mashq.runs.setup import score_rules_of

Unit = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One of the runs."""

    run: str
    """The run directory."""
    items: int
    """How many items are compared: those of the units that every run scores."""
    scored: int
    """How many items it scores by itself."""
    trials: int
    """The most trials of an item."""
    winner: str | None
    """Who has the best Q; null for a tie, and while the match is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""
    simulated: bool
    """Whether some player was not a real model."""
    drawn: bool = False
    """Whether no player was."""
    units: int | None = field(default=None, metadata=OPTIONAL)
    """How many units (an item in a trial) are compared; missing where there is one trial, or not equally many."""
    units_scored: int | None = field(default=None, metadata=OPTIONAL)
    """How many units it scores by itself; missing where `units` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigures:
    """A player in one of the runs."""

    model: str
    """The model that it asks."""
    h: float | None
    """Mean factuality of its final answers."""
    h_before_review: float | None
    """Mean factuality of its first answers."""
    costs: Costs = field(metadata=flat(COSTS))
    """What it spent on the scored items, with the charges for attempts of unknown cost."""
    charged: Mapping[str, float]
    """By resource, how much of the total is such a charge; nothing where all is known."""
    penalty: float | None
    """P."""
    q: float | None
    """alpha * H - beta * P."""
    q_low: float | None
    """Lower end of the 95% confidence interval of Q; null where there are too few items."""
    q_high: float | None
    """Upper end of that interval."""
    words: float | None = None
    """Mean number of words of its scored answers; null where their texts are not known."""
    coverage: float | None = None
    """Mean share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Mean share of their words inside runs of eight or more that stand in the source word for word."""
    T: float
    """The score below which it is recommended to review."""
    R: int
    """The most reviews of an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPlayer:
    """A player that all runs have."""

    name: str
    """Its name."""
    runs: Sequence[ComparedFigures]
    """Its figures in each run, in the order of the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same players in several runs."""

    kind: ClassVar[str] = "compare"

    runs: Sequence[ComparedRun]
    """The runs."""
    players: Sequence[ComparedPlayer]
    """The players that all of them have."""
    settings: Mapping[str, Sequence[Any]]
    """The settings in which they differ, each with its value in each run."""
    notes: Sequence[str]
    """What a reader must not miss."""


def document(seasons: Sequence[Season], h: Height | None = None) -> Comparison:
    """Compare matches, each with all its trials, over the units that all of them score, or over items if their trials
    differ; `h` overrides each run's own definition of H."""
    for season in seasons:
        if season.kind != "match":
            raise ConfigError(
                f"{season.path} is a {season.label}, and compare is for matches and their trials: 'mashq report' "
                "sets whole seasons side by side"
            )
    run_results = [season_results(trials_of(season)) for season in seasons]
    rules = [score_rules_of(season.config) for season in seasons]
    rules = rules if h is None else [replace(run_units, h=h) for run_units in rules]
    names = [name for name in run_results[0].players if all(name in results.players for results in run_results)]
    if not names:
        raise ConfigError("these runs have no player in common: compare runs of the same players")
    paired = len({planned(season) for season in seasons}) == 1
    units = [_units(season, results, paired) for season, results in zip(seasons, run_results, strict=True)]
    scored = [
        set(compress(run_units, scored_in(results, run_rules.refusals).tolist()))
        for run_units, results, run_rules in zip(units, run_results, rules, strict=True)
    ]
    common = scored[0].intersection(*scored[1:])
    if not common and any(scored):
        raise ConfigError("these runs have no scored item in common: compare runs over the same items")
    reports = [
        judge(_restricted_to(results, run_units, common), Options(run_rules, finished=season.finished))
        for season, results, run_units, run_rules in zip(seasons, run_results, units, rules, strict=True)
    ]
    by_unit = paired and planned(seasons[0]) > 1
    return Comparison(
        runs=[
            ComparedRun(
                run=str(season.path),
                items=report.items or 0,
                scored=len({unit[:2] for unit in run_units}),
                trials=results.trials,
                winner=report.winner,
                tied=report.tied,
                clear=report.clear,
                simulated=season.manifest["simulated"],
                drawn=all_drawn(season.config),
                units=len(common) if by_unit else None,
                units_scored=len(run_units) if by_unit else None,
            )
            for season, results, report, run_units in zip(seasons, run_results, reports, scored, strict=True)
        ],
        players=[
            ComparedPlayer(
                name=name,
                runs=[_figures(season, report, name) for season, report in zip(seasons, reports, strict=True)],
            )
            for name in names
        ],
        settings=_settings(seasons),
        notes=[*_relative(run_results, rules), *_common_units(seasons, scored, len(common)), *_notes(seasons)],
    )


def planned(season: Season) -> int:
    """Return the planned number of trials of a match."""
    return season.manifest.get("season", {}).get("trials", 1)


def _units(season: Season, results: Results, by_trial: bool) -> list[Unit]:
    """Identify every unit by its item's id and text, as the same id may have another text in another run, and by its
    trial if trials are paired."""
    texts = {item.id: item.shown for item in read_items(season.path)}
    return [(item, texts[item], *([trial] if by_trial else [])) for item, trial in units_of(results)]


def _restricted_to(results: Results, units: Sequence[Unit], common: set[Unit]) -> Results:
    kept = np.array([unit in common for unit in units], dtype=bool)
    return results if kept.all() else results.some_units(kept)


def _common_units(seasons: Sequence[Season], scored: Sequence[set[Unit]], common: int) -> list[str]:
    """Describe what is compared, if the runs do not all score the same units."""
    trials = [planned(season) for season in seasons]
    trials_differ = len(set(trials)) > 1
    noun = "items" if trials_differ or trials == [1] * len(trials) else "units (an item in a trial)"
    notes: list[str] = []
    if trials_differ:
        counts = _by_run(seasons, trials)
        notes.append(
            f"The runs have different numbers of trials ({counts}): each item is averaged over its own run's trials."
        )
    if any(len(units) != common for units in scored):
        counts = _by_run(seasons, [len(units) for units in scored])
        notes.append(f"Compared over the {common} {noun} that every run scores (by itself: {counts}).")
    return notes


def _relative(run_results: Sequence[Results], rules: Sequence[ScoreRules]) -> list[str]:
    """Say that P and Q are not comparable if the runs do not divide their costs by the same."""
    if all(run.per_item and run.reference == rules[0].reference for run in rules):
        return []
    differences: list[str] = []
    if len({frozenset(results.players) for results in run_results}) > 1:
        differences.append("players")
    if len({(normaliser(run), repr(sorted((run.reference or {}).items()))) for run in rules}) > 1:
        differences.append("normalisers")
    if not differences:
        return []
    return [
        f"The matches have different {' and '.join(differences)}, and P and Q are relative to a match: compare H and "
        "the costs, or play with the same score.normalise.per_item."
    ]


def _by_run(seasons: Sequence[Season], counts: Sequence[int]) -> str:
    return ", ".join(f"{season.path.name} {count}" for season, count in zip(seasons, counts, strict=True))


def _notes(seasons: Sequence[Season]) -> list[str]:
    notes = [
        f"{season.path} is not finished: each player is scored over what it has played so far."
        for season in seasons
        if not season.finished
    ]
    version_notes = {
        f"{season.path.name}: {note}" for season in seasons for note in earlier.note(season.path, season.manifest)
    }
    return [*notes, *sorted(version_notes)]


def _figures(season: Season, report: ScoreReport, name: str) -> ComparedFigures:
    row = next(player for player in report.players if player.name == name)
    player = next(player for player in season.config.players if player.name == name)
    rules = season.config.rules
    return ComparedFigures(
        model=player.model,
        h=row.h,
        h_before_review=row.h_before_review,
        costs={cost: row.costs[cost] for cost in COSTS},
        charged=row.charged,
        penalty=row.penalty,
        q=row.q,
        q_low=row.q_low,
        q_high=row.q_high,
        words=row.words,
        coverage=row.coverage,
        copied=row.copied,
        T=rules.T if player.T is None else player.T,
        R=rules.R if (max_reviews := reviews_allowed(player)) is None else max_reviews,
    )


def _settings(seasons: Sequence[Season]) -> dict[str, list[Any]]:
    """Return the settings in which the runs differ, with their value in each run."""
    settings_by_run = [
        flattened(season.config.model_dump(mode="json")) | {"detector": _detector(season), "trials": planned(season)}
        for season in seasons
    ]
    keys = sorted({key for settings in settings_by_run for key in settings})
    return {
        key: [settings.get(key) for settings in settings_by_run]
        for key in keys
        if len({repr(settings.get(key)) for settings in settings_by_run}) > 1
    }


def _detector(season: Season) -> str:
    return f"{season.manifest['detector']['name']} {season.manifest['detector']['version']}"


def flattened(value: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to their dotted names."""
    if isinstance(value, list):
        value = dict(enumerate(cast(list[Any], value)))
    if not isinstance(value, dict):
        return {prefix: value}
    settings: dict[str, Any] = {}
    for key, inner in cast(dict[Any, Any], value).items():
        settings |= flattened(inner, f"{prefix}.{key}" if prefix else str(key))
    return settings
