"""From a configuration to a played, stored match; and from a stored one on.

    played = await run(config, out)      a new run
    played = await resume(out)           one that stopped
    loaded = load(out)                   one to look at

All three give the same thing: the manifest and the state, from which everything shown is made.
"""

import hashlib
import json
import platform
import random
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from mashq.arena.agents import agent, reviews_allowed
from mashq.arena.endpoints import Endpoints, located
from mashq.arena.foreign import Hall
from mashq.arena.llm_judge import LlmJudge, model_of
from mashq.arena.play import Contestant, Match, Watcher, fold
from mashq.arena.referee import Referee, Scorer
from mashq.config import Config, PlayerConfig, check
from mashq.detectors import base as detectors
from mashq.detectors import verdicts
from mashq.errors import ConfigError
from mashq.gateway.clock import RealClock
from mashq.gateway.door import trial_seed
from mashq.gateway.preflight import reach
from mashq.gateway.types import Clock
from mashq.players import prompts
from mashq.players.base import Player
from mashq.protocol.game import initial
from mashq.protocol.items import Item
from mashq.protocol.rules import Budget, Rules, Seat, Vision, default_order, order_of
from mashq.protocol.score import ScoreRules
from mashq.protocol.state import MatchState
from mashq.store.ledger import RunLedger
from mashq.store.run import Run, read_attempts, read_items, read_match, read_moves
from mashq.tasks import load as tasks

MATCH = "0"
PACKAGES = ("mashq", "aiohttp", "genai-prices", "numpy", "pydantic", "xllamacpp")


@dataclass(frozen=True, slots=True)
class Played:
    """A match as it stands in its run directory."""

    path: Path
    manifest: dict[str, Any]
    config: Config
    state: MatchState
    attempts: list[dict[str, Any]]

    @property
    def finished(self) -> bool:
        """Whether it was played to the end."""
        return self.manifest["ended"] is not None


@dataclass(frozen=True, slots=True)
class Judge:
    """Who scores: a detector, or a model that is asked (then `detector` is None and the name says which)."""

    name: str
    version: str
    detector: detectors.Detector | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    """All that a match needs besides its run directory."""

    config: Config
    players: Mapping[str, Player]
    hall: Hall
    judge: Judge
    guide: Judge | None
    endpoints: Endpoints
    clock: Clock
    watch: Watcher


async def run(
    config: Config, out: Path, *, base: Path | None = None, clock: Clock | None = None, watch: Watcher | None = None
) -> Played:
    """Play a new match into the directory `out`; `base` is what the paths in the configuration are relative to."""
    config = located(config, (base or Path()).resolve())
    texts = {player.name: _prompts(config, player) for player in config.players}
    items = _items(config)
    async with _table(config, texts, clock or RealClock(), watch) as table:
        _check(table, items)
        manifest = _manifest(table, items, texts)
        with closing(Run.create(out, table.clock, manifest, items)) as stored:
            return await _play(table, stored, manifest, items)


async def resume(out: Path, *, clock: Clock | None = None, watch: Watcher | None = None) -> Played:
    """Go on with a run; a finished one is only loaded."""
    manifest = read_match(out)
    if manifest["ended"] is not None:
        return load(out)
    config = check(manifest["config"], f"{out}/manifest.json")
    texts = {name: prompts.Prompts(saved, config.task.kind) for name, saved in manifest["prompts"].items()}
    async with _table(config, texts, clock or RealClock(), watch) as table:
        begun = manifest["detector"]["version"]
        if table.judge.version != begun:
            raise ConfigError(
                f"{out} was begun with {config.judge} {begun} and this is {table.judge.version}: "
                "resume it with the version it was begun with"
            )
        with closing(Run.open(out, table.clock)) as stored:
            return await _play(table, stored, manifest, read_items(out))


def load(out: Path) -> Played:
    """A run as it stands, finished or not."""
    manifest = read_match(out)
    config = check(manifest["config"], f"{out}/manifest.json")
    state = fold(_initial(config, read_items(out)), read_moves(out, MATCH))
    return Played(out, manifest, config, state, read_attempts(out))


def _check(table: _Table, items: tuple[Item, ...]) -> None:
    """Refuse, before anything is paid for, a match that could not be played or scored."""
    if getattr(table.judge.detector, "needs_reference", False):
        for item in items:
            if item.reference is None:
                raise ConfigError(
                    f"the detector {table.judge.name!r} needs a reference answer and item {item.id!r} has none: "
                    "name the field that holds it with task.answer"
                )
    for player in table.config.players:
        limits = (player.budget or table.config.rules.budget, table.config.rules.shared_budget)
        if any(limit.dollars is not None for limit in limits) and table.endpoints[player.model].price is None:
            raise ConfigError(
                f"a budget in dollars needs a price, and none is known for {player.model}: "
                "give one with models.price, or set the budget in tokens"
            )


@asynccontextmanager
async def _table(
    config: Config, texts: Mapping[str, prompts.Prompts], clock: Clock, watch: Watcher | None
) -> AsyncGenerator[_Table]:
    """Set the table, look whether every server can be reached, and clear up afterwards."""
    hall = Hall(config, clock)
    players = {
        player.name: hall.players.get(player.name) or agent(player, texts[player.name]) for player in config.players
    }
    judge = _judge(config.judge)
    guide = None if config.guided_by in ("judge", "confidence") else _judge(config.guided_by)
    endpoints = Endpoints(config, clock, trial_seed(config.seed, 0))
    try:
        await reach(endpoints.urls)
        async with hall.open(endpoints.key_variables):
            yield _Table(
                config, players, hall, judge, guide, endpoints, clock, watch or (lambda _state, _seat, _move: None)
            )
    finally:
        await endpoints.close()


async def _play(table: _Table, stored: Run, manifest: dict[str, Any], items: tuple[Item, ...]) -> Played:
    config = table.config
    state = fold(_initial(config, items), read_moves(stored.path, MATCH))
    table.watch(state, None, None)
    table.hall.server.record_to(stored.refuse)
    ledger = stored.ledger(MATCH, state.round)
    with (
        closing(_scorer(table, table.judge, ledger)) as judge,
        closing(_scorer(table, table.guide or table.judge, ledger)) as guide,
    ):
        match = Match(
            id=MATCH,
            state=state,
            contestants=tuple(_contestant(table, player) for player in config.players),
            judge=judge,
            guide=None if table.guide is None else guide,
            confidence=config.guided_by == "confidence",
            ledger=ledger,
            recorder=stored,
            clock=table.clock,
            seed=trial_seed(config.seed, 0),
            watch=table.watch,
        )
        state = await match.play()
    await stored.writer.durable()
    manifest = manifest | {"ended": _time(table.clock)}
    stored.write_manifest(manifest)
    return Played(stored.path, manifest, config, state, read_attempts(stored.path))


def _judge(name: str) -> Judge:
    """A detector, or the name and version of a model that judges."""
    if model_of(name) is not None:
        return Judge(name, verdicts.VERSION)
    found = detectors.load(name)
    return Judge(found.name, found.version, found)


def _scorer(table: _Table, judge: Judge, ledger: RunLedger) -> Scorer:
    if judge.detector is not None:
        return Referee(judge.detector)
    endpoint = table.endpoints[model_of(judge.name) or ""]
    return LlmJudge(endpoint, ledger, table.clock, MATCH, trial_seed(table.config.seed, 0))


def _contestant(table: _Table, player: PlayerConfig) -> Contestant:
    reviewer = None if player.to is None else table.endpoints[player.to]
    return Contestant(table.players[player.name], table.endpoints[player.model], reviewer)


def rules_of(config: Config) -> Rules:
    """The protocol's rules from the configuration."""
    said = config.rules
    return Rules(
        turn=said.turn,
        threshold=said.T,
        max_reviews=said.R,
        keep=said.keep,
        review_cost=said.review_cost,
        vision=Vision(said.vision.when, tuple(said.vision.show), said.vision.keep),
        budget=Budget(**said.budget.model_dump()),
        shared_budget=Budget(**said.shared_budget.model_dump()),
        resources=tuple(config.score.resources),
        show_seconds=said.show_seconds,
    )


def score_rules_of(config: Config) -> ScoreRules:
    """The rules of scoring from the configuration."""
    said = config.score
    return ScoreRules(
        alpha=said.alpha,
        beta=config.beta,
        weights={name: said.weights.get(name, 1.0) for name in said.resources},
        reference=None if said.normalise == "match" else cast(dict[str, float], said.normalise),
        refusals=said.refusals,
    )


def _initial(config: Config, items: tuple[Item, ...]) -> MatchState:
    seats: list[Seat] = []
    for at, player in enumerate(config.players):
        kind = player.order or default_order(at, len(config.players), len(items))
        shuffled = list(range(len(items)))
        random.Random(f"{trial_seed(config.seed, 0)}/{player.name}").shuffle(shuffled)
        budget = None if player.budget is None else Budget(**player.budget.model_dump())
        order = order_of(kind, len(items), tuple(shuffled))
        seats.append(Seat(player.name, order, player.T, reviews_allowed(player), player.review_cost, budget))
    return initial(items, rules_of(config), seats)


def _items(config: Config) -> tuple[Item, ...]:
    said = config.task
    fields = tasks.fields_of(said.kind, said.text, said.id, said.answer)
    return tasks.load(said.data, fields, said.limit, sample=said.sample, seed=config.seed)


def _prompts(config: Config, player: PlayerConfig) -> prompts.Prompts:
    return prompts.load(None if player.prompts is None else Path(player.prompts), config.task.kind)


def _manifest(table: _Table, items: tuple[Item, ...], texts: Mapping[str, prompts.Prompts]) -> dict[str, Any]:
    config, detector, endpoints = table.config, table.judge, table.endpoints
    said = config.model_dump(mode="json")
    return {
        "format": 1,
        "started": _time(table.clock),
        "ended": None,
        "simulated": endpoints.simulated,
        "seed": config.seed,
        "items": len(items),
        "detector": {"name": detector.name, "version": detector.version},
        "guide": config.guided_by if table.guide is None else f"{table.guide.name} {table.guide.version}",
        "models": endpoints.described(),
        "digests": {
            "config": hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest(),
            "items": tasks.digest(items),
            "prompts": {name: text.digest for name, text in texts.items()},
            "package": package_digest(),
        },
        "versions": {"python": sys.version.split()[0], "platform": platform.platform(), **_versions()},
        "config": said,
        "prompts": {name: dict(text.texts) for name, text in texts.items()},
    }


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def package_digest() -> str:
    """A fingerprint of the code that plays: every module of this package."""
    whole = hashlib.sha256()
    root = Path(str(files("mashq")))
    for path in sorted(root.rglob("*.py")):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def _time(clock: Clock) -> str:
    return datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")


def default_out(clock: Clock, root: Path | None = None) -> Path:
    """A fresh directory name under runs/: the time, and a number when that is taken."""
    root = root or Path("runs")
    stamp = datetime.fromtimestamp(clock.now()).strftime("%Y%m%d-%H%M%S")
    path, number = root / stamp, 1
    while path.exists():
        number += 1
        path = root / f"{stamp}-{number}"
    return path
