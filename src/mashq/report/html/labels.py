"""Names as a report shows them: safe, short, and still distinct."""

from collections.abc import Iterable, Mapping

from mashq.report.text.formatting import safe

LONGEST = 28


def labels(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Return a label for each name; names that become equal when cut get a number."""
    label_of: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        label = base = safe(" ".join(name.split()), longest) or "?"
        number = 1
        while label in taken:
            number += 1
            label = f"{base} ({number})"
        taken.add(label)
        label_of[name] = label
    return label_of


def listed(names: Iterable[str], label_of: Mapping[str, str], limit: int = 8) -> str:
    """Join names for a sentence, up to a limit."""
    shown = [label_of.get(name, safe(name, LONGEST)) for name in names]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")
