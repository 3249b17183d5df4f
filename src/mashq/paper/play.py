"""Play an experiment: with the paper's models, with other models, or simulated. Each has its own run."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mashq.arena.endpoints import located
from mashq.arena.match import resume, run
from mashq.config import Config, check, nearest
from mashq.errors import ConfigError
from mashq.paper.experiments import MODELS, Experiment, experiment
from mashq.paper.simulated import placeholders, with_simulated_players
from mashq.runs.manifest import MANIFEST
from mashq.runs.open import Season, load_season

Player = Callable[[Path, Config, Callable[[Any], Awaitable[Season]]], Season]


@dataclass(frozen=True, slots=True)
class Choices:
    """How experiments are played: number of items, models, detector and data."""

    limit: int | None = None
    trials: int | None = None
    models: Mapping[str, str] = field(default_factory=lambda: dict(MODELS))
    simulated: bool = False
    detector: str | None = None
    data: str | None = None
    questions: str | None = None
    overrides: Sequence[str] = ()


def models_named(options: Sequence[str]) -> dict[str, str]:
    """Parse `--model` options: `gpt-4o-mini=local/…` replaces one of the paper's models, `local/…` all of them."""
    models = dict(MODELS)
    for option in options:
        theirs, equals, ours = option.partition("=")
        if not equals:
            models = dict.fromkeys(models, option)
            continue
        by_name = {name.lower(): name for name in MODELS}
        if theirs.lower() not in by_name or not ours:
            raise ConfigError(
                f"--model {option!r}: write it as MODEL for all, or as one of the paper's with yours, for example "
                f"gpt-4o-mini=ollama/llama3{nearest(theirs.lower(), list(by_name))}"
            )
        models[by_name[theirs.lower()]] = ours
    return models


def play(selected: Experiment, out: Path, choices: Choices, player: Player) -> list[Season]:
    """The runs of an experiment, under `out`; an existing run is continued."""
    return [_play_one(experiment(name), out / name, choices, player) for name in selected.plays]


def played(selected: Experiment, out: Path) -> list[Season]:
    """The existing runs of an experiment; empty if one is missing."""
    paths = [out / name for name in selected.plays]
    return [load_season(path) for path in paths] if all(os.path.exists(path / MANIFEST) for path in paths) else []


def _play_one(selected: Experiment, out: Path, choices: Choices, player: Player) -> Season:
    with TemporaryDirectory(prefix="mashq-") as folder:
        config, season = chosen(selected, choices, Path(folder))
        if not os.path.exists(out / MANIFEST):
            return player(out, config, lambda show: run(config, out, season=season, show=show))
        _check_same(out, config, season)
        return player(out, config, lambda show: resume(out, show=show))


def _check_same(out: Path, config: Config, season: Mapping[str, Any]) -> None:
    """Refuse to continue a run with other settings; the path of its items does not matter."""
    previous = load_season(out)
    configs = [
        dumped["task"].pop("data") and dumped for dumped in (previous.config.model_dump(), config.model_dump())
    ]
    recorded = {key: value for key, value in previous.manifest.get("season", {}).items() if key != "items"}
    if configs[0] != configs[1] or recorded != season:
        raise ConfigError(
            f"{out} was played with other settings: choose another folder with --out, or give the same options"
        )


def chosen(entry: Experiment, choices: Choices, folder: Path) -> tuple[Config, dict[str, Any]]:
    """The configuration and season of an experiment; `folder` is for placeholder items."""
    questions = entry.config().task.kind == "qa"
    if choices.simulated:
        items = choices.limit or entry.items
        document, season = with_simulated_players(entry, items)
        path = folder / "items.jsonl"
        path.write_text(placeholders(items, document["task"]["kind"]), "utf-8")
        document["task"]["data"] = str(path)
    else:
        document = entry.config(choices.overrides).model_dump(mode="json")
        season = entry.season(choices.models)
        for player in document["players"]:
            player["model"] = choices.models.get(_paper_name(player["model"]), player["model"])
        data = choices.questions if questions else choices.data
        if data is not None:
            document["task"]["data"] = data
        if choices.limit is not None:
            document["task"]["limit"] = choices.limit
        if choices.detector is not None and not questions:
            document["detector"] = choices.detector
        if questions and data is None:
            raise ConfigError(
                f"{entry.name} needs questions, which are not part of mashq: name a file with --questions (columns "
                "problem and answer), or play it with --simulated"
            )
    if choices.trials is not None and entry.trials > 1:
        season["trials"] = choices.trials
    return located(check(document, f"the configuration of {entry.name}"), Path.cwd()), season


def _paper_name(model: str) -> str:
    return next((name for name, asked in MODELS.items() if asked == model), model)
