"""A sweep: the same players under every combination of the swept settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, ClassVar, cast

from mashq.analysis.paired import Common, Condition, Difference, apart, common, differences
from mashq.analysis.parts import OPTIONAL, Costs, flat
from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoredPlayer
from mashq.config import changed
from mashq.players.registry import all_drawn
from mashq.protocol.score import under
from mashq.report.documents.base import COSTS, DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_trials
from mashq.report.documents.notes import notes_on_run
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture, cells, each_setting, free_settings
from mashq.runs.setup import score_rules_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A setting that was swept."""

    setting: str
    """Its dotted name; the names of settings that changed together, with commas between them."""
    values: Sequence[Any]
    """The values that it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlayer:
    """A player under one combination."""

    name: str
    """Its name."""
    h: float | None
    """Mean factuality of its answers."""
    answer_rate: float | None
    """The share of its items that it answered."""
    costs: Costs = field(metadata=flat(COSTS))
    """Means over trials of its totals, with the charges for attempts of unknown cost."""
    charged: Mapping[str, float]
    """By resource, how much of the total is such a charge; nothing where all is known."""
    penalty: float | None
    """P."""
    q: float | None
    """alpha * H - beta * P."""
    q_low: float | None
    """Lower end of the 95% interval of Q."""
    q_high: float | None
    """Upper end of the 95% interval of Q."""
    words: float | None = None
    """Mean number of words of its scored answers; null where their texts are not known."""
    coverage: float | None = None
    """Mean share of what matters in the source that they carry; of questions, the share that it attempts."""
    copied: float | None = None
    """Mean share of their words inside runs of eight or more that stand in the source word for word."""
    against_first: Mapping[str, Difference]
    """How far h, q and each resource per item are from those of the first combination, each over what its own
    combination scores, with intervals from items resampled together."""
    common: Common | None = field(default=None, metadata=OPTIONAL)
    """How many of its units both combinations score, where these are not the same; else missing."""
    in_common: Mapping[str, Difference] | None = field(default=None, metadata=OPTIONAL)
    """The differences over those units alone: what is left when nobody's refusals are an effect; else missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of settings."""

    settings: Mapping[str, Any]
    """Its values by setting."""
    trials: int
    """How many trials of it have ended."""
    items: int | None
    """How many items are scored."""
    winner: str | None
    """Who has the best Q; null for a tie."""
    tied: Sequence[str]
    """Who shares the best Q."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""
    headline: str
    """Who leads and how sure that is, in a sentence."""
    players: Sequence[SweepPlayer]
    """The players, in their seats."""
    notes: Sequence[str]
    """What a reader must not miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(SeasonDocument):
    """The same match under every combination of some settings."""

    kind: ClassVar[str] = "sweep"

    trials: int
    """How many trials each combination is to have."""
    over: Sequence[Axis]
    """The settings that were swept."""
    cells: Sequence[Cell]
    """Every combination that was played."""
    missing: int
    """How many are still to be played."""


def document(season: Season) -> Sweep:
    """Score every cell of the sweep, with each player's difference to the first cell."""
    over: list[tuple[str, list[Any]]] = season.manifest["season"]["over"]
    ended_ids = read_matches(season.path)
    by_cell: dict[tuple[tuple[str, Any], ...], list[list[Fixture]]] = {}
    for _, trials in groupby(season.fixtures(), key=lambda fixture: fixture.number):
        fixtures = list(trials)
        by_cell.setdefault(fixtures[0].cell, []).append([trial for trial in fixtures if ended_ids.get(trial.id)])
    rows: list[Cell] = []
    run_notes = list(notes_on_run(season.path, season.manifest))
    first: Condition | None = None
    missing = 0
    free = free_settings(season.config, over)
    cell_keys = [tuple((name, value) for name, value in cell if name not in free) for cell in cells(over)]
    for index, cell in enumerate(cells(over)):
        groups = by_cell[cell_keys[index]]  # more than one if the same value is listed twice
        ended = groups[cell_keys[:index].count(cell_keys[index]) * len(groups) // cell_keys.count(cell_keys[index])]
        if not ended:
            missing += 1
            continue
        rules = score_rules_of(changed(season.config, each_setting(cell)))
        results = under(ended_trials(season, ended), rules)
        condition = Condition(results, rules)
        row = _cell({name: _display_value(value) for name, value in cell}, condition, first, len(ended))
        rows.append(replace(row, notes=[*row.notes, *run_notes]))
        first = first or condition
    return Sweep(
        run=str(season.path),
        finished=season.finished,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**season.manifest["detector"]),
        trials=season.manifest["season"]["trials"],
        over=[Axis(setting=name, values=[_display_value(value) for value in values]) for name, values in over],
        cells=rows,
        missing=missing,
    )


def _display_value(value: Any) -> Any:
    """Return a value for display: the values of settings that change together are joined into one text."""
    return ", ".join(map(str, cast(Sequence[Any], value))) if isinstance(value, list | tuple) else value


def _cell(settings: Mapping[str, Any], condition: Condition, first: Condition | None, trials: int) -> Cell:
    report = judge(condition.results, Options(condition.rules))
    return Cell(
        settings=settings,
        trials=trials,
        items=report.items,
        winner=report.winner,
        tied=report.tied,
        clear=report.clear,
        headline=report.headline,
        players=[_player(player, condition, first) for player in report.players],
        notes=report.notes,
    )


def _player(player: ScoredPlayer, condition: Condition, first: Condition | None) -> SweepPlayer:
    common_units = None if first is None else common(condition, first, player.name)
    return SweepPlayer(
        name=player.name,
        h=player.h,
        answer_rate=player.answer_rate,
        costs={name: player.costs[name] for name in COSTS},
        charged=player.charged,
        penalty=player.penalty,
        q=player.q,
        q_low=player.q_low,
        q_high=player.q_high,
        words=player.words,
        coverage=player.coverage,
        copied=player.copied,
        against_first={} if first is None else apart(condition, first, player.name),
        common=common_units,
        in_common=None if first is None or common_units is None else differences(condition, first, player.name),
    )
