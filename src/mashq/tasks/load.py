"""Items from JSONL, CSV, TSV or Parquet files, a folder of text files, a hub data set, or the built-in sets.

Every item needs text and a unique id; data without ids get their line numbers (CSV: row numbers from 1; folders: file
names).
"""

import hashlib
import importlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

from mashq.errors import ConfigError, DataError
from mashq.gateway.untrusted import whole
from mashq.protocol.items import Item
from mashq.tasks.documents import DocumentFields, with_documents
from mashq.tasks.rows import Row, jsonl, read_rows, read_text

HUB = "hub:"
ABSENT = "fix task.data, or use 'builtin'"
BUILT_IN = {"summarise": "passages", "rag": "documents"}
QUESTIONS, REFERENCES = ("question", "problem", "text"), ("answer", "reference", "target")


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of the columns for each field; several names are tried in order."""

    text: tuple[str, ...] = ("text",)
    id: str = "id"
    answer: tuple[str, ...] = REFERENCES
    documents: DocumentFields | None = None  # for questions that come with passages


USUAL = Fields()


def fields_of(
    kind: str, text: str | None, id_: str, answer: str | None, renames: Mapping[str, str] | None = None
) -> Fields:
    """The columns of a task, as configured or the defaults."""
    renamed = dict(renames or {})
    text = renamed.pop("question", renamed.pop("text", text))
    answer, id_ = renamed.pop("reference", answer), renamed.pop("id", id_)
    usual = ("text",) if kind == "summarise" else QUESTIONS
    documents = DocumentFields(**renamed) if kind == "rag" else None
    return Fields((text,) if text else usual, id_, (answer,) if answer else REFERENCES, documents)


def load(
    data: str,
    fields: Fields = USUAL,
    limit: int | None = None,
    base: Path | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
) -> tuple[Item, ...]:
    """The items of a file or folder (relative to `base`), of a hub data set, or the built-in ones."""
    source = (
        "the built-in set" if data == "builtin" else data if data.startswith(HUB) else str((base or Path()) / data)
    )
    builtin = BUILT_IN["summarise" if fields.documents is None else "rag"]
    items = _items(_rows(data, source, builtin), fields, source, None if sample else limit)
    if not items:
        raise DataError(f"{source} is empty: write one item per line (in a folder, one .txt file per item)")
    if sample is not None and sample < len(items):
        chosen = sorted(random.Random(f"{seed}/sample").sample(range(len(items)), sample))
        items = tuple(items[index] for index in chosen)
    return items[:limit]


def _rows(data: str, source: str, builtin: str) -> Iterator[Row]:
    if data == "builtin":
        return jsonl(BytesIO(files("mashq.tasks").joinpath(f"builtin/{builtin}.jsonl").read_bytes()), source)
    if data.startswith(HUB):
        return _hub(data.removeprefix(HUB), source)
    path = Path(source)
    return _folder(path) if os.path.isdir(path) else read_rows(path, ABSENT)


def digest(items: tuple[Item, ...]) -> str:
    """A hash of the items, in order."""
    hashed = hashlib.sha256()
    for item in items:
        plain = item == Item(item.id, item.text, item.reference)
        documents = [] if plain else [asdict(item)]
        hashed.update(json.dumps([item.id, item.text, item.reference, *documents]).encode())
    return hashed.hexdigest()


def _folder(path: Path) -> Iterator[Row]:
    for file in sorted(path.glob("*.txt")):
        yield file.stem, {"id": file.stem, "text": read_text(file, ABSENT)}


def _hub(name: str, source: str) -> Iterator[Row]:
    """Rows of `hub:NAME` or `hub:NAME/CONFIG@SPLIT`: a data set by name, or a local data-set folder, through
    `datasets`."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        raise ConfigError(f"reading {source} needs the extra: pip install 'mashq[datasets]'") from None
    dataset, _, split = name.partition("@")
    try:
        if os.path.isdir(Path(dataset)) and os.path.exists(Path(dataset) / "dataset_info.json"):
            rows: Any = datasets.load_from_disk(dataset)
        else:
            rows = datasets.load_dataset(dataset, split=split or "test")
    except Exception as error:  # noqa: BLE001 - the library may raise anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"the data set {dataset!r} cannot be loaded ({reason}): write hub:NAME@SPLIT") from None
    yield from ((f"line {number}", row) for number, row in enumerate(rows, 1))


def _items(rows: Iterator[Row], fields: Fields, source: str, limit: int | None) -> tuple[Item, ...]:
    items: list[Item] = []
    seen: dict[str, str] = {}
    has_header = source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    for where, row in rows:
        if limit is not None and len(items) == limit:
            break
        number = str(len(items) + 1)
        text = _first_value(row, fields.text)
        if not isinstance(text, str) or not text.strip():
            known = ", ".join(str(key) for key in row if key)
            if has_header and not any(name in row for name in fields.text):
                raise DataError(
                    f"{source} has no column {fields.text[0]!r} (line 1, read as the header, has {known:.200}): "
                    "write the names of the columns into line 1, with commas between them, or name the column with "
                    "task.text"
                )
            raise DataError(
                f"{source} {where} has no text under {fields.text[0]!r} (it has {known:.200}): fill it, or name the "
                "right field with task.text"
            )
        given_id = row.get(fields.id)
        name = (
            whole(str(given_id)) if given_id not in (None, "") else number if has_header else where.rpartition(" ")[2]
        )
        if name in seen:
            raise DataError(f"{source} {where}: the id {name!r} is also on {seen[name]}; ids must differ")
        seen[name] = where
        answer = _first_value(row, fields.answer)
        item = Item(name, whole(text), None if answer in (None, "") else whole(str(answer)))
        if fields.documents is not None:
            item = with_documents(item, row, fields.documents, f"{source} {where}")
        items.append(item)
    return tuple(items)


def _first_value(row: Mapping[str, object], names: tuple[str, ...]) -> object:
    """The first non-empty value under one of these names."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)
