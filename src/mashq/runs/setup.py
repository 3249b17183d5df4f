"""What the protocol needs, from the configuration: rules, score rules, items, prompts and the first state."""

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
    """The protocol's rules from the configuration, for a version of the rules of play."""
    rules, score_rules = config.rules, score_rules_of(config)
    return Rules(
        turn=rules.turn,
        threshold=rules.T,
        max_reviews=rules.R,
        keep=rules.keep,
        review_cost=rules.review_cost,
        vision=Vision(rules.vision.when, tuple(rules.vision.show), rules.vision.keep),
        budget=Budget.of(**rules.budget.limits()),
        shared_budget=Budget.of(**rules.shared_budget.limits()),
        resources=tuple(config.score.resources),
        show_seconds=rules.show_seconds,
        tell=tuple(rules.tell),
        payoff=Payoff(
            score_rules.alpha,
            score_rules.beta,
            tuple(score_rules.weights.items()),
            tuple((score_rules.reference or {}).items()),
            score_rules.per_item,
        ),
        confidence=config.guided_by == "confidence",
        version=version,
    )


def score_rules_of(config: Config) -> ScoreRules:
    """The rules of scoring from the configuration."""
    settings = config.score
    return ScoreRules(
        alpha=settings.alpha,
        beta=config.beta,
        weights={name: settings.weights.get(name, TABLE[name].weight or 1.0) for name in settings.resources},
        reference=settings.reference,
        per_item=isinstance(settings.normalise, PerItem),
        refusals=settings.refusals,
        h=settings.h,
        target=None if settings.target == TARGET else settings.target,
        longest=settings.longest,
    )


def first_state(config: Config, items: tuple[Item, ...], trial: int = 0, version: int = RULES_OF_PLAY) -> MatchState:
    """A match before its first move, for a version of the rules of play."""
    seats: list[Seat] = []
    for index, player in enumerate(config.players):
        kind = player.order or default_order(index, len(config.players), len(items))
        shuffled = list(range(len(items)))
        random.Random(f"{trial_seed(config.seed, trial)}/{player.name}").shuffle(shuffled)
        budget = None if player.budget is None else Budget.of(**player.budget.limits())
        order = order_of(kind, len(items), tuple(shuffled))
        seats.append(Seat(player.name, order, player.T, reviews_allowed(player), player.review_cost, budget))
    return initial(items, rules_of(config, version), seats)


def items_of(config: Config) -> tuple[Item, ...]:
    """The items that a configuration names."""
    task = config.task
    renames = {str(field): column for field, column in task.map.items()}
    fields = tasks.fields_of(task.kind, task.text, task.id, task.answer, renames)
    return tasks.load(task.data, fields, task.limit, sample=task.sample, seed=config.seed)


def selection_of(config: Config, player: PlayerConfig) -> Selection:
    """Which passages a player is shown: by its own setting, or by the task's."""
    passages = config.task.passages if player.passages is None else player.passages
    return Selection(passages.limit, passages.length, passages.order)


def prompts_of(config: Config, player: PlayerConfig) -> prompts.Prompts:
    """A player's prompts, from its folder or the built-in ones."""
    folder = None if player.prompts is None else Path(player.prompts)
    return prompts.load(folder, config.task.kind, wanted_length(config))


def wanted_length(config: Config) -> tuple[int, int] | None:
    """The minimum and maximum number of words that an answer is asked to have; None if there is no such setting."""
    words = config.task.words
    return None if words is None else (words[0], words[1])


def stored_prompts(config: Config, player: PlayerConfig, saved: Mapping[str, Any]) -> prompts.Prompts:
    """A player's prompts as they were when the run began."""
    texts = saved.get(player.prompts or BUILTIN) or saved.get(player.name)
    if texts is None:
        raise StoreError(f"the manifest has no prompts for player {player.name!r}: restore it from a copy")
    return prompts.Prompts(texts, config.task.kind, wanted_length(config))
