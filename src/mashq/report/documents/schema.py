"""The published JSON Schema of each document, made from its dataclass: types, field docstrings and the table of
resources. A new resource is in the schemas as soon as it is in the table."""

import ast
import inspect
import json
import re
import textwrap
from dataclasses import fields
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from mashq.errors import ConfigError
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import SCHEMA

FLAT, PLACE = "flat:", "#/$defs/"
DOCUMENTS: Final = {
    "match": "mashq.report.documents.match:Match",
    "trials": "mashq.report.documents.trials:Trials",
    "sweep": "mashq.report.documents.sweep:Sweep",
    "tournament": "mashq.report.documents.tournament:Tournament",
    "game": "mashq.report.documents.game:Game",
    "vision": "mashq.report.documents.vision:Vision",
    "gateway": "mashq.report.documents.metered:Metered",
    "score": "mashq.analysis.score_types:ScoreReport",
    "compare": "mashq.report.documents.compare:Comparison",
    "power": "mashq.report.documents.power:Power",
    "calibrate": "mashq.report.documents.calibrate:Calibration",
    "validate": "mashq.report.documents.validate:ValidationReport",
    "plan": "mashq.report.documents.plan:PlanDocument",
    "verify": "mashq.report.documents.verify:Verification",
    "paper": "mashq.analysis.paper:PaperCheck",
    "paper_tables": "mashq.paper.documents:PaperTables",
    "paper_plan": "mashq.paper.documents:PaperPlan",
}


def document_type(kind: str) -> type[Any]:
    """The dataclass of a kind of document."""
    if kind not in DOCUMENTS:
        raise ConfigError(f"there is no document {kind!r}: it is one of {', '.join(DOCUMENTS)}")
    module, _, name = DOCUMENTS[kind].partition(":")
    return getattr(import_module(module), name)


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document, as `mashq schema KIND` prints it."""
    made = TypeAdapter(document_type(kind)).json_schema(mode="serialization", schema_generator=_Generator)
    parts: dict[str, Any] = made.pop("$defs", {})
    made = _spread(made, parts)
    head = {"schema": {"const": SCHEMA, "description": "The version of these fields."}, "kind": {"const": kind}}
    made["properties"] = head | made["properties"]
    made["required"] = ["schema", "kind", *made["required"]]
    made["title"] = f"mashq {kind}"
    kept = _reached(made, {name: _spread(part, parts) for name, part in parts.items()})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "$defs": kept}


def _spread(made: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """A schema in which the properties of a flat part stand in its place."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, own in made.get("properties", {}).items():
        if not name.startswith(FLAT):
            properties[name] = own
            required += [name] if name in made["required"] else []
            continue
        inner = _spread(parts[own["$ref"].removeprefix(PLACE)] if "$ref" in own else own, parts)
        properties |= inner["properties"]
        required += inner["required"]
    return made | ({"properties": properties, "required": required} if properties else {})


def _reached(made: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The parts that a schema refers to, in the order of their names."""
    names: set[str] = set()
    waiting = [json.dumps(made)]
    while waiting:
        new = set(re.findall(rf'"{re.escape(PLACE)}(\w+)"', waiting.pop())) - names
        names |= new
        waiting += [json.dumps(parts[name]) for name in new]
    return {name: parts[name] for name in sorted(names)}


class _Generator(GenerateJsonSchema):
    """Writes a dataclass the way `documents.base` does: costs spread, unknown fields refused."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        made, cls = super().dataclass_schema(schema), schema["cls"]
        properties: dict[str, Any] = {}
        required: list[str] = []
        notes = _field_docs(cls)
        for field in fields(cls):
            own, rule = made["properties"][field.name], field.metadata
            if rule.get("flat") and rule["names"] is not None:
                value = own["additionalProperties"]
                properties |= {name: value | _what(name) for name in rule["names"]}
                required += [] if rule["some"] else rule["names"]
                continue
            name = FLAT + field.name if rule.get("flat") else rule.get("name", field.name)
            own = {key: inner for key, inner in own.items() if key not in ("title", "default")}
            properties[name] = own | ({"description": notes[field.name]} if field.name in notes else {})
            required += [] if rule.get("optional") else [name]
        return made | {"properties": properties, "required": required, "additionalProperties": False}


def _what(name: str) -> dict[str, str]:
    if name not in TABLE:
        return {}
    unit = TABLE[name].unit
    return {"description": "Null is unknown." if unit == name else f"In {unit}; null is unknown."}


def _field_docs(cls: type[Any]) -> dict[str, str]:
    """What the string under each field of a class says, its base classes' included."""
    found: dict[str, str] = {}
    for owner in reversed(cls.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for before, after in pairwise(lines):
            named = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
            if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[before.target.id] = inspect.cleandoc(str(after.value.value))  # pyright: ignore
    return found
