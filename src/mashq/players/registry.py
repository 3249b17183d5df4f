"""The agents a configuration can name: ours, or those of installed packages."""

from collections.abc import Callable

from mashq.config import PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.extensions import PLAYERS
from mashq.players.base import Player
from mashq.players.baselines import Again, Plain
from mashq.players.best_of_n import BestOfN
from mashq.players.prompting import Prompter
from mashq.players.prompts import Prompts
from mashq.players.q_agent import QAgent
from mashq.players.react import React

OURS: dict[str, Callable[[PlayerConfig, Prompter], Player]] = {
    "q-agent": lambda player, scribe: QAgent(scribe, player.policy),
    "plain": lambda _player, scribe: Plain(scribe),
    "retry": lambda _player, scribe: Again(scribe),
    "escalate": lambda _player, scribe: Again(scribe),
    "best-of-n": lambda player, scribe: BestOfN(scribe, player.n, player.policy),
    "react": lambda _player, scribe: React(scribe),
}
NO_REVIEWS = ("plain", "external")


def agent(player: PlayerConfig, texts: Prompts) -> Player:
    """The agent a player names."""
    if player.agent == "escalate" and player.to is None:
        raise ConfigError(f"player {player.name!r} escalates to no model: name the stronger one with 'to'")
    if player.agent != "escalate" and player.to is not None:
        raise ConfigError(f"player {player.name!r} has 'to', which only the agent escalate uses")
    if player.agent in OURS:
        return OURS[player.agent](player, Prompter(texts))
    known = [*OURS, "external", *PLAYERS.names()[len(OURS) :]]
    if player.agent in known:
        return PLAYERS.create(player.agent)
    raise ConfigError(f"player {player.name!r} has the unknown agent {player.agent!r}{nearest(player.agent, known)}")


def reviews_allowed(player: PlayerConfig) -> int | None:
    """A player's own R: as it says; one for an agent that escalates; none for one that cannot review."""
    if player.R is not None:
        return player.R
    return 1 if player.agent == "escalate" else None
