"""What one match would cost, before anything is paid: the expected cost, and the maximum.

The number of calls a player makes is given by its agent's spec. The maximum is a bound: every item reviewed R times,
every reply unusable, every attempt repeated as often as the retry policy allows, every prompt one token per byte,
every reply max_tokens long, and no more than the budgets allow. It holds for models that respect the limits of a
request; the cost of a simulated model is bounded by its parameters. The expected cost rests on the assumptions in
ASSUMED, which the output states. For an agent whose calls are not known in advance, only what a budget limits is
known.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from mashq.arena.plan_costs import (
    CLOCK,
    NAMES,
    NOT_KNOWN,
    NOTHING,
    SECONDS_HTTP,
    SECONDS_LOCAL,
    Asked,
    Attempt,
    Cost,
    Load,
    Loads,
    Planned,
    Priced,
    added,
    largest,
    loaded,
    most,
    times,
    total,
)
from mashq.arena.plan_prompts import FRAME, Sizes, sizes_of
from mashq.config import Config, PlayerConfig
from mashq.detectors import verdicts
from mashq.detectors.base import Pair
from mashq.detectors.llm_judge import model_of
from mashq.detectors.pairs import pair_of
from mashq.players.base import AgentSpec, Calls, Workload
from mashq.players.external.process import KILLING, MAX_OUTPUT
from mashq.players.registry import reviews_allowed, spec_of
from mashq.protocol.items import Item
from mashq.protocol.resources import UNKNOWN, Unknown

REVIEWS_AN_ITEM = 0.9
BYTES_A_TOKEN = 4.5
SUMMARY_TOKENS, DECISION_TOKENS, VERDICT_TOKENS = 90, 30, 150
VERDICT_ASKS = 2  # a verdict that cannot be parsed is asked for once more
PURPOSES = ("answer", "decision", "review")
ASSUMED = (
    f"Expected: {REVIEWS_AN_ITEM:g} reviews per item where reviews are allowed, nothing repeated, {BYTES_A_TOKEN:g} "
    f"bytes per input token, {SUMMARY_TOKENS} output tokens per answer, {DECISION_TOKENS} per decision and "
    f"{VERDICT_TOKENS} per verdict, {SECONDS_HTTP:g} s per call ({SECONDS_LOCAL:g} s on a local model); simulated "
    "models by their own settings. At worst: R reviews of every item, every reply requested as often as allowed, "
    "every attempt repeated to the limit, one token per byte, replies of full length, every attempt timing out, "
    "within the budgets."
)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What judging a player's answers costs, if the judge or the guide is a model."""

    expected: Cost = NOTHING
    worst: Cost = NOTHING
    loads: Loads = field(default_factory=dict[str, Load])


@dataclass(frozen=True, slots=True)
class PlayerInMatch:
    """What a player costs in a match. If its calls are known, a call is sent at most `asks` times `attempts` times;
    `overrun`: by how much it may exceed a budget; `loads`: the expected load on each place."""

    expected: Cost
    worst: Cost
    asks: int
    attempts: int
    overrun: Cost
    loads: Loads
    verdicts: Verdicts

    @property
    def known(self) -> bool:
        """Whether the agent declares how often it calls."""
        return not isinstance(self.expected["calls"], Unknown)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """A match: its players by seat, the sums, the load on each place, and its expected duration."""

    players: tuple[PlayerInMatch, ...]
    expected: Cost
    worst: Cost
    loads: Loads
    lasts: Planned


def workload(config: Config, player: PlayerConfig, items: int) -> Workload:
    """What a player is expected to do."""
    player_limit = reviews_allowed(player)
    allowed = config.rules.R if player_limit is None else player_limit
    n = player.n if isinstance(player.n, int) else 1
    return Workload(items, min(allowed, REVIEWS_AN_ITEM), allowed, config.rules.turn, player.policy, n)


def plan_match(config: Config, players: Sequence[PlayerInMatch]) -> MatchPlan:
    """The plan of a match of these players."""
    expected = worst = NOTHING
    for player in players:
        expected, worst = expected + player.expected, worst + player.worst
    overrun = largest(player.overrun for player in players)
    worst = worst.within(_budget_bound(config.rules.shared_budget.limits(), overrun))
    expected = expected.capped(worst)
    for player in players:
        expected, worst = expected + player.verdicts.expected, worst + player.verdicts.worst
    loads = loaded(part for player in players for part in (player.loads, player.verdicts.loads))
    return MatchPlan(tuple(players), expected, worst, loads, _duration(config, players, loads))


def plan_player(config: Config, player: PlayerConfig, items: Sequence[Item]) -> PlayerInMatch:
    """What a player costs in one match."""
    spec, work = spec_of(player.agent), workload(config, player, len(items))
    budgets = (player.budget or config.rules.budget).limits(), config.rules.shared_budget.limits()
    reviews: float = work.max_reviews
    if spec.reviews == "by decision":
        allowed = [budget["reviews"] for budget in budgets if budget.get("reviews") is not None]
        reviews = min([reviews, *(math.floor(limit or 0) / len(items) for limit in allowed)])
        work = replace(work, reviews=min(work.reviews, reviews))
    own, other = Priced(config, player.model), Priced(config, player.to or player.model)
    planner = _Planner(spec, work, reviews, sizes_of(config, player, spec, items, work), own, other)
    expected, worst, single = planner.expected(), planner.worst(), planner.single()
    overrun = _overrun(spec, own, other, single)
    bound = (
        _turn_bound(spec, player, own, len(items)) if worst is None else planner.cost(worst, reviews, at_worst=True)
    )
    for budget in budgets:
        bound = _bounded_by_calls(spec, bound.within(_budget_bound(budget, overrun)), single)
    usual = NOT_KNOWN if expected is None else planner.cost(expected, work.reviews, at_worst=False)
    return PlayerInMatch(
        usual.capped(bound),
        bound,
        spec.asks,
        max(own.attempts, other.attempts),
        overrun,
        loaded(part.model.load(part.attempt, part.count) for part in expected or ()),
        _verdicts(config, planner, items),
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    """One player's attempts: its agent's spec, its workload, the maximum number of reviews per item, the sizes of its
    prompts, its model, and the model its reviews are sent to."""

    spec: AgentSpec
    work: Workload
    reviews: float
    sizes: Sizes
    own: Priced
    other: Priced

    def cost(self, asked: Sequence[Asked], reviews: float, *, at_worst: bool) -> Cost:
        """The cost of attempts, with this many reviews per item."""
        calls = self.calls(reviews)
        return total(asked, 0.0 if calls is None else calls.reviews, at_worst=at_worst)

    def calls(self, reviews: float) -> Calls | None:
        """The calls with this many reviews per item, when nothing goes wrong."""
        return None if self.spec.calls is None else self.spec.calls(replace(self.work, reviews=reviews))

    def expected(self) -> list[Asked] | None:
        """The expected attempts; None: not known."""
        calls, sizes = self.calls(self.work.reviews), self.sizes
        if calls is None:
            return None
        review = _mean(sizes.reviews) / BYTES_A_TOKEN + sizes.quotes * SUMMARY_TOKENS
        if self.spec.reviews == "in a loop":
            review += (1 + self.work.reviews) / 2 * (sizes.turn / BYTES_A_TOKEN + SUMMARY_TOKENS)
        parts = (
            (self.own, "answer", calls.answers, _mean(sizes.answers) / BYTES_A_TOKEN, SUMMARY_TOKENS),
            (self.own, "decision", calls.decisions, sizes.decision / BYTES_A_TOKEN, DECISION_TOKENS),
            (self.other, "review", calls.reviews, review, SUMMARY_TOKENS),
        )
        return [
            Asked(model, count, model.on_average(purpose, self._prompt_tokens(tokens), out))
            for model, purpose, count, tokens, out in parts
            if count
        ]

    def worst(self) -> list[Asked] | None:
        """The attempts in the worst case; None: not known."""
        calls = self.spec.most(self.work, self.reviews)
        if calls is None:
            return None
        return list(self._loop(calls) if self.spec.reviews == "in a loop" else self._questions(calls))

    def _loop(self, calls: Calls) -> Iterator[Asked]:
        """The turns of a loop, each of which quotes all turns before it."""
        own, reply = self.own, self.own.longest
        for turn in range(math.ceil(calls.total / self.work.items)):
            purpose = "answer" if turn == 0 else "review"
            for size in self.sizes.answers:
                tokens = self._prompt_tokens(size + FRAME + turn * (self.sizes.turn + reply))
                yield Asked(own, own.attempts, self._worst_attempt(own, (purpose, "answer"), tokens))

    def _questions(self, calls: Calls) -> Iterator[Asked]:
        """Answers, decisions and reviews; asking again quotes the previous reply."""
        sizes, items = self.sizes, self.work.items
        quoted = sizes.quotes * max(self.own.longest, self.other.longest)
        yield from self._asked(self.own, "answer", calls.answers / items, sizes.answers)
        yield from self._asked(self.own, "decision", calls.decisions, (sizes.longest_decision,))
        reviews = [size + quoted for size in sizes.reviews]
        if self.reviews < self.work.max_reviews:  # limited by a budget: all of them may be of the longest
            yield from self._asked(self.other, "review", calls.reviews, (max(reviews),))
        else:
            yield from self._asked(self.other, "review", calls.reviews / items, reviews)

    def _asked(self, model: Priced, purpose: str, count: float, prompts: Sequence[int]) -> Iterator[Asked]:
        """`count` attempts with each of these prompts, including asking again and retries."""
        if not count:
            return
        again, asks = self.sizes.again + model.longest, self.spec.asks
        repeats = range(asks) if self.spec.at_most is None else (asks - 1,)
        for size in prompts:
            for ask in repeats:
                tokens = self._prompt_tokens(size + FRAME + ask * again)
                attempt = self._worst_attempt(model, (purpose,), tokens)
                yield Asked(model, count / len(repeats) * model.attempts, attempt)

    def single(self) -> Cost:
        """The maximum cost of one attempt."""
        asked = self.worst()
        if asked is None:
            purposes = (*PURPOSES, *(self.own.settings.simulate.calls if self.own.simulated else ()))
            asked = [Asked(self.own, 1, self._worst_attempt(self.own, (purpose,), UNKNOWN)) for purpose in purposes]
        return largest(part.model.cost(part.attempt, at_worst=True) for part in asked)

    def _worst_attempt(self, model: Priced, purposes: Sequence[str], tokens_in: Planned) -> Attempt:
        """The most expensive attempt over the given purposes."""
        attempts = [model.at_most(purpose, tokens_in) for purpose in purposes]
        return Attempt(
            *(
                reduce(most, [getattr(attempt, name) for attempt in attempts])
                for name in ("tokens_in", "tokens_out", "seconds")
            ),
            pause=model.pause,
        )

    def _prompt_tokens(self, tokens: float) -> Planned:
        """The length of a prompt, if the agent uses the player's prompts; else unknown."""
        return tokens if "prompts" in self.spec.settings else UNKNOWN


def _mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / len(sizes)


def _budget_bound(budget: Mapping[str, float | None], overrun: Cost) -> Cost:
    """The bound given by a budget. The number of reviews it allows is a rule of the game, handled elsewhere."""
    bounds: dict[str, Planned] = {}
    for name in NAMES:
        limit = None if name in ("reviews", CLOCK) else budget[name]
        bound = math.floor(limit) if name == "calls" and limit is not None else limit
        bounds[name] = UNKNOWN if bound is None else added(bound, overrun[name])
    return Cost(bounds)


def _bounded_by_calls(spec: AgentSpec, cost: Cost, single: Cost) -> Cost:
    """No more than the number of calls can cost; but the seconds of an external program are those of its turns."""
    by_calls = {name: times(single[name], calls) for name in NAMES if not isinstance(calls := cost["calls"], Unknown)}
    excluded = ("seconds", CLOCK) if spec.external else ()
    bounds = {name: UNKNOWN if name in ("calls", "reviews", *excluded) else bound for name, bound in by_calls.items()}
    return cost.within(Cost(NOT_KNOWN.amounts | bounds))


def _turn_bound(spec: AgentSpec, player: PlayerConfig, model: Priced, items: int) -> Cost:
    """The worst case of an agent whose calls are not known in advance: the maximum length of a program's turns."""
    if not spec.external:
        return NOT_KNOWN
    turn = UNKNOWN if model.simulated is not None else player.turn_timeout + KILLING
    clock_per_turn = player.turn_timeout + KILLING + model.settings.timeout  # requests already sent are awaited
    known = {"reviews": 0.0, "seconds": times(turn, items), CLOCK: clock_per_turn * items}
    return Cost(NOT_KNOWN.amounts | known)


def _overrun(spec: AgentSpec, own: Priced, other: Priced, single: Cost) -> Cost:
    """By how much a player may exceed a budget: by its last attempt, or by many if it can send several at once."""
    if spec.external:
        excess = NOTHING if own.simulated is None else NOT_KNOWN
        return Cost(excess.amounts | {"calls": 0.0, "seconds": added(excess["seconds"], KILLING)})
    excess = largest(model.overrun(single) for model in (own, other))
    if spec.calls is None and own.simulated is not None:
        excess = NOT_KNOWN
    return Cost(excess.amounts | {"calls": 0.0})


def _verdicts(config: Config, planner: "_Planner", items: Sequence[Item]) -> Verdicts:
    """What the judge and the guide ask a model about this player's answers; a drawn answer has its own score."""
    models = [name for detector in (config.judge, config.guided_by) if (name := model_of(detector)) is not None]
    if not models or (planner.own.simulated and planner.other.simulated):
        return Verdicts()
    counts = _drafts(planner, len(items))
    if counts is None:
        return Verdicts(NOT_KNOWN, NOT_KNOWN)
    usual, most_drafts = counts
    longest = max(planner.own.longest, planner.other.longest)
    if planner.spec.external:
        longest = MAX_OUTPUT
    prompts = [len(verdicts.question(_pair(config, item))[0].encode("utf-8", "replace")) for item in items]
    expected: list[Asked] = []
    worst: list[Asked] = []
    for name in models:
        judge = Priced(config, name)
        tokens = _mean(prompts) / BYTES_A_TOKEN + SUMMARY_TOKENS
        expected.append(Asked(judge, usual, judge.on_average("judge", tokens, VERDICT_TOKENS)))
        count = VERDICT_ASKS * judge.attempts * most_drafts / len(items)
        worst += [Asked(judge, count, judge.at_most("judge", size + FRAME + longest)) for size in prompts]
    return Verdicts(
        total(expected, 0.0, at_worst=False),
        total(worst, 0.0, at_worst=True),
        loaded(part.model.load(part.attempt, part.count) for part in expected),
    )


def _pair(config: Config, item: Item) -> Pair:
    """What a judge is asked about an item; for an answer from passages, whether they support it."""
    return pair_of(item, "", by_reference=config.task.kind != "rag")


def _drafts(planner: "_Planner", items: int) -> tuple[float, float] | None:
    """How many texts of a player are scored, expected and at most; None: not known."""
    if planner.spec.external:
        return items, items
    usual, most_calls = planner.calls(planner.work.reviews), planner.calls(planner.work.max_reviews)
    if usual is None or most_calls is None:
        return None
    twice = (
        2 * items if planner.spec.reviews in ("in plays", "in a loop") else 0
    )  # the first and the last are scored again
    return usual.answers + usual.reviews + twice, most_calls.answers + most_calls.reviews + twice


def _duration(config: Config, players: Sequence[PlayerInMatch], loads: Loads) -> Planned:
    """How long a match is expected to last: as long as its slowest player or the busiest place."""
    clocks: list[float] = []
    for player in players:
        clock = added(player.expected[CLOCK], player.verdicts.expected[CLOCK])
        if isinstance(clock, Unknown):
            return UNKNOWN
        clocks.append(clock)
    in_order = any(limit is not None for limit in config.rules.shared_budget.limits().values())
    return max([sum(clocks) if in_order else max(clocks), *(load.lasts for load in loads.values())])
