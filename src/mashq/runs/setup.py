"""What the protocol plays with, from the configuration: rules, score rules, items, prompts and the first state."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mashq.config import Config, PerItem, PlayerConfig
from mashq.errors import StoreError
from mashq.gateway.model import trial_seed
from mashq.players import prompts
from mashq.players.registry import reviews_allowed
from mashq.protocol.content import TARGET
from mashq.protocol.game import initial
from mashq.protocol.items import Item, Selection
from mashq.protocol.resources import TABLE
from mashq.protocol.rules import RULES_OF_PLAY, Budget, Payoff, Rules, Seat, Vision, default_order, order_of
from mashq.protocol.score import ScoreRules
from mashq.protocol.state import MatchState
from mashq.tasks import load as tasks

BUILTIN = "builtin"


def rules_of(config: Config, version: int = RULES_OF_PLAY) -> Rules:
    """The protocol's rules from the configuration, in a version of the rules of play."""
    said, scored = config.rules, score_rules_of(config)
    return Rules(
        turn=said.turn,
        threshold=said.T,
        max_reviews=said.R,
        keep=said.keep,
        review_cost=said.review_cost,
        vision=Vision(said.vision.when, tuple(said.vision.show), said.vision.keep),
        budget=Budget.of(**said.budget.limits()),
        shared_budget=Budget.of(**said.shared_budget.limits()),
        resources=tuple(config.score.resources),
        show_seconds=said.show_seconds,
        tell=tuple(said.tell),
        payoff=Payoff(
            scored.alpha,
            scored.beta,
            tuple(scored.weights.items()),
            tuple((scored.reference or {}).items()),
            scored.per_item,
        ),
        confidence=config.guided_by == "confidence",
        version=version,
    )


def score_rules_of(config: Config) -> ScoreRules:
    """The rules of scoring from the configuration."""
    said = config.score
    return ScoreRules(
        alpha=said.alpha,
        beta=config.beta,
        weights={name: said.weights.get(name, TABLE[name].weight or 1.0) for name in said.resources},
        reference=said.reference,
        per_item=isinstance(said.normalise, PerItem),
        refusals=said.refusals,
        h=said.h,
        target=None if said.target == TARGET else said.target,
        longest=said.longest,
    )


def first_state(config: Config, items: tuple[Item, ...], trial: int = 0, version: int = RULES_OF_PLAY) -> MatchState:
    """A match before its first move, in a version of the rules of play."""
    seats: list[Seat] = []
    for at, player in enumerate(config.players):
        kind = player.order or default_order(at, len(config.players), len(items))
        shuffled = list(range(len(items)))
        random.Random(f"{trial_seed(config.seed, trial)}/{player.name}").shuffle(shuffled)
        budget = None if player.budget is None else Budget.of(**player.budget.limits())
        order = order_of(kind, len(items), tuple(shuffled))
        seats.append(Seat(player.name, order, player.T, reviews_allowed(player), player.review_cost, budget))
    return initial(items, rules_of(config, version), seats)


def items_of(config: Config) -> tuple[Item, ...]:
    """The items that a configuration names."""
    said = config.task
    renames = {str(ours): theirs for ours, theirs in said.map.items()}
    fields = tasks.fields_of(said.kind, said.text, said.id, said.answer, renames)
    return tasks.load(said.data, fields, said.limit, sample=said.sample, seed=config.seed)


def selection_of(config: Config, player: PlayerConfig) -> Selection:
    """Which passages a player is shown: as it says, or as the task does."""
    said = config.task.passages if player.passages is None else player.passages
    return Selection(said.limit, said.length, said.order)


def prompts_of(config: Config, player: PlayerConfig) -> prompts.Prompts:
    """A player's prompts, from its folder or the built-in ones."""
    folder = None if player.prompts is None else Path(player.prompts)
    return prompts.load(folder, config.task.kind, wanted_length(config))


def wanted_length(config: Config) -> tuple[int, int] | None:
    """The fewest and the most words that an answer is asked to have."""
    said = config.task.words
    return None if said is None else (said[0], said[1])


def stored_prompts(config: Config, player: PlayerConfig, saved: Mapping[str, Any]) -> prompts.Prompts:
    """A player's prompts as they were when the run began."""
    texts = saved.get(player.prompts or BUILTIN) or saved.get(player.name)
    if texts is None:
        raise StoreError(f"the manifest has no prompts for player {player.name!r}: restore it from a copy")
    return prompts.Prompts(texts, config.task.kind, wanted_length(config))
