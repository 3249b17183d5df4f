"""Formats names, counts and lists for sentences."""

from collections.abc import Sequence


def named(text: str, longest: int = 60) -> str:
    """Shorten a name or other foreign text and put it on one line."""
    flat = " ".join(text[: 4 * longest].split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def plural(count: float, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    number = f"{count:,g}" if count < 1e6 else f"{count:,.0f}"
    return f"{number} {one if count == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
