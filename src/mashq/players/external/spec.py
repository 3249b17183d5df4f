"""What `agent: external` declares: apart from the agent, which speaks HTTP, so that a run can be read without it."""

from mashq.config import PlayerConfig
from mashq.players.base import AgentSpec


def _ways(player: PlayerConfig) -> str | None:
    if (player.command is None) == (player.url is None):
        return "is external: give it either a command or a url"
    return None


EXTERNAL = AgentSpec(
    "a program of anyone's, metered: see [external agents](external.md)",
    reviews="unseen",
    settings=frozenset({"command", "url", "env", "directory", "turn_timeout"}),
    problem=_ways,
    external=True,
)
