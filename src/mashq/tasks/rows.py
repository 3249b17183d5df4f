"""Rows of data files: JSONL, CSV, TSV (each optionally gzipped) and Parquet, with the position of each row.

A row is its position ("line 3") and its cells by column. Unreadable data raises a DataError with a one-sentence
message; `absent` ends the message about a missing file. Rows are read lazily, within the limits of `mashq.bounds`.
"""

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, TypeVar, cast

from mashq import bounds
from mashq.bounds import ROW, SPLIT, TooMuch, size
from mashq.errors import DataError
from mashq.tasks.parquet import parquet_rows

csv.field_size_limit(ROW)
Row = tuple[str, Mapping[str, object]]
ENDINGS = ".jsonl, .csv, .tsv (or these with .gz) or .parquet"
T = TypeVar("T")


def read_rows(path: Path, absent: str) -> Iterator[Row]:
    """The rows of a file, read according to its extension."""
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        return parquet_rows(path, absent)
    if kind in ("jsonl", "ndjson"):
        return _read_file(path, absent, jsonl)
    if kind in ("csv", "tsv"):
        return _read_file(path, absent, lambda file, source: _csv(file, source, "\t" if kind == "tsv" else None))
    if not os.path.exists(path):
        raise DataError(f"{path} does not exist: {absent}")
    if kind == "json":
        raise DataError(
            f"{path} is one JSON document: write one JSON object per line into a .jsonl file, for example with "
            f"jq -c '.[]' {path.name} > {path.stem}.jsonl"
        )
    raise DataError(f"{path} has an unknown ending: use {ENDINGS}")


def read_text(path: Path, absent: str) -> str:
    """The content of a text file, no longer than the limit for a row."""
    data = next(_read_file(path, absent, lambda file, source: iter([bounds.whole_of(file, ROW, source)])))
    return bounds.decoded(data, str(path))


def _read_file(path: Path, absent: str, read: Callable[[IO[bytes], str], Iterator[T]]) -> Iterator[T]:
    """Yield what `read` returns for a file, decompressed if it is gzipped."""
    try:
        with bounds.opened(path) as file:
            yield from read(file, str(path))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: {absent}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}): is it whole?") from None


def jsonl(file: IO[bytes], source: str) -> Iterator[Row]:
    """One JSON object per line; blank lines are skipped."""
    for number, row in bounds.json_lines(file, source):
        if not isinstance(row, dict):
            raise DataError(f"{source} line {number} is not a JSON object: write one JSON object per line")
        yield f"line {number}", cast(Mapping[str, object], row)


def _csv(file: IO[bytes], source: str, delimiter: str | None) -> Iterator[Row]:
    """The rows below a header; without a delimiter, the one that the header uses."""
    room = bounds.Room()
    lines = bounds.lines(file, source)
    header = next(lines, "")
    delimiter = delimiter or _delimiter_of(header)
    counted = _counted_lines(chain([header], lines), source, delimiter, room)
    reader = csv.DictReader(counted, delimiter=delimiter, strict=True)
    try:
        bounds.check_columns([name for name in reader.fieldnames or () if name], source)
        for row in reader:
            if None in row:
                raise DataError(
                    f"{source} line {reader.line_num} has more cells than columns: put such cells into quotes"
                )
            if any(row.values()):
                room.take(bounds.LINE + bounds.VALUE * len(row), f"{source} line {reader.line_num}")
                yield f"line {reader.line_num}", cast(Mapping[str, object], row)
    except csv.Error as error:
        if "field limit" in str(error):
            raise TooMuch(f"{source} line {reader.line_num} has a cell longer than {size(ROW)}: {SPLIT}") from None
        raise DataError(
            f"{source} line {reader.line_num} is not CSV ({error}): put cells with quotes or line ends into quotes"
        ) from None


def _delimiter_of(header: str) -> str:
    """A comma, unless the header has none and has semicolons or tabs, as spreadsheets in some countries write."""
    return "," if "," in header else next((sign for sign in ";\t" if sign in header), ",")


def _counted_lines(lines: Iterable[str], source: str, delimiter: str, room: bounds.Room) -> Iterator[str]:
    """The lines with any line ending, each counted against the memory limit before it is parsed."""
    for number, line in enumerate(lines, 1):
        room.take(sys.getsizeof(line), f"{source} line {number}")
        bounds.Room().take(bounds.LIST * line.count(delimiter), f"{source} line {number}")
        yield from io.StringIO(line, newline="") if "\r" in line else (line,)
