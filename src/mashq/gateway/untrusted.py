"""Reading JSON that someone else wrote: the right type, or nothing."""

import json
from typing import cast

from mashq.gateway.types import Count, Measure
from mashq.protocol.resources import UNKNOWN, Unknown

MAX_TOKENS = 10**12
SORTED = json.JSONEncoder(sort_keys=True).encode


def as_object(value: object) -> dict[str, object] | None:
    """`value` if it is a JSON object."""
    return cast(dict[str, object], value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """`value` if it is a JSON array."""
    return cast(list[object], value) if isinstance(value, list) else None


def child(value: object, key: str) -> dict[str, object]:
    """The object under `key`, or an empty one."""
    return as_object((as_object(value) or {}).get(key)) or {}


def count(value: object) -> Count:
    """A token count (a whole number that is not negative), or UNKNOWN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS:
        return UNKNOWN
    return value


def some(value: object) -> int:
    """A token count, or 0 where none is stated: only for the parts of a count that is stated."""
    tokens = count(value)
    return 0 if isinstance(tokens, Unknown) else tokens


def dollars(value: object) -> Measure:
    """An amount of money (a finite number that is not negative), or UNKNOWN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_TOKENS:
        return UNKNOWN
    return float(value)


def added(*counts: Count) -> Count:
    """A sum, unknown when any part is."""
    known = [part for part in counts if not isinstance(part, Unknown)]
    return sum(known) if len(known) == len(counts) else UNKNOWN


def kept(document: object) -> str:
    """JSON as it was sent, to keep beside what was read from it (cut when absurdly long)."""
    try:
        return SORTED(document)[:2000]
    except RecursionError:
        return ""


def whole(text: str) -> str:
    """Text that can be stored and sent on: lone surrogates, which JSON can smuggle in, are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
