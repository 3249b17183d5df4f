"""What a match would cost, before anything is paid: what to expect, and the most it can be.

The most is a bound: every item reviewed R times, every reply asked for twice, every attempt repeated as often as the
retry policy allows, every prompt one token a byte, every reply max_tokens long. What to expect rests on the
assumptions listed in ASSUMED, which the output states.
"""

from dataclasses import dataclass
from pathlib import Path

from mashq.arena.endpoints import located, rates_of
from mashq.config import Config, PlayerConfig
from mashq.gateway.prices import Rate
from mashq.players import prompts
from mashq.players.prompting import policy_fields
from mashq.protocol.items import Item
from mashq.protocol.resources import UNKNOWN, Spend, Unknown
from mashq.protocol.state import Observation
from mashq.tasks import load as tasks

REVIEWS_AN_ITEM = 0.9
BYTES_A_TOKEN = 4.5
SUMMARY_TOKENS, DECISION_TOKENS = 90, 30
SNAPSHOT_BYTES = 300
SECONDS_HTTP, SECONDS_LOCAL = 3.0, 4.5
ASSUMED = (
    f"Expected: {REVIEWS_AN_ITEM:g} reviews an item where reviews are allowed, {BYTES_A_TOKEN:g} bytes a token in, "
    f"{SUMMARY_TOKENS} tokens an answer and {DECISION_TOKENS} a decision, {SECONDS_HTTP:g} s a call "
    f"({SECONDS_LOCAL:g} s on a local model). At worst: R reviews of every item, every reply asked for twice, every "
    "attempt repeated to the limit, a token a byte, replies of full length, every attempt timing out."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls, tokens, dollars (or unknown) and seconds."""

    calls: float
    tokens: float
    dollars: float | Unknown
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """One player's cost, as expected and at worst."""

    name: str
    model: str
    expected: Cost
    worst: Cost


def plan(config: Config, base: Path) -> tuple[int, tuple[Plan, ...]]:
    """The number of items and each player's plan. Needs no key and no server."""
    config = located(config, base.resolve())
    said = config.task
    fields = tasks.fields_of(said.kind, said.text, said.id, said.answer)
    items = tasks.load(said.data, fields, said.limit, sample=said.sample, seed=config.seed)
    return len(items), tuple(_plan(config, player, items) for player in config.players)


def _plan(config: Config, player: PlayerConfig, items: tuple[Item, ...]) -> Plan:
    settings = config.model(player.model)
    texts = prompts.load(None if player.prompts is None else Path(player.prompts), config.task.kind)
    most = config.rules.R if player.R is None else player.R
    asks_model = player.policy == "llm"
    passages = sum(len(item.text.encode()) for item in items)
    answers = passages + len(items) * len(texts.texts["answer"].encode())
    out = settings.max_tokens
    review = passages / len(items) + len(texts.texts["review"].encode()) + out * BYTES_A_TOKEN
    policy = len(texts.fill("policy", policy_fields(_sample(config, player, items))).encode())
    decisions = len(items) if asks_model else 0
    plays = player.n if player.agent == "best-of-n" else 1
    if player.agent in ("plain", "retry", "escalate", "react", "external"):
        asks_model, decisions = False, 0
    price, count = rates_of(player.model, settings).get("dollars"), len(items)
    reviews = count * min(most, REVIEWS_AN_ITEM)
    if config.rules.turn == "single" and asks_model:
        decisions = count + reviews + 1
    calls = count + decisions + reviews
    tokens_in = (answers + decisions * policy + reviews * review) / BYTES_A_TOKEN
    tokens_out = (count + reviews) * min(out, SUMMARY_TOKENS) + decisions * min(out, DECISION_TOKENS)
    local = player.model.startswith("local/")
    seconds = settings.simulate.seconds if player.model.startswith("simulated/") else SECONDS_HTTP
    expected = Cost(
        round(plays * calls),
        round(plays * (tokens_in + tokens_out)),
        _dollars(price, plays * tokens_in, plays * tokens_out),
        plays * calls * (SECONDS_LOCAL if local else seconds),
    )
    again = 2 * settings.retry.attempts * plays
    policy += (len(config.players) - 1) * SNAPSHOT_BYTES
    if config.rules.turn == "single" and asks_model:
        decisions = count * (1 + most) + 1
    worst_calls = again * (count * (1 + most) + decisions)
    worst_in = again * (answers + count * most * review + decisions * policy * 1.5 + worst_calls * out)
    worst_out = worst_calls * out
    worst = Cost(
        worst_calls,
        round(worst_in + worst_out),
        _dollars(price, worst_in, worst_out),
        worst_calls * settings.timeout,
    )
    return Plan(player.name, player.model, expected, worst)


def _dollars(price: Rate | None, tokens_in: float, tokens_out: float) -> float | Unknown:
    return UNKNOWN if price is None else price.cost(round(tokens_in), round(tokens_out), 0)


def _sample(config: Config, player: PlayerConfig, items: tuple[Item, ...]) -> Observation:
    """A state in the middle of the match, to see how long its prompt is."""
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
        max_reviews=config.rules.R if player.R is None else player.R,
        review_cost=config.rules.review_cost if player.review_cost is None else player.review_cost,
        resources=tuple(config.score.resources),
        show_seconds=config.rules.show_seconds,
        rivals=len(config.players) - 1,
        snapshots=(),
    )
