"""Conditions such as `q(A) < q(B)` or `p_win(A) < 0.95`, read and decided without evaluating anything."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mashq.analysis.score_types import ScoredPlayer
from mashq.errors import ConfigError
from mashq.protocol.resources import RESOURCES

FIGURES = ("q", "h", "penalty", "p_win", "answer_rate", "words", "coverage", "copied", *RESOURCES)
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_FIGURE = re.compile(r"\s*([a-z_]+)\s*\((.+)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """Two terms and what stands between them."""

    text: str
    left: str
    operator: str
    right: str


def parse(text: str) -> Condition:
    """A condition from its text; the operator is looked for outside of parentheses."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in "<>=!":
            sign = text[at : at + 2] if text[at : at + 2] in OPERATORS else character
            if sign in OPERATORS:
                return Condition(text, text[:at], sign, text[at + len(sign) :])
    raise ConfigError(f"--fail-if {text!r}: write it as q(A) < q(B) or p_win(A) < 0.95")


def holds(condition: Condition, players: Sequence[ScoredPlayer]) -> bool:
    """Whether the condition is true of the players of a score."""
    left, right = (_value(term, condition.text, players) for term in (condition.left, condition.right))
    return OPERATORS[condition.operator](left, right)


def _value(term: str, text: str, players: Sequence[ScoredPlayer]) -> float:
    try:
        return float(term)
    except ValueError:
        pass
    found = _FIGURE.fullmatch(term)
    if found is None or found[1] not in FIGURES:
        raise ConfigError(
            f"--fail-if {text!r}: {term.strip()!r} is neither a number nor one of {', '.join(FIGURES)} of a player"
        )
    name = found[2].strip()
    for player in players:
        if player.name == name:
            value: float | None = player.costs[found[1]] if found[1] in player.costs else getattr(player, found[1])
            if value is None:
                raise ConfigError(
                    f"--fail-if {text!r}: {found[1]} of {name!r} is unknown, so it cannot be decided: use another"
                )
            return float(value)
    names = ", ".join(player.name for player in players[:10])
    raise ConfigError(f"--fail-if {text!r}: there is no player {name!r} (there are {names})")
