"""Rows of anyone's files: JSONL, CSV, TSV (each also gzipped) and Parquet, with where each row stands.

A row is its place ("line 3") and its cells by column. What cannot be read is one sentence; `absent` ends the one
about a file that is not there.
"""

import csv
import gzip
import importlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from mashq.errors import ConfigError, DataError

csv.field_size_limit(2**31 - 1)
Row = tuple[str, Mapping[str, object]]
ENDINGS = ".jsonl, .csv, .tsv (or these with .gz) or .parquet"


def read_rows(path: Path, absent: str) -> Iterator[Row]:
    """The rows of a file, by its ending."""
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        return _parquet(path, absent)
    if kind in ("jsonl", "ndjson"):
        return jsonl(read_text(path, absent), str(path))
    if kind in ("csv", "tsv"):
        return _csv(read_text(path, absent), str(path), "\t" if kind == "tsv" else ",")
    if not path.exists():
        raise DataError(f"{path} does not exist: {absent}")
    raise DataError(f"{path} has an unknown ending: use {ENDINGS}")


def read_text(path: Path, absent: str) -> str:
    """A text file, unpacked when it is gzipped."""
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: {absent}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}): is it whole?") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): convert it first") from None


def jsonl(body: str, source: str) -> Iterator[Row]:
    """One JSON object a line; blank lines are passed over."""
    for number, line in enumerate(body.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source} line {number} is not JSON ({error}): one object a line") from None
        if not isinstance(row, dict):
            raise DataError(f"{source} line {number} is not a JSON object: one object a line")
        yield f"line {number}", cast(Mapping[str, object], row)


def _csv(body: str, source: str, delimiter: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if None in row:
                raise DataError(
                    f"{source} line {reader.line_num} has more cells than columns: put such cells into quotes"
                )
            if any(row.values()):
                yield f"line {reader.line_num}", cast(Mapping[str, object], row)
    except csv.Error as error:
        raise DataError(
            f"{source} line {reader.line_num} is not CSV ({error}): put cells with quotes or line ends into quotes"
        ) from None


def _parquet(path: Path, absent: str) -> Iterator[Row]:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(f"reading {path} needs the extra: pip install 'mashq[parquet]'") from None
    try:
        rows: list[Mapping[str, object]] = parquet.read_table(path).to_pylist()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: {absent}") from None
    except (OSError, arrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} is not a Parquet file that can be read ({reason}): write it again") from None
    yield from ((f"row {number}", row) for number, row in enumerate(rows, 1))
