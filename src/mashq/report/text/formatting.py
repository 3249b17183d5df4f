"""Text that someone else wrote, made safe to print, and numbers the way people read them."""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from mashq.analysis.parts import Costs
from mashq.players.registry import answers_are_drawn
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import COSTS

LARGE = 1e15  # from here on the digits say nothing
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def safe(text: str, longest: int = 200) -> str:
    """`text` without control characters and direction marks, and not endless: it cannot move the cursor."""
    shown = "".join("�" if unicodedata.category(c) in _HIDDEN else c for c in text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


class Named(Protocol):
    """A player as a configuration or a document has it."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def agent(self) -> str:
        """How it plays."""
        ...

    @property
    def model(self) -> str:
        """What it asks."""
        ...


def simulated_said(players: Sequence[Named]) -> str:
    """What of these players is not real; nothing where all is."""
    simulated = [player for player in players if player.model.startswith("simulated/")]
    drawn = [safe(player.name) for player in simulated if answers_are_drawn(player.agent, player.model)]
    programs = [safe(player.name) for player in simulated if not answers_are_drawn(player.agent, player.model)]
    if len(drawn) == len(players):
        return "no real model answered; scores, costs and times are drawn"
    found = [f"not real: {', '.join(drawn)}; scores, costs and times are drawn"] if drawn else []
    if programs:
        asked = ", ".join(programs)
        found.append(f"{asked} asked no real model: costs and times are drawn, the answers are the program's own")
    return "; ".join(found)


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands separators; what is not known is a question mark."""
    if value is None:
        return "?"
    if math.isinf(value):
        return "∞"
    return f"{value:z,.{digits}f}" if abs(value) < LARGE else f"{value:.3e}"


def count(value: int, noun: str) -> str:
    """How many there are of something, in words."""
    many = noun + ("es" if noun.endswith("ch") else "s")
    return f"{value:,} {noun if value == 1 else many}"


def dollars(value: float | None) -> str:
    """Dollars, with enough digits to tell small sums apart."""
    if value is None:
        return "?"
    if value >= 10:
        return number(value, 2)
    digits = 4 if value >= 0.001 or value <= 0 else min(12, 1 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def cost(name: str, value: float | None, digits: int | None = None) -> str:
    """An amount of a resource, or of one of its measures, with the digits that the table of resources gives it."""
    if name == "dollars":
        return dollars(value)
    own = TABLE[name].digits if name in TABLE else 0
    return number(value, own if digits is None else digits)


def charged(name: str, value: float | None, charges: Mapping[str, float], digits: int | None = None) -> str:
    """The same, marked as an estimate where a part of it is a charge for what is unknown."""
    return ("~" if name in charges and value is not None else "") + cost(name, value, digits)


def is_shown(name: str, costs: Iterable[Costs], always: Sequence[str] = ("dollars",)) -> bool:
    """Whether a table or a page shows a resource: what P counts by default, and of the others what somebody spent."""
    return bool(TABLE[name].weight) or name in always or any(row[name] for row in costs)


def cost_columns(costs: Sequence[Costs], without: Sequence[str] = ("dollars",)) -> list[str]:
    """The resources that a table shows."""
    return [name for name in COSTS if name not in without and is_shown(name, costs)]


class Carrying(Protocol):
    """Figures that say what answers carry."""

    @property
    def words(self) -> float | None:
        """Their mean length."""
        ...

    @property
    def coverage(self) -> float | None:
        """How much of what matters they carry."""
        ...

    @property
    def copied(self) -> float | None:
        """How much of them is copied."""
        ...


def carried_columns(figures: Iterable[Carrying]) -> dict[str, int]:
    """What answers carry, as far as it is known of somebody: the columns that a table shows, with their digits."""
    every = list(figures)
    digits = {"words": 0, "coverage": 3, "copied": 3}
    return {name: own for name, own in digits.items() if any(getattr(row, name) is not None for row in every)}


def duration(seconds: float) -> str:
    """A length of time as a person says it."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
    return f"{seconds // 3600:,.0f} h {seconds % 3600 // 60:02.0f} min"
