"""Names as a report shows them: safe, short, and still told apart."""

from collections.abc import Iterable, Mapping

from mashq.report.text.formatting import safe

LONGEST = 28


def labels(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """A label for each name; names that look alike when cut get a number."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        label = first = safe(" ".join(name.split()), longest) or "?"
        number = 1
        while label in taken:
            number += 1
            label = f"{first} ({number})"
        taken.add(label)
        found[name] = label
    return found


def listed(names: Iterable[str], known: Mapping[str, str], most: int = 8) -> str:
    """Some names in a sentence."""
    shown = [known.get(name, safe(name, LONGEST)) for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")
