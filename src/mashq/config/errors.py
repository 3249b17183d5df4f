"""Turns configuration errors into one sentence: where, what, and the nearest valid key."""

import difflib
import types
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from mashq.config.schema import Config


def sentence(error: ValidationError) -> str:
    """Describe the first problem in one sentence: where, what, and the nearest valid key."""
    problems = error.errors(include_url=False)
    first = next(
        (problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0]
    )  # a misspelt key is often why another is missing
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    others = error.error_count() - 1
    tail = f" (and {others} more)" if others else ""
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
    """A hint with the nearest valid name, or all valid names."""
    close = difflib.get_close_matches(wrong, known, 1, 0.5)
    if close:
        return f": did you mean {close[0]!r}?"
    return f": known are {', '.join(known)}" if known else ""


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys that a mapping at this location may have."""
    kind: Any = Config
    for part in loc:
        if _is_model(kind):
            field = kind.model_fields.get(part)
            kind = None if field is None else _unwrapped(field.annotation)
        else:  # the entries of a list, or the values of a dict
            kind = _unwrapped(next(iter(reversed(typing.get_args(kind))), None))
    return list(kind.model_fields) if _is_model(kind) else []


def _unwrapped(annotation: Any) -> Any:
    """The type inside Annotated; of a union, the last member that is a model or has type arguments."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _unwrapped(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    kinds = [_unwrapped(member) for member in typing.get_args(annotation)]
    return next((member for member in reversed(kinds) if _is_model(member) or typing.get_args(member)), None)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
