"""Every key of a configuration, read from its schema, with its allowed values and its default.

settings.toml explains each key; `unexplained` returns the keys that have no line there, and lines without a
key.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mashq.config.schema import Config
from tools.docs.markdown import cell, code

MEANINGS = Path(__file__).with_name("settings.toml")
REFERENCE = "#/$defs/"
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A key's path, its allowed values, and its default as YAML, or None if the key is required."""

    path: str
    allowed: str
    default: str | None


def settings() -> list[Setting]:
    """Return every key, in the order of the schema."""
    schema = Config.model_json_schema()
    return list(_keys(schema, schema["$defs"], ""))


def _keys(part: Json, parts: dict[str, Json], prefix: str) -> Iterator[Setting]:
    for name, schema in part["properties"].items():
        path = f"{prefix}{name}"
        inner, ending = _inside(schema, parts)
        if inner is None:
            required = name in part.get("required", ())
            yield Setting(path, _allowed(schema, parts), None if required else json.dumps(schema.get("default")))
        else:
            yield from _keys(inner, parts, f"{path}{ending}.")


def _inside(schema: Json, parts: dict[str, Json]) -> tuple[Json | None, str]:
    """Return the schema of the object in a key, or in its list or mapping, and the path suffix that leads into it."""
    for holder, ending in (
        (schema, ""),
        (_json(schema.get("items")), "[]"),
        (_json(schema.get("additionalProperties")), ".NAME"),
    ):
        choices: list[Json] = holder.get("anyOf", [holder])
        for choice in choices:
            target = _target(choice, parts)
            if target.get("properties") and len(choices) < 3:
                return target, ending
    return None, ""


def _json(value: Any) -> Json:
    """Return a part of a schema; a value that is not a dict, such as `true`, gives an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def _target(schema: Json, parts: dict[str, Json]) -> Json:
    return parts[schema["$ref"].removeprefix(REFERENCE)] if "$ref" in schema else schema


def _allowed(schema: Json, parts: dict[str, Json]) -> str:
    if "anyOf" in schema:
        kinds = [_allowed(choice, parts) for choice in schema["anyOf"]]
        return " or ".join(dict.fromkeys(kinds))
    schema = _target(schema, parts)
    if "const" in schema or "enum" in schema:
        return ", ".join(code(str(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("properties"):
        return "{" + ", ".join(schema["properties"]) + "}"
    if schema.get("type") == "array":
        return f"list of {_allowed(schema['items'], parts)}"
    if schema.get("type") == "object":
        values = _json(schema.get("additionalProperties"))
        return f"mapping to {_allowed(values, parts)}" if values else "mapping"
    bounds = ", ".join(f"{sign} {schema[key]:g}" for key, sign in BOUNDS.items() if key in schema)
    return TYPES.get(schema.get("type", ""), "anything") + (f" {bounds}" if bounds else "")


def meanings() -> dict[str, str]:
    """Return the explanation of each key, by its path."""
    return tomllib.loads(MEANINGS.read_text("utf-8"))


def unexplained() -> list[str]:
    """Return keys without a line in settings.toml, and lines without a key."""
    known = {_shared(setting.path) for setting in settings()}
    return sorted(known ^ meanings().keys())


def _shared(path: str) -> str:
    """Return the path under which a key is explained: all budgets share one explanation."""
    for start in ("players[].budget.", "rules.shared_budget."):
        if path.startswith(start):
            return f"rules.budget.{path.removeprefix(start)}"
    return path


def page() -> str:
    """Return the page of all settings, one table per part of a configuration."""
    notes, tables = meanings(), dict[str, list[Setting]]()
    for row in settings():
        head, _, tail = row.path.rpartition(".")
        tables.setdefault(head if tail else "", []).append(row)
    lines = [
        "# Configuration keys",
        "",
        "Every key that a configuration may hold, generated from the schema that checks it. Keys that are left out "
        "have the default. [Configuration](../configuration.md) explains how they go together; `--set KEY=VALUE` "
        "changes one for a single run.",
    ]
    for head, rows in tables.items():
        lines += [
            "",
            f"## {code(head) if head else 'At the top'}",
            "",
            "| key | default | allowed | |",
            "|---|---|---|---|",
        ]
        for row in rows:
            default = "**required**" if row.default is None else code(row.default)
            lines.append(
                f"| {code(row.path)} | {default} | {cell(row.allowed)} | {cell(notes.get(_shared(row.path), ''))} |"
            )
    return "\n".join(lines) + "\n"
