"""Play matches on a Ray cluster: each match is a task, the detectors are shared actors, one writer runs beside the
driver.

The run directory stays on the driver's node. A worker sends what it writes to the desk, an actor on the driver's node
that holds the single writer; a request leaves a worker only after the desk has its row in the file. A worker that is
lost loses nothing acknowledged: its match is read from the store and continues elsewhere. The driver divides the
endpoints' limits among the workers, so that all of them together keep to the limits. Keys are read from the workers'
environment.
"""

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mashq.arena.context import OWN, RunContext
from mashq.arena.executors.base import Shown
from mashq.arena.executors.jobs import MatchJob, WorkerSetup, do
from mashq.arena.executors.local import begun
from mashq.arena.referee import Referee
from mashq.config import Config
from mashq.detectors import base as detectors
from mashq.detectors.base import Pair
from mashq.detectors.llm_judge import model_of
from mashq.errors import ConfigError, MashqError, StoreError
from mashq.gateway.clock import RealClock
from mashq.players.registry import all_drawn, recorded_spec
from mashq.runs.database import Writer
from mashq.runs.file import Statement
from mashq.runs.reading import DATABASE
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run

DEATHS = 3
WAITING = 0.25  # cores for a match that mostly waits for its models


class Cluster:
    """Plays matches as tasks of a Ray cluster; a local one is started if no address is given."""

    def __init__(self, address: str | None = None) -> None:
        self._address = address

    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        """Play all of them; the first error stops it, and what was written is kept."""
        if any(recorded_spec(player.agent).external for player in context.config.players):
            raise ConfigError("external agents play on this machine only: leave --executor ray out")
        with contextlib.redirect_stdout(
            sys.stderr
        ):  # Ray prints lost workers to standard output, which is reserved for results
            ray = _ray(self._address)
            await stored.writer.durable()
            try:
                await _Season(ray, context, stored, prompts, show).play(fixtures)
            finally:
                ray.shutdown()


class _Season:
    """The actors and tasks of one batch of matches."""

    def __init__(
        self, ray: Any, context: RunContext, stored: Run, prompts: Mapping[str, Any], show: Shown | None
    ) -> None:
        self._ray, self._stored, self._show = ray, stored, show
        driver_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        desk = ray.remote(_Desk).options(num_cpus=0, scheduling_strategy=driver_node, max_concurrency=1000)
        self._desk = desk.remote(str((stored.path / DATABASE).resolve()))
        config = context.config
        judges = {name for name in (config.judge, config.guided_by) if name not in OWN and model_of(name) is None}
        self._judges = {name: self._judge(name) for name in judges}
        self._setup = ray.put(
            WorkerSetup(config.model_dump(mode="json"), context.items, prompts, context.facilities.rules_of_play)
        )
        self._cores = 1.0 if all_drawn(config) else WAITING

    def _judge(self, name: str) -> Any:
        has_gpu = self._ray.cluster_resources().get("GPU", 0) >= 1
        gpus = 1 if has_gpu and detectors.declares(name, "uses_gpu") and not name.endswith(":cpu") else 0
        return self._ray.remote(_Judge).options(num_cpus=0, num_gpus=gpus, max_concurrency=1000).remote(name)

    async def play(self, fixtures: Sequence[Fixture]) -> None:
        """Play them, as many at once as the cluster has room for."""
        room = max(1, int(self._ray.cluster_resources().get("CPU", 1) / self._cores))
        at_once = min(room, len(fixtures))
        slots = asyncio.Semaphore(at_once)

        async def play_one(fixture: Fixture) -> None:
            async with slots:
                await self._play_fixture(fixture, at_once)
                if self._show is not None:
                    self._show.ended(fixture)

        try:
            async with asyncio.TaskGroup() as group:
                for fixture in fixtures:
                    group.create_task(play_one(fixture))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        await self._desk.close.remote()

    async def _play_fixture(self, fixture: Fixture, at_once: int) -> None:
        exceptions = self._ray.exceptions
        play = self._ray.remote(_play).options(num_cpus=self._cores, max_retries=0, name="mashq-match")
        share = Fixture(fixture.id, fixture.position, allotted(fixture.config, at_once), fixture.trial)
        for _ in range(DEATHS):
            await self._desk.write.remote([], False)
            job = MatchJob.of(share, begun(self._stored, fixture))
            try:
                await play.remote(self._setup, job, self._desk, self._judges)
                return
            except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError):
                continue
            except exceptions.RayTaskError as error:
                cause: object = getattr(error, "cause", None)
                if isinstance(cause, MashqError):
                    raise cause from None
                raise
        raise StoreError(
            f"the worker that plays match {fixture.id} was lost {DEATHS} times: what it wrote is kept, continue with "
            f"'mashq resume {self._stored.path}'"
        )


def allotted(config: Config, at_once: int) -> Config:
    """A match's configuration with its share of the endpoints' limits when `at_once` matches are played."""
    document = config.model_dump(mode="json")
    names = {name for player in config.players for name in (player.model, player.to) if name is not None}
    names |= {model for name in (config.judge, config.guided_by) if (model := model_of(name)) is not None}
    for name in names:
        settings = config.model(name)
        rate = settings.requests_per_minute
        document["models"][name] = settings.model_dump(mode="json") | {
            "concurrency": max(1, settings.concurrency // at_once),
            "requests_per_minute": None if rate is None else rate / at_once,
        }
    return Config.model_validate(document)


class _Desk:
    """The single writer, on the driver's node."""

    def __init__(self, database: str) -> None:
        self._writer = Writer(Path(database))

    async def write(self, statements: list[Statement], synced: bool) -> None:
        """Queue statements and return once they are in the file or, if `synced`, on the disk."""
        for statement, values in statements:
            self._writer.put(statement, values)
        await (self._writer.synced() if synced else self._writer.durable())

    async def close(self) -> None:
        """Write what is left and close the file."""
        self._writer.close()


class _Judge:
    """A detector shared by the cluster; answers that arrive while a batch is scored form the next one."""

    def __init__(self, name: str) -> None:
        self._referee = Referee(detectors.load(name))

    async def score(self, pair: Pair) -> float:
        """H of one answer."""
        return await self._referee.score(pair)


class _RemoteScorer:
    """A worker's connection to the judge."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def score(self, pair: Pair, round_: int = 0, item: str | None = None) -> float:
        """H of one answer."""
        return await self._actor.score.remote(pair)

    def close(self) -> None:
        """Do nothing: the driver owns the judge."""


class _ToDesk:
    """The wire of a worker. Calls to an asynchronous actor may overtake each other, so only one is made at a time."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk
        self._queued: list[Statement] = []
        self._turn = asyncio.Lock()
        self._sending: asyncio.Task[None] | None = None

    def send(self, statements: list[Statement]) -> None:
        """Send statements, in order."""
        self._queued += statements
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self.settled(synced=False))

    async def settled(self, *, synced: bool) -> None:
        """Wait until all of them have arrived."""
        async with self._turn:
            queued, self._queued = self._queued, []
            await self._desk.write.remote(queued, synced)


def _play(setup: WorkerSetup, job: MatchJob, desk: Any, judges: dict[str, Any]) -> None:
    """Play one match, in a worker."""

    async def play() -> None:
        referees = {name: _RemoteScorer(actor) for name, actor in judges.items()}
        context = RunContext(
            job.fixture().config, setup.items, RealClock(), referees, rules_of_play=setup.rules_of_play
        )
        try:
            await do(context, job, setup, _ToDesk(desk))
        finally:
            await context.close()

    asyncio.run(play())


def _ray(address: str | None) -> Any:
    """Start or join Ray."""
    try:
        ray: Any = import_module("ray")
        import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise ConfigError("--executor ray needs Ray: pip install 'mashq[ray]'") from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = "" if address is None else f" at {address}"
        why = " ".join(str(error).split())[:200]
        raise ConfigError(f"the Ray cluster{where} cannot be reached ({why}): check --ray-address") from None
    return ray
