"""The agents a configuration can name: ours, or those of installed packages."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from mashq.config import PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.players.base import Player
from mashq.players.baselines import Again, Plain
from mashq.players.best_of_n import BestOfN
from mashq.players.prompting import Prompter
from mashq.players.prompts import Prompts
from mashq.players.q_agent import QAgent
from mashq.players.react import React

GROUP = "mashq.players"
OURS: dict[str, Callable[[PlayerConfig, Prompter], Player]] = {
    "q-agent": lambda player, prompter: QAgent(prompter, player.policy),
    "plain": lambda _player, prompter: Plain(prompter),
    "retry": lambda _player, prompter: Again(prompter),
    "escalate": lambda _player, prompter: Again(prompter),
    "best-of-n": lambda player, prompter: BestOfN(prompter, player.n, player.policy),
    "react": lambda _player, prompter: React(prompter),
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
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if player.agent in found:
        return cast(Callable[[], Player], found[player.agent].load())()
    known = [*OURS, "external", *sorted(found)]
    raise ConfigError(f"player {player.name!r} has the unknown agent {player.agent!r}{nearest(player.agent, known)}")


def reviews_allowed(player: PlayerConfig) -> int | None:
    """A player's own R: as it says; one for an agent that escalates; none for one that cannot review."""
    if player.R is not None:
        return player.R
    return 1 if player.agent == "escalate" else None
