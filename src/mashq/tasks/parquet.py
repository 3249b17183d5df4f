"""Rows of a Parquet file, within the limits of `mashq.bounds`.

A Parquet file can expand far beyond its size: a value that is repeated a million times is stored once. The sizes in
its footer metadata are checked first, and the footer is parsed here, because a damaged one can crash the library that
reads the rest. Texts, including those in lists and mappings, are kept as references to the values they repeat. Their
expanded size is counted before any of them is expanded, and they are converted to Python objects in slices that fit.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mashq.bounds import (
    DATA,
    DIRECTORY,
    MB,
    MEMORY,
    SPLIT,
    VALUE,
    VALUES,
    Room,
    TooMuch,
    check_columns,
    file_at,
    size,
)
from mashq.errors import ConfigError, DataError

BATCH, SLICE = 4096, 32 * MB
BYTES, PREFIXED = (
    6,
    7,
)  # the byte-array column type; the encoding that stores texts as differences from the previous one
MARK, MOST_ENTRIES, MOST_LEVELS = b"PAR1", 1_000_000, 20


def parquet_rows(path: Path, absent: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows, with their positions."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
        compute: Any = importlib.import_module("pyarrow.compute")
    except ImportError:
        raise ConfigError(f"reading {path} needs the extra: pip install 'mashq[parquet]'") from None
    room, number = Room(), 0
    try:
        texts, batch = _check_size(path)
        with parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            check_columns(file.schema_arrow.names, str(path))
            groups = range(file.num_row_groups)  # each has its own dictionary
            parts = (
                part for index in groups for part in file.iter_batches(batch, row_groups=[index], use_threads=False)
            )
            for rows, weight in (piece for part in parts for piece in _slices(part, arrow, compute)):
                room.take(weight, f"{path} row {number + 1}")
                for row in _expanded(rows, arrow).to_pylist():
                    number += 1
                    yield f"row {number}", row
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: {absent}") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, arrow.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} is not a Parquet file that can be read ({reason}): write it again") from None


def _check_size(path: Path) -> tuple[list[str], int]:
    """Check the declared sizes of a file; returns the columns that can be dictionary-encoded and the batch size."""
    footer = _footer(path)
    leaves = [field for field in footer[2] if not field.get(5)]
    total = values = 0
    batch, texts = BATCH, dict[str, None]()
    for group in footer[4]:
        for leaf, chunk in zip(leaves, group[1], strict=True):
            column = chunk[3]
            if min(column[5], column[6], leaf.get(2, 0)) < 0:
                raise ValueError("its table of contents is damaged")
            values += column[5]
            declared = column.get(16, {}).get(1, 0)  # newer files declare the expanded size of their texts
            total += max(column[6], declared, column[5] * leaf.get(2, 0))
            if PREFIXED not in column[2]:
                texts |= {b".".join(column[3]).decode(): None} if column[1] == BYTES else {}
            elif len(column[3]) == 1 or column[5] * column[6] <= MEMORY // 4:
                batch = 1
            else:  # one row may hold all of them, each as long as all together
                raise TooMuch(
                    f"{path} has texts within lists or mappings, in {b'.'.join(column[3]).decode()[:100]!r}, that "
                    "are stored as what differs from the one before: write it with a dictionary, or plain"
                )
    if total > DATA:
        raise TooMuch(f"{path} is larger than {size(DATA)} unpacked: {SPLIT}")
    if max(values, footer[3] * len(leaves)) > VALUES:
        raise TooMuch(f"{path} has more than {VALUES:,} values: {SPLIT}")
    return list(texts), batch


def _slices(part: Any, arrow: Any, compute: Any) -> Iterator[tuple[Any, int]]:
    """Split into slices that fit into memory, or single rows that do not, each with its size in memory."""
    weight = sum(_weight(column, arrow, compute) for column in part.columns) + part.num_rows * VALUE
    if weight <= SLICE or part.num_rows == 1:
        yield part, weight
    else:
        half = part.num_rows // 2
        for rows in (part.slice(0, half), part.slice(half)):
            yield from _slices(rows, arrow, compute)


def _weight(array: Any, arrow: Any, compute: Any) -> int:
    """The approximate size of an array as Python objects, with every text expanded."""
    types, overhead = arrow.types, len(array) * VALUE
    if types.is_dictionary(array.type):
        lengths = compute.take(compute.binary_length(array.dictionary), array.indices)
        return overhead + (compute.sum(lengths).as_py() or 0)
    if types.is_struct(array.type):
        return overhead + sum(_weight(inner, arrow, compute) for inner in array.flatten())
    if types.is_nested(array.type):
        return overhead + _weight(array.flatten(), arrow, compute)
    return overhead + array.nbytes


def _expanded(rows: Any, arrow: Any) -> Any:
    """The same rows with the texts of their columns expanded; texts within lists are expanded on conversion."""
    columns = [
        column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column for column in rows.columns
    ]
    return arrow.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _footer(path: Path) -> dict[int, Any]:
    """A file's footer metadata, each field under its Thrift number."""
    with file_at(path) as file:
        end = file.seek(0, 2)
        if end < 12:
            raise ValueError("it is too short")
        file.seek(end - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != MARK or length > end - 12:
            raise ValueError("it has no table of contents at its end")
        if length > DIRECTORY:
            raise TooMuch(f"{path} has a table of contents of more than {size(DIRECTORY)}: {SPLIT}")
        file.seek(end - 8 - length)
        return _Compact(file.read(length)).struct(0)


@dataclass(slots=True)
class _Compact:
    """A reader for Thrift's compact protocol, the format of the footer."""

    data: bytes
    at: int = 0
    entries: int = 0

    def struct(self, level: int) -> dict[int, Any]:
        """The fields of a struct by number."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, level)
        return fields

    def _value(self, kind: int, level: int) -> Any:
        self.entries += 1
        if level > MOST_LEVELS or self.entries > MOST_ENTRIES:
            raise ValueError("its table of contents has too much in it")
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._take(8)
        if kind == 8:
            return self._take(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._item(head & 15, level) for _ in range(count)]
        if kind == 11:
            count = self._unsigned()
            kinds = self._byte() if count else 0
            return [(self._item(kinds >> 4, level), self._item(kinds & 15, level)) for _ in range(count)]
        if kind == 12:
            return self.struct(level + 1)
        raise ValueError("its table of contents is damaged")

    def _item(self, kind: int, level: int) -> Any:
        return self._value(kind, level + 1)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise ValueError("its table of contents is cut off")
        return self.data[self.at - count : self.at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("its table of contents is damaged")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
