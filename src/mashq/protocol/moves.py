"""What a player can do, as values: an answer, a decision, a rewrite, or leaving the match.

A move carries the guide's score and its cost, so that a recorded sequence of moves rebuilds the match. `to_json` and
`from_json` are exact inverses; `from_json` rejects everything else.
"""

from dataclasses import dataclass, fields
from typing import Literal, cast, get_args

from mashq.protocol.resources import FREE, MAX_COST, Spend, is_number

Status = Literal["ok", "refused", "failed", "cut"]
ENDINGS: tuple[Status, ...] = get_args(Status)
Abstained = Literal["", "yes", "no", "read"]
ABSTAINED: tuple[Abstained, ...] = get_args(Abstained)
Choice = Literal["continue", "review", "end"]
CHOICES: tuple[Choice, ...] = ("continue", "review", "end")


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer to an item. `plain`: the reply was not the JSON asked for and its text was used as the answer.

    `cut`: an output limit cut the reply off and the partial text is used; the status is `cut` if it is unusable.

    `h` is the guide's score and `judged` the judge's, if they differ; `h_first` and `judged_first` score the first of
    several drafts that an agent made within the step; `confidence` is what the player itself stated.

    `abstained`: whether the player says that the passages do not contain the answer: `yes` or `no` as it stated,
    `read` if it stated neither and its text was interpreted as saying so.
    """

    status: Status
    text: str = ""
    h: float | None = None
    plain: bool = False
    error: str = ""
    simulated: bool = False
    confidence: float | None = None
    judged: float | None = None
    h_first: float | None = None
    text_first: str | None = None
    judged_first: float | None = None
    cut: bool = False
    abstained: Abstained = ""
    abstained_first: Abstained = ""
    spend: Spend = FREE


@dataclass(frozen=True, slots=True)
class Decision:
    """What the policy chose. `source` says who: the model, the rule, or the fallback for an unusable reply.

    `cut`: an output limit cut the reply off before it contained a choice. `advised`: a review was recommended in the
    state the decision was made in.
    """

    choice: Choice
    question_id: str | None = None
    previous_id: str | None = None
    source: Literal["llm", "rule", "fallback"] = "llm"
    reason: str = ""
    cut: bool = False
    advised: bool = False
    spend: Spend = FREE


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One review: a new version of an answer, kept or discarded according to the rules."""

    status: Status
    text: str = ""
    h: float | None = None
    plain: bool = False
    error: str = ""
    simulated: bool = False
    confidence: float | None = None
    judged: float | None = None
    cut: bool = False
    abstained: Abstained = ""
    spend: Spend = FREE


@dataclass(frozen=True, slots=True)
class Stop:
    """The player leaves the match (it cannot pay for its next call); its unanswered items score 0."""

    reason: str
    spend: Spend = FREE


Move = Answer | Decision | Rewrite | Stop
KINDS: dict[str, type[Move]] = {"answer": Answer, "decision": Decision, "rewrite": Rewrite, "stop": Stop}
_DEFAULTS = {
    kind: tuple((field.name, field.default) for field in fields(kind) if field.name != "spend")
    for kind in KINDS.values()
}
_NAMES = {kind: name for name, kind in KINDS.items()}
_ALLOWED: dict[str, frozenset[object]] = {
    "status": frozenset(ENDINGS),
    "choice": frozenset(CHOICES),
    "source": frozenset({"llm", "rule", "fallback"}),
    "abstained": frozenset(ABSTAINED),
    "abstained_first": frozenset(ABSTAINED),
}
_SCORES = frozenset({"h", "judged", "confidence", "h_first", "judged_first"})
_NUMBERS = frozenset({"confidence", "h_first"})  # stated by the player itself, stored unchanged
_FLAGS = frozenset({"plain", "simulated", "cut", "advised"})
_OPTIONAL = frozenset({"question_id", "previous_id", "text_first"})


def abstains(stated: Abstained) -> bool:
    """Whether the value is an abstention."""
    return stated in ("yes", "read")


def kind_of(move: Move) -> str:
    """The name of a move's kind in the store."""
    return _NAMES[type(move)]


def to_json(move: Move) -> dict[str, object]:
    """A move as plain data, with defaults omitted."""
    document: dict[str, object] = {}
    for name, default in _DEFAULTS[type(move)]:
        value: object = getattr(move, name)
        if value != default:
            document[name] = value
    if move.spend != FREE:
        document["spend"] = move.spend.to_json()
    return document


def from_json(kind: str, document: object) -> Move:
    """The inverse of `to_json`; raises ValueError if the document is not a move."""
    if kind not in KINDS or not isinstance(document, dict):
        raise ValueError(f"a {kind!r:.40} is no move")
    values = dict(cast(dict[str, object], document))
    spend = Spend.from_json(values.pop("spend", {}))
    for name, value in values.items():
        if not _is_valid(name, value):
            raise ValueError(f"{name!r:.40} of a move is {value!r:.40}")
    try:
        return KINDS[kind](**values, spend=spend)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise ValueError(f"a field of a move is missing or unknown: {error}") from None


def _is_valid(name: str, value: object) -> bool:
    """Whether a field of a move can hold this value."""
    if name in _ALLOWED:
        return isinstance(value, str) and value in _ALLOWED[name]
    if name in _SCORES:
        limit = MAX_COST if name in _NUMBERS else 1
        return value is None or (is_number(value, limit) and (name in _NUMBERS or cast(float, value) >= 0))
    if name in _FLAGS:
        return isinstance(value, bool)
    return isinstance(value, str) or (value is None and name in _OPTIONAL)
