"""Items from JSONL or CSV files, or the built-in passages.

Every item needs text and an id that no other has; a file without ids gets its line numbers.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import cast

from mashq.errors import DataError
from mashq.gateway.untrusted import whole
from mashq.protocol.items import Item

csv.field_size_limit(2**31 - 1)
Row = tuple[int, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns hold what."""

    text: str = "text"
    id: str = "id"
    reference: str = "reference"


USUAL = Fields()


def load(data: str, fields: Fields = USUAL, limit: int | None = None, base: Path | None = None) -> tuple[Item, ...]:
    """The items of a file (relative to `base`), or the built-in ones."""
    if data == "builtin":
        body = files("mashq.tasks").joinpath("builtin/passages.jsonl").read_text("utf-8")
        rows, source = _jsonl(body, "the built-in set"), "the built-in set"
    else:
        path = (base or Path()) / data
        body, source = _read(path), str(path)
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            rows = _jsonl(body, source)
        elif path.suffix.lower() in (".csv", ".tsv"):
            rows = _csv(body, source, "\t" if path.suffix.lower() == ".tsv" else ",")
        else:
            raise DataError(f"{source} has an unknown ending: use .jsonl, .csv or .tsv")
    items = _items(rows, fields, source, limit)
    if not items:
        raise DataError(f"{source} is empty: it needs one item a line")
    return items


def digest(items: tuple[Item, ...]) -> str:
    """A fingerprint of the items, in order."""
    whole = hashlib.sha256()
    for item in items:
        whole.update(json.dumps([item.id, item.text, item.reference]).encode())
    return whole.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"the data file {path} does not exist: fix task.data, or use 'builtin'") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): convert it first") from None
    except OSError as error:
        raise DataError(f"the data file {path} cannot be read ({error.strerror})") from None


def _jsonl(body: str, source: str) -> Iterator[Row]:
    for number, line in enumerate(body.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source} line {number} is not JSON ({error}): one object a line") from None
        if not isinstance(row, dict):
            raise DataError(f"{source} line {number} is not a JSON object")
        yield number, cast(Mapping[str, object], row)


def _csv(body: str, source: str, delimiter: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(row.values()):
                yield reader.line_num, cast(Mapping[str, object], row)
    except csv.Error as error:
        raise DataError(f"{source} line {reader.line_num} is not CSV ({error})") from None


def _items(rows: Iterator[Row], fields: Fields, source: str, limit: int | None) -> tuple[Item, ...]:
    items: list[Item] = []
    seen: dict[str, int] = {}
    for number, row in rows:
        if limit is not None and len(items) == limit:
            break
        text = row.get(fields.text)
        if not isinstance(text, str) or not text.strip():
            known = ", ".join(str(key) for key in row if key)
            raise DataError(
                f"{source} line {number} has no text under {fields.text!r} (it has {known}): fill it, or name the "
                "right field with task.text"
            )
        given = row.get(fields.id)
        name = whole(str(given)) if given not in (None, "") else str(number)
        if name in seen:
            raise DataError(f"{source} line {number}: the id {name!r} is also on line {seen[name]}; ids must differ")
        seen[name] = number
        reference = row.get(fields.reference)
        items.append(Item(name, whole(text), None if reference in (None, "") else whole(str(reference))))
    return tuple(items)
