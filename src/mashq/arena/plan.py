"""What a match would cost, before anything is paid: what to expect, and the most it can be.

How many calls a player makes is what its agent's spec says. The most is a bound: every item reviewed R times, every
reply unusable, every attempt repeated as often as the retry policy allows, every prompt one token a byte, every reply
max_tokens long. What to expect rests on the assumptions listed in ASSUMED, which the output states. Of an agent whose
calls are its own affair nothing is known beforehand.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mashq.arena.endpoints import located, rates_of
from mashq.config import Config, ModelConfig, PlayerConfig
from mashq.players import prompts
from mashq.players.base import AgentSpec, Calls, Workload
from mashq.players.prompting import policy_fields
from mashq.players.registry import reviews_allowed, spec_of
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
    """Calls, tokens, dollars and seconds; or unknown."""

    calls: float | Unknown = UNKNOWN
    tokens: float | Unknown = UNKNOWN
    dollars: float | Unknown = UNKNOWN
    seconds: float | Unknown = UNKNOWN


@dataclass(frozen=True, slots=True)
class Plan:
    """One player's cost, as expected and at worst, where a call is asked for `asks` times with `attempts` each."""

    name: str
    model: str
    expected: Cost
    worst: Cost
    asks: int
    attempts: int

    @property
    def known(self) -> bool:
        """Whether the agent says how often it calls."""
        return not isinstance(self.expected.calls, Unknown)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes of a player's prompts by purpose: of the average answer and review, and of a decision."""

    answer: float
    review: float
    policy: int


@dataclass(frozen=True, slots=True)
class _Part:
    """What is asked of one model: calls, and the tokens in and out of all of them."""

    model: str
    calls: float
    tokens_in: float
    tokens_out: float


def plan(config: Config, base: Path) -> tuple[int, tuple[Plan, ...]]:
    """The number of items and each player's plan. Needs no key and no server."""
    config = located(config, base.resolve())
    task = config.task
    fields = tasks.fields_of(task.kind, task.text, task.id, task.answer)
    items = tasks.load(task.data, fields, task.limit, sample=task.sample, seed=config.seed)
    return len(items), tuple(_plan(config, player, items) for player in config.players)


def workload(config: Config, player: PlayerConfig, items: int) -> Workload:
    """What a player is expected to do."""
    own = reviews_allowed(player)
    most = config.rules.R if own is None else own
    return Workload(items, min(most, REVIEWS_AN_ITEM), most, config.rules.turn, player.policy, player.n)


def _plan(config: Config, player: PlayerConfig, items: tuple[Item, ...]) -> Plan:
    spec, work = spec_of(player.agent), workload(config, player, len(items))
    models = {name: config.model(name) for name in (player.model, player.to) if name is not None}
    attempts = max(model.retry.attempts for model in models.values())
    expected = spec.calls(work) if spec.calls is not None else None
    most = spec.most(work)
    sizes = _sizes(config, player, items, work)
    return Plan(
        player.name,
        player.model,
        Cost() if expected is None else _expected(config, player, expected, sizes),
        Cost() if most is None else _worst(config, player, spec, work, most, sizes),
        spec.asks,
        attempts,
    )


def _sizes(config: Config, player: PlayerConfig, items: tuple[Item, ...], work: Workload) -> _Sizes:
    texts = prompts.load(None if player.prompts is None else Path(player.prompts), config.task.kind)
    passage = sum(len(item.text.encode()) for item in items) / len(items)
    reply = config.model(player.model).max_tokens * BYTES_A_TOKEN
    return _Sizes(
        passage + len(texts.texts["answer"].encode()),
        passage + len(texts.texts["review"].encode()) + reply,
        len(texts.fill("policy", policy_fields(_sample(config, player, items, work))).encode()),
    )


def _expected(config: Config, player: PlayerConfig, calls: Calls, sizes: _Sizes) -> Cost:
    own, other = player.model, player.to or player.model
    out, out_other = config.model(own).max_tokens, config.model(other).max_tokens
    parts = [
        _Part(
            own,
            calls.answers + calls.decisions,
            (calls.answers * sizes.answer + calls.decisions * sizes.policy) / BYTES_A_TOKEN,
            calls.answers * min(out, SUMMARY_TOKENS) + calls.decisions * min(out, DECISION_TOKENS),
        ),
        _Part(
            other,
            calls.reviews,
            calls.reviews * sizes.review / BYTES_A_TOKEN,
            calls.reviews * min(out_other, SUMMARY_TOKENS),
        ),
    ]
    return Cost(
        round(calls.total),
        round(sum(part.tokens_in + part.tokens_out for part in parts)),
        _dollars(config, parts),
        sum(part.calls * _seconds(part.model, config.model(part.model)) for part in parts),
    )


def _seconds(name: str, model: ModelConfig) -> float:
    if name.startswith("local/"):
        return SECONDS_LOCAL
    return model.simulate.seconds if name.startswith("simulated/") else SECONDS_HTTP


def _worst(
    config: Config, player: PlayerConfig, spec: AgentSpec, work: Workload, calls: Calls, sizes: _Sizes
) -> Cost:
    """Every attempt repeated to the limit; a prompt may quote an earlier reply, and a loop quotes all of them."""
    own, other = config.model(player.model), config.model(player.to or player.model)
    policy = sizes.policy * 1.5 + (len(config.players) - 1) * SNAPSHOT_BYTES * 1.5
    review = sizes.review + (work.max_reviews * other.max_tokens if spec.reviews == "in a loop" else 0)
    asked = own.retry.attempts * (calls.answers + calls.decisions)
    reviewed = other.retry.attempts * calls.reviews
    again = calls.answers / work.items
    parts = [
        _Part(
            player.model,
            asked,
            own.retry.attempts
            * (calls.answers * sizes.answer + calls.decisions * policy + again * asked * own.max_tokens),
            asked * own.max_tokens,
        ),
        _Part(
            player.to or player.model,
            reviewed,
            other.retry.attempts * (calls.reviews * review + again * reviewed * other.max_tokens),
            reviewed * other.max_tokens,
        ),
    ]
    return Cost(
        asked + reviewed,
        round(sum(part.tokens_in + part.tokens_out for part in parts)),
        _dollars(config, parts),
        asked * own.timeout + reviewed * other.timeout,
    )


def _dollars(config: Config, parts: Iterable[_Part]) -> float | Unknown:
    """The sum over the models asked; unknown when the price of one of them is."""
    tokens: dict[str, tuple[float, float]] = {}
    for part in parts:
        before = tokens.get(part.model, (0.0, 0.0))
        tokens[part.model] = before[0] + part.tokens_in, before[1] + part.tokens_out
    total = 0.0
    for model, (tokens_in, tokens_out) in tokens.items():
        price = rates_of(model, config.model(model)).get("dollars")
        if price is None:
            return UNKNOWN
        total += price.of(round(tokens_in), round(tokens_out), 0)
    return total


def _sample(config: Config, player: PlayerConfig, items: tuple[Item, ...], work: Workload) -> Observation:
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
        max_reviews=work.max_reviews,
        review_cost=config.rules.review_cost if player.review_cost is None else player.review_cost,
        resources=tuple(config.score.resources),
        show_seconds=config.rules.show_seconds,
        rivals=len(config.players) - 1,
        snapshots=(),
    )
