"""Several runs side by side: the players that they have in common, and the settings in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from mashq.analysis.parts import Costs, flat
from mashq.errors import ConfigError
from mashq.report.documents import match
from mashq.report.documents.base import COSTS
from mashq.runs.open import Played


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One of the runs."""

    run: str
    """The run directory."""
    items: int
    """How many items are scored."""
    winner: str | None
    """Who has the best Q; null for a tie, and while the match is being played."""
    tied: Sequence[str]
    """Who shares the best Q."""
    simulated: bool
    """Whether some player was not a real model."""


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
    """What it spent on the scored items."""
    penalty: float | None
    """P."""
    q: float | None
    """alpha * H - beta * P."""
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


def document(played: Sequence[Played]) -> Comparison:
    """The comparison of some matches."""
    matches = [match.document(one) for one in played]
    by_name = [{player.name: player for player in found.players} for found in matches]
    common = [name for name in by_name[0] if all(name in players for players in by_name)]
    if not common:
        raise ConfigError("these runs have no player in common: compare runs of the same players")
    return Comparison(
        runs=[
            ComparedRun(
                run=found.run, items=found.items, winner=found.winner, tied=found.tied, simulated=found.simulated
            )
            for found in matches
        ],
        players=[ComparedPlayer(name=n, runs=[_figures(players[n]) for players in by_name]) for n in common],
        settings=_settings(played),
    )


def _figures(player: match.MatchPlayer) -> ComparedFigures:
    return ComparedFigures(
        model=player.model,
        h=player.score.h,
        h_before_review=player.score.h_before_review,
        costs={name: player.score.costs[name] for name in COSTS},
        penalty=player.score.penalty,
        q=player.score.q,
        T=player.T,
        R=player.R,
    )


def _settings(played: Sequence[Played]) -> dict[str, list[Any]]:
    """The settings in which the runs differ, each with its values."""
    every = [flattened(one.config.model_dump(mode="json")) | {"detector": _detector(one)} for one in played]
    keys = sorted({key for settings in every for key in settings})
    return {
        key: [settings.get(key) for settings in every]
        for key in keys
        if len({repr(settings.get(key)) for settings in every}) > 1
    }


def _detector(played: Played) -> str:
    return f"{played.manifest['detector']['name']} {played.manifest['detector']['version']}"


def flattened(value: Any, at: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    if isinstance(value, list):
        value = dict(enumerate(cast(list[Any], value)))
    if not isinstance(value, dict):
        return {at: value}
    settings: dict[str, Any] = {}
    for key, inner in cast(dict[Any, Any], value).items():
        settings |= flattened(inner, f"{at}.{key}" if at else str(key))
    return settings
