"""What the matches of a run share (models, limits, detectors, items, prompts), and how one of them is played."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mashq.arena.documents import DocumentScores
from mashq.arena.endpoints import NOTHING_YET, Endpoints, Facilities, Learnt
from mashq.arena.external_agents import ExternalAgents
from mashq.arena.play import Contestant, Match, Watcher
from mashq.arena.referee import Referee, Scorer
from mashq.config import Config, PlayerConfig, TaskConfig
from mashq.detectors import base as detectors
from mashq.detectors import verdicts
from mashq.detectors.contents import SUMMARISE
from mashq.detectors.llm_judge import LlmJudge, model_of
from mashq.errors import ConfigError
from mashq.gateway.model import trial_seed
from mashq.gateway.preflight import reach
from mashq.gateway.types import Clock
from mashq.players.base import Player
from mashq.players.registry import agent
from mashq.protocol.items import Item
from mashq.protocol.moves import Move
from mashq.protocol.resources import RATED, TABLE
from mashq.protocol.results import results_of
from mashq.protocol.rules import RULES_OF_PLAY
from mashq.protocol.score import without_texts
from mashq.protocol.state import MatchState
from mashq.runs import contents
from mashq.runs.ledger import RunLedger
from mashq.runs.open import fold
from mashq.runs.reading import Left
from mashq.runs.seasons import Fixture
from mashq.runs.setup import first_state, selection_of, stored_prompts
from mashq.runs.writer import MatchRecord

OWN = ("judge", "confidence")


@dataclass(frozen=True, slots=True)
class Judge:
    """Who scores: a detector, or a model that is asked (then `detector` is None and the name identifies the
    model)."""

    name: str
    version: str
    detector: detectors.Detector | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """What is known of a match in progress: its moves so far, the attempts that led to no move yet, and what the run
    has learnt about its models."""

    moves: Sequence[tuple[str, Move]] = ()
    left: Left | None = None
    learnt: Learnt = NOTHING_YET


class RunContext:
    """What the matches of a run share: models, limits, detectors, items and prompts."""

    config: "Config"
    items: "tuple[Item, ...]"
    clock: "Clock"
    facilities: "Facilities"
    endpoints: "Endpoints"
    judges: "dict[str, Judge]"

    def __init__(
        self,
        config: Config,
        items: tuple[Item, ...],
        clock: Clock,
        referees: Mapping[str, Scorer] | None = None,
        *,
        rules_of_play: int = RULES_OF_PLAY,
    ) -> None:
        self.config, self.items, self.clock = config, items, clock
        self.facilities = Facilities(rules_of_play=rules_of_play)
        self.endpoints = Endpoints(config, clock, trial_seed(config.seed, 0), self.facilities)
        self._floors = contents.Floors({})
        self._referees = dict(referees or {})
        names = {name: None for name in (config.judge, config.guided_by) if name not in OWN}
        self.judges = {name: _judge(name) for name in names if name not in self._referees}

    @property
    def judge(self) -> Judge:
        """The judge, which decides the score."""
        return self.judges[self.config.judge]

    async def check(self, configs: Sequence[Config], prompts: Mapping[str, Any], run: Path | None = None) -> None:
        """Reject, before anything is paid for, a match that could not be played or scored; `run` is its directory."""
        for config in configs:
            if (config.judge, config.guided_by) != (self.config.judge, self.config.guided_by) or not same_items(
                config.task, self.config.task
            ):
                raise ConfigError("the matches of a run share their items, judge and guide: use a run for each")
        for name, judge in self.judges.items() if self.config.task.kind == "rag" else ():
            guides = name == self.config.guided_by or self.config.guided_by == "judge"
            if guides and getattr(judge.detector, "needs_reference", False):
                raise ConfigError(
                    f"the detector {name!r} reads the reference answer, of which no player of a rag task is told: "
                    "name what guides the players with guide (grounding, or confidence)"
                )
        if getattr(self.judge.detector, "needs_reference", False):
            for item in self.items:
                if item.reference is None and item.answerable is not False:
                    field = self.config.task.answer
                    raise ConfigError(
                        f"the detector {self.judge.name!r} needs a reference answer and item {item.id!r} has none: "
                        "name the field that holds it with task.answer"
                        if field is None
                        else f"the detector {self.judge.name!r} needs a reference answer and item {item.id!r} has "
                        f"none under {field!r}, which task.answer names: name the right field, or fill it"
                    )
        for config in configs:
            drawn = [
                player.name for seat, player in enumerate(config.players) if not contents.has_texts(config, seat)
            ]
            if drawn and config.score.h == "adequate":
                raise without_texts(drawn)
            await self._check_players(config, prompts, run)

    async def _check_players(self, config: Config, prompts: Mapping[str, Any], run: Path | None) -> None:
        endpoints = Endpoints(config, self.clock, 0, self.facilities)
        await reach(endpoints.urls)
        external_agents = ExternalAgents(config, self.clock)
        await external_agents.check(run)
        for player in config.players:
            if player.name not in external_agents.players:
                agent(player, stored_prompts(config, player, prompts))
            limits = (player.budget or config.rules.budget, config.rules.shared_budget)
            for name in RATED:
                limited = any(limit.limits()[name] is not None for limit in limits)
                if limited and name not in endpoints[player.model].rates:
                    raise ConfigError(
                        f"a budget in {name} needs a rate, and none is known for {player.model}: "
                        f"give one with models.{TABLE[name].rate}, or set the budget in tokens"
                    )

    async def close(self) -> None:
        """Release what the matches shared."""
        for referee in self._referees.values():
            referee.close()
        await self.facilities.close()

    async def play(
        self, fixture: Fixture, record: MatchRecord, prompts: Mapping[str, Any], begun: Begun, watch: Watcher
    ) -> MatchState:
        """Play one match to its end, from its current state."""
        config, seed = fixture.config, trial_seed(fixture.config.seed, fixture.trial)
        self.facilities.remember(begun.learnt)
        version = self.facilities.rules_of_play
        state = fold(first_state(config, self.items, fixture.trial, version), begun.moves)
        endpoints = Endpoints(config, self.clock, seed, self.facilities)
        async with self._players(config, prompts, endpoints, record) as players:
            watch(state, None, None)
            record.begin()
            ledger = record.ledger(begun.left)
            judge = self._scorer(config.judge, endpoints, ledger, fixture.id, seed)
            match = Match(
                id=fixture.id,
                state=state,
                contestants=tuple(
                    _contestant(players[player.name], player, config, endpoints) for player in config.players
                ),
                judge=judge,
                guide=None
                if config.guided_by in OWN
                else self._scorer(config.guided_by, endpoints, ledger, fixture.id, seed),
                confidence=config.guided_by == "confidence",
                ledger=ledger,
                recorder=record,
                clock=self.clock,
                seed=seed,
                watch=watch,
                ahead=config.ahead,
                documents=self._documents(config, endpoints, ledger, fixture.id, seed),
            )
            state = await match.play()
            content_rows = await self._contents(config, state, judge)
        await record.end(
            results_of(state), [*contents.statements(fixture.id, content_rows), *self._floors.statements()]
        )
        return state

    async def _contents(self, config: Config, state: MatchState, judge: Scorer) -> list[contents.Carried]:
        """What the answers of a finished match contain; the floors of its items are computed once per run."""
        rows: list[contents.Carried] = []
        for row in contents.measured(config, state):
            rows.append(row)
            await asyncio.sleep(0)  # let other matches continue
        if rows and config.task.kind == SUMMARISE and not self._floors.rows:
            h: dict[str, list[float]] | None = None
            if self._judge_is_free():
                pairs = contents.floor_pairs(self.items)
                h = {name: [await judge.score(pair) for pair in floor_pairs] for name, floor_pairs in pairs.items()}
            self._floors = contents.floors_of(config.task.kind, self.items, h)
        return rows

    def _judge_is_free(self) -> bool:
        """Whether the floors can be scored at no cost."""
        return model_of(self.config.judge) is None and detectors.declares(self.config.judge, "free")

    @asynccontextmanager
    async def _players(
        self, config: Config, prompts: Mapping[str, Any], endpoints: Endpoints, record: MatchRecord
    ) -> AsyncGenerator[dict[str, Player]]:
        external_agents = ExternalAgents(config, self.clock)
        players = {
            player.name: external_agents.players.get(player.name)
            or agent(player, stored_prompts(config, player, prompts))
            for player in config.players
        }
        async with AsyncExitStack() as stack:
            if external_agents.players:
                await stack.enter_async_context(external_agents.open(endpoints.key_variables))
                external_agents.server.record_to(record.refuse)
            yield players

    def _documents(
        self, config: Config, endpoints: Endpoints, ledger: RunLedger, match: str, seed: int
    ) -> DocumentScores | None:
        """How answers from passages are scored; None for other tasks."""
        if config.task.kind != "rag":
            return None
        judge = self._scorer(config.judge, endpoints, ledger, match, seed)
        built_in = {"judge": judge, "confidence": None}
        name = config.guided_by
        guide = built_in[name] if name in built_in else self._scorer(name, endpoints, ledger, match, seed)
        by_reference = getattr(
            (self.judges.get(config.judge) or _judge(config.judge)).detector, "needs_reference", False
        )
        return DocumentScores(judge, guide, config.task.abstention, bool(by_reference))

    def _scorer(self, name: str, endpoints: Endpoints, ledger: RunLedger, match: str, seed: int) -> Scorer:
        if name not in self._referees:
            judge = self.judges[name]
            if judge.detector is None:
                return LlmJudge(endpoints[model_of(name) or ""], ledger, self.clock, match, seed)
            self._referees[name] = Referee(judge.detector)
        return self._referees[name]


def same_items(one: TaskConfig, other: TaskConfig) -> bool:
    """Whether two tasks have the same items, regardless of which passages are shown and the value of an
    abstention."""
    ignored = {"passages": other.passages, "abstention": other.abstention}
    return one.model_copy(update=ignored) == other


def _judge(name: str) -> Judge:
    """A detector, or the name and version of a model that judges."""
    if model_of(name) is not None:
        return Judge(name, verdicts.VERSION)
    detector = detectors.load(name)
    return Judge(detector.name, detector.version, detector)


def _contestant(player: Player, settings: PlayerConfig, config: Config, endpoints: Endpoints) -> Contestant:
    reviewer = None if settings.to is None else endpoints[settings.to]
    return Contestant(player, endpoints[settings.model], reviewer, selection_of(config, settings))
