"""What a player can do, as values: an answer, a decision, a rewrite, or giving up its seat.

A move carries the guide's score and what it cost, so that a recorded sequence of moves rebuilds the match.
`to_json` and `from_json` are exact inverses; `from_json` takes nothing else for a move.
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
    """The first answer to an item. `plain`: the reply was not the JSON asked for and was taken as its text.

    `cut`: an output limit cut the reply off, and what there is of it stands; the status is `cut` where nothing can.

    `h` is the guide's score and `judged` the judge's, where they differ; `h_first` and `judged_first` are those of
    the first of several drafts an agent made within the step; `confidence` is what the player itself stated.

    `abstained`: whether the player says that the passages do not hold the answer: `yes` or `no` as it stated, `read`
    where it stated neither and its words were read as saying so.
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

    `cut`: the reply was cut off by an output limit before it said what. `advised`: the state it was made in
    recommended a review.
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
    """One review: a new version of an answer, kept or not as the rules say."""

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
_WORDS: dict[str, frozenset[object]] = {
    "status": frozenset(ENDINGS),
    "choice": frozenset(CHOICES),
    "source": frozenset({"llm", "rule", "fallback"}),
    "abstained": frozenset(ABSTAINED),
    "abstained_first": frozenset(ABSTAINED),
}
_SCORES = frozenset({"h", "judged", "confidence", "h_first", "judged_first"})
_NUMBERS = frozenset({"confidence", "h_first"})  # what a player says of itself, as it said it
_FLAGS = frozenset({"plain", "simulated", "cut", "advised"})
_OPTIONAL = frozenset({"question_id", "previous_id", "text_first"})


def abstains(said: Abstained) -> bool:
    """Whether that is an abstention."""
    return said in ("yes", "read")


def kind_of(move: Move) -> str:
    """The name a move has in the store."""
    return _NAMES[type(move)]


def to_json(move: Move) -> dict[str, object]:
    """A move as plain data, without its defaults."""
    document: dict[str, object] = {}
    for name, default in _DEFAULTS[type(move)]:
        value: object = getattr(move, name)
        if value != default:
            document[name] = value
    if move.spend != FREE:
        document["spend"] = move.spend.to_json()
    return document


def from_json(kind: str, document: object) -> Move:
    """The inverse of `to_json`; a ValueError when it is no move."""
    if kind not in KINDS or not isinstance(document, dict):
        raise ValueError(f"a {kind!r:.40} is no move")
    values = dict(cast(dict[str, object], document))
    spend = Spend.from_json(values.pop("spend", {}))
    for name, value in values.items():
        if not _possible(name, value):
            raise ValueError(f"{name!r:.40} of a move is {value!r:.40}")
    try:
        return KINDS[kind](**values, spend=spend)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise ValueError(f"a field of a move is missing or unknown: {error}") from None


def _possible(name: str, value: object) -> bool:
    """Whether a field of a move can hold this."""
    if name in _WORDS:
        return isinstance(value, str) and value in _WORDS[name]
    if name in _SCORES:
        most = MAX_COST if name in _NUMBERS else 1
        return value is None or (is_number(value, most) and (name in _NUMBERS or cast(float, value) >= 0))
    if name in _FLAGS:
        return isinstance(value, bool)
    return isinstance(value, str) or (value is None and name in _OPTIONAL)
