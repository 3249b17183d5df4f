"""What one match would cost, before anything is paid: what to expect, and the most it can be.

How many calls a player makes is what its agent's spec says. The most is a bound: every item reviewed R times, every
reply unusable, every attempt repeated as often as the retry policy allows, every prompt one token a byte, every reply
max_tokens long, and no more than the budgets allow. It holds for models that keep to the limits of a request; what a
simulated model takes is bounded by what it is drawn from. What to expect rests on the assumptions listed in ASSUMED,
which the output states. Of an agent whose calls are its own affair only what a budget says is known beforehand.
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
VERDICT_ASKS = 2  # a verdict that cannot be read is asked for once more
PURPOSES = ("answer", "decision", "review")
ASSUMED = (
    f"Expected: {REVIEWS_AN_ITEM:g} reviews per item where reviews are allowed, nothing repeated, {BYTES_A_TOKEN:g} "
    f"bytes a token in, {SUMMARY_TOKENS} tokens an answer, {DECISION_TOKENS} a decision and {VERDICT_TOKENS} a "
    f"verdict, {SECONDS_HTTP:g} s a call ({SECONDS_LOCAL:g} s on a local model); a simulated model as it is drawn. "
    "At worst: R reviews of every item, every reply asked for as often as can be, every attempt repeated to the "
    "limit, a token a byte, replies of full length, every attempt timing out, within the budgets."
)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a judge or guide that is a model takes for a player's answers."""

    expected: Cost = NOTHING
    worst: Cost = NOTHING
    loads: Loads = field(default_factory=dict[str, Load])


@dataclass(frozen=True, slots=True)
class PlayerInMatch:
    """What a player takes in a match. A call is sent at most `asks` times `attempts` times if its calls are known;
    `overrun`: by how much it may exceed a budget; `loads`: what it asks of each place, as expected."""

    expected: Cost
    worst: Cost
    asks: int
    attempts: int
    overrun: Cost
    loads: Loads
    verdicts: Verdicts

    @property
    def known(self) -> bool:
        """Whether the agent says how often it calls."""
        return not isinstance(self.expected["calls"], Unknown)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """A match: its players by seat, the sums, what it asks of each place, and how long it is expected to last."""

    players: tuple[PlayerInMatch, ...]
    expected: Cost
    worst: Cost
    loads: Loads
    lasts: Planned


def workload(config: Config, player: PlayerConfig, items: int) -> Workload:
    """What a player is expected to do."""
    own = reviews_allowed(player)
    allowed = config.rules.R if own is None else own
    n = player.n if isinstance(player.n, int) else 1
    return Workload(items, min(allowed, REVIEWS_AN_ITEM), allowed, config.rules.turn, player.policy, n)


def plan_match(config: Config, players: Sequence[PlayerInMatch]) -> MatchPlan:
    """A match of these players."""
    expected = worst = NOTHING
    for own in players:
        expected, worst = expected + own.expected, worst + own.worst
    overrun = largest(own.overrun for own in players)
    worst = worst.within(_limit(config.rules.shared_budget.limits(), overrun))
    expected = expected.capped(worst)
    for own in players:
        expected, worst = expected + own.verdicts.expected, worst + own.verdicts.worst
    loads = loaded(part for own in players for part in (own.loads, own.verdicts.loads))
    return MatchPlan(tuple(players), expected, worst, loads, _lasts(config, players, loads))


def plan_player(config: Config, player: PlayerConfig, items: Sequence[Item]) -> PlayerInMatch:
    """What a player takes in one match."""
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
    bound = _turns(spec, player, own, len(items)) if worst is None else planner.cost(worst, reviews, at_worst=True)
    for budget in budgets:
        bound = _by_calls(spec, bound.within(_limit(budget, overrun)), single)
    usual = NOT_KNOWN if expected is None else planner.cost(expected, work.reviews, at_worst=False)
    return PlayerInMatch(
        usual.capped(bound),
        bound,
        spec.asks,
        max(own.attempts, other.attempts),
        overrun,
        loaded(part.model.load(part.attempt, part.count) for part in expected or ()),
        _verdicts(config, player, planner, items),
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    """One player's attempts: its agent's spec, what it has to do, how many reviews per item it may make at most, how
    long its prompts are, its model, and the one that its reviews are asked of."""

    spec: AgentSpec
    work: Workload
    reviews: float
    sizes: Sizes
    own: Priced
    other: Priced

    def cost(self, asked: Sequence[Asked], reviews: float, *, at_worst: bool) -> Cost:
        """What attempts take, with so many reviews per item."""
        calls = self.calls(reviews)
        return total(asked, 0.0 if calls is None else calls.reviews, at_worst=at_worst)

    def calls(self, reviews: float) -> Calls | None:
        """The calls with so many reviews per item, when nothing goes wrong."""
        return None if self.spec.calls is None else self.spec.calls(replace(self.work, reviews=reviews))

    def expected(self) -> list[Asked] | None:
        """The attempts to expect; None: not known."""
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
            Asked(model, count, model.on_average(purpose, self._known(tokens), out))
            for model, purpose, count, tokens, out in parts
            if count
        ]

    def worst(self) -> list[Asked] | None:
        """The attempts at worst; None: not known."""
        calls = self.spec.most(self.work, self.reviews)
        if calls is None:
            return None
        return list(self._loop(calls) if self.spec.reviews == "in a loop" else self._questions(calls))

    def _loop(self, calls: Calls) -> Iterator[Asked]:
        """The turns of a loop, each of which quotes all before it."""
        own, reply = self.own, self.own.longest
        for turn in range(math.ceil(calls.total / self.work.items)):
            purpose = "answer" if turn == 0 else "review"
            for size in self.sizes.answers:
                tokens = self._known(size + FRAME + turn * (self.sizes.turn + reply))
                yield Asked(own, own.attempts, self._most(own, (purpose, "answer"), tokens))

    def _questions(self, calls: Calls) -> Iterator[Asked]:
        """Answers, decisions and reviews; a reply that is asked for again is quoted."""
        sizes, items = self.sizes, self.work.items
        quoted = sizes.quotes * max(self.own.longest, self.other.longest)
        yield from self._asked(self.own, "answer", calls.answers / items, sizes.answers)
        yield from self._asked(self.own, "decision", calls.decisions, (sizes.longest_decision,))
        reviews = [size + quoted for size in sizes.reviews]
        if self.reviews < self.work.max_reviews:  # a budget: they may all be of the longest
            yield from self._asked(self.other, "review", calls.reviews, (max(reviews),))
        else:
            yield from self._asked(self.other, "review", calls.reviews / items, reviews)

    def _asked(self, model: Priced, purpose: str, count: float, prompts: Sequence[int]) -> Iterator[Asked]:
        """`count` attempts with each of these prompts: each time it is asked for, as often as it is repeated."""
        if not count:
            return
        again, asks = self.sizes.again + model.longest, self.spec.asks
        ways = range(asks) if self.spec.at_most is None else (asks - 1,)
        for size in prompts:
            for ask in ways:
                tokens = self._known(size + FRAME + ask * again)
                attempt = self._most(model, (purpose,), tokens)
                yield Asked(model, count / len(ways) * model.attempts, attempt)

    def single(self) -> Cost:
        """The most that one attempt can take."""
        asked = self.worst()
        if asked is None:
            purposes = (*PURPOSES, *(self.own.settings.simulate.calls if self.own.simulated else ()))
            asked = [Asked(self.own, 1, self._most(self.own, (purpose,), UNKNOWN)) for purpose in purposes]
        return largest(part.model.cost(part.attempt, at_worst=True) for part in asked)

    def _most(self, model: Priced, purposes: Sequence[str], tokens_in: Planned) -> Attempt:
        """An attempt at worst, whichever of the purposes it has."""
        found = [model.at_most(purpose, tokens_in) for purpose in purposes]
        return Attempt(
            *(reduce(most, [getattr(one, name) for one in found]) for name in ("tokens_in", "tokens_out", "seconds")),
            pause=model.pause,
        )

    def _known(self, tokens: float) -> Planned:
        """The length of a prompt, where the agent asks with the prompts of the player."""
        return tokens if "prompts" in self.spec.settings else UNKNOWN


def _mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / len(sizes)


def _limit(budget: Mapping[str, float | None], overrun: Cost) -> Cost:
    """What a budget lets through. How many reviews it allows is a rule of the game, seen to elsewhere."""
    found: dict[str, Planned] = {}
    for name in NAMES:
        limit = None if name in ("reviews", CLOCK) else budget[name]
        whole = math.floor(limit) if name == "calls" and limit is not None else limit
        found[name] = UNKNOWN if whole is None else added(whole, overrun[name])
    return Cost(found)


def _by_calls(spec: AgentSpec, cost: Cost, single: Cost) -> Cost:
    """No more than so many calls can take; but the seconds of a program of its own are those of its turns."""
    by_calls = {name: times(single[name], calls) for name in NAMES if not isinstance(calls := cost["calls"], Unknown)}
    its_own = ("seconds", CLOCK) if spec.external else ()
    bounds = {name: UNKNOWN if name in ("calls", "reviews", *its_own) else bound for name, bound in by_calls.items()}
    return cost.within(Cost(NOT_KNOWN.amounts | bounds))


def _turns(spec: AgentSpec, player: PlayerConfig, model: Priced, items: int) -> Cost:
    """What is known at worst of an agent whose calls are its own affair: how long the turns of a program can be."""
    if not spec.external:
        return NOT_KNOWN
    turn = UNKNOWN if model.simulated is not None else player.turn_timeout + KILLING
    passing = player.turn_timeout + KILLING + model.settings.timeout  # what has left is waited for
    known = {"reviews": 0.0, "seconds": times(turn, items), CLOCK: passing * items}
    return Cost(NOT_KNOWN.amounts | known)


def _overrun(spec: AgentSpec, own: Priced, other: Priced, single: Cost) -> Cost:
    """By how much a player may exceed a budget: by its last attempt, or by many where it can ask for many at once."""
    if spec.external:
        over = NOTHING if own.simulated is None else NOT_KNOWN
        return Cost(over.amounts | {"calls": 0.0, "seconds": added(over["seconds"], KILLING)})
    over = largest(model.overrun(single) for model in (own, other))
    if spec.calls is None and own.simulated is not None:
        over = NOT_KNOWN
    return Cost(over.amounts | {"calls": 0.0})


def _verdicts(config: Config, player: PlayerConfig, planner: "_Planner", items: Sequence[Item]) -> Verdicts:
    """What the judge and the guide ask a model for this player's answers; a drawn answer brings its own score."""
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
        each = VERDICT_ASKS * judge.attempts * most_drafts / len(items)
        worst += [Asked(judge, each, judge.at_most("judge", size + FRAME + longest)) for size in prompts]
    return Verdicts(
        total(expected, 0.0, at_worst=False),
        total(worst, 0.0, at_worst=True),
        loaded(part.model.load(part.attempt, part.count) for part in expected),
    )


def _pair(config: Config, item: Item) -> Pair:
    """What a judge is asked about an item: of an answer from passages, whether they support it."""
    return pair_of(item, "", by_reference=config.task.kind != "rag")


def _drafts(planner: "_Planner", items: int) -> tuple[float, float] | None:
    """How many texts of a player are scored, as expected and at most; None: not known."""
    if planner.spec.external:
        return items, items
    usual, most_calls = planner.calls(planner.work.reviews), planner.calls(planner.work.max_reviews)
    if usual is None or most_calls is None:
        return None
    twice = 2 * items if planner.spec.reviews in ("in plays", "in a loop") else 0  # the first and the last, once more
    return usual.answers + usual.reviews + twice, most_calls.answers + most_calls.reviews + twice


def _lasts(config: Config, players: Sequence[PlayerInMatch], loads: Loads) -> Planned:
    """How long a match is expected to last: as its slowest player, or as the busiest place it asks."""
    clocks: list[float] = []
    for own in players:
        passing = added(own.expected[CLOCK], own.verdicts.expected[CLOCK])
        if isinstance(passing, Unknown):
            return UNKNOWN
        clocks.append(passing)
    in_order = any(limit is not None for limit in config.rules.shared_budget.limits().values())
    return max([sum(clocks) if in_order else max(clocks), *(load.lasts for load in loads.values())])
