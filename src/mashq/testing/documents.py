"""JSON that arrived from outside, narrowed to types.

Contract: `parse_object` accepts a JSON object in UTF-8 and nothing else (no NaN, no Infinity, no arrays);
everything it rejects is a `ValueError` with a sentence that can be sent back to the client.
"""

import json
from typing import NoReturn, cast

JsonObject = dict[str, object]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_object(data: bytes) -> JsonObject:
    """The JSON object that `data` holds."""
    try:
        value: object = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as problem:
        raise ValueError(f"the body is not JSON: {problem}") from None
    found = as_object(value)
    if found is None:
        raise ValueError(f"a JSON object is expected, not {type(value).__name__}")
    return found


def as_object(value: object) -> JsonObject | None:
    """`value` when it is a JSON object."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """`value` when it is a JSON array."""
    return cast(list[object], value) if isinstance(value, list) else None


def as_number(value: object) -> float | None:
    """`value` when it is a JSON number (true and false are not)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
