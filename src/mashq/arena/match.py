"""From a configuration to a played, stored run; and continuing a stored one.

    await run(config, out)               a new run: one match, or the matches of a season
    await resume(out)                    a run that was interrupted

What is displayed is built from what is stored: the manifest and each match's results.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

from mashq.arena.context import OWN, RunContext
from mashq.arena.endpoints import located
from mashq.arena.executors.base import Executor, Shown, Waiting, Worried
from mashq.arena.executors.local import LocalExecutor
from mashq.arena.executors.processes import Processes
from mashq.config import Config
from mashq.errors import ConfigError, GivenUp, ProviderError, Stopped, StoreError
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Clock
from mashq.players.registry import all_drawn
from mashq.protocol.results import PlayerResult
from mashq.runs.manifest import manifest as new_manifest
from mashq.runs.manifest import rules_of_play, stamp
from mashq.runs.open import Season, changed_since, items_in, load_season, sound
from mashq.runs.reading import read_items, read_matches, read_paid
from mashq.runs.seasons import Fixture, batches
from mashq.runs.setup import BUILTIN, items_of, prompts_of
from mashq.runs.writer import Run
from mashq.tasks.load import digest

WORTH_PROCESSES = 10_000
LOOK = 1.0  # seconds between checks of the models' health


async def run(
    config: Config,
    out: Path,
    *,
    season: Mapping[str, Any] | None = None,
    base: Path | None = None,
    clock: Clock | None = None,
    show: Shown | None = None,
    executor: Executor | None = None,
) -> Season:
    """Play a new season into the directory `out`; paths in the configuration are relative to `base`."""
    clock = clock or RealClock()
    config = located(config, (base or Path()).resolve())
    items = items_of(config)
    described = {**(season or {"kind": "match", "trials": 1}), "items": len(items)}
    context = RunContext(config, items, clock)
    try:
        first = next(batches(config, described, _not_played))
        configs = list({id(fixture.config): fixture.config for fixture in first}.values())
        guide = config.guided_by if config.guided_by in OWN else _name_and_version(context, config.guided_by)
        detector = {"name": context.judge.name, "version": context.judge.version}
        document = new_manifest(
            config,
            described,
            configs,
            items,
            context.endpoints.described(),
            context.endpoints.simulated,
            detector,
            guide,
            clock,
        )
        await context.check(configs, document["prompts"], out)
        with closing(Run.create(out, clock, document, items)) as stored:
            return await _play(context, stored, Season(out, document, config), show, executor)
    finally:
        await context.close()


async def resume(
    out: Path,
    *,
    clock: Clock | None = None,
    show: Shown | None = None,
    executor: Executor | None = None,
    accept_change: bool = False,
) -> Season:
    """Continue a run; a finished one is only loaded.

    A run that was changed since it started is refused before any key is read or any address is contacted, unless
    `accept_change` is set: then it continues from its current content, and its chain, manifest and results record
    that.
    """
    progress = show.checked if isinstance(show, Waiting) else None
    season, clock = load_season(out, progress), clock or RealClock()
    if changed_since(out, season.manifest):
        season = _rebased(season, clock, accept=accept_change)
    if season.finished:
        return season
    config = season.config
    context = RunContext(config, items_in(out, season.manifest), clock, rules_of_play=rules_of_play(season.manifest))
    try:
        _check_addresses(season, context)
        version = season.manifest["detector"]["version"]
        if context.judge.version != version and not _scores_as(context, version):
            raise ConfigError(
                f"{out} was begun with {config.judge} {version} and this is {context.judge.version}: "
                "resume it with the version it was begun with"
            )
        first = next(batches(config, season.manifest.get("season", {}), season.results))
        await context.check([fixture.config for fixture in first[:1]], season.manifest["prompts"], out)
        with closing(Run.open(out, clock, partial(sound, progress=progress))) as stored:
            stored.notice_losses()
            return await _play(context, stored, season, show, executor)
    finally:
        await context.close()


def _rebased(season: Season, clock: Clock, *, accept: bool) -> Season:
    """Handle a season whose manifest was changed: refuse it, or accept the change and record it."""
    changed = changed_since(season.path, season.manifest)
    if not accept:
        raise ConfigError(
            f"{season.path} is not what was begun ({', '.join(changed)} was changed): restore it from a copy, or "
            "continue with what it says now, with --accept-change"
        )
    digests = season.manifest["digests"] | {"items": digest(read_items(season.path))}
    with closing(Run.open(season.path, clock)) as stored:
        manifest = stored.accept(season.manifest | {"digests": digests}, changed)
    return Season(season.path, manifest, season.config)


def _check_addresses(season: Season, context: RunContext) -> None:
    """Check that the models are at the addresses the run started with: a key is sent nowhere else."""
    models = season.manifest.get("models", {})
    for name, current in context.endpoints.described().items():
        address = models.get(name, current)["base_url"]
        if address != current["base_url"]:
            raise ConfigError(
                f"{season.path} was begun with {name} at {address}, and that is now {current['base_url']}: set the "
                "base_url of the model to where it was"
            )


async def join(out: Path, config: Config, *, base: Path | None = None, show: Shown | None = None) -> Season:
    """Add the new players of a configuration to a tournament; only their own matches are played."""
    season, grown = grown_by(out, config, base=base)
    names = {player.name for player in season.config.players}
    new_players = [player for player in grown.players if player.name not in names]
    prompts = {
        **season.manifest["prompts"],
        **{p.prompts or BUILTIN: dict(prompts_of(grown, p).texts) for p in new_players},
    }
    clock = RealClock()
    context = RunContext(grown, items_in(out, season.manifest), clock, rules_of_play=rules_of_play(season.manifest))
    try:
        await context.check([grown], prompts, out)
        document = season.manifest | {
            "ended": None,
            "config": grown.model_dump(mode="json"),
            "prompts": prompts,
            "models": context.endpoints.described(),
            "simulated": context.endpoints.simulated,
        }
        with closing(Run.open(out, clock, sound)) as stored:
            stored.write_manifest(document)
            return await _play(context, stored, Season(out, document, grown), show, None)
    finally:
        await context.close()


def grown_by(out: Path, config: Config, *, base: Path | None = None) -> tuple[Season, Config]:
    """A tournament, and its configuration with the new players of another; raises ConfigError if they cannot join."""
    season = load_season(out)
    if changed_since(out, season.manifest):
        season = _rebased(season, RealClock(), accept=False)
    described = season.manifest.get("season", {})
    if season.kind != "tournament" or described["system"] != "round-robin":
        raise ConfigError(f"{out} is not a round-robin tournament: only those can be joined")
    config = located(config, (base or Path()).resolve())
    if rules_of_play(season.manifest) == 1:
        config = config.model_copy(update={"rules": config.rules.model_copy(update={"tell": []})})
    names = {player.name for player in season.config.players}
    new_players = [player for player in config.players if player.name not in names]
    if not new_players:
        raise ConfigError(f"every player of the configuration is in {out} already: give a new one another name")
    changed_models = [name for name, model in config.models.items() if season.config.models.get(name, model) != model]
    if changed_models:
        raise ConfigError(
            f"the model {changed_models[0]} has other settings in {out}: name it differently to change them"
        )
    if (
        config.task != season.config.task
        or config.judge != season.config.judge
        or config.rules != season.config.rules
    ):
        raise ConfigError(
            f"{out} has another task, detector or other rules: players can only join under the same ones"
        )
    players, models = [*season.config.players, *new_players], {**config.models, **season.config.models}
    return season, season.config.model_copy(update={"players": players, "models": models})


async def _play(
    context: RunContext, stored: Run, season: Season, show: Shown | None, executor: Executor | None
) -> Season:
    """Play every match that has not ended, batch by batch."""
    done = {match for match, ended in read_matches(stored.path).items() if ended}
    prompts = season.manifest["prompts"]
    for batch in batches(season.config, season.manifest.get("season", {}), season.results):
        pending = [fixture for fixture in batch if fixture.id not in done]
        if show is not None:
            show.batch(len(batch), len(batch) - len(pending))
        if pending:
            try:
                async with _reporting_troubles(context, show):
                    await (executor or fitting(pending, context)).play(context, stored, pending, prompts, show)
            except ProviderError as error:
                await stored.writer.durable()
                if isinstance(error, GivenUp) or read_paid(stored.path, error.model):
                    raise Stopped(
                        f"{error}; what was paid for is kept: continue with 'mashq resume {stored.path}'"
                    ) from None
                raise
            await stored.writer.durable()
            recorded = read_matches(stored.path)
            missing = [fixture.id for fixture in pending if not recorded.get(fixture.id)]
            if missing:
                raise StoreError(
                    f"match {missing[0]} was not recorded to its end: continue with 'mashq resume {stored.path}'"
                )
    await stored.writer.synced()
    manifest = season.manifest | {"ended": stamp(context.clock), "matches": len(read_matches(stored.path))}
    stored.write_manifest(manifest)
    return Season(season.path, manifest, season.config)


@asynccontextmanager
async def _reporting_troubles(context: RunContext, show: Shown | None) -> AsyncGenerator[None]:
    """Report problems with the models while matches are played."""
    if not isinstance(show, Worried):
        yield
        return

    async def report() -> None:
        while True:
            await asyncio.sleep(LOOK)
            show.trouble(context.facilities.troubles(context.clock.tick()))

    task = asyncio.create_task(report())
    try:
        yield
    finally:
        task.cancel()


def fitting(fixtures: Sequence[Fixture], context: RunContext) -> Executor:
    """The best executor for these matches: processes if they are many and only compute, else this process."""
    turns = len(fixtures) * len(context.items) * len(context.config.players)
    if all_drawn(context.config) and len(fixtures) > 1 and turns >= WORTH_PROCESSES and (os.cpu_count() or 1) > 1:
        return Processes()
    return LocalExecutor()


def _scores_as(context: RunContext, version: str) -> bool:
    """Whether the judge scores these items the same as an earlier version of it."""
    same_scores: Any = getattr(context.judge.detector, "same_scores", None)
    return same_scores is not None and same_scores(version, [item.source for item in context.items])


def _name_and_version(context: RunContext, name: str) -> str:
    judge = context.judges[name]
    return f"{judge.name} {judge.version}"


def _not_played(match: str) -> Sequence[PlayerResult]:
    raise StoreError(f"the match {match!r} has not been played: play it first")
