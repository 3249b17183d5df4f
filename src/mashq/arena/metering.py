"""The metering server on its own: any program, one player's model and budget, a run directory with the ledger.

There is no match: every attempt belongs to the player and to no item. The run's manifest says `"kind": "gateway"`.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from mashq.arena.endpoints import Endpoints, Facilities, located
from mashq.config import Config, PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.gateway import process_secrets
from mashq.gateway.budgets import BudgetState
from mashq.gateway.model import Model, trial_seed
from mashq.gateway.preflight import reach
from mashq.gateway.proxy.server import MeteringServer
from mashq.gateway.types import Call, Clock
from mashq.protocol.resources import Spend
from mashq.protocol.rules import Budget
from mashq.runs.manifest import GATEWAY, stamp
from mashq.runs.writer import Run

Ready = Callable[[dict[str, str]], None]


async def meter(
    config: Config,
    out: Path,
    name: str | None,
    command: Sequence[str],
    ready: Ready,
    *,
    clock: Clock,
    base: Path,
) -> int:
    """Serve until the command ends (its exit code) or, without one, until interrupted (0)."""
    config = located(config, base.resolve())
    player = _chosen(config, name)
    facilities = Facilities()
    alone = config.model_copy(update={"players": [player]})
    endpoints = Endpoints(alone, clock, trial_seed(config.seed, 0), facilities)
    server = MeteringServer(clock)
    try:
        await reach(endpoints.urls)
        process_secrets.forget(endpoints.key_variables)
        manifest = _manifest(config, player, endpoints, clock)
        with closing(Run.create(out, clock, manifest, ())) as stored:
            await server.start()
            seat = server.admit(player.name)
            record = stored.record("0")
            server.record_to(record.refuse)
            call = Call("0", 0, player.name, None, GATEWAY)
            budget_states = _budget_states(config, player)
            model = Model(endpoints[player.model], record.ledger(), clock, call, config.seed, budget_states)
            grant = server.issue(seat, model)
            ready(seat.variables)
            code = await _until_done(command, seat.variables)
            await grant.close()
            await stored.writer.synced()
            stored.write_manifest(manifest | {"ended": stamp(clock)})
            return code
    finally:
        await server.close()
        await facilities.close()


async def _until_done(command: Sequence[str], variables: dict[str, str]) -> int:
    """Wait for the command, or for an interrupt; an interrupt goes to the command as well, which ends by itself."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):  # ValueError: not the main thread
            loop.add_signal_handler(number, stopped.set)
    if not command:
        await stopped.wait()
        return 0
    try:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **variables})
    except (OSError, ValueError) as error:
        raise ConfigError(f"the command {command[0]!r} cannot be started ({error}): name another") from None
    ended, told = asyncio.create_task(process.wait()), asyncio.create_task(stopped.wait())
    await asyncio.wait({ended, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if not ended.done():
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    code = await ended
    return code if code >= 0 else 128 - code


def _chosen(config: Config, name: str | None) -> PlayerConfig:
    names = [player.name for player in config.players]
    if name is None and len(names) > 1:
        raise ConfigError(f"the configuration has {len(names)} players: choose one with --player {names[0]}")
    if name is not None and name not in names:
        raise ConfigError(f"the configuration has no player {name!r}{nearest(name, names)}")
    return next(player for player in config.players if name in (None, player.name))


def _budget_states(config: Config, player: PlayerConfig) -> list[BudgetState]:
    own, shared = player.budget or config.rules.budget, config.rules.shared_budget
    budgets = {"its": Budget.of(**own.limits()), "the shared": Budget.of(**shared.limits())}
    return [(name, budget, Spend()) for name, budget in budgets.items() if budget.is_set]


def _manifest(config: Config, player: PlayerConfig, endpoints: Endpoints, clock: Clock) -> dict[str, Any]:
    return {
        "format": 1,
        "kind": GATEWAY,
        "started": stamp(clock),
        "ended": None,
        "simulated": endpoints.simulated,
        "player": player.name,
        "models": endpoints.described(),
        "config": config.model_dump(mode="json"),
    }
