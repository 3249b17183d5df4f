"""The published JSON Schema of each document, generated from its dataclass: types, field docstrings and the table of
resources. A new resource appears in the schemas as soon as it is in the table."""

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
    """Return the dataclass of a document kind; raises ConfigError if there is none."""
    if kind not in DOCUMENTS:
        raise ConfigError(f"there is no document {kind!r}: it is one of {', '.join(DOCUMENTS)}")
    module, _, name = DOCUMENTS[kind].partition(":")
    return getattr(import_module(module), name)


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a document kind, as `mashq schema KIND` prints it."""
    schema = TypeAdapter(document_type(kind)).json_schema(mode="serialization", schema_generator=_Generator)
    parts: dict[str, Any] = schema.pop("$defs", {})
    schema = _expanded(schema, parts)
    head = {"schema": {"const": SCHEMA, "description": "The version of these fields."}, "kind": {"const": kind}}
    schema["properties"] = head | schema["properties"]
    schema["required"] = ["schema", "kind", *schema["required"]]
    schema["title"] = f"mashq {kind}"
    kept = _referenced(schema, {name: _expanded(part, parts) for name, part in parts.items()})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": kept}


def _expanded(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """Replace each flat part of a schema by its properties."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, property_schema in schema.get("properties", {}).items():
        if not name.startswith(FLAT):
            properties[name] = property_schema
            required += [name] if name in schema["required"] else []
            continue
        inner = _expanded(
            parts[property_schema["$ref"].removeprefix(PLACE)] if "$ref" in property_schema else property_schema,
            parts,
        )
        properties |= inner["properties"]
        required += inner["required"]
    return schema | ({"properties": properties, "required": required} if properties else {})


def _referenced(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """Return the parts that a schema refers to, directly or indirectly, sorted by name."""
    names: set[str] = set()
    pending = [json.dumps(schema)]
    while pending:
        new_names = set(re.findall(rf'"{re.escape(PLACE)}(\w+)"', pending.pop())) - names
        names |= new_names
        pending += [json.dumps(parts[name]) for name in new_names]
    return {name: parts[name] for name in sorted(names)}


class _Generator(GenerateJsonSchema):
    """Describes a dataclass as `documents.base` writes it: costs as single properties, no additional properties."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        generated, cls = super().dataclass_schema(schema), schema["cls"]
        properties: dict[str, Any] = {}
        required: list[str] = []
        descriptions = _field_docs(cls)
        for field in fields(cls):
            property_schema, metadata = generated["properties"][field.name], field.metadata
            if metadata.get("flat") and metadata["names"] is not None:
                value = property_schema["additionalProperties"]
                properties |= {name: value | _resource_description(name) for name in metadata["names"]}
                required += [] if metadata["some"] else metadata["names"]
                continue
            name = FLAT + field.name if metadata.get("flat") else metadata.get("name", field.name)
            property_schema = {
                key: inner for key, inner in property_schema.items() if key not in ("title", "default")
            }
            properties[name] = property_schema | (
                {"description": descriptions[field.name]} if field.name in descriptions else {}
            )
            required += [] if metadata.get("optional") else [name]
        return generated | {"properties": properties, "required": required, "additionalProperties": False}


def _resource_description(name: str) -> dict[str, str]:
    if name not in TABLE:
        return {}
    unit = TABLE[name].unit
    return {"description": "Null is unknown." if unit == name else f"In {unit}; null is unknown."}


def _field_docs(cls: type[Any]) -> dict[str, str]:
    """Return the docstring below each field of a class and its base classes."""
    docs: dict[str, str] = {}
    for owner in reversed(cls.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for before, after in pairwise(lines):
            is_field = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
            if is_field and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                docs[before.target.id] = inspect.cleandoc(str(after.value.value))  # pyright: ignore
    return docs
