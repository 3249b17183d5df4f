"""How rivals affect a player: the same players alone, with unseen rivals, and with vision, paired by unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mashq.analysis.paired import Common, Condition, Difference, common, differences
from mashq.analysis.parts import OPTIONAL
from mashq.players.registry import all_drawn
from mashq.protocol.results import Results
from mashq.protocol.score import ScoreRules, by_item, final_h, scored_units, under
from mashq.report.documents.base import DetectorVersion, SeasonDocument
from mashq.report.documents.columns import ended_trials
from mashq.report.documents.notes import blind, notes_on_run, uneven
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

MEANS = ("h", "reviews", "tokens", "calls", "seconds")
STEPS = (("alone", "unseen", "company"), ("unseen", "seen", "vision"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionPlayer:
    """A player under each condition."""

    name: str
    """Its name."""
    means: Mapping[str, Mapping[str, float]]
    """By condition (alone, unseen, seen), its H and costs per item."""
    changes: Mapping[str, Mapping[str, Difference]]
    """By effect, how H, Q and each resource per item change, over the units that both conditions score. Company:
    beside rivals unseen instead of alone, without Q, for alone a player is its own normaliser. Vision: rivals seen
    instead of unseen."""
    units: Mapping[str, Common] | None = field(default=None, metadata=OPTIONAL)
    """By effect, how many units (an item in a trial) that is, where the two do not score the same; else missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vision(SeasonDocument):
    """What rivals, and seeing them, change."""

    kind: ClassVar[str] = "vision"

    trials: int
    """How many trials each condition has."""
    when: str
    """When snapshots are shown to those who see."""
    items: int
    """How many items a match has."""
    players: Sequence[VisionPlayer]
    """The players, in their seats."""
    blind: Sequence[str] = ()
    """The players that cannot react to what they are shown."""
    notes: Sequence[str] = ()
    """What a reader must not miss."""


def document(season: Season) -> Vision:
    """Compute each player's differences in H and costs from one condition to the next."""
    rules = score_rules_of(season.config)
    ended_ids = read_matches(season.path)
    fixtures_by_cell: dict[tuple[str, tuple[int, ...]], list[Fixture]] = {}
    for fixture in season.fixtures():
        if ended_ids.get(fixture.id):
            cell = dict(fixture.cell)
            fixtures_by_cell.setdefault((cell["condition"], cell["seats"]), []).append(fixture)
    results = {key: under(ended_trials(season, matches), rules) for key, matches in fixtures_by_cell.items()}
    players: list[VisionPlayer] = []
    for seat, player in enumerate(season.config.players):
        results_by_condition = {
            condition: condition_results
            for (condition, seats), condition_results in results.items()
            if seat in seats and (condition != "alone" or seats == (seat,))
        }
        means = {
            condition: _means(condition_results, rules, player.name)
            for condition, condition_results in results_by_condition.items()
        }
        steps = _steps(results_by_condition, rules)
        players.append(
            VisionPlayer(
                name=player.name,
                means=means,
                changes={name: _changes(name, *step, player.name) for name, step in steps.items()},
                units={n: shared for n, step in steps.items() if (shared := common(*step, player.name))} or None,
            )
        )
    return Vision(
        run=str(season.path),
        finished=season.finished,
        simulated=season.manifest["simulated"],
        drawn=all_drawn(season.config),
        detector=DetectorVersion(**season.manifest["detector"]),
        trials=season.manifest["season"]["trials"],
        when=season.manifest["season"]["when"],
        items=season.manifest["items"],
        players=players,
        blind=blind(season.config),
        notes=[
            *notes_on_run(season.path, season.manifest),
            *uneven(
                (f"{effect} of {vision_player.name}", units)
                for vision_player in players
                for effect, units in (vision_player.units or {}).items()
            ),
        ],
    )


def _steps(results: Mapping[str, Results], rules: ScoreRules) -> dict[str, tuple[Condition, Condition]]:
    """Return, by effect, the condition with it and the condition without it."""
    return {
        name: (Condition(results[after], rules), Condition(results[before], rules))
        for before, after, name in STEPS
        if before in results and after in results
    }


def _changes(effect: str, after: Condition, before: Condition, player: str) -> dict[str, Difference]:
    changes = differences(after, before, player)
    if effect == "company":
        changes.pop("q", None)  # alone, a player is its own normaliser: the two values of Q are not comparable
    return changes


def _means(results: Results, rules: ScoreRules, player: str) -> dict[str, float]:
    """Average per item, over the units that the rule for refusals scores."""
    seat = results.players.index(player)
    cells = scored_units(results, rules.refusals)
    means: dict[str, float] = {}
    for name in MEANS:
        values = final_h(results) if name == "h" else results.costs[name].value
        item_means = by_item(results, values, cells[name != "h"])[0][seat]
        known = item_means[~np.isnan(item_means)]
        if len(known):
            means[name] = float(known.mean())
    return means
