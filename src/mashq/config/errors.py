"""What is wrong with a configuration, as one sentence: where, what, and the nearest right key."""

import difflib
import types
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from mashq.config.schema import Config


def sentence(error: ValidationError) -> str:
    """The first problem as one sentence: where, what, and the nearest right key."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])  # often why another is missing
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    more = error.error_count() - 1
    tail = f" (and {more} more)" if more else ""
    if first["type"] == "extra_forbidden":
        known = _keys_at(first["loc"][:-1])
        return f"unknown key {where!r}{nearest(str(first['loc'][-1]), known)}{tail}"
    if first["type"] == "missing":
        return f"{where!r} is missing{tail}"
    message = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    shown = f", not {given!r}" if isinstance(given, str | int | float | bool) and first["loc"] else ""
    if not first["loc"]:
        return message + tail
    return f"{where!r}: {message[0].lower()}{message[1:]}{shown[:120]}{tail}"


def nearest(wrong: str, known: Sequence[str]) -> str:
    """A hint: the nearest right name, or all of them."""
    close = difflib.get_close_matches(wrong, known, 1, 0.5)
    if close:
        return f": did you mean {close[0]!r}?"
    return f": known are {', '.join(known)}" if known else ""


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys a mapping at this place may have."""
    kind: Any = Config
    for part in loc:
        if _is_model(kind):
            field = kind.model_fields.get(part)
            kind = None if field is None else _plain(field.annotation)
        else:  # a list's entries, or a dict's values
            kind = _plain(next(iter(reversed(typing.get_args(kind))), None))
    return list(kind.model_fields) if _is_model(kind) else []


def _plain(annotation: Any) -> Any:
    """A type without what is annotated; of several the last that has something inside."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _plain(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    kinds = [_plain(one) for one in typing.get_args(annotation)]
    return next((one for one in reversed(kinds) if _is_model(one) or typing.get_args(one)), None)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
