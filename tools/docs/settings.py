"""Every key of a configuration, read from its schema: what it may be and what it is when nothing is said.

What a key means stands in settings.toml; `unexplained` names the keys that have no line there, and lines without a
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
    """A key by its path, what it may be, and its default as YAML; None where the key is required."""

    path: str
    allowed: str
    default: str | None


def settings() -> list[Setting]:
    """Every key, in the order of the schema."""
    made = Config.model_json_schema()
    return list(_keys(made, made["$defs"], ""))


def _keys(part: Json, parts: dict[str, Json], prefix: str) -> Iterator[Setting]:
    for name, own in part["properties"].items():
        path = f"{prefix}{name}"
        inner, ending = _inside(own, parts)
        if inner is None:
            required = name in part.get("required", ())
            yield Setting(path, _allowed(own, parts), None if required else json.dumps(own.get("default")))
        else:
            yield from _keys(inner, parts, f"{path}{ending}.")


def _inside(own: Json, parts: dict[str, Json]) -> tuple[Json | None, str]:
    """The object that a key holds, or a list or mapping of it holds; and how a path goes on into it."""
    for holder, ending in (
        (own, ""),
        (_json(own.get("items")), "[]"),
        (_json(own.get("additionalProperties")), ".NAME"),
    ):
        choices: list[Json] = holder.get("anyOf", [holder])
        for one in choices:
            target = _target(one, parts)
            if target.get("properties") and len(choices) < 3:
                return target, ending
    return None, ""


def _json(value: Any) -> Json:
    """A part of a schema; what is no part of its own, such as `true`, says nothing."""
    return cast(Json, value) if isinstance(value, dict) else {}


def _target(own: Json, parts: dict[str, Json]) -> Json:
    return parts[own["$ref"].removeprefix(REFERENCE)] if "$ref" in own else own


def _allowed(own: Json, parts: dict[str, Json]) -> str:
    if "anyOf" in own:
        kinds = [_allowed(one, parts) for one in own["anyOf"]]
        return " or ".join(dict.fromkeys(kinds))
    own = _target(own, parts)
    if "const" in own or "enum" in own:
        return ", ".join(code(str(value)) for value in own.get("enum", [own.get("const")]))
    if own.get("properties"):
        return "{" + ", ".join(own["properties"]) + "}"
    if own.get("type") == "array":
        return f"list of {_allowed(own['items'], parts)}"
    if own.get("type") == "object":
        more = _json(own.get("additionalProperties"))
        return f"mapping to {_allowed(more, parts)}" if more else "mapping"
    bounds = ", ".join(f"{sign} {own[key]:g}" for key, sign in BOUNDS.items() if key in own)
    return TYPES.get(own.get("type", ""), "anything") + (f" {bounds}" if bounds else "")


def meanings() -> dict[str, str]:
    """What each key means, by its path."""
    return tomllib.loads(MEANINGS.read_text("utf-8"))


def unexplained() -> list[str]:
    """Keys without a line in settings.toml, and lines of it without a key."""
    known = {_shared(one.path) for one in settings()}
    return sorted(known ^ meanings().keys())


def _shared(path: str) -> str:
    """Where a key is explained: budgets and tables of calls have one explanation for all places they stand in."""
    for start in ("players[].budget.", "rules.shared_budget."):
        if path.startswith(start):
            return f"rules.budget.{path.removeprefix(start)}"
    return path


def page() -> str:
    """The page of all settings, a table for each part of a configuration."""
    said, tables = meanings(), dict[str, list[Setting]]()
    for one in settings():
        head, _, tail = one.path.rpartition(".")
        tables.setdefault(head if tail else "", []).append(one)
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
        for one in rows:
            default = "**required**" if one.default is None else code(one.default)
            lines.append(
                f"| {code(one.path)} | {default} | {cell(one.allowed)} | {cell(said.get(_shared(one.path), ''))} |"
            )
    return "\n".join(lines) + "\n"
