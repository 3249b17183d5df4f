"""The sizes of a player's prompts: per item as they start, and by how much they can grow.

In the worst case a byte is a token, and a quoted reply has the maximum number of tokens of a reply.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mashq.config import Config, PlayerConfig
from mashq.players.base import AgentSpec, Workload
from mashq.players.prompting import policy_fields
from mashq.players.prompts import Prompts, item_fields
from mashq.protocol.items import Item
from mashq.protocol.resources import MEASURES, Amount, Spend
from mashq.protocol.state import Observation, Snapshot
from mashq.runs.setup import prompts_of, rules_of, selection_of

FRAME = 500  # bytes around a prompt: the reply's schema, roles, and other additions of a wire format
HUGE = 1e15  # no number in a prompt has more digits than this one
ROLES = 16  # bytes for the roles of two messages
NONE = Item("", "")
TOLD, KEYS = 200, 100  # maximum bytes of an observation in a loop, and of the keys listed when asking again


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of prompts: per item those of an answer and of a review, without quoted replies; those of a decision, in
    the middle of a match and at most; what asking again and a turn of a loop add, without quoted replies. `quotes`
    is how often a review quotes the answer."""

    answers: tuple[int, ...]
    reviews: tuple[int, ...]
    decision: int
    longest_decision: int
    again: int
    turn: int
    quotes: int


def sizes_of(config: Config, player: PlayerConfig, spec: AgentSpec, items: Sequence[Item], work: Workload) -> Sizes:
    """The sizes of a player's prompts in a match."""
    texts, selection, task = prompts_of(config, player), selection_of(config, player), config.task.kind
    shown = [selection.of(item) for item in items]
    middle = policy_fields(_middle_state(config, player, items, work), task)
    longest = policy_fields(_longest_state(config, player, items, work), task)
    return Sizes(
        tuple(_prompt_size(texts, spec.answer_prompt, longest, item) for item in shown),
        tuple(_prompt_size(texts, spec.review_prompt, longest, item) for item in shown),
        _prompt_size(texts, "policy", middle),
        _prompt_size(texts, "policy", longest),
        _prompt_size(texts, "again", longest) + ROLES,
        _prompt_size(texts, "observe", longest) + ROLES,
        texts.texts[spec.review_prompt].count("${answer}"),
    )


def _prompt_size(texts: Prompts, name: str, state: Mapping[str, str], item: Item = NONE) -> int:
    """The bytes of a prompt without the answer in it."""
    values = {**item_fields(item), "answer": "", "h": "0.0000", "told": "." * TOLD, "keys": "." * KEYS}
    return len(texts.fill(name, {**state, **values}).encode("utf-8", "replace"))


def _middle_state(config: Config, player: PlayerConfig, items: Sequence[Item], work: Workload) -> Observation:
    """A state in the middle of the match."""
    return Observation(
        step="decide",
        round=len(items),
        player=player.name,
        item=items[0],
        position=0,
        total=len(items),
        handled=len(items) // 2,
        spend=Spend(),
        average_h=0.5,
        worst=(items[-1].id, 0.5),
        recommended=True,
        threshold=config.rules.T if player.T is None else player.T,
        max_reviews=work.max_reviews,
        review_cost=config.rules.review_cost if player.review_cost is None else player.review_cost,
        resources=tuple(config.score.resources),
        show_seconds=config.rules.show_seconds,
        rivals=len(config.players) - 1,
        snapshots=(),
        rules=rules_of(config),
    )


def _longest_state(config: Config, player: PlayerConfig, items: Sequence[Item], work: Workload) -> Observation:
    """A state with the longest possible numbers and ids, and with every rival shown."""
    item = max(items, key=lambda item: len(item.id.encode("utf-8", "replace")))
    vision, count = config.rules.vision, round(HUGE)
    fields = tuple((name, HUGE + 0.125) for name in vision.show)
    rivals = [rival.name for rival in config.players if rival is not player]
    middle = _middle_state(config, player, items, work)
    return Observation(
        step="decide",
        round=count,
        player=player.name,
        item=item,
        position=count,
        total=count,
        handled=-count,
        spend=Spend(calls=count, reviews=count, amounts=(Amount(HUGE, 1),) * len(MEASURES)),
        average_h=0.5,
        worst=(item.id, 0.5),
        recommended=True,
        threshold=middle.threshold,
        max_reviews=work.max_reviews,
        review_cost=middle.review_cost,
        resources=middle.resources,
        show_seconds=middle.show_seconds,
        rivals=middle.rivals,
        rules=middle.rules,
        snapshots=() if vision.when == "never" else tuple(Snapshot(name, count, fields, True) for name in rivals),
    )
