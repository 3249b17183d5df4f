"""The values that pass through the gateway, and what a backend, a ledger and a clock are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from mashq.protocol.resources import MEASURES, NOTHING, RATED, UNKNOWN, Amount, Spend, Unknown

PLAY = 1000  # an agent that plays an item several times numbers its calls PLAY * play + step
Count = int | Unknown
Measure = float | Unknown
Costs = Mapping[str, Measure]
Kind = Literal["ok", "refused", "http", "timeout", "dropped", "left", "unreachable", "unparsable", "missing"]
LEFT = "the agent left before the end of the stream"
CUT = "length"  # the `stop` of a reply that an output limit cut off, whatever the provider calls it

REFEREE = "referee"  # whose attempts the ledger keeps under this name: the judge's


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, about which item, for what. `n` counts the reviews before it, `ask` the re-asks."""

    match: str
    round: int
    player: str
    item: str | None
    purpose: str
    n: int = 0
    ask: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model. `facts` is what the prompt was made from: read by simulated models, never sent.

    `max_tokens` None: no output limit is sent.
    """

    messages: tuple[Message, ...]
    max_tokens: int | None
    temperature: float | None = None
    seed: int | None = None
    schema: Mapping[str, object] | None = None
    facts: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def prompt_bytes(self) -> int:
        """An upper bound of the prompt's tokens, the reply's schema included: no tokenizer makes more than bytes."""
        texts = [(m.content, m.role) for m in self.messages]
        schema = 0 if self.schema is None else len(json.dumps(self.schema))
        return schema + sum(
            (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) + len(role)
            for text, role in texts
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. `h` is set by simulated models only: their answers carry their own score.

    `cut` is set for players, where an output limit cut the reply off: it names the limit and how to raise it.
    """

    text: str
    stop: str = ""
    refused: bool = False
    h: float | None = None
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """Parts of a usage that have a price of their own; all but `searches` are among its tokens in or out.

    `written` went into a cache, `written_hour` of them for an hour; `audio_in` and `audio_out` are audio; `searches`
    are a provider's own web searches; `elsewhere` is what other models used, by name, within the same call.
    """

    written: int = 0
    written_hour: int = 0
    audio_in: int = 0
    audio_out: int = 0
    searches: int = 0
    elsewhere: tuple[tuple[str, "Usage"], ...] = ()


PLAIN = Details()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as billed: `tokens_in` includes the cached ones and `tokens_out` the reasoning ones.

    `billed` is what the provider says that the call cost, in dollars; `raw` what it said, as it said it.
    """

    tokens_in: Count = UNKNOWN
    tokens_out: Count = UNKNOWN
    cached: Count = UNKNOWN
    reasoning: Count = UNKNOWN
    raw: str = ""
    details: Details = PLAIN
    billed: Measure = UNKNOWN


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt. `rated` holds what is known of the resources that go by a rate, such as dollars."""

    kind: Kind
    completion: Completion | None = None
    usage: Usage = Usage()
    seconds: Measure = UNKNOWN
    rated: Costs = field(default_factory=dict[str, Measure])
    status: int | None = None
    retry_after: float | None = None
    error: str = ""
    code: str = ""  # the provider's own word for an error; not kept in the ledger
    body: str | None = None  # the reply as it came, without keys (of embeddings a digest); None: there is none
    wire: str | None = None  # the format it is in
    first_byte: float | None = (
        None  # seconds until a stream brought its first data; None: it was no stream, or none came
    )


NEVER_CLOSED = Outcome("missing")
UNRATED = (NOTHING,) * len(RATED)


@dataclass(frozen=True, slots=True)
class Worst:
    """What an attempt could cost at most, reserved before it is sent."""

    tokens_in: int
    tokens_out: int
    seconds: float
    rated: Costs = field(default_factory=dict[str, Measure])

    def cost(self, measure: str) -> Measure:
        """One of MEASURES."""
        return self.rated.get(measure, UNKNOWN) if measure in RATED else getattr(self, measure)


@dataclass(frozen=True, slots=True)
class Entry:
    """An attempt in the ledger: open when `outcome` is None."""

    id: int
    model: str
    worst: Worst
    outcome: Outcome | None = None
    waited: float = 0.0


def spend_of(entry: Entry) -> Spend:
    """What one attempt cost, as the ledger knows it."""
    return cost_of(entry.worst, entry.outcome, entry.waited)


def cost_of(worst: Worst, outcome: Outcome | None, waited: float = 0.0) -> Spend:
    """What an attempt cost that could cost so much at worst; without an outcome it was never closed."""
    if outcome is None:
        outcome = NEVER_CLOSED
        calls, unresolved, failed = 0, 1, 0
    else:
        calls, unresolved, failed = 1, 0, int(outcome.kind not in ("ok", "refused"))
    usage = outcome.usage
    return Spend(
        calls,
        unresolved,
        failed,
        int(usage.tokens_in is UNKNOWN or usage.tokens_out is UNKNOWN),
        0,
        (
            Amount.of(usage.tokens_in, worst.tokens_in),
            Amount.of(usage.tokens_out, worst.tokens_out),
            Amount.of(outcome.seconds, worst.seconds),
            *(UNRATED if not outcome.rated and not worst.rated else [_rated(name, outcome, worst) for name in RATED]),
        ),
        waited,
    )


def _rated(name: str, outcome: Outcome, worst: Worst) -> Amount:
    """A resource that goes by a rate; nothing at all where there is none, which `Spend` reads as unknown."""
    value, most = outcome.rated.get(name, UNKNOWN), worst.rated.get(name, UNKNOWN)
    return NOTHING if value is UNKNOWN and most is UNKNOWN else Amount.of(value, most)


assert ("tokens_in", "tokens_out", "seconds", *RATED) == MEASURES  # the order of the amounts above


class Backend(Protocol):
    """Something that answers. One `attempt` is one request, never retried underneath.

    `durable`: a request may leave this process, so its ledger row must be on disk first.
    `simulated`: nothing real answers, and every output says so.
    """

    durable: bool
    simulated: bool

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Send once and say what came of it. Raises only for errors of our own."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


class Ledger(Protocol):
    """Where attempts are written. The store implements it."""

    def history(self, call: Call) -> Sequence[Entry]:
        """The attempts already recorded for this call, oldest first (after a crash)."""
        ...

    async def open(self, call: Call, request: Request, model: str, worst: Worst, *, durable: bool) -> int:
        """Record that an attempt is about to leave; returns once it is on disk when `durable`."""
        ...

    def close(self, attempt: int, outcome: Outcome, waited: float) -> None:
        """Record what came of it; in the file before anything that follows it."""
        ...

    def learn(self, model: str, field: str, limit: int | None, why: str) -> None:
        """Record that a model does not take an optional field, or only an output limit of at most `limit`."""
        ...


class Clock(Protocol):
    """Time, passed in so that tests can own it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def tick(self) -> float:
        """A monotonic reading in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
