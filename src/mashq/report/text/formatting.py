"""Untrusted text made safe to print, and numbers in a readable form."""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from mashq.analysis.parts import Costs
from mashq.gateway.providers import is_simulated
from mashq.players.registry import answers_are_drawn, recorded_spec
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import COSTS

LARGE = 1e15  # from here on digits mean nothing, and scientific notation is used
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def safe(text: str, longest: int = 200) -> str:
    """Replace control characters and direction marks, so that text cannot move the cursor, and limit its length."""
    shown = "".join("�" if unicodedata.category(c) in _HIDDEN else c for c in text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


class Named(Protocol):
    """A player of a configuration or of a document."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def agent(self) -> str:
        """The kind of agent."""
        ...

    @property
    def model(self) -> str:
        """The model that it asks."""
        ...


def simulated_said(players: Sequence[Named]) -> str:
    """Describe what is simulated about these players; empty if nothing is."""
    simulated = [player for player in players if is_simulated(player.model)]
    drawn = [safe(player.name) for player in simulated if answers_are_drawn(player.agent, player.model)]
    programs = [safe(player.name) for player in simulated if not answers_are_drawn(player.agent, player.model)]
    if len(drawn) == len(players):
        return "no real model answered; scores, costs and times are drawn"
    parts = [f"not real: {', '.join(drawn)}; scores, costs and times are drawn"] if drawn else []
    if programs:
        listed = ", ".join(programs)
        parts.append(f"{listed} asked no real model: costs and times are drawn, the answers are the program's own")
    return "; ".join(parts)


def number(value: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators; an unknown is a question mark."""
    if value is None:
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return minus(f"{value:z,.{digits}f}" if abs(value) < LARGE else f"{value:.3e}")


def signed(value: float | None, digits: int = 4) -> str:
    """Format a difference with its sign; an unknown is a question mark."""
    return "?" if value is None else minus(f"{value:+z.{digits}f}")


def minus(number: str) -> str:
    """Write a negative number with a minus sign instead of a hyphen."""
    return number.replace("-", "−", 1) if number.startswith("-") else number


def count(value: int, noun: str) -> str:
    """Format a count with its noun in the singular or plural."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{value:,} {noun if value == 1 else plural}"


def reviews_by_rule(agent: str) -> bool:
    """Whether T and R apply to an agent: it reviews, and not in a program that does not report it."""
    return recorded_spec(agent).reviews not in ("never", "unseen")


def times(value: int) -> str:
    """Format how often something happened."""
    return "once" if value == 1 else f"{value:,} times"


def share_of(share: float | None) -> str:
    """Format a share of resamples; only all of them are 100%, and only none are 0%."""
    if share is None:
        return "?"
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def dollars(value: float | None) -> str:
    """Format dollars, with enough digits to tell small sums apart."""
    if value is None:
        return "?"
    if value >= 10:
        return number(value, 2)
    digits = 4 if value >= 0.001 or value <= 0 else min(12, 1 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def cost(name: str, value: float | None, digits: int | None = None) -> str:
    """Format an amount of a resource or one of its measures, by default with the digits in the table of resources."""
    if name == "dollars":
        return dollars(value)
    default_digits = TABLE[name].digits if name in TABLE else 0
    return number(value, default_digits if digits is None else digits)


def charged(name: str, value: float | None, charges: Mapping[str, float], digits: int | None = None) -> str:
    """Format a cost, marked as an estimate if part of it is a charge for attempts of unknown cost."""
    return ("~" if name in charges and value is not None else "") + cost(name, value, digits)


def is_shown(name: str, costs: Iterable[Costs], always: Sequence[str] = ("dollars",)) -> bool:
    """Whether to show a resource: those that P counts by default, and any other that a player has spent."""
    return bool(TABLE[name].weight) or name in always or any(row[name] for row in costs)


def cost_columns(costs: Sequence[Costs], without: Sequence[str] = ()) -> list[str]:
    """Return the resources that a table shows."""
    return [name for name in COSTS if name not in without and is_shown(name, costs, ())]


class Carrying(Protocol):
    """Content measures of answers."""

    @property
    def words(self) -> float | None:
        """Their mean length."""
        ...

    @property
    def coverage(self) -> float | None:
        """Their mean share of what matters in the source."""
        ...

    @property
    def copied(self) -> float | None:
        """Their mean share of copied words."""
        ...


def carried_columns(figures: Iterable[Carrying]) -> dict[str, int]:
    """Return the content measures that are known for some player, as table columns with their number of digits."""
    rows = list(figures)
    digits = {"words": 0, "coverage": 3, "copied": 3}
    return {name: places for name, places in digits.items() if any(getattr(row, name) is not None for row in rows)}


def duration(seconds: float) -> str:
    """Format a duration in a readable unit."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
    return f"{seconds // 3600:,.0f} h {seconds % 3600 // 60:02.0f} min"
