"""Playing an experiment: with the paper's models, with one's own, or simulated. Each has a run of its own."""

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
    """How experiments are played: how many items, by which models, scored by what, on which data."""

    limit: int | None = None
    trials: int | None = None
    models: Mapping[str, str] = field(default_factory=lambda: dict(MODELS))
    simulated: bool = False
    detector: str | None = None
    data: str | None = None
    questions: str | None = None
    overrides: Sequence[str] = ()


def models_named(options: Sequence[str]) -> dict[str, str]:
    """`--model` options as the models to ask: `gpt-4o-mini=local/…` for one of the paper's, `local/…` for all."""
    found = dict(MODELS)
    for option in options:
        theirs, equals, ours = option.partition("=")
        if not equals:
            found = dict.fromkeys(found, option)
            continue
        by_name = {name.lower(): name for name in MODELS}
        if theirs.lower() not in by_name or not ours:
            raise ConfigError(
                f"--model {option!r}: write it as MODEL for all, or as one of the paper's with yours, for example "
                f"gpt-4o-mini=ollama/llama3{nearest(theirs.lower(), list(by_name))}"
            )
        found[by_name[theirs.lower()]] = ours
    return found


def play(found: Experiment, out: Path, choices: Choices, player: Player) -> list[Season]:
    """The runs of an experiment, below `out`; one that is there is gone on with."""
    return [_played(experiment(name), out / name, choices, player) for name in found.plays]


def played(found: Experiment, out: Path) -> list[Season]:
    """The runs of an experiment that are there; none where one is missing."""
    paths = [out / name for name in found.plays]
    return [load_season(path) for path in paths] if all(os.path.exists(path / MANIFEST) for path in paths) else []


def _played(found: Experiment, out: Path, choices: Choices, player: Player) -> Season:
    with TemporaryDirectory(prefix="mashq-") as folder:
        config, season = chosen(found, choices, Path(folder))
        if not os.path.exists(out / MANIFEST):
            return player(out, config, lambda show: run(config, out, season=season, show=show))
        _same(out, config, season)
        return player(out, config, lambda show: resume(out, show=show))


def _same(out: Path, config: Config, season: Mapping[str, Any]) -> None:
    """Refuse to go on with a run of other settings; where its items were drawn up does not matter."""
    before = load_season(out)
    known = [dumped["task"].pop("data") and dumped for dumped in (before.config.model_dump(), config.model_dump())]
    said = {key: value for key, value in before.manifest.get("season", {}).items() if key != "items"}
    if known[0] != known[1] or said != season:
        raise ConfigError(
            f"{out} was played with other settings: choose another folder with --out, or give the same options"
        )


def chosen(found: Experiment, choices: Choices, folder: Path) -> tuple[Config, dict[str, Any]]:
    """The configuration and season of an experiment; `folder` is for items that stand for any."""
    questions = found.config().task.kind == "qa"
    if choices.simulated:
        items = choices.limit or found.items
        document, season = with_simulated_players(found, items)
        path = folder / "items.jsonl"
        path.write_text(placeholders(items, document["task"]["kind"]), "utf-8")
        document["task"]["data"] = str(path)
    else:
        document = found.config(choices.overrides).model_dump(mode="json")
        season = found.season(choices.models)
        for one in document["players"]:
            one["model"] = choices.models.get(_paper_name(one["model"]), one["model"])
        data = choices.questions if questions else choices.data
        if data is not None:
            document["task"]["data"] = data
        if choices.limit is not None:
            document["task"]["limit"] = choices.limit
        if choices.detector is not None and not questions:
            document["detector"] = choices.detector
        if questions and data is None:
            raise ConfigError(
                f"{found.name} needs questions, which are not part of mashq: name a file with --questions (columns "
                "problem and answer), or play it with --simulated"
            )
    if choices.trials is not None and found.trials > 1:
        season["trials"] = choices.trials
    return located(check(document, f"the configuration of {found.name}"), Path.cwd()), season


def _paper_name(model: str) -> str:
    return next((name for name, asked in MODELS.items() if asked == model), model)
