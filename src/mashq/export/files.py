"""Atomic file writes: to a temporary name in the same folder, renamed when complete.

A table is written row by row, as CSV, JSONL or Parquet. Unknown values (None) are empty cells, or null. Text is
written exactly as it is, even if a spreadsheet would take it for a formula; `formulas` counts such cells of a CSV.
"""

import contextlib
import csv
import errno
import importlib
import json
import math
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from mashq import outputs
from mashq.errors import ConfigError, DataError

Cell = str | int | float | None
Kind = Literal["text", "whole", "real"]
Form = Literal["csv", "jsonl", "parquet"]
FORMULA = ("=", "+", "-", "@", "\t", "\r")
BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with the kind of their cells, and rows that are generated on demand."""

    columns: tuple[tuple[str, Kind], ...]
    rows: Iterable[Sequence[Cell]]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self.columns]


@dataclass(frozen=True, slots=True)
class Written:
    """How many rows were written, and how many cells start like a formula."""

    rows: int
    formulas: int = 0


@contextlib.contextmanager
def place(path: Path) -> Generator[Path]:
    """A temporary path beside `path` to write to; renamed to `path` at the end, or removed on an error."""
    if os.path.isdir(path):
        raise ConfigError(f"{path} is a folder: give the name of a file with -o")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        outputs.check_folder(path)
        if os.path.islink(path):
            raise OSError(errno.ELOOP, "it is a link to another place")
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}): choose another -o") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def text_to(path: Path | None) -> Generator[IO[str]]:
    """A UTF-8 text file, or standard output."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    with place(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        yield file


def write(table: Table, form: Form, path: Path | None) -> Written:
    """Write the table to a file; without a path, to standard output."""
    if form == "parquet":
        if path is None:
            raise ConfigError("Parquet is not text: name a file with -o")
        with place(path) as temporary:
            return _parquet(table, temporary)
    with text_to(path) as file:
        return (_csv if form == "csv" else _jsonl)(table, file)


def form_of(path: Path) -> Form:
    """The format for a file's suffix."""
    forms: dict[str, Form] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise ConfigError(f"{path} has an unknown ending: use .csv, .jsonl or .parquet")
    return form


def _csv(table: Table, file: IO[str]) -> Written:
    # "\r\n" as in RFC 4180; it also makes the writer quote a lone "\r" within a cell.
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(table.names)
    rows = formulas = 0
    for row in table.rows:
        rows += 1
        formulas += sum(isinstance(cell, str) and cell.startswith(FORMULA) for cell in row)
        writer.writerow([_finite(cell) for cell in row])
    return Written(rows, formulas)


def _jsonl(table: Table, file: IO[str]) -> Written:
    names, rows = table.names, 0
    for row in table.rows:
        rows += 1
        cells = {name: _finite(cell) for name, cell in zip(names, row, strict=True)}
        file.write(json.dumps(cells, ensure_ascii=False) + "\n")
    return Written(rows)


def _parquet(table: Table, path: Path) -> Written:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(f"writing {path.name} needs the extra: pip install 'mashq[parquet]'") from None
    kinds = {"text": arrow.string(), "whole": arrow.int64(), "real": arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in table.columns])
    count, rows = 0, iter(table.rows)
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH)):
            count += len(batch)
            columns = [
                arrow.array([_finite(row[index]) for row in batch], type=field.type)
                for index, field in enumerate(schema)
            ]
            writer.write_batch(arrow.record_batch(columns, schema=schema))
    return Written(count)


def _finite(cell: Cell) -> Cell:
    """Replace infinite and NaN values by None: a value that is not finite is unknown."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
