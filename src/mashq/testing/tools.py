"""The tool that the provider calls: the first one offered, once, with an example for each of its parameters."""

import json

from mashq.testing.documents import JsonObject, as_list, as_object

_EXAMPLES: dict[str, object] = {"integer": 1, "number": 0.5, "boolean": True, "array": list[object](), "object": {}}


def tool_call(asked: JsonObject, last_role: str) -> tuple[str, str] | None:
    """The name and the arguments, or None when there is no tool, or its result has just come in."""
    tools = as_list(asked.get("tools")) or []
    if not tools or asked.get("tool_choice") == "none" or last_role == "tool":
        return None
    function = as_object((as_object(tools[0]) or {}).get("function")) or {}
    rules = as_object((as_object(function.get("parameters")) or {}).get("properties")) or {}
    kinds = {name: str((as_object(rule) or {}).get("type")) for name, rule in rules.items()}
    return str(function.get("name")), json.dumps(
        {name: _EXAMPLES.get(kind, "example") for name, kind in kinds.items()}
    )
