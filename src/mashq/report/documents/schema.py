"""The published JSON Schema of each document, made from its dataclass: types, field docstrings and the table of
resources. A new resource is in the schemas as soon as it is in the table."""

import ast
import inspect
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
    head = {"schema": {"const": SCHEMA, "description": "The version of these fields."}, "kind": {"const": kind}}
    made["properties"] = head | made["properties"]
    made["required"] = ["schema", "kind", *made["required"]]
    made["title"] = f"mashq {kind}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


class _Generator(GenerateJsonSchema):
    """Writes a dataclass the way `documents.base` does: flat fields spread, unknown fields refused."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        made, cls = super().dataclass_schema(schema), schema["cls"]
        properties: dict[str, Any] = {}
        required: list[str] = []
        notes = _field_docs(cls)
        for field in fields(cls):
            own, rule = made["properties"][field.name], field.metadata
            if rule.get("flat"):
                spread, needed = self._spread(own, rule.get("names"), bool(rule.get("some")))
                properties |= spread
                required += needed
                continue
            name = rule.get("name", field.name)
            own.pop("title", None)
            own.pop("default", None)
            properties[name] = own | ({"description": notes[field.name]} if field.name in notes else {})
            if not rule.get("optional"):
                required.append(name)
        return made | {"properties": properties, "required": required, "additionalProperties": False}

    def _spread(self, own: JsonSchemaValue, names: Any, some: bool) -> tuple[dict[str, Any], list[str]]:
        """The properties that a flat field stands for."""
        if names is None:
            inner = self.get_schema_from_definitions(own["$ref"]) or {}
            return inner["properties"], inner["required"]
        value = own["additionalProperties"]
        spread = {name: value | ({"description": _what(name)} if name in TABLE else {}) for name in names}
        return spread, [] if some else list(names)


def _what(name: str) -> str:
    unit = TABLE[name].unit
    return "Null is unknown." if unit == name else f"In {unit}; null is unknown."


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
