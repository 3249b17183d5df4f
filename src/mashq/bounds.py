"""THE limits on what is read of anything that someone else wrote, and the readers that keep them.

Every file and every reply is read through here, so that none of them, however it was made, takes a gigabyte of
memory. Bounded are its size (unpacked, where it is packed), how deep it is nested, how long a row is, and what it
would come to in memory, which is counted from its commas and brackets before it is parsed. docs/errors.md has the
limits in one table.
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
ROW: Final = 16 * MB  # a line of one, or a cell
LINES: Final = 5_000_000
MEMORY: Final = 512 * MB  # what is read of a file, as Python holds it
VALUES: Final = 10_000_000  # of a Parquet file
RESULTS: Final = 2_000_000  # players times items times trials of a file of results
DIRECTORY: Final = 16 * MB  # the table of contents of an .eval log
DOCUMENT: Final = 64 * MB  # a manifest, a key of a sheet, a reference
CELL: Final = 128 * MB  # of a run's file
CONFIG: Final = MB
CONFIG_VALUES: Final = 1_000_000  # with aliases written out, each value and each character
TEXT: Final = MB  # a prompt, an API key
DEPTH: Final = 100
DIGITS: Final = 40
ANSWER: Final = 8 * MB  # of a model to us, unpacked
REPLY: Final = 32 * MB  # of a model to an agent, unpacked: it may be embeddings, or a stream altogether
REPLY_MEMORY: Final = 256 * MB
EVENT: Final = 4 * MB  # of a stream
EVENTS: Final = 400_000
REQUEST: Final = 8 * MB  # of an agent
AGENT: Final = 2 * MB  # what an agent says of one item

SHELL = (DEVICES, Path("/proc/self/fd"))
CHUNK = 64 * 1024
OBJECT, LIST, VALUE, LINE = 240, 72, 64, 200  # bytes, at most, for a small one
SPLIT = "split it, or leave out what is not needed"
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)  # a text, or a bracket outside of one


class TooMuch(DataError):
    """More than is read of such a thing; the sentence names the limit."""


class _Digits(ValueError):
    """A whole number that nobody means."""


def whole(text: str) -> int:
    """A whole number in JSON, unless it is absurdly long: such a one cannot even be made a float."""
    if len(text) > DIGITS:
        raise _Digits
    return int(text)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, unless a key stands in it twice: nobody can tell which of them is meant."""
    found = dict(pairs)
    twice = _twice(key for key, _ in pairs) if len(found) < len(pairs) else None
    if twice is not None:
        raise ValueError(f"the key {twice[:80]!r} stands in it twice")
    return found


DECODER = json.JSONDecoder(parse_int=whole)
FILES = json.JSONDecoder(parse_int=whole, object_pairs_hook=unique)


class Room:
    """Memory for what is kept of one thing."""

    def __init__(self, most: int = MEMORY) -> None:
        self.most = self._left = most

    def take(self, weight: int, what: str) -> None:
        """Take some of it; TooMuch when there is no more."""
        self._left -= weight
        if self._left < 0:
            raise TooMuch(f"{what} brings what is held in memory to more than {size(self.most)}: {SPLIT}")


def size(count: int) -> str:
    """A number of bytes for a sentence."""
    return f"{count // MB:,} MB" if count >= MB else f"{count:,} bytes"


def weight(text: str) -> int:
    """At most what a text comes to when it is parsed, about: every value, list and object takes its share."""
    inside = OBJECT * text.count("{") + LIST * text.count("[") + VALUE * text.count(",")
    return sys.getsizeof(text) + inside


def parse(data: str | bytes, what: str, room: Room | None = None, decoder: json.JSONDecoder = DECODER) -> Any:
    """JSON of someone else's. ValueError when it is none, TooMuch when it is too deep or would take too much room."""
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
    """TooMuch when JSON is nested more deeply than anything that is meant to be read."""
    if text.count("[") + text.count("{") <= DEPTH:
        return
    depth = 0
    for found in _MARK.finditer(text):
        mark = text[found.start()]
        if mark == '"':
            continue
        depth += 1 if mark in "[{" else -1
        if depth > DEPTH:
            raise TooMuch(f"{what} is nested more than {DEPTH} levels deep: make it flatter")


def measure(document: object, what: str, most: int = CONFIG_VALUES) -> None:
    """TooMuch when data in memory holds too much once what stands in it twice is written twice, or is too deep."""
    left, values = [(document, 0)], 0
    while left:
        here, depth = left.pop()
        values += 1 + (len(here) if isinstance(here, str) else 0)
        if values > most:
            raise TooMuch(f"{what} comes to more than {most:,} values and characters, aliases written out: {SPLIT}")
        if depth > DEPTH:
            raise TooMuch(f"{what} is nested more than {DEPTH} levels deep, or holds itself: make it flatter")
        if isinstance(here, dict):
            for key, value in cast(dict[object, object], here).items():
                left += ((key, depth + 1), (value, depth + 1))
        elif isinstance(here, list | tuple | set):
            left += ((value, depth + 1) for value in cast(list[object], here))


def file_at(path: Path) -> IO[bytes]:
    """A file to read, never waited for: an OSError where it is a pipe or a device, which nobody may ever write to.

    Those of a shell, `<(command)` and /dev/stdin, have a writer and are read."""
    shell = any(path.is_relative_to(place) for place in SHELL)
    return path.open("rb") if shell else open(path, "rb", opener=_regular)


def _regular(name: str, flags: int) -> int:
    found = os.open(name, flags | os.O_NONBLOCK)
    kind = os.fstat(found).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # that a folder is none, `open` says
        os.close(found)
        raise OSError(errno.EINVAL, "it is a pipe or a device, and only files are read")
    return found


def read_bytes(path: Path, most: int) -> bytes:
    """A whole file of at most so many bytes."""
    with file_at(path) as file:
        return whole_of(file, most, str(path))


def read_text(path: Path, most: int, coding: str = "utf-8") -> str:
    """A whole text file of at most so many bytes."""
    return read_bytes(path, most).decode(coding)


def read_json(path: Path, most: int = DOCUMENT) -> Any:
    """A JSON file of at most so many bytes."""
    return parse(read_text(path, most), str(path), decoder=FILES)


def whole_of(file: IO[bytes], most: int, what: str) -> bytes:
    """All that a file gives, of at most so many bytes; in pieces, as one that unpacks could give anything."""
    pieces, count = list[bytes](), 0
    while piece := file.read(CHUNK):
        count += len(piece)
        if count > most:
            raise TooMuch(f"{what} is larger than {size(most)}: {SPLIT}")
        pieces.append(piece)
    return b"".join(pieces)


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """A file to read, unpacked when its name ends in .gz; what breaks within is an OSError."""
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
    """UTF-8 text that stands at this place of a file, without the mark that may begin it."""
    try:
        return data.decode("utf-8" if at else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{what} is not UTF-8 text (byte {at + error.start}): convert it first") from None


def _twice(names: Iterable[str]) -> str | None:
    """The first of some names that is there more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def check_columns(names: Sequence[str], source: str) -> None:
    """Refuse columns of one name: nobody can tell which of them is meant."""
    twice = _twice(names)
    if twice is not None:
        raise DataError(f"{source} has two columns {twice[:80]!r}: rename or remove one")


def lines(file: IO[bytes], what: str) -> Iterator[str]:
    """The lines of a text file in UTF-8, with their ends: each no longer than a row, all no longer than a file."""
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
    """The JSON of each line that is not blank, with its number."""
    room = Room()
    for number, line in enumerate(lines(file, what), 1):
        if not line.strip():
            continue
        try:
            room.take(LINE, f"{what} line {number}")
            yield number, parse(line, f"{what} line {number}", room, FILES)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{what} line {number} is not JSON ({error}): one object a line") from None
