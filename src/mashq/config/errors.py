"""Turns configuration errors into one sentence: where, what, and the nearest valid key."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from mashq.config.schema import Config
from mashq.errors import nearest

MAX_SHOWN = 5
UNKNOWN, MISSING, KEY = "extra_forbidden", "missing", "[key]"
IT_MUST = "it must "
# What a value must be, by pydantic's type of error.
MUST = {
    "greater_than": "be above {gt:g}",
    "greater_than_equal": "be at least {ge:g}",
    "less_than": "be below {lt:g}",
    "less_than_equal": "be at most {le:g}",
    "literal_error": "be {expected}",
    "float_type": "be a number",
    "float_parsing": "be a number",
    "finite_number": "be a finite number",
    "int_type": "be a whole number",
    "int_from_float": "be a whole number",
    "bool_type": "be true or false",
    "string_type": "be text",
    "string_too_short": "not be empty",
    "string_too_long": "have at most {max_length} characters",
    "list_type": "be a list",
    "dict_type": "be a mapping",
    "model_type": "be a mapping",
    "too_short": "have {min_length} or more entries",
    "too_long": "have at most {max_length} entries",
}


@dataclass(frozen=True, slots=True)
class _Problem:
    """One problem: where in the document, what kind, what the value must be, the message, and the value."""

    path: tuple[int | str, ...]
    kind: str
    must: str
    message: str
    value: object


def sentence(error: ValidationError, document: Mapping[str, Any]) -> str:
    """Describe the problems of a document in one sentence: where, what, and the nearest valid key."""
    by_setting: dict[tuple[int | str, ...], list[_Problem]] = {}
    for details in error.errors(include_url=False):
        setting, problem = _problem(details, document)
        by_setting.setdefault(setting, []).append(problem)
    # A misspelt key is often why another is missing, so it comes first.
    groups = sorted((_deepest(group) for group in by_setting.values()), key=lambda group: group[0].kind != UNKNOWN)
    texts = list(dict.fromkeys(_described(group) for group in groups))
    more = f"; and {len(texts) - MAX_SHOWN} more" if len(texts) > MAX_SHOWN else ""
    return "; ".join(texts[:MAX_SHOWN]) + more


def _problem(details: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[tuple[int | str, ...], _Problem]:
    """A problem, and the setting it belongs to: for a value of one of several kinds, the place of that value.

    Pydantic's path holds names of kinds among the keys; they are left out.
    """
    kind, location = details["type"], details["loc"]
    path: list[int | str] = []
    setting: tuple[int | str, ...] | None = None
    node: Any = document
    for index, part in enumerate(location):
        is_key = _has(node, part)
        if not is_key and not (kind == MISSING and index == len(location) - 1):
            setting = setting if setting is not None else tuple(path)
            continue
        path.append(part)
        node = node[part] if is_key else None
    message = details["msg"].removeprefix("Value error, ")
    must = MUST.get(kind, "").format_map(details.get("ctx", {}))
    if message.startswith(IT_MUST):
        must = message.removeprefix(IT_MUST)
    kind = UNKNOWN if location and location[-1] == KEY else kind
    return setting or tuple(path), _Problem(tuple(path), kind, must, message, details.get("input"))


def _has(node: Any, part: int | str) -> bool:
    """Whether plain data has this key or place."""
    return part in node if isinstance(node, Mapping) else isinstance(node, list) and isinstance(part, int)


def _deepest(group: Sequence[_Problem]) -> list[_Problem]:
    """The problems of the kind of value that fits best: those furthest inside, wrong values before wrong keys."""
    depth = max(len(problem.path) for problem in group)
    inner = [problem for problem in group if len(problem.path) == depth]
    return [problem for problem in inner if problem.kind not in (UNKNOWN, MISSING)] or inner


def _described(group: Sequence[_Problem]) -> str:
    first = group[0]
    where = ".".join(map(str, first.path)) or "the file"
    if first.kind == UNKNOWN:
        hint = nearest(str(first.path[-1]), _keys_at(first.path[:-1]))
        return f"unknown key {where!r}{hint or (first.must and f': it must {first.must}')}"
    if first.kind == MISSING:
        return f"{where!r} is missing"
    if not first.path:
        return first.message
    given = f", not {first.value!r}" if isinstance(first.value, str | int | float | bool) else ""
    if not first.must:
        return f"{where!r}: {first.message[0].lower()}{first.message[1:]}{given[:120]}"
    wanted = list(dict.fromkeys(problem.must for problem in group if problem.must))
    others = "".join(f" or {must.removeprefix('be ')}" for must in wanted[1:])
    return f"{where!r} must {wanted[0]}{others}{given[:120]}"


def _keys_at(path: Iterable[int | str]) -> list[str]:
    """The keys that a mapping at this location may have."""
    kind: Any = Config
    for part in path:
        if _is_model(kind):
            field = kind.model_fields.get(part)
            kind = None if field is None else _unwrapped(field.annotation)
        else:  # the entries of a list, or the values of a dict
            kind = _unwrapped(next(iter(reversed(typing.get_args(kind))), None))
    if _is_model(kind):
        return list(kind.model_fields)
    keys = next(iter(typing.get_args(kind)), None)
    return list(typing.get_args(keys)) if typing.get_origin(keys) is typing.Literal else []


def _unwrapped(annotation: Any) -> Any:
    """The type inside Annotated; of a union, the model among its members, or else the last with type arguments."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _unwrapped(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    kinds = [_unwrapped(member) for member in typing.get_args(annotation)]
    return next((kind for kind in kinds if _is_model(kind)), next(filter(typing.get_args, reversed(kinds)), None))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
