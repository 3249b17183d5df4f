"""Limits on data from outside (files, replies), and the readers that enforce them.

Every file and every reply is read through this module, so that no input, however it was made, takes a gigabyte of
memory. The limits cover size (unpacked, if compressed), nesting depth, row length and memory after parsing, which is
estimated from commas and brackets before parsing. docs/errors.md lists the limits in one table.
"""

import errno
import gzip
import json
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from mashq.errors import DataError
from mashq.outputs import DEVICES

MB: Final = 2**20
DATA: Final = 256 * MB  # a data file or a log, unpacked
ROW: Final = 16 * MB  # one line or one cell of a data file
LINES: Final = 5_000_000
MEMORY: Final = 512 * MB  # contents of one file as Python objects
VALUES: Final = 10_000_000  # cells of a Parquet file
RESULTS: Final = 2_000_000  # players x items x trials in a results file
DIRECTORY: Final = 16 * MB  # the ZIP directory of an .eval log
DOCUMENT: Final = 64 * MB  # a manifest, the key of an annotation sheet, a reference
CELL: Final = 128 * MB  # one cell of a run's database
CONFIG: Final = MB
CONFIG_VALUES: Final = 1_000_000  # values plus characters, with aliases expanded
TEXT: Final = MB  # a prompt, an API key
DEPTH: Final = 100
DIGITS: Final = 40
ANSWER: Final = 8 * MB  # a model's reply to mashq, unpacked
REPLY: Final = 32 * MB  # a model's reply to an agent, unpacked: may be embeddings, or a whole stream
REPLY_MEMORY: Final = 256 * MB
EVENT: Final = 4 * MB  # one event of a stream
EVENTS: Final = 400_000
REQUEST: Final = 8 * MB  # an agent's request to a model
AGENT: Final = 2 * MB  # an agent's output for one item

SHELL = (DEVICES, Path("/proc/self/fd"))
CHUNK = 64 * 1024
OBJECT, LIST, VALUE, LINE = 240, 72, 64, 200  # upper bounds in bytes for small objects
SPLIT = "split it, or leave out what is not needed"
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)  # a string, or a bracket outside strings


class TooMuch(DataError):
    """The input exceeds a limit; the message names the limit."""


class _Digits(ValueError):
    """An integer has more digits than any meaningful value."""


def whole(text: str) -> int:
    """Parse a JSON integer; refuses absurdly long ones, which cannot even be converted to float."""
    if len(text) > DIGITS:
        raise _Digits
    return int(text)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; raises ValueError if a key is repeated, since it is unclear which value is meant."""
    mapping = dict(pairs)
    duplicate = _first_duplicate(key for key, _ in pairs) if len(mapping) < len(pairs) else None
    if duplicate is not None:
        raise ValueError(f"the key {duplicate[:80]!r} stands in it twice")
    return mapping


DECODER = json.JSONDecoder(parse_int=whole)
FILES = json.JSONDecoder(parse_int=whole, object_pairs_hook=unique)


class Room:
    """A memory allowance for the contents of one input."""

    def __init__(self, most: int = MEMORY) -> None:
        self.most = self._remaining = most

    def take(self, weight: int, what: str) -> None:
        """Use part of the allowance; raises TooMuch if it is exhausted."""
        self._remaining -= weight
        if self._remaining < 0:
            raise TooMuch(f"{what} brings what is held in memory to more than {size(self.most)}: {SPLIT}")


def size(count: int) -> str:
    """Format a number of bytes for a message."""
    return f"{count // MB:,} MB" if count >= MB else f"{count:,} bytes"


def weight(text: str) -> int:
    """Estimate an upper bound of the memory of a JSON text once parsed, counting every value, list and object."""
    contents = OBJECT * text.count("{") + LIST * text.count("[") + VALUE * text.count(",")
    return sys.getsizeof(text) + contents


def parse(data: str | bytes, what: str, room: Room | None = None, decoder: json.JSONDecoder = DECODER) -> Any:
    """Parse untrusted JSON; raises ValueError if it is invalid, TooMuch if it is too deep or too large."""
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data))
    (room or Room()).take(weight(text), what)
    check_depth(text, what)
    try:
        return decoder.decode(text)
    except _Digits:
        raise TooMuch(
            f"{what} has a whole number of more than {DIGITS} digits: write it as text, or leave it out"
        ) from None


def check_depth(text: str, what: str) -> None:
    """Raise TooMuch if JSON is nested too deeply."""
    if text.count("[") + text.count("{") <= DEPTH:
        return
    depth = 0
    for match in _MARK.finditer(text):
        mark = text[match.start()]
        if mark == '"':
            continue
        depth += 1 if mark in "[{" else -1
        if depth > DEPTH:
            raise TooMuch(f"{what} is nested more than {DEPTH} levels deep: make it flatter")


def measure(document: object, what: str, most: int = CONFIG_VALUES) -> None:
    """Raise TooMuch if data in memory, with shared parts counted each time, is too large or too deep."""
    pending, values = [(document, 0)], 0
    while pending:
        node, depth = pending.pop()
        values += 1 + (len(node) if isinstance(node, str) else 0)
        if values > most:
            raise TooMuch(f"{what} comes to more than {most:,} values and characters, aliases written out: {SPLIT}")
        if depth > DEPTH:
            raise TooMuch(f"{what} is nested more than {DEPTH} levels deep, or holds itself: make it flatter")
        if isinstance(node, dict):
            for key, value in cast(dict[object, object], node).items():
                pending += ((key, depth + 1), (value, depth + 1))
        elif isinstance(node, list | tuple | set):
            pending += ((value, depth + 1) for value in cast(list[object], node))


def file_at(path: Path) -> IO[bytes]:
    """Open a file for reading without blocking; raises OSError for a pipe or a device, which may never have a writer.

    The pipes of a shell, `<(command)` and /dev/stdin, do have a writer and are allowed.
    """
    from_shell = any(path.is_relative_to(prefix) for prefix in SHELL)
    return path.open("rb") if from_shell else open(path, "rb", opener=_open_regular)


def _open_regular(name: str, flags: int) -> int:
    descriptor = os.open(name, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # `open` itself reports a folder
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is a pipe or a device, and only files are read")
    return descriptor


def read_bytes(path: Path, most: int) -> bytes:
    """Read a whole file of at most `most` bytes."""
    with file_at(path) as file:
        return whole_of(file, most, str(path))


def read_text(path: Path, most: int, coding: str = "utf-8") -> str:
    """Read a whole text file of at most `most` bytes."""
    return read_bytes(path, most).decode(coding)


def read_json(path: Path, most: int = DOCUMENT) -> Any:
    """Read a JSON file of at most `most` bytes."""
    return parse(read_text(path, most), str(path), decoder=FILES)


def whole_of(file: IO[bytes], most: int, what: str) -> bytes:
    """Read everything from a file, at most `most` bytes; in chunks, since a compressed file can expand without
    end."""
    pieces, count = list[bytes](), 0
    while piece := file.read(CHUNK):
        count += len(piece)
        if count > most:
            raise TooMuch(f"{what} is larger than {size(most)}: {SPLIT}")
        pieces.append(piece)
    return b"".join(pieces)


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """Open a file for reading, decompressed if its name ends in .gz; decompression errors become OSError."""
    with file_at(path) as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as packed:
                yield cast(IO[bytes], packed)
        except (EOFError, zlib.error) as error:
            raise OSError(str(error)) from None


def decoded(data: bytes, what: str, at: int = 0) -> str:
    """Decode UTF-8 text found at offset `at` of a file, dropping a byte order mark at its start."""
    try:
        return data.decode("utf-8" if at else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{what} is not UTF-8 text (byte {at + error.start}): convert it first") from None


def _first_duplicate(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def check_columns(names: Sequence[str], source: str) -> None:
    """Raise DataError if two columns have the same name, since it is unclear which is meant."""
    duplicate = _first_duplicate(names)
    if duplicate is not None:
        raise DataError(f"{source} has two columns {duplicate[:80]!r}: rename or remove one")


def lines(file: IO[bytes], what: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file with their line ends, enforcing the limits on line and file size."""
    total, number = 0, 0
    while line := file.readline(ROW + 1):
        number += 1
        if len(line) > ROW:
            raise TooMuch(f"{what} line {number} is longer than {size(ROW)}: {SPLIT}")
        text = decoded(line, what, total)
        total += len(line)
        if total > DATA:
            raise TooMuch(f"{what} is larger than {size(DATA)}: {SPLIT}")
        if number > LINES:
            raise TooMuch(f"{what} has more than {LINES:,} lines: {SPLIT}")
        yield text


def json_lines(file: IO[bytes], what: str) -> Iterator[tuple[int, object]]:
    """Yield the line number and the parsed JSON of each non-blank line."""
    room = Room()
    for number, line in enumerate(lines(file, what), 1):
        if not line.strip():
            continue
        try:
            room.take(LINE, f"{what} line {number}")
            yield number, parse(line, f"{what} line {number}", room, FILES)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{what} line {number} is not JSON ({error}): write one JSON object per line") from None
