"""Conditions such as `q(A) < q(B) + 0.02` or `not clear(A, B)`, parsed by their own grammar, without eval.

    condition  = [ "not" ] ( "clear" "(" name "," name ")"  |  sum sign sum )
    sign       = "<" | "<=" | ">" | ">=" | "==" | "!="
    sum        = product { ("+" | "-") product }
    product    = factor { ("*" | "/") factor }
    factor     = number  |  "-" factor  |  "(" sum ")"  |  figure "(" name ")"

A name is written as it is (with balanced parentheses) or in quotes. `clear(A, B)` is true if the simultaneous 95%
confidence interval of Q(A) - Q(B) lies above 0.
"""

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mashq.analysis.parts import Lead
from mashq.analysis.score_types import ScoredPlayer
from mashq.errors import ConfigError
from mashq.protocol.results import COST_NAMES

FIGURES = (
    *("q", "h", "penalty", "p_win", "answer_rate", "q_low", "q_high", "q_min", "q_max", "h_before_review"),
    *("words", "coverage", "copied", "dollars_per_faithful", *COST_NAMES),
)
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
COUNTED: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
}
LONGEST, DEEPEST = 1000, 40
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Scored(Protocol):
    """The score that conditions are checked against."""

    @property
    def players(self) -> Sequence[ScoredPlayer]: ...

    @property
    def differences(self) -> Sequence[Lead]: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a player."""

    figure: str
    player: str


@dataclass(frozen=True, slots=True)
class Counted:
    """Arithmetic: two terms and the operator between them."""

    left: "Term"
    sign: str
    right: "Term"


Term = float | Figure | Counted


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms compared."""

    left: Term
    sign: str
    right: Term


@dataclass(frozen=True, slots=True)
class Clear:
    """Whether one player is ahead of another beyond chance."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as written, and its parsed form."""

    text: str
    says: Comparison | Clear
    negated: bool = False

    @property
    def players(self) -> list[str]:
        """The players it names."""
        if isinstance(self.says, Clear):
            return [self.says.a, self.says.b]
        return [term.player for side in (self.says.left, self.says.right) for term in _figures(side)]


@dataclass(frozen=True, slots=True)
class Checked:
    """A condition, whether it is true, and the values that decided it."""

    condition: str
    true: bool
    values: str


def parse(text: str) -> Condition:
    """Parse a condition."""
    return _Reader(text).condition()


def check_names(conditions: Sequence[Condition], players: Collection[str]) -> None:
    """Raise ConfigError if a condition names an unknown player."""
    for condition in conditions:
        for name in condition.players:
            if name not in players:
                raise ConfigError(_unknown_player(condition.text, name, list(players)))


def holds(condition: Condition, scored: Scored) -> bool:
    """Whether the condition is true for a score."""
    return check(condition, scored).true


def check(condition: Condition, scored: Scored) -> Checked:
    """Evaluate a condition; raises ConfigError if a value it names is unknown."""
    says = condition.says
    if isinstance(says, Clear):
        true, values = _clear(says, condition.text, scored)
    else:
        left, right = (_value(side, condition.text, scored) for side in (says.left, says.right))
        true = COMPARED[says.sign](left, right)
        terms = {f"{term.figure}({term.player})": term for side in (says.left, says.right) for term in _figures(side)}
        parts = [f"{name} = {_number(_value(term, condition.text, scored))}" for name, term in terms.items()]
        has_arithmetic = any(isinstance(side, Counted) for side in (says.left, says.right))
        shown = [f"left side {_number(left)}, right side {_number(right)}"] if has_arithmetic or not parts else []
        values = "; ".join([*([", ".join(parts)] if parts else []), *shown])
    return Checked(condition.text, true != condition.negated, values)


def _figures(term: Term) -> Iterator[Figure]:
    if isinstance(term, Figure):
        yield term
    elif isinstance(term, Counted):
        yield from _figures(term.left)
        yield from _figures(term.right)


def _value(term: Term, text: str, scored: Scored) -> float:
    if isinstance(term, int | float):
        return term
    if isinstance(term, Figure):
        return _figure(term, text, scored.players)
    left, right = _value(term.left, text, scored), _value(term.right, text, scored)
    value = math.nan if term.sign == "/" and right == 0 else COUNTED[term.sign](left, right)
    if not math.isfinite(value):
        raise ConfigError(f"--fail-if {text!r}: it divides by 0 or is too large to be checked: compare other figures")
    return value


def _figure(term: Figure, text: str, players: Sequence[ScoredPlayer]) -> float:
    player = _player(term.player, text, players)
    value: float | None = player.costs[term.figure] if term.figure in player.costs else getattr(player, term.figure)
    if value is None:
        raise ConfigError(
            f"--fail-if {text!r}: {term.figure} of {term.player!r} is unknown, so the condition cannot be "
            "checked: use another figure"
        )
    return float(value)


def _player(name: str, text: str, players: Sequence[ScoredPlayer]) -> ScoredPlayer:
    for player in players:
        if player.name == name:
            return player
    raise ConfigError(_unknown_player(text, name, [player.name for player in players]))


def _unknown_player(text: str, name: str, players: Sequence[str]) -> str:
    return f"--fail-if {text!r}: there is no player {name!r} (there are {', '.join(players[:10])})"


def _clear(says: Clear, text: str, scored: Scored) -> tuple[bool, str]:
    for name in (says.a, says.b):
        _player(name, text, scored.players)
    for lead in scored.differences:
        if {lead.a, lead.b} == {says.a, says.b} and lead.all_low is not None and lead.all_high is not None:
            ahead = lead.a == says.a
            value, low, high = (
                (lead.dq, lead.all_low, lead.all_high) if ahead else (-lead.dq, -lead.all_high, -lead.all_low)
            )
            values = f"q({says.a}) - q({says.b}) = {_number(value)}, 95% CI {_number(low)} to {_number(high)}"
            return low > 0, values
    raise ConfigError(
        f"--fail-if {text!r}: the interval between {says.a!r} and {says.b!r} is unknown (too few items, or too "
        "many players to compare all pairs), so the condition cannot be checked: use more items, or fewer players"
    )


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "?"


class _Reader:
    """A parser: the text of a condition and the position reached in it."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ConfigError(f"--fail-if {text[:40]!r}…: it is longer than {LONGEST} characters: write several")
        self._text, self._at, self._depth = text, 0, 0

    def condition(self) -> Condition:
        negated = self._word("not")
        says = self._clear() if self._word("clear") else self._comparison()
        if self._next():
            raise self._error(f"{self._text[self._at :].strip()!r} is left over")
        return Condition(self._text, says, negated)

    def _clear(self) -> Clear:
        self._take("(")
        a = self._name(",")
        self._take(",")
        b = self._name(")")
        self._take(")")
        return Clear(a, b)

    def _comparison(self) -> Comparison:
        left = self._sum()
        for sign in COMPARED:
            if self._sign(sign):
                return Comparison(left, sign, self._sum())
        raise self._error("there is nothing compared")

    def _sum(self) -> Term:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._factor))

    def _chain(self, signs: Sequence[str], part: "Callable[[], Term]") -> Term:
        term = part()
        while sign := next((sign for sign in signs if self._sign(sign)), None):
            term = Counted(term, sign, part())
        return term

    def _factor(self) -> Term:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error("its parentheses are too deep")
        term = self._atom()
        self._depth -= 1
        return term

    def _atom(self) -> Term:
        if self._sign("-"):
            return Counted(0.0, "-", self._factor())
        if self._sign("("):
            term = self._sum()
            self._take(")")
            return term
        self._next()
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return float(number[0])
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in FIGURES:
            raise ConfigError(
                f"--fail-if {self._text!r}: {self._text[self._at :].strip()!r} does not begin with a number or one "
                f"of {', '.join(FIGURES)}, as in q(A)"
            )
        self._at = word.end()
        self._take("(")
        name = self._name(")")
        self._take(")")
        return Figure(word[0], name)

    def _name(self, end: str) -> str:
        """Read a name in quotes, or up to `end` outside the name's own parentheses."""
        quote = self._next()
        if quote and quote in "'\"" and (close := self._text.find(quote, self._at + 1)) > 0:
            name, self._at = self._text[self._at + 1 : close], close + 1
            return name
        depth, start = 0, self._at
        while self._at < len(self._text) and (depth or self._text[self._at] != end):
            depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
            if depth < 0:
                break
            self._at += 1
        name = self._text[start : self._at].strip()
        if not name:
            raise self._error("a player's name is missing")
        return name

    def _next(self) -> str:
        """Skip spaces and return the next character without consuming it; empty at the end."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _sign(self, sign: str) -> bool:
        self._next()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _take(self, sign: str) -> None:
        if not self._sign(sign):
            raise self._error(f"{sign!r} is missing")

    def _word(self, word: str) -> bool:
        self._next()
        match = _WORD.match(self._text, self._at)
        if match is None or match[0] != word:
            return False
        self._at = match.end()
        return True

    def _error(self, why: str) -> ConfigError:
        return ConfigError(
            f"--fail-if {self._text!r}: {why}: write it as q(A) < q(B) + 0.02, dollars(A) > 1 or not clear(A, B)"
        )
