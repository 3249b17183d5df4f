"""The metering server by itself: any program, the models and budgets of one or more players, and a run directory with
the ledger.

There is no match: every attempt belongs to a player and to no item. The run's manifest has `"kind": "gateway"`. A
budget for all players together stops the program when its next request could not be paid for.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from mashq.arena.endpoints import Endpoints, Facilities, located
from mashq.config import Config, PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.gateway import process_secrets
from mashq.gateway.budgets import BY_TOKENS, BudgetState
from mashq.gateway.model import Model, trial_seed
from mashq.gateway.preflight import reach
from mashq.gateway.providers import is_key
from mashq.gateway.proxy.grants import Grant
from mashq.gateway.proxy.server import MeteringServer
from mashq.gateway.types import Call, Clock, Ledger
from mashq.protocol.resources import RATED, Spend
from mashq.protocol.rules import Budget
from mashq.runs.manifest import GATEWAY, stamp
from mashq.runs.writer import Run

GRACE = 5.0  # seconds between terminating a program and killing it
OFTEN = 0.25  # seconds between status updates
OUT_OF_BUDGET = 1  # the exit code of a program that was stopped by a budget

Ready = Callable[[Mapping[str, Mapping[str, str]]], None]
Watch = Callable[["Standing"], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """What all players have spent so far, and the last error; `stopped` names an exhausted budget."""

    spend: Spend
    under_way: int = 0
    last_error: str = ""
    stopped: str | None = None


class Together(Sequence[BudgetState]):
    """The budgets of a player: its own, and one shared by all players, with what the others have spent so far."""

    def __init__(self, own: Sequence[BudgetState], budget: Budget) -> None:
        self._own, self._budget = tuple(own), budget
        self.others: list[Grant] = []

    def __iter__(self) -> Iterator[BudgetState]:
        yield from self._own
        if self._budget.is_set:
            yield "the", self._budget, sum((grant.under_way for grant in self.others), Spend())

    def __len__(self) -> int:
        return len(self._own) + self._budget.is_set

    @overload
    def __getitem__(self, at: int) -> BudgetState: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[BudgetState]: ...
    def __getitem__(self, at: int | slice) -> BudgetState | Sequence[BudgetState]:
        return list(self)[at]


async def meter(
    config: Config,
    out: Path,
    names: Sequence[str],
    command: Sequence[str],
    ready: Ready,
    *,
    clock: Clock,
    base: Path,
    budget: Mapping[str, float] | None = None,
    watch: Watch | None = None,
) -> int:
    """Serve until the command ends (returns its exit code), a budget stops it (1) or, without a command, until
    interrupted (0)."""
    config = located(config, base.resolve())
    players = _chosen_players(config, names, alone=bool(command))
    facilities, shared_budget = Facilities(), Budget.of(**(budget or {}))
    chosen_config = config.model_copy(update={"players": players})
    endpoints = Endpoints(chosen_config, clock, trial_seed(config.seed, 0), facilities)
    _check_rates(endpoints, players, shared_budget)
    server = MeteringServer(clock)
    try:
        await reach(endpoints.urls)
        process_secrets.forget(endpoints.key_variables)
        manifest = _manifest(config, players, endpoints, clock)
        with closing(Run.create(out, clock, manifest, ())) as stored:
            await server.start()
            record = stored.record("0")
            server.record_to(record.refuse)
            seats = {player.name: server.admit(player.name) for player in players}
            ledger = record.ledger()
            models = [_model(config, player, endpoints, ledger, clock, shared_budget) for player in players]
            grants = [server.issue(seat, model) for seat, model in zip(seats.values(), models, strict=True)]
            _share_budget(grants)
            ready({name: seat.variables for name, seat in seats.items()})
            async with _reporting(grants, watch):
                code = await _until_done(command, next(iter(seats.values())).variables, grants)
                await asyncio.gather(*(grant.close() for grant in grants))
            await stored.writer.synced()
            stored.write_manifest(manifest | {"ended": stamp(clock)})
            return code
    finally:
        await server.close()
        await facilities.close()


def _model(
    config: Config, player: PlayerConfig, endpoints: Endpoints, ledger: Ledger, clock: Clock, shared_budget: Budget
) -> Model:
    """The model of a player, with its own budgets and the shared one."""
    call = Call("0", 0, player.name, None, GATEWAY)
    states = Together(_budget_states(config, player), shared_budget)
    return Model(endpoints[player.model], ledger, clock, call, config.seed, states)


def _share_budget(grants: Sequence[Grant]) -> None:
    """Make each grant count what the others have spent against the shared budget."""
    for grant in grants:
        states = grant.model.budget_states
        assert isinstance(states, Together)
        states.others += [other for other in grants if other is not grant]


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a program, without API keys of any model provider."""
    return {name: value for name, value in environment.items() if not is_key(name)}


async def _until_done(command: Sequence[str], variables: Mapping[str, str], grants: Sequence[Grant]) -> int:
    """Wait for the command, an interrupt or an exhausted budget; the latter two also end the command."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):  # ValueError: not the main thread
            loop.add_signal_handler(number, stopped.set)
    if not command:
        await stopped.wait()
        return 0
    try:
        process = await asyncio.create_subprocess_exec(*command, env={**without_keys(os.environ), **variables})
    except (OSError, ValueError) as error:
        raise ConfigError(f"the command {command[0]!r} cannot be started ({error}): name another") from None
    ended, interrupted = asyncio.create_task(process.wait()), asyncio.create_task(stopped.wait())
    exhausted = [asyncio.create_task(grant.exhausted.wait()) for grant in grants]
    await asyncio.wait({ended, interrupted, *exhausted}, return_when=asyncio.FIRST_COMPLETED)
    out_of_budget = any(grant.exhausted.is_set() for grant in grants) and not ended.done()
    for task in (interrupted, *exhausted):
        task.cancel()
    if not ended.done():
        await _end(process, ended)
    code = await ended
    return OUT_OF_BUDGET if out_of_budget else code if code >= 0 else 128 - code


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    """Terminate a program, and kill it if it does not end."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        await asyncio.wait({ended}, timeout=GRACE)
        if not ended.done():
            process.kill()


@asynccontextmanager
async def _reporting(grants: Sequence[Grant], watch: Watch | None) -> AsyncGenerator[None]:
    """Report the status whenever it has changed, and at the end."""
    if watch is None:
        yield
        return

    async def report() -> None:
        last: Standing | None = None
        while True:
            current = _standing(grants)
            if current != last:
                watch(current)
                last = current
            await asyncio.sleep(OFTEN)

    task = asyncio.create_task(report())
    try:
        yield
    finally:
        task.cancel()
        watch(_standing(grants))


def _standing(grants: Sequence[Grant]) -> Standing:
    error = max((grant.last_error for grant in grants), default=(0.0, ""))[1]
    stopped = next((grant.reason for grant in grants if grant.reason is not None), None)
    return Standing(
        sum((grant.spend for grant in grants), Spend()), sum(grant.busy for grant in grants), error, stopped
    )


def _chosen_players(config: Config, wanted: Sequence[str], *, alone: bool) -> list[PlayerConfig]:
    names = [player.name for player in config.players]
    for name in wanted:
        if name not in names:
            raise ConfigError(f"the configuration has no player {name!r}{nearest(name, names)}")
    chosen = [player for player in config.players if not wanted or player.name in wanted]
    if alone and len(chosen) > 1:
        raise ConfigError(f"a command is one player's, and there are {len(chosen)}: choose with --player {names[0]}")
    for player in chosen:
        if player.isolate:
            raise ConfigError(
                f"player {player.name!r} has isolate, which the gateway alone does not do: leave it out here"
            )
    return chosen


def _check_rates(endpoints: Endpoints, players: Sequence[PlayerConfig], budget: Budget) -> None:
    """Raise ConfigError if a budget in a rated resource lacks the rate of a model."""
    for resource in (name for name, _ in budget.limits if name in RATED and name in BY_TOKENS):
        for player in players:
            if resource not in endpoints[player.model].rates:
                raise ConfigError(
                    f"a budget of {resource} needs to know what {player.model} costs: set its price under models"
                )


def _budget_states(config: Config, player: PlayerConfig) -> list[BudgetState]:
    own, shared = player.budget or config.rules.budget, config.rules.shared_budget
    budgets = {"its": Budget.of(**own.limits()), "the shared": Budget.of(**shared.limits())}
    return [(name, budget, Spend()) for name, budget in budgets.items() if budget.is_set]


def _manifest(config: Config, players: Sequence[PlayerConfig], endpoints: Endpoints, clock: Clock) -> dict[str, Any]:
    return {
        "format": 1,
        "kind": GATEWAY,
        "chain": 1,
        "started": stamp(clock),
        "ended": None,
        "simulated": endpoints.simulated,
        "player": ", ".join(player.name for player in players),
        "models": endpoints.described(),
        "config": config.model_dump(mode="json"),
    }
