"""The external agents of a match: their settings from the configuration, and the server they play through.

Without any, nothing is started. Otherwise the variables that keys were read from are removed from this process's
environment before a program starts, and other processes of the user are prevented from inspecting it.
"""

import os
import shlex
import shutil
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from mashq.config import Config, PlayerConfig
from mashq.errors import ConfigError
from mashq.gateway import process_secrets
from mashq.gateway.preflight import reach
from mashq.gateway.providers import is_key
from mashq.gateway.proxy.server import MeteringServer
from mashq.gateway.types import Clock
from mashq.players.external.agent import Agent, External
from mashq.players.external.sandbox import INSTALL, bubblewrap
from mashq.players.registry import recorded_spec
from mashq.runs.setup import wanted_length

GIVEN = ("PATH", "HOME", "LANG")


class ExternalAgents:
    """The external agents of a match, by player, with their server."""

    server: "MeteringServer"
    players: "dict[str, External]"

    def __init__(self, config: Config, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self.server, self._config = MeteringServer(clock), config
        variables = dict(os.environ if environment is None else environment)
        self.players = {
            player.name: External(player.name, _agent(config, player, variables), self.server)
            for player in config.players
            if recorded_spec(player.agent).external
        }

    async def check(self, run: Path | None = None) -> None:
        """Check, before anything is paid for, that every program exists and is isolated if required, and that every
        server answers."""
        check_isolation(self._config, run)
        for name, player in self.players.items():
            agent = player.agent
            if agent.url is not None:
                await reach({f"the agent {name}": agent.url})
            elif shutil.which(agent.command[0], path=agent.environment.get("PATH", os.defpath)) is None:
                path = Path(agent.directory or ".") / agent.command[0]
                if os.sep not in agent.command[0] or not os.access(path, os.X_OK):
                    command = " ".join(agent.command)
                    raise ConfigError(
                        f"the command of player {name!r} cannot be started ({agent.command[0]!r} is not a program "
                        f"here): {command}"
                    )
            problem = None if agent.sandbox is None else await agent.sandbox.look()
            if problem is not None:
                raise ConfigError(
                    f"player {name!r} cannot be isolated ({problem}): keep what its command needs in its directory, "
                    "and let bubblewrap make user namespaces"
                )

    @asynccontextmanager
    async def open(self, key_variables: Iterable[str]) -> AsyncGenerator[None]:
        """Start them, and stop them at the end in every case."""
        if not self.players:
            yield
            return
        process_secrets.forget(key_variables)
        process_secrets.shut()
        await self.server.start()
        try:
            for player in self.players.values():
                await player.start()
            yield
        finally:
            for player in self.players.values():
                await player.close()
            await self.server.close()


def check_isolation(config: Config, run: Path | None = None) -> None:
    """Reject players that must be isolated but cannot be here, or would see what the match hides from them."""
    for player in config.players:
        if not player.isolate:
            continue
        if sys.platform != "linux":
            raise ConfigError(f"player {player.name!r} has isolate, which needs Linux: leave it out elsewhere")
        if bubblewrap() is None:
            raise ConfigError(
                f"player {player.name!r} has isolate, and bubblewrap is not installed: {INSTALL}, or leave it out"
            )
        sandbox = _agent(config, player, os.environ).sandbox
        assert sandbox is not None
        if sandbox.covers:
            raise ConfigError(
                f"player {player.name!r} has isolate and the directory {sandbox.directory}, where its private "
                "folders are to be: give it a folder of its own"
            )
        for what, path in _hidden_paths(config, run):
            place = sandbox.exposed(path)
            if place is not None:
                raise ConfigError(
                    f"player {player.name!r} has isolate and would see {what} {path}, which is in {place}: keep them "
                    "apart, with a folder of its own as its directory"
                )


def _hidden_paths(config: Config, run: Path | None) -> Iterator[tuple[str, Path]]:
    """What an isolated agent must not see: the run, the keys, and the items with their references."""
    if run is not None:
        yield "the run directory", run
    for name, model in config.models.items():
        if model.api_key_file is not None:
            yield f"the key file of {name},", Path(model.api_key_file)
    if config.task.data != "builtin" and not config.task.data.startswith("hub:"):
        yield "the items in", Path(config.task.data)


def _agent(config: Config, player: PlayerConfig, variables: Mapping[str, str]) -> Agent:
    key_variables = {
        variable for model in config.models.values() for variable in (model.api_key_env, *model.header_env.values())
    }
    for name in player.env:
        if name in key_variables or is_key(name):
            raise ConfigError(
                f"player {player.name!r}: env names {name}, which holds a key; an agent gets none of them"
            )
    environment = {name: variables[name] for name in (*GIVEN, *player.env) if name in variables}
    length = wanted_length(config)
    return Agent(
        _command_words(player), player.url, environment, player.directory, player.turn_timeout, length, player.isolate
    )


def _command_words(player: PlayerConfig) -> tuple[str, ...]:
    """The command, split as a shell would; it is not run by a shell."""
    if isinstance(player.command, list):
        words = player.command
    else:
        try:
            words = shlex.split(player.command or "")
        except ValueError as error:
            raise ConfigError(
                f"the command of player {player.name!r} cannot be split ({error}): check its quotes"
            ) from None
    if not words and player.url is None:
        raise ConfigError(f"the command of player {player.name!r} is empty: name a program")
    if player.url is not None and not player.url.startswith(("http://", "https://")):
        raise ConfigError(f"the url of player {player.name!r} is {player.url!r}: it must start with http://")
    return tuple(words)
