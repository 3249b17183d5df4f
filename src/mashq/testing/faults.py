"""Which fault each request gets: a plan, read from JSON, that is consulted once per request.

Contract: a plan is one of

    {"script": ["ok", "429", "drop_body"]}      consumed in order, "ok" for ever after
    {"rates": {"429": 0.1, "500": 0.05}}        drawn from (seed, request number), "ok" otherwise
    {"models": {"m1": {"rates": {...}}}}        a separate plan for a model; others follow the outer plan

plus three top-level numbers: `retry_after` (seconds, default 0), `drip` (seconds per byte, default 0.01) and
`hang` (seconds, default and maximum 60). Request numbers count from 0 within the plan that serves the model,
so that the faults of one model do not depend on the traffic of another. The same plan, seed and order of
requests give the same faults. Anything else in the JSON raises `InvalidFaults`, which says what is wrong.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from mashq.testing.documents import JsonObject, as_list, as_number, as_object

OK = "ok"
ERRORS = frozenset(
    {
        *("429", "429_date", "429_absurd", "500", "503", "400", "401", "404", "echo_key_500"),
        *("insufficient_quota", "no_temperature", "no_stream_options"),
    },
)
"""A complete HTTP reply with an error status; `no_temperature` only where the request sets one, as current Claude
models have it, and `no_stream_options` only where a stream is asked for its usage."""
BODIES = frozenset({"bad_gzip", "bad_utf8", "html", "truncated_json", "not_a_completion"})
"""A complete HTTP reply with status 200 whose body is no completion."""
TURNS = frozenset(
    {
        "no_usage",
        "bad_usage",
        "wrong_json",
        "refusal",
        "content_filter",
        "empty",
        "length",
        "fenced",
        "thinks",
        "think",
        "unsaid",
    },
)
"""A readable completion that is not what was asked for; `thinks` is one only where the request has an output limit
below THOUGHT: the model spends all of it on thinking and says nothing, as reasoning models do."""
WIRE = frozenset(
    {
        "hang",
        "slow_drip",
        "reset_before",
        "drop_headers",
        "drop_body",
        "half_close",
        "endless",
        "wrong_length",
    },
)
"""A good reply that the connection spoils."""
NO_STATUS = frozenset({"hang", "reset_before", "drop_headers", "half_close"})
"""The wire faults in which no complete header block reaches the client."""
KINDS = frozenset({OK}) | ERRORS | BODIES | TURNS | WIRE

THOUGHT = 2048  # tokens
_HANG_LIMIT = 60.0


class InvalidFaults(ValueError):
    """A fault plan that cannot be followed."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The numbers of a plan, in seconds."""

    retry_after: float = 0.0
    drip: float = 0.01
    hang: float = _HANG_LIMIT


@dataclass(frozen=True, slots=True)
class Fault:
    """One choice: the kind, and the number of the request within its plan."""

    kind: str
    number: int


@dataclass(slots=True)
class _Scope:
    """The plan of one model, or of all models that have none."""

    script: tuple[str, ...] = ()
    rates: tuple[tuple[str, float], ...] = ()
    seen: int = 0

    def choose(self, salt: str) -> Fault:
        number, self.seen = self.seen, self.seen + 1
        if self.script:
            return Fault(self.script[number] if number < len(self.script) else OK, number)
        draw = _uniform(f"{salt}|{number}")
        for kind, rate in self.rates:
            if draw < rate:
                return Fault(kind, number)
            draw -= rate
        return Fault(OK, number)


@dataclass(slots=True)
class Plan:
    """A fault plan in use: it counts the requests it has decided on."""

    seed: int = 0
    timing: Timing = Timing()
    _everyone: _Scope = field(default_factory=_Scope)
    _models: dict[str, _Scope] = field(default_factory=dict[str, _Scope])

    def choose(self, model: str) -> Fault:
        """Return the fault of the next request to `model`."""
        scope = self._models.get(model)
        return scope.choose(f"{self.seed}|{model}") if scope else self._everyone.choose(f"{self.seed}|")


def parse_plan(config: Mapping[str, object], seed: int) -> Plan:
    """Parse a new plan from its JSON form."""
    _only(config, {"rates", "script", "models", "retry_after", "drip", "hang"})
    timing = Timing(
        retry_after=_seconds(config, "retry_after", 0.0),
        drip=_seconds(config, "drip", 0.01),
        hang=min(_seconds(config, "hang", _HANG_LIMIT), _HANG_LIMIT),
    )
    models = _object(config, "models")
    scopes = {model: _scope(_object(models, model), {"rates", "script"}) for model in models}
    return Plan(seed, timing, _scope(config), scopes)


def _scope(config: Mapping[str, object], allowed: set[str] | None = None) -> _Scope:
    if allowed is not None:
        _only(config, allowed)
    script = as_list(config.get("script", []))
    if script is None:
        raise InvalidFaults('"script" is a list of fault kinds, such as ["ok", "429"]')
    rates = _object(config, "rates")
    if script and rates:
        raise InvalidFaults('give either "script" or "rates", not both')
    pairs = tuple((_kind(kind), _rate(kind, rates[kind])) for kind in sorted(rates))
    if sum(rate for _, rate in pairs) > 1 + 1e-9:
        raise InvalidFaults('the numbers in "rates" add up to more than 1')
    return _Scope(tuple(_kind(kind) for kind in script), pairs)


def _only(config: Mapping[str, object], allowed: set[str]) -> None:
    unknown = sorted(set(config) - allowed)
    if unknown:
        raise InvalidFaults(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(allowed))}")


def _object(config: Mapping[str, object], key: str) -> JsonObject:
    value = as_object(config.get(key, {}))
    if value is None:
        raise InvalidFaults(f"{key!r} is a JSON object, not {config.get(key)!r}")
    return value


def _kind(name: object) -> str:
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidFaults(f"unknown fault {name!r}; known: {', '.join(sorted(KINDS))}")
    return name


def _rate(kind: str, value: object) -> float:
    rate = as_number(value)
    if rate is None or not 0 <= rate <= 1:
        raise InvalidFaults(f"the rate of {kind!r} is a number from 0 to 1, not {value!r}")
    return rate


def _seconds(config: Mapping[str, object], key: str, default: float) -> float:
    seconds = as_number(config.get(key, default))
    if seconds is None or not 0 <= seconds < 1e9:
        raise InvalidFaults(f"{key!r} is a number of seconds, at least 0, not {config.get(key)!r}")
    return seconds


def _uniform(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48
