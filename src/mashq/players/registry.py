"""The agents a configuration can name, ours and those of installed packages: found, checked and made."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mashq.config import Config, PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.players.base import UNDECLARED, AgentSpec, Player, declared
from mashq.players.baselines import Escalate, Plain, Retry
from mashq.players.best_of_n import BestOfN
from mashq.players.external.spec import EXTERNAL
from mashq.players.prompting import Prompter
from mashq.players.prompts import Prompts
from mashq.players.q_agent import QAgent
from mashq.players.react import React

GROUP = "mashq.players"
OURS: Mapping[str, type[Player]] = {
    "q-agent": QAgent,
    "plain": Plain,
    "retry": Retry,
    "escalate": Escalate,
    "best-of-n": BestOfN,
    "react": React,
}
# An external agent is made by the arena, which has the server it plays through.
BUILT_IN: Mapping[str, AgentSpec] = {**{name: declared(kind) for name, kind in OURS.items()}, "external": EXTERNAL}


def names() -> list[str]:
    """Every agent there is."""
    return [*BUILT_IN, *sorted(_installed())]


def recorded_spec(agent: str) -> AgentSpec:
    """The spec of an agent in a run, read without importing the package that brought it: UNDECLARED if not ours."""
    return BUILT_IN.get(agent, UNDECLARED)


def spec_of(agent: str) -> AgentSpec:
    """The spec of an agent; UNDECLARED when nothing installed brings it."""
    if agent in BUILT_IN:
        return BUILT_IN[agent]
    entry = _installed().get(agent)
    return UNDECLARED if entry is None else declared(_loaded(entry))


def reviews_allowed(player: PlayerConfig) -> int | None:
    """A player's own R: as it says, or as its agent does; None is the R of the match."""
    return recorded_spec(player.agent).max_reviews if player.R is None else player.R


def agent(player: PlayerConfig, texts: Prompts) -> Player:
    """The player that a configuration describes."""
    check(player)
    kind: Any = OURS[player.agent] if player.agent in OURS else _loaded(_installed()[player.agent])
    if hasattr(kind, "configured"):
        return kind.configured(player, Prompter(texts))
    return kind()


def settled(config: Config) -> Config:
    """The configuration checked, with R as installed agents declare it written down: a run is read without them."""
    players = [_settled(player) for player in config.players]
    return config.model_copy(update={"players": players})


def _settled(player: PlayerConfig) -> PlayerConfig:
    spec = check(player)
    if player.R is not None or spec.max_reviews is None or player.agent in BUILT_IN:
        return player
    return player.model_copy(update={"R": spec.max_reviews})


def check(player: PlayerConfig) -> AgentSpec:
    """The spec of a player's agent; ConfigError when there is no such agent, or its settings do not fit it."""
    if player.agent not in BUILT_IN and player.agent not in (known := names()):
        hint = nearest(player.agent, known)
        raise ConfigError(f"player {player.name!r} has the unknown agent {player.agent!r}{hint}")
    spec = spec_of(player.agent)
    problem = spec.problem(player) if spec.problem is not None else None
    problem = problem or _misplaced(player, spec)
    if problem is not None:
        raise ConfigError(f"player {player.name!r} {problem}")
    return spec


def _misplaced(player: PlayerConfig, spec: AgentSpec) -> str | None:
    """A setting that another agent uses and this one would ignore."""
    if player.to is not None and "to" not in spec.settings:
        return f"has 'to', which only the agent {_users('to')} uses"
    if player.command is not None and "command" not in spec.settings:
        return f"has a command or a url: only an 'agent: {_users('command')}' takes one"
    if player.url is not None and "url" not in spec.settings:
        return f"has a command or a url: only an 'agent: {_users('url')}' takes one"
    return None


def _users(setting: str) -> str:
    return " or ".join(name for name, spec in BUILT_IN.items() if setting in spec.settings)


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the agent {entry.name!r} ({entry.value}) cannot be loaded ({error}): install its package anew"
        ) from None
