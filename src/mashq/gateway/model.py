"""Asking a model, with every attempt in the ledger.

A player is handed a `Model` bound to (match, round, player, item, purpose); there is no other way to a model. An ask
is a loop of attempts: check the budget at the worst case, wait for a slot, open the ledger row, send once, close the
row, and let the retry policy say whether to go on. After a crash the recorded attempts of the same ask come first,
so that nothing acknowledged is paid for twice. An error that says which optional field the model does not take is a
lesson: the field is left out from then on. An error of the first call that all others would meet ends the run.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mashq.errors import GivenUp, ProviderError
from mashq.gateway import budgets, retry
from mashq.gateway.hopeless import hopeless, unprovoked
from mashq.gateway.limits import Limiter
from mashq.gateway.prices import Rate
from mashq.gateway.profiles import LARGEST, Experience, Profile, lesson_of
from mashq.gateway.types import (
    CUT,
    Backend,
    Call,
    Clock,
    Completion,
    Ledger,
    Message,
    Outcome,
    Request,
    Worst,
    cost_of,
    spend_of,
)
from mashq.protocol.moves import Abstained
from mashq.protocol.resources import FREE, UNKNOWN, Amount, Spend, Unknown


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model ready to be asked.

    max_tokens   the output limit of a request; None: none is sent
    fixed        whether that limit stands whatever a budget has left
    largest      the longest output there can be without a limit
    patience     when it is given up and what fails is held until then; None: never, and what fails has failed
    tells_cuts   whether a reply that a limit cut off is told from a refusal: by the first rules of play it was not
    """

    name: str
    backend: Backend
    limiter: Limiter
    max_tokens: int | None = 512
    temperature: float | None = 0.0
    timeout: float = 120.0
    rates: Mapping[str, Rate] = field(default_factory=dict[str, Rate])
    retries: retry.Policy = retry.Policy()
    fixed: bool = True
    largest: int = LARGEST
    profile: Profile = Profile()
    experience: Experience = field(default_factory=Experience)
    tells_cuts: bool = True
    patience: retry.Patience | None = None

    @property
    def longest(self) -> int:
        """The longest output of a request that sets no limit of its own."""
        return self.largest if self.max_tokens is None else self.max_tokens

    def output_limit(self, states: Sequence[budgets.BudgetState], spent: Spend, prompt: int) -> int | None:
        """The output limit to send with a prompt of so many tokens at most, after so much was spent; None: none.

        A budget that tokens draw on needs one: the smaller of the longest output and what is left.
        """
        own = self.experience.limited(self.max_tokens)
        if (own is not None and self.fixed) or not budgets.bounding(states) or self.experience.left_out("limit"):
            return own
        most = self.largest if own is None else own
        return budgets.affordable(states, spent, lambda tokens: self.worst(prompt, tokens), most, budgets.LEAST)

    def note(self, outcome: Outcome, now: float = 0.0, *, foreign: bool = False) -> None:
        """Remember that the model answers, or that its first call (a `foreign` program's?) says it never will.

        One that gives nothing usable for too long is given up. What a program was told of its own request (4xx) does
        not count towards that; what its request might have brought about counts by the time it lasts, not by the
        number of attempts.
        """
        seen = self.experience
        own_fault = foreign and (outcome.kind == "left" or 400 <= (outcome.status or 0) < 500)
        seen.health.back(outcome, now, counts=not own_fault, certain=not foreign or unprovoked(outcome))
        if outcome.completion is not None:
            seen.answered = True
            return
        if seen.ending.why is not None:
            return
        if not seen.answered:
            why = hopeless(self.name, outcome, foreign=foreign)
            seen.ending.why = None if why is None else (why, self.name)
        silent, gone = seen.health.silent, now - seen.health.since
        if seen.ending.why is None and self.patience is not None and self.patience.ends(seen.health, gone):
            sentence = f"in {silent} attempts over {gone:.0f} s ({outcome.error})"
            seen.ending.why, seen.ending.given_up = (sentence, self.name), True

    def holds(self, outcome: Outcome, usable_before: int) -> bool:
        """Whether a step whose retries are spent is held: the model has given nobody anything usable meanwhile."""
        if self.patience is None or self.experience.health.usable > usable_before:
            return False
        return retry.retryable(outcome) or hopeless(self.name, outcome) is not None

    def despair(self) -> None:
        """Raise a ProviderError when this model, or another of the run, will answer nobody: nothing more is sent."""
        ending = self.experience.ending
        if ending.why is not None:
            why, model = ending.why
            if ending.given_up:
                raise GivenUp(f"{model} gave nothing usable {why}", model)
            raise ProviderError(why, model)

    def worst(self, tokens_in: int, tokens_out: int, *, written: bool = False) -> Worst:
        """What an attempt with at most so many tokens could cost; `written`: where a request may fill caches."""
        rates = self.rates.items()
        rated = {name: (rate.worst if written else rate.plain)(tokens_in, tokens_out) for name, rate in rates}
        return Worst(tokens_in, tokens_out, self.timeout, rated)

    def rated(self, outcome: Outcome) -> Outcome:
        """The outcome with what its tokens cost by each rate, where it does not say so itself; dollars as billed."""
        usage = outcome.usage
        if not self.rates and usage.billed is UNKNOWN:
            return outcome
        known = {name: rate.of_usage(usage) for name, rate in self.rates.items()}
        if not isinstance(usage.billed, Unknown):
            known["dollars"] = usage.billed
        if outcome.rated:
            known |= {name: cost for name, cost in outcome.rated.items() if cost is not UNKNOWN}
        return Outcome(
            outcome.kind,
            outcome.completion,
            usage,
            outcome.seconds,
            known,
            outcome.status,
            outcome.retry_after,
            outcome.error,
            outcome.code,
            outcome.body,
            outcome.wire,
            outcome.first_byte,
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """An ask that got no reply; `error` says why the last attempt failed."""

    error: str
    kind: str


Guide = Callable[[str, float | None, Abstained], Awaitable[float]]


@dataclass(slots=True)
class Model:
    """A model bound to one step of one player. `spend` is what the step has cost so far."""

    endpoint: Endpoint
    ledger: Ledger
    clock: Clock
    call: Call
    seed: int
    budget_states: Sequence[budgets.BudgetState] = ()
    spend: Spend = FREE
    exhausted: str | None = None
    asks: int = 0
    guide: Guide | None = None
    _in_flight: Spend = FREE

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        facts: Mapping[str, object] | None = None,
        purpose: str | None = None,
        n: int | None = None,
    ) -> Completion | Failure:
        """One question; raises OutOfBudget when an attempt could not be paid for.

        An agent that does several things within one step says so with `purpose` and `n`: they key the ledger's row
        and the seed.
        """
        call = own = self.call
        if self.asks or purpose or n is not None:
            n = own.n if n is None else n
            call = Call(own.match, own.round, own.player, own.item, purpose or own.purpose, n, self.asks)
        self.asks += 1
        whole = Request(tuple(messages), None, self.endpoint.temperature, None, schema, facts or {})
        prompt = whole.prompt_bytes
        request = self._as_taken(whole, call, prompt)
        failures, pause, outcome = self._recall(call, whole)
        usable = self.endpoint.experience.health.usable
        while outcome is None or pause is not None:
            self.endpoint.despair()
            longest = self.endpoint.largest if request.max_tokens is None else request.max_tokens
            outcome = await self._attempt(call, request, self.endpoint.worst(prompt, longest), pause or 0.0)
            pause = None
            if outcome.completion is None:
                failures += 1
                learns = self._learns(outcome, request)
                if learns:
                    pause = 0.0
                else:
                    jitter = _fraction(self.seed, call, failures)
                    pause = retry.delay(self.endpoint.retries, failures, outcome, jitter)
                    if pause is None and self.endpoint.holds(outcome, usable):
                        failures, pause = 0, self.endpoint.retries.cap * (0.5 + 0.5 * jitter)
                        usable = self.endpoint.experience.health.usable
                if learns or self.budget_states:
                    request = self._as_taken(whole, call, prompt)
        if outcome.completion is None:
            self.endpoint.despair()
            return Failure(outcome.error, outcome.kind)
        return self._told(outcome.completion, request.max_tokens)

    async def score(self, text: str, confidence: float | None = None, abstained: Abstained = "") -> float:
        """The guide's score of a draft, for agents that choose among several within one step."""
        if self.guide is None:
            raise LookupError("this step has no guide")
        return await self.guide(text, confidence, abstained)

    def count_review(self) -> None:
        """Charge a review made within this step."""
        self.spend = replace(self.spend, reviews=self.spend.reviews + 1)

    def _as_taken(self, request: Request, call: Call, prompt: int) -> Request:
        """A request as the model takes it, by what is known of it now."""
        endpoint = self.endpoint
        without = endpoint.experience.left_out
        return Request(
            request.messages,
            endpoint.output_limit(self.budget_states, self.spend + self._in_flight, prompt),
            None if without("temperature") else request.temperature,
            None if without("seed") else request_seed(self.seed, call),
            None if without("schema") else request.schema,
            request.facts,
        )

    def _learns(self, outcome: Outcome, request: Request) -> bool:
        """Whether an error says what the model does not take, so that it is asked again without that at once."""
        endpoint = self.endpoint
        lesson = lesson_of(outcome, request, endpoint.profile)
        if lesson is None:
            return False
        endpoint.experience.lessons[lesson.field] = lesson
        self.ledger.learn(endpoint.name, lesson.field, lesson.limit, lesson.why)
        return True

    def _told(self, reply: Completion, limit: int | None) -> Completion:
        """A reply as a player gets it: one that was cut off says so, and is no refusal."""
        if reply.stop != CUT:
            return reply
        if not self.endpoint.tells_cuts:
            return replace(reply, refused=reply.refused or not reply.text.strip())
        return replace(reply, refused=reply.refused and bool(reply.text.strip()), cut=self._cut_at(limit))

    def _cut_at(self, limit: int | None) -> str:
        """Which limit cut a reply off, and how to raise it."""
        endpoint = self.endpoint
        setting = f"models.{endpoint.name}.max_tokens"
        thinks = ", its thinking included" if endpoint.profile.reasoning else ""
        if limit is None:
            return f"cut off at the longest output of {endpoint.name}{thinks}: no limit was sent; {setting} sets one"
        lesson = endpoint.experience.lessons.get("limit")
        if lesson is not None and lesson.limit == limit:
            return f"cut off at {limit} tokens{thinks}: {endpoint.name} allows no more"
        if limit != endpoint.max_tokens:
            return f"cut off at {limit} tokens{thinks}, which was all that the budget had left: raise the budget"
        return f"cut off at the output limit of {limit} tokens{thinks}: raise {setting}"

    def _recall(self, call: Call, request: Request) -> tuple[int, float | None, Outcome | None]:
        """What a crashed process already knew of this ask: failures so far, the pause due, the last outcome."""
        failures, last = 0, None
        for entry in self.ledger.history(call):
            self.spend += spend_of(entry)
            if entry.outcome is not None:
                last = entry.outcome
                failures += last.completion is None
        if last is None or last.completion is not None:
            return failures, None, last
        endpoint, whole = self.endpoint, replace(request, max_tokens=self.endpoint.longest, seed=0)
        ended = not endpoint.experience.answered and hopeless(endpoint.name, last) is not None
        if ended or lesson_of(last, whole, endpoint.profile) is not None:
            return (
                0,
                None,
                None,
            )  # the run ended there, and may have been mended; or it was about to leave something out
        pause = retry.delay(self.endpoint.retries, failures, last, 0.0)
        if pause is None and endpoint.holds(last, endpoint.experience.health.usable):
            return 0, None, None  # it was held when the run stopped: it is tried anew
        return failures, pause, last

    async def _attempt(self, call: Call, request: Request, worst: Worst, pause: float) -> Outcome:
        if not self.budget_states:
            return await self._send(call, request, worst, pause)
        reason = budgets.lacking(self.budget_states, self.spend + self._in_flight, worst)
        if reason is not None:
            self.exhausted = reason
            raise budgets.OutOfBudget(reason)
        reserved = cost_of(worst, None)
        self._in_flight += reserved
        try:
            return await self._send(call, request, worst, pause)
        finally:
            self._in_flight = _without(self._in_flight, reserved)

    async def _send(self, call: Call, request: Request, worst: Worst, pause: float) -> Outcome:
        endpoint = self.endpoint
        if pause:
            await self.clock.sleep(pause)
        queued = await endpoint.limiter.enter()
        try:
            attempt = await self.ledger.open(call, request, endpoint.name, worst, durable=endpoint.backend.durable)
            endpoint.experience.health.sent(self.clock.tick())
            outcome = endpoint.rated(await endpoint.backend.attempt(request, call))
            endpoint.note(outcome, self.clock.tick())
            waited = pause + queued
            self.ledger.close(attempt, outcome, waited)
        finally:
            endpoint.limiter.leave()
        self.spend += cost_of(worst, outcome, waited)
        return outcome


def _without(spend: Spend, part: Spend) -> Spend:
    """`spend` less one attempt's reservation."""
    return replace(
        spend,
        unresolved=spend.unresolved - part.unresolved,
        unknown=spend.unknown - part.unknown,
        amounts=tuple(_less(whole, own) for whole, own in zip(spend.amounts, part.amounts, strict=True)),
    )


def _less(whole: Amount, part: Amount) -> Amount:
    unknown = whole.unknown - part.unknown
    return replace(whole, unknown=unknown, worst=whole.worst - part.worst if unknown else 0)


def trial_seed(seed: int, trial: int) -> int:
    """The seed of one trial of a match."""
    return _hash(seed, "trial", trial)


def request_seed(seed: int, call: Call) -> int:
    """The seed of one request: the trial's, with player, item, purpose and n."""
    moment = call.round if call.purpose == "decision" else call.n
    return _hash(seed, call.player, call.item, call.purpose, moment, call.ask) % 2**31


def _fraction(seed: int, call: Call, failures: int) -> float:
    return _hash(seed, "jitter", call.player, call.item, call.purpose, call.n, failures) / 2**64


def _hash(*parts: object) -> int:
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
