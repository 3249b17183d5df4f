"""What all documents share, and how a document is written as JSON.

A document is a frozen dataclass with a `kind`. Its fields hold unrounded values: an integer stays an integer, an
unknown is None. `schema` is the version of the fields; it increases when a field changes its meaning.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol, cast

from mashq.protocol.resources import TABLE

SCHEMA = 1
COSTS = ("calls", *(name for name in TABLE if name != "calls"))
MEASURED = tuple(dict.fromkeys(name for cost in COSTS for name in (*TABLE[cost].measures, cost)))


class Document(Protocol):
    """Anything that is printed with --json."""

    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class DetectorVersion:
    """Which detector scored."""

    name: str
    """Its name."""
    version: str
    """Its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeasonDocument:
    """What every document of a run of many matches begins with."""

    run: str
    """The run directory."""
    finished: bool
    """Whether every match was played to the end."""
    simulated: bool
    """Whether some player was not a real model."""
    drawn: bool
    """Whether no player was."""
    detector: DetectorVersion
    """Who scored."""


def dumped(document: Document) -> dict[str, Any]:
    """Return the document as plain, JSON-serialisable values."""
    return {"schema": SCHEMA, "kind": document.kind, **_fields(document)}


def as_json(document: Document | Sequence[Document]) -> str:
    """Return one document, or a list of documents, as `--json` prints it."""
    values = [dumped(part) for part in document] if isinstance(document, Sequence) else dumped(document)
    return json.dumps(values, indent=2, ensure_ascii=False)


def plain(value: object) -> Any:
    """Convert a part of a document to plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in cast(Mapping[str, object], value).items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in cast(Sequence[object], value)]
    return value


def _fields(value: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field in fields(value):
        inner = plain(getattr(value, field.name))
        if field.metadata.get("flat"):
            result |= inner
        elif inner is not None or not field.metadata.get("optional"):
            result[field.metadata.get("name", field.name)] = inner
    return result
