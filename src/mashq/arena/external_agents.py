"""The foreign agents of a match: their settings from the configuration, and the server they play through.

Without any, nothing is started. With one, the variables that keys were read from are wiped from this process's
environment before a program starts, and no other process of the user may look into it.
"""

import os
import shlex
import shutil
from collections.abc import AsyncGenerator, Iterable, Mapping
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
from mashq.players.registry import recorded_spec
from mashq.runs.setup import wanted_length

GIVEN = ("PATH", "HOME", "LANG")


class ExternalAgents:
    """Where the foreign agents of a match sit."""

    server: "MeteringServer"
    players: "dict[str, External]"

    def __init__(self, config: Config, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self.server = MeteringServer(clock)
        there = dict(os.environ if environment is None else environment)
        self.players = {
            player.name: External(player.name, _agent(config, player, there), self.server)
            for player in config.players
            if recorded_spec(player.agent).external
        }

    async def check(self) -> None:
        """See, before anything is paid for, that every program is there and every server answers."""
        for name, player in self.players.items():
            agent = player.agent
            if agent.url is not None:
                await reach({f"the agent {name}": agent.url})
            elif shutil.which(agent.command[0], path=agent.environment.get("PATH", os.defpath)) is None:
                there = Path(agent.directory or ".") / agent.command[0]
                if os.sep not in agent.command[0] or not os.access(there, os.X_OK):
                    command = " ".join(agent.command)
                    raise ConfigError(
                        f"the command of player {name!r} cannot be started ({agent.command[0]!r} is not a program "
                        f"here): {command}"
                    )

    @asynccontextmanager
    async def open(self, key_variables: Iterable[str]) -> AsyncGenerator[None]:
        """Let them in, and out again at the end, whatever happens."""
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


def _agent(config: Config, player: PlayerConfig, there: Mapping[str, str]) -> Agent:
    secret = {m.api_key_env for m in config.models.values()}
    for name in player.env:
        if name in secret or is_key(name):
            raise ConfigError(
                f"player {player.name!r}: env names {name}, which holds a key; an agent gets none of them"
            )
    environment = {name: there[name] for name in (*GIVEN, *player.env) if name in there}
    length = wanted_length(config)
    return Agent(_words(player), player.url, environment, player.directory, player.turn_timeout, length)


def _words(player: PlayerConfig) -> tuple[str, ...]:
    """The command, split as a shell would; no shell runs it."""
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
