"""From a configuration to a played, stored run; and from a stored one on.

    await run(config, out)               a new run: one match, or the many of a season
    await resume(out)                    one that stopped
    loaded = load(out)                   a match of it to look at

What is shown is made from what is stored: the manifest and each match's results.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mashq.arena.endpoints import located
from mashq.arena.executors import Executor, Here, Shown
from mashq.arena.fixtures import Fixture, batches, checked
from mashq.arena.manifest import manifest as new_manifest
from mashq.arena.manifest import stamp
from mashq.arena.play import fold
from mashq.arena.processes import Processes
from mashq.arena.setting import BUILTIN, first_state, items_of, prompts_of
from mashq.arena.table import OWN, Table
from mashq.config import Config, check
from mashq.errors import ConfigError, StoreError
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Clock
from mashq.protocol.items import Item
from mashq.protocol.score import PlayerResult, results_of
from mashq.protocol.state import MatchState
from mashq.store.run import (
    Run,
    read_attempts,
    read_items,
    read_match,
    read_matches,
    read_moves,
    read_results,
    unclosed,
)
from mashq.tasks.load import digest

WORTH_PROCESSES = 10_000


@dataclass(frozen=True)
class Played:
    """One match as it stands in its run directory."""

    path: Path
    manifest: dict[str, Any]
    fixture: Fixture
    changed: MatchState | None = field(default=None)

    @property
    def config(self) -> Config:
        """The configuration of the match."""
        return self.fixture.config

    @property
    def finished(self) -> bool:
        """Whether it was played to the end."""
        if self.manifest["ended"] is not None:
            return True
        return read_matches(self.path).get(self.fixture.id, False)

    @cached_property
    def state(self) -> MatchState:
        """The state, from a fold of its events."""
        if self.changed is not None:
            return self.changed
        state = first_state(self.config, read_items(self.path), self.fixture.trial)
        return fold(state, read_moves(self.path, self.fixture.id))

    @cached_property
    def results(self) -> tuple[PlayerResult, ...]:
        """The results by item: the rows written when it ended, or as the state has them."""
        found = None if self.changed is not None else read_results(self.path, self.fixture.id)
        if found is None:
            return results_of(self.state)
        return fitted(self.path, self.fixture, found)

    @cached_property
    def attempts(self) -> list[dict[str, Any]]:
        """How its attempts ended, by player and purpose."""
        return read_attempts(self.path, self.fixture.id)


@dataclass(frozen=True, slots=True)
class Season:
    """A run directory: its manifest and the matches it is made of."""

    path: Path
    manifest: dict[str, Any]
    config: Config

    @property
    def kind(self) -> str:
        """What it is: a match (with its trials), a sweep, a tournament or a game."""
        return self.manifest.get("season", {}).get("kind", "match")

    @property
    def finished(self) -> bool:
        """Whether every match was played to the end."""
        return self.manifest["ended"] is not None

    def fixtures(self) -> Iterator[Fixture]:
        """The matches that are known so far, in order."""
        there = read_matches(self.path)
        season = self.manifest.get("season", {})
        for batch in batches(self.config, season, self.results):
            yield from batch
            if not all(there.get(fixture.id, self.finished) for fixture in batch):
                return

    def fixtures_played(self) -> Iterator[Played]:
        """The same, as they stand."""
        return (self.played(fixture) for fixture in self.fixtures())

    def played(self, fixture: Fixture) -> Played:
        """One of the matches."""
        return Played(self.path, self.manifest, fixture)

    def results(self, match: str) -> Sequence[PlayerResult]:
        """The results of a match that has ended."""
        found = read_results(self.path, match)
        if found is None:
            raise StoreError(f"{self.path} has no results of match {match!r}: run 'mashq resume {self.path}'")
        return found


def items_in(path: Path, manifest: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of a run, seen to be those it was begun with: a file that lost its end may have lost some."""
    items = read_items(path)
    if manifest["digests"].get("items", "") not in ("", digest(items)):
        raise StoreError(f"{path} is damaged (its items are not those it was begun with): restore it from a copy")
    return items


def sound(path: Path) -> None:
    """See that a run that was not closed agrees with itself: its files may be torn, or of two moments."""
    from mashq.arena.verify import verify  # it is made of what is here

    wrong = next((finding for finding in verify(path) if finding.wrong), None)
    if wrong is not None:
        raise StoreError(f"{path} is damaged ({wrong.check}: {wrong.wrong}): restore it from a copy")


def fitted(path: Path, fixture: Fixture, found: Sequence[PlayerResult]) -> tuple[PlayerResult, ...]:
    """Stored results, seen to be those of this match: its players, each with the same items."""
    names = [player.name for player in fixture.config.players]
    if [player.name for player in found] != names or len({len(player.items) for player in found}) != 1:
        raise StoreError(
            f"{path} is damaged (its results are not of {', '.join(names)} on the same items): restore it from a copy"
        )
    return tuple(found)


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
    table = Table(config, items, clock)
    try:
        first = next(batches(config, said, _nothing_yet))
        configs = list({id(fixture.config): fixture.config for fixture in first}.values())
        guide = config.guided_by if config.guided_by in OWN else _named(table, config.guided_by)
        detector = {"name": table.judge.name, "version": table.judge.version}
        document = new_manifest(config, said, configs, items, table.endpoints, detector, guide, clock)
        await table.check(configs, document["prompts"])
        with closing(Run.create(out, clock, document, items)) as stored:
            return await _play(table, stored, Season(out, document, config), show, executor)
    finally:
        await table.close()


async def resume(
    out: Path, *, clock: Clock | None = None, show: Shown | None = None, executor: Executor | None = None
) -> Season:
    """Go on with a run; a finished one is only loaded."""
    season = load_season(out)
    if season.finished:
        return season
    config, clock = season.config, clock or RealClock()
    table = Table(config, items_in(out, season.manifest), clock)
    try:
        begun = season.manifest["detector"]["version"]
        if table.judge.version != begun:
            raise ConfigError(
                f"{out} was begun with {config.judge} {begun} and this is {table.judge.version}: "
                "resume it with the version it was begun with"
            )
        first = next(batches(config, season.manifest.get("season", {}), season.results))
        await table.check([fixture.config for fixture in first[:1]], season.manifest["prompts"])
        with closing(Run.open(out, clock, sound)) as stored:
            stored.notice_losses()
            return await _play(table, stored, season, show, executor)
    finally:
        await table.close()


async def join(out: Path, config: Config, *, base: Path | None = None, show: Shown | None = None) -> Season:
    """Let the new players of a configuration into a tournament; only their own matches are played."""
    season = load_season(out)
    said = season.manifest.get("season", {})
    if season.kind != "tournament" or said["system"] != "round-robin":
        raise ConfigError(f"{out} is not a round-robin tournament: only those can be joined")
    config = located(config, (base or Path()).resolve())
    names = {player.name for player in season.config.players}
    fresh = [player for player in config.players if player.name not in names]
    if not fresh:
        raise ConfigError(f"every player of the configuration is in {out} already: give a new one another name")
    grown = season.config.model_copy(
        update={"players": [*season.config.players, *fresh], "models": {**config.models, **season.config.models}}
    )
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
    prompts = {
        **season.manifest["prompts"],
        **{p.prompts or BUILTIN: dict(prompts_of(config, p).texts) for p in fresh},
    }
    clock = RealClock()
    table = Table(grown, items_in(out, season.manifest), clock)
    try:
        await table.check([grown], prompts)
        document = season.manifest | {
            "ended": None,
            "config": grown.model_dump(mode="json"),
            "prompts": prompts,
            "models": table.endpoints.described(),
            "simulated": table.endpoints.simulated,
        }
        with closing(Run.open(out, clock, sound)) as stored:
            stored.write_manifest(document)
            return await _play(table, stored, Season(out, document, grown), show, None)
    finally:
        await table.close()


def load_season(out: Path) -> Season:
    """A run as it stands, finished or not; a finished one is seen to have its end."""
    season = read_season(out)
    if season.finished:
        there, said = read_matches(out), season.manifest.get("matches")  # none in a run of an earlier version
        if not all(there.values()) or (isinstance(said, int) and len(there) < said):
            raise StoreError(f"{out} is damaged (it ended, and its record has no end): restore it from a copy")
        if unclosed(out):
            sound(out)
    return season


def read_season(out: Path) -> Season:
    """A run as its manifest has it, whatever its record says."""
    manifest = read_match(out)
    checked(manifest.get("season", {}))
    return Season(out, manifest, check(manifest["config"], f"{out}/manifest.json"))


def load(out: Path, match: str | None = None) -> Played:
    """One match of a run as it stands: the one named, or the first."""
    season = load_season(out)
    for fixture in season.fixtures():
        if match is None or fixture.id == match:
            return season.played(fixture)
    raise StoreError(f"{out} has no match {match!r}: 'mashq show {out}' lists them")


async def _play(table: Table, stored: Run, season: Season, show: Shown | None, executor: Executor | None) -> Season:
    """Play every match that has not ended, batch by batch."""
    done = {match for match, ended in read_matches(stored.path).items() if ended}
    prompts = season.manifest["prompts"]
    for batch in batches(season.config, season.manifest.get("season", {}), season.results):
        left = [fixture for fixture in batch if fixture.id not in done]
        if show is not None:
            show.batch(len(batch), len(batch) - len(left))
        if left:
            await (executor or fitting(left, table)).play(table, stored, left, prompts, show)
            await stored.writer.durable()
            there = read_matches(stored.path)
            lacking = [fixture.id for fixture in left if not there.get(fixture.id)]
            if lacking:
                raise StoreError(
                    f"match {lacking[0]} was not recorded to its end: go on with 'mashq resume {stored.path}'"
                )
    await stored.writer.synced()
    manifest = season.manifest | {"ended": stamp(table.clock), "matches": len(read_matches(stored.path))}
    stored.write_manifest(manifest)
    return Season(season.path, manifest, season.config)


def fitting(fixtures: Sequence[Fixture], table: Table) -> Executor:
    """Where these matches are best played: in processes when they are many and only compute, else here."""
    drawn = all(player.model.startswith("simulated/") for player in table.config.players)
    turns = len(fixtures) * len(table.items) * len(table.config.players)
    if drawn and len(fixtures) > 1 and turns >= WORTH_PROCESSES and (os.cpu_count() or 1) > 1:
        return Processes()
    return Here()


def _named(table: Table, name: str) -> str:
    judge = table.judges[name]
    return f"{judge.name} {judge.version}"


def _nothing_yet(match: str) -> Sequence[PlayerResult]:
    raise StoreError(f"the match {match!r} has not been played: play it first")
