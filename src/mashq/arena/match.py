"""From a configuration to a played, stored run; and from a stored one on.

    await run(config, out)               a new run: one match, or the many of a season
    await resume(out)                    one that stopped

What is shown is made from what is stored: the manifest and each match's results.
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
LOOK = 1.0  # seconds between looks at how the models are


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
    """Play a new season into the directory `out`; `base` is what the paths in the configuration are relative to."""
    clock = clock or RealClock()
    config = located(config, (base or Path()).resolve())
    items = items_of(config)
    said = {**(season or {"kind": "match", "trials": 1}), "items": len(items)}
    context = RunContext(config, items, clock)
    try:
        first = next(batches(config, said, _nothing_yet))
        configs = list({id(fixture.config): fixture.config for fixture in first}.values())
        guide = config.guided_by if config.guided_by in OWN else _named(context, config.guided_by)
        detector = {"name": context.judge.name, "version": context.judge.version}
        document = new_manifest(
            config,
            said,
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
    """Go on with a run; a finished one is only loaded.

    One that is not what was begun is refused before a key is read or an address is asked, unless `accept_change`:
    then it goes on from what it is now, and its chain, its manifest and its results say so.
    """
    looking = show.checked if isinstance(show, Waiting) else None
    season, clock = load_season(out, looking), clock or RealClock()
    if changed_since(out, season.manifest):
        season = _rebased(season, clock, accept=accept_change)
    if season.finished:
        return season
    config = season.config
    context = RunContext(config, items_in(out, season.manifest), clock, rules_of_play=rules_of_play(season.manifest))
    try:
        _same_places(season, context)
        begun = season.manifest["detector"]["version"]
        if context.judge.version != begun and not _scores_as(context, begun):
            raise ConfigError(
                f"{out} was begun with {config.judge} {begun} and this is {context.judge.version}: "
                "resume it with the version it was begun with"
            )
        first = next(batches(config, season.manifest.get("season", {}), season.results))
        await context.check([fixture.config for fixture in first[:1]], season.manifest["prompts"], out)
        with closing(Run.open(out, clock, partial(sound, progress=looking))) as stored:
            stored.notice_losses()
            return await _play(context, stored, season, show, executor)
    finally:
        await context.close()


def _rebased(season: Season, clock: Clock, *, accept: bool) -> Season:
    """A season whose manifest was changed since: refused, or gone on with openly."""
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


def _same_places(season: Season, context: RunContext) -> None:
    """See that the models are where they were when the run was begun: a key goes nowhere else."""
    begun = season.manifest.get("models", {})
    for name, now in context.endpoints.described().items():
        before = begun.get(name, now)["base_url"]
        if before != now["base_url"]:
            raise ConfigError(
                f"{season.path} was begun with {name} at {before}, and that is now {now['base_url']}: set the "
                "base_url of the model to where it was"
            )


async def join(out: Path, config: Config, *, base: Path | None = None, show: Shown | None = None) -> Season:
    """Let the new players of a configuration into a tournament; only their own matches are played."""
    season, grown = grown_by(out, config, base=base)
    names = {player.name for player in season.config.players}
    fresh = [player for player in grown.players if player.name not in names]
    prompts = {
        **season.manifest["prompts"],
        **{p.prompts or BUILTIN: dict(prompts_of(grown, p).texts) for p in fresh},
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
    """A tournament, and its configuration with the new players of another; ConfigError when they cannot join."""
    season = load_season(out)
    if changed_since(out, season.manifest):
        season = _rebased(season, RealClock(), accept=False)
    said = season.manifest.get("season", {})
    if season.kind != "tournament" or said["system"] != "round-robin":
        raise ConfigError(f"{out} is not a round-robin tournament: only those can be joined")
    config = located(config, (base or Path()).resolve())
    if rules_of_play(season.manifest) == 1:
        config = config.model_copy(update={"rules": config.rules.model_copy(update={"tell": []})})
    names = {player.name for player in season.config.players}
    fresh = [player for player in config.players if player.name not in names]
    if not fresh:
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
    players, models = [*season.config.players, *fresh], {**config.models, **season.config.models}
    return season, season.config.model_copy(update={"players": players, "models": models})


async def _play(
    context: RunContext, stored: Run, season: Season, show: Shown | None, executor: Executor | None
) -> Season:
    """Play every match that has not ended, batch by batch."""
    done = {match for match, ended in read_matches(stored.path).items() if ended}
    prompts = season.manifest["prompts"]
    for batch in batches(season.config, season.manifest.get("season", {}), season.results):
        left = [fixture for fixture in batch if fixture.id not in done]
        if show is not None:
            show.batch(len(batch), len(batch) - len(left))
        if left:
            try:
                async with _worrying(context, show):
                    await (executor or fitting(left, context)).play(context, stored, left, prompts, show)
            except ProviderError as error:
                await stored.writer.durable()
                if isinstance(error, GivenUp) or read_paid(stored.path, error.model):
                    raise Stopped(
                        f"{error}; what was paid for is kept: continue with 'mashq resume {stored.path}'"
                    ) from None
                raise
            await stored.writer.durable()
            there = read_matches(stored.path)
            lacking = [fixture.id for fixture in left if not there.get(fixture.id)]
            if lacking:
                raise StoreError(
                    f"match {lacking[0]} was not recorded to its end: continue with 'mashq resume {stored.path}'"
                )
    await stored.writer.synced()
    manifest = season.manifest | {"ended": stamp(context.clock), "matches": len(read_matches(stored.path))}
    stored.write_manifest(manifest)
    return Season(season.path, manifest, season.config)


@asynccontextmanager
async def _worrying(context: RunContext, show: Shown | None) -> AsyncGenerator[None]:
    """Say what is wrong with the models while they are asked, for as long as it is."""
    if not isinstance(show, Worried):
        yield
        return

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK)
            show.trouble(context.facilities.troubles(context.clock.tick()))

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()


def fitting(fixtures: Sequence[Fixture], context: RunContext) -> Executor:
    """Where these matches are best played: in processes when they are many and only compute, else here."""
    turns = len(fixtures) * len(context.items) * len(context.config.players)
    if all_drawn(context.config) and len(fixtures) > 1 and turns >= WORTH_PROCESSES and (os.cpu_count() or 1) > 1:
        return Processes()
    return LocalExecutor()


def _scores_as(context: RunContext, version: str) -> bool:
    """Whether the judge scores these items as an earlier version of it did."""
    same: Any = getattr(context.judge.detector, "same_scores", None)
    return same is not None and same(version, [item.source for item in context.items])


def _named(context: RunContext, name: str) -> str:
    judge = context.judges[name]
    return f"{judge.name} {judge.version}"


def _nothing_yet(match: str) -> Sequence[PlayerResult]:
    raise StoreError(f"the match {match!r} has not been played: play it first")
