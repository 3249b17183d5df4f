"""The spec of `agent: external`, separate from the agent, which uses HTTP, so that a run can be read without it."""

from mashq.config import PlayerConfig
from mashq.errors import ConfigError
from mashq.players.base import AgentSpec


def _has_command_or_url(player: PlayerConfig) -> None:
    if (player.command is None) == (player.url is None):
        raise ConfigError(f"player {player.name!r} is external: give it either a command or a url")
    if player.isolate and player.url is not None:
        raise ConfigError(
            f"player {player.name!r} has isolate and a url: only a command that is started here can be isolated"
        )


EXTERNAL = AgentSpec(
    "any program, metered: see [external agents](external.md)",
    reviews="unseen",
    settings=frozenset({"command", "url", "env", "directory", "turn_timeout", "isolate"}),
    check=_has_command_or_url,
    external=True,
)
