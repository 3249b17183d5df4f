"""The provider's tool calls: the first tool offered, once, or all where parallel calls are requested.

Contract: each is called with an example value for each of its parameters; none is called right after a tool result.
"""

import json
from collections.abc import Sequence

from mashq.testing.documents import JsonObject, as_list, as_object

_EXAMPLES: dict[str, object] = {"integer": 1, "number": 0.5, "boolean": True, "array": list[object](), "object": {}}


def called(offered: Sequence[JsonObject], *, all_of_them: bool, answered: bool) -> tuple[tuple[str, str], ...]:
    """Return names and arguments of the calls; a tool has a `name` and, under one of several keys, a schema."""
    if answered:
        return ()
    return tuple((str(tool.get("name")), _arguments(tool)) for tool in offered[: None if all_of_them else 1])


def objects(value: object) -> list[JsonObject]:
    """Return the objects in a list."""
    return [object_ for entry in as_list(value) or [] if (object_ := as_object(entry)) is not None]


def _arguments(tool: JsonObject) -> str:
    names = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
    schema = next((candidate for name in names if (candidate := as_object(tool.get(name)))), JsonObject())
    rules = as_object(schema.get("properties")) or {}
    kinds = {name: str((as_object(rule) or {}).get("type")).lower() for name, rule in rules.items()}
    return json.dumps({name: _EXAMPLES.get(kind, "example") for name, kind in kinds.items()})
