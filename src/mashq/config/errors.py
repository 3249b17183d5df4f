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
    first = error.errors(include_url=False)[0]
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
    model: Any = Config
    for part in loc:
        if isinstance(part, str) and isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(part)
            model = field.annotation if field is not None else None
        model = _inner(model)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _inner(annotation: Any) -> Any:
    """The model inside a list, a dict's values or an optional."""
    origin = typing.get_origin(annotation)
    if origin in (list, dict, typing.Union, types.UnionType):
        models = [_inner(arg) for arg in typing.get_args(annotation) if arg is not type(None)]
        return models[-1] if models else None
    return annotation
