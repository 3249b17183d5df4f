"""The agents a configuration can name, built in or from installed packages: looked up, checked and created."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mashq.config import Config, PlayerConfig, nearest
from mashq.errors import ConfigError
from mashq.extensions import PLAYERS
from mashq.gateway.providers import is_simulated
from mashq.players.base import UNDECLARED, AgentSpec, Player, declared
from mashq.players.external.spec import EXTERNAL
from mashq.players.prompting import Prompter
from mashq.players.prompts import Prompts


class _BuiltIn(Mapping[str, AgentSpec]):
    """The specs of the built-in agents by name, each imported on first use."""

    def __getitem__(self, name: str) -> AgentSpec:
        return _built_in(name)

    def __iter__(self) -> Iterator[str]:
        return iter((*PLAYERS.built_in, "external"))

    def __len__(self) -> int:
        return len(PLAYERS.built_in) + 1


@cache
def _built_in(name: str) -> AgentSpec:
    if name == "external":  # created by the arena, which has the server it plays through
        return EXTERNAL
    if name not in PLAYERS.built_in:
        raise KeyError(name)
    return declared(PLAYERS.load(name))


BUILT_IN = _BuiltIn()


def names() -> list[str]:
    """The names of all available agents."""
    return [*BUILT_IN, *(name for name in PLAYERS.names() if name not in BUILT_IN)]


def recorded_spec(agent: str) -> AgentSpec:
    """The spec of an agent in a run, read without importing its package: UNDECLARED if it is not built in."""
    return BUILT_IN.get(agent, UNDECLARED)


def spec_of(agent: str) -> AgentSpec:
    """The spec of an agent; UNDECLARED if no installed package provides it."""
    if agent in BUILT_IN:
        return BUILT_IN[agent]
    return declared(PLAYERS.load(agent)) if agent in names() else UNDECLARED


def heeds_the_formula(player: PlayerConfig) -> bool:
    """Whether a player's behaviour may depend on the score formula, if it is told; a simulated reply does not."""
    spec = recorded_spec(player.agent)
    if spec.asks_policy and player.policy != "llm":
        return player.policy == "bayes"
    asks = spec.calls is None or spec.reviews == "in a loop" or spec.asks_policy
    return asks and (spec.calls is None or not is_simulated(player.model))


def sees_rivals(player: PlayerConfig, snapshot_response: float = 0.0) -> bool:
    """Whether a player's behaviour may depend on what it is shown of rivals; a simulated decision does if configured
    to."""
    spec = recorded_spec(player.agent)
    if spec.asks_policy and player.policy != "llm":
        return player.policy == "bayes"
    if spec.calls is None:
        return True
    if is_simulated(player.model):
        return spec.asks_policy and snapshot_response != 0
    return spec.asks_policy or spec.reviews == "in a loop"


def answers_are_drawn(agent: str, model: str) -> bool:
    """Whether a player's answers and scores are drawn at random: true for simulated models, but not for external
    programs."""
    return is_simulated(model) and not recorded_spec(agent).external


def all_drawn(config: Config) -> bool:
    """Whether the answers of all players are drawn at random."""
    return all(answers_are_drawn(player.agent, player.model) for player in config.players)


def reviews_allowed(player: PlayerConfig) -> int | None:
    """A player's own R, as set by the player or its agent; None means the R of the match."""
    return recorded_spec(player.agent).max_reviews if player.R is None else player.R


def agent(player: PlayerConfig, texts: Prompts) -> Player:
    """Create the player that a configuration describes."""
    check(player)
    kind: Any = PLAYERS.load(player.agent)
    if hasattr(kind, "configured"):
        return kind.configured(player, Prompter(texts))
    return kind()


def settled(config: Config) -> Config:
    """The checked configuration, with R filled in as installed agents declare it, so that a run can be read without
    them."""
    players = [_with_reviews(player) for player in config.players]
    return config.model_copy(update={"players": players})


def _with_reviews(player: PlayerConfig) -> PlayerConfig:
    spec = check(player)
    if player.R is not None or spec.max_reviews is None or player.agent in BUILT_IN:
        return player
    return player.model_copy(update={"R": spec.max_reviews})


def check(player: PlayerConfig) -> AgentSpec:
    """The spec of a player's agent; raises ConfigError if there is no such agent or its settings do not fit it."""
    if player.agent not in BUILT_IN and player.agent not in (known := names()):  # scanning installed packages is slow
        hint = nearest(player.agent, known)
        raise ConfigError(f"player {player.name!r} has the unknown agent {player.agent!r}{hint}")
    spec = BUILT_IN.get(player.agent) or declared(PLAYERS.load(player.agent))
    if spec.check is not None:
        spec.check(player)
    if player.to is not None and "to" not in spec.settings:
        raise ConfigError(f"player {player.name!r} has 'to', which only the agent {_agents_using('to')} uses")
    if player.n == "all" and not spec.takes_all:
        agents = " or ".join(name for name, built_in in BUILT_IN.items() if built_in.takes_all)
        raise ConfigError(
            f"player {player.name!r} has 'n: all', which only an 'agent: {agents}' takes: give a number"
        )
    addresses = {name for name in ("command", "url") if getattr(player, name) is not None}
    if addresses - spec.settings:
        agents = _agents_using("command")
        raise ConfigError(f"player {player.name!r} has a command or a url: only an 'agent: {agents}' takes one")
    if player.isolate and "isolate" not in spec.settings:
        raise ConfigError(
            f"player {player.name!r} has isolate, which only an 'agent: {_agents_using('isolate')}' takes"
        )
    return spec


def _agents_using(setting: str) -> str:
    return " or ".join(name for name, spec in BUILT_IN.items() if setting in spec.settings)
