"""JSON from outside, narrowed to types.

Contract: `parse_object` accepts a JSON object in UTF-8 and nothing else (no NaN, no Infinity, no arrays);
everything else is a `ValueError` with a message that can be sent back to the client.
"""

import json
from typing import NoReturn, cast

JsonObject = dict[str, object]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_object(data: bytes) -> JsonObject:
    """Parse the JSON object in `data`."""
    try:
        value: object = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from None
    document = as_object(value)
    if document is None:
        raise ValueError(f"a JSON object is expected, not {type(value).__name__}")
    return document


def as_object(value: object) -> JsonObject | None:
    """Return `value` if it is a JSON object, else None."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """Return `value` if it is a JSON array, else None."""
    return cast(list[object], value) if isinstance(value, list) else None


def as_number(value: object) -> float | None:
    """Return `value` as a float if it is a JSON number (true and false are not), else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
