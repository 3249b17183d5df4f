"""Results to score, from a run, a file or a data frame, with their scoring rules; and their score."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoreReport
from mashq.config import nearest
from mashq.errors import ConfigError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Results
from mashq.protocol.score import ScoreRules, positive
from mashq.report.documents.passages import passage_views
from mashq.runs import result_files
from mashq.runs.open import Played


@dataclass(frozen=True, slots=True)
class Source:
    """Results, their scoring rules, notes on them, and whether their run is finished."""

    results: Results
    rules: ScoreRules
    notes: list[str]
    finished: bool = True
    trials: Sequence[Played] = ()

    def without(self, players: Sequence[str]) -> "Source":
        """Return the source without some of the players; raises ConfigError if one is unknown or none is left."""
        available = self.results.players
        for name in players:
            if name not in available:
                raise ConfigError(f"--without {name!r}: there is no such player{nearest(str(name), available)}")
        kept = [name for name in available if name not in players]
        if not kept:
            raise ConfigError("--without leaves no player: keep two of them")
        return replace(self, results=self.results.only(kept)) if players else self

    def scored(self, rules: ScoreRules, resamples: int, seed: int) -> ScoreReport:
        """Score the results under these rules."""
        report = judge(self.results, Options(rules, resamples, seed, self.finished), self.notes)
        return replace(report, passages=passage_views(self.trials, report.players, rules.refusals))


def changed_rules(
    base: ScoreRules,
    *,
    resources: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    normalise: tuple[Mapping[str, float] | None, bool] | None = None,
    **changes: Any,
) -> ScoreRules:
    """Return the rules with some settings replaced; None leaves a setting unchanged. `normalise` is a reference, and
    whether it is per item; `changes` are other fields of the rules."""
    weights_by_name = dict(base.weights)
    if resources is not None:
        if not resources or len(set(resources)) < len(resources):
            raise ConfigError(
                "resources names none: name one, or set beta to 0" if not resources else "resources names one twice"
            )
        weights_by_name = {resource(name): base.weights.get(name, 1.0) for name in resources}
    weights_by_name |= {resource(name): positive(name, weight) for name, weight in (weights or {}).items()}
    reference, per_item = normalise if normalise is not None else (base.reference, base.per_item)
    if normalise is not None and reference is not None:
        if not reference:
            raise ConfigError('the reference is empty: give what costs are relative to, such as {"tokens": 1e6}')
        reference = {resource(name): positive(name, amount) for name, amount in reference.items()}
    changed = {name: value for name, value in changes.items() if value is not None}
    return replace(base, weights=weights_by_name, reference=reference, per_item=per_item, **changed)


def resource(name: str) -> str:
    """Return the name if it is a resource; raises ConfigError otherwise."""
    if name not in RESOURCES:
        raise ConfigError(f"{name!r} is not a resource{nearest(str(name), RESOURCES)}")
    return name


def read_source(source: Path, renames: Mapping[str, str]) -> Source:
    """Read the results of a run or of a file."""
    if not os.path.isdir(source):
        results, notes = result_files.read(source, renames)
        return Source(results, ScoreRules(), notes)
    from mashq.report.documents import earlier
    from mashq.report.documents.columns import season_results, trials_of
    from mashq.runs.open import load_season
    from mashq.runs.setup import score_rules_of

    season = load_season(source)
    if season.kind != "match":
        raise ConfigError(f"{source} is a {season.label}, not a single match: see 'mashq show {source}'")
    notes: list[str] = []
    if season.manifest["simulated"]:
        notes.append(result_files.SIMULATED)
    notes += earlier.note(season.path, season.manifest)
    trials = trials_of(season)
    return Source(season_results(trials), score_rules_of(season.config), notes, season.finished, trials)


def rows_source(rows: Iterable[Mapping[str, object]], renames: Mapping[str, str]) -> Source:
    """Read results from rows in memory."""
    results, notes = result_files.from_cells("the table", rows, renames)
    return Source(results, ScoreRules(), notes)
