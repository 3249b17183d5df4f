"""Reads Inspect's logs, `.eval` and `.json`, without Inspect.

An `.eval` log is a zip of JSON; its summaries hold all that a result needs. Newer logs are compressed with Zstandard,
which Python reads from 3.14 on and the packages zstandard or pyarrow before that. A log is untrusted input: anything
invalid is reported in one sentence, and no more is unpacked than the log declares.
"""

import importlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from mashq import bounds
from mashq.bounds import DATA, DIRECTORY, SPLIT, Room, TooMuch, size
from mashq.errors import ConfigError, DataError

ZSTANDARD = 93
TAIL = 66_000  # bytes at the end of a zip that hold the location of its directory
Document = dict[str, Any]
READERS: dict[str, Callable[[Any, IO[bytes]], Any]] = {
    "compression.zstd": lambda zstd, file: zstd.ZstdFile(file),
    "zstandard": lambda zstd, file: zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True),
    "pyarrow": lambda arrow, file: arrow.input_stream(file, compression="zstd"),
}


@dataclass(frozen=True, slots=True)
class Log:
    """A log: its header, and summaries of its samples."""

    path: Path
    header: Document
    samples: list[Document]

    @property
    def spec(self) -> Document:
        """What was evaluated: task, model, metadata."""
        return self.header["eval"]


def is_log(path: Path) -> bool:
    """Whether a file name is that of an Inspect log."""
    return path.suffix.lower() in (".eval", ".json")


def read(path: Path) -> Log:
    """Read a log from a file; raises DataError if it is not valid."""
    try:
        log = _packed(path) if path.suffix.lower() == ".eval" else _plain(path)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give an Inspect log or a file of results") from None
    except (OSError, zipfile.BadZipFile, zlib.error, struct.error, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error}): is it whole?") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not an Inspect log ({error})") from None
    if not isinstance(log.header.get("eval"), dict) or not isinstance(log.spec.get("model"), str):
        raise DataError(f"{path} is not an Inspect log: it does not say which model was evaluated")
    if not log.samples:
        raise DataError(f"{path} has no samples: was it made with --no-log-samples, or did it stop before the first?")
    return log


def _plain(path: Path) -> Log:
    document = _object(path, bounds.read_json(path, DATA))
    samples = _objects(path, document.pop("samples", None) or [])
    for sample in samples:
        if "score" in sample and "scores" not in sample:  # logs of early Inspect versions
            sample["scores"] = {"score": sample.pop("score")}
    return Log(path, document, samples)


def _packed(path: Path) -> Log:
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        members, names = _Members(path, archive), set(archive.namelist())
        header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if header is None:
            raise DataError(f"{path} is not an Inspect log: it has no header")
        samples = {
            (str(sample.get("id")), sample.get("epoch")): sample for sample in _summaries(path, members, names)
        }  # a sample that was run again comes later and replaces the earlier one
        for key, sample in samples.items():
            member = f"samples/{key[0]}_epoch_{key[1]}.json"
            if "model_usage" not in sample and member in names:  # early versions left it out of the summaries
                samples[key] = _object(path, members.read(member))
        return Log(path, _object(path, members.read(header)), list(samples.values()))


def _summaries(path: Path, members: "_Members", names: Iterable[str]) -> Iterator[Document]:
    """The summaries, from one file or from the journal; else the samples themselves."""
    if "summaries.json" in names:
        yield from _objects(path, members.read("summaries.json"))
        return
    numbered = {int(m[1]): m[0] for name in names if (m := re.fullmatch(r"_journal/summaries/(\d+)\.json", name))}
    for _, name in sorted(numbered.items()):
        yield from _objects(path, members.read(name))
    if not numbered:
        for name in sorted(name for name in names if re.fullmatch(r"samples/.*_epoch_\d+\.json", name)):
            yield _object(path, members.read(name))


class _Members:
    """The members of a log, with one size limit for all of them."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self._remaining, self._room = DATA, Room()

    def read(self, name: str) -> object:
        """Parse the JSON of a member."""
        path, info = self._path, self._archive.getinfo(name)
        self._remaining -= info.file_size
        if self._remaining < 0:
            raise TooMuch(f"{path}: what {name} and those before it unpack to is larger than {size(DATA)}: {SPLIT}")
        if info.compress_type != ZSTANDARD:
            try:
                return bounds.parse(self._archive.read(info), f"{path} {name}", self._room)
            except NotImplementedError as error:
                raise DataError(f"{path}: {name} is packed in a way that is not known ({error})") from None
        with bounds.file_at(path) as file:
            file.seek(info.header_offset)
            lengths = struct.unpack("<HH", file.read(30)[26:30])
            file.seek(sum(lengths), io.SEEK_CUR)
            data = _unpacked(path, file.read(min(info.compress_size, DATA)), info.file_size)
        if zlib.crc32(data) != info.CRC:
            raise DataError(f"{path}: {name} is damaged: copy the log again")
        return bounds.parse(data, f"{path} {name}", self._room)


def _check_directory(path: Path) -> None:
    """Check the size of a zip's directory, which is read completely before anything else."""
    with bounds.file_at(path) as file:
        end = file.seek(0, io.SEEK_END)
        file.seek(max(0, end - TAIL))
        tail = file.read()
    record, record64 = tail.rfind(b"PK\5\6"), tail.rfind(b"PK\6\6")
    length = int.from_bytes(tail[record + 12 : record + 16], "little") if record >= 0 else 0
    if length == 2**32 - 1 and record64 >= 0:
        length = int.from_bytes(tail[record64 + 40 : record64 + 48], "little")
    if length > DIRECTORY:
        raise TooMuch(f"{path} has a table of contents of more than {size(DIRECTORY)}: {SPLIT}")


def _unpacked(path: Path, data: bytes, size: int) -> bytes:
    """Decompress Zstandard with any available library; never more than `size` bytes."""
    for name, opened in READERS.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return opened(module, io.BytesIO(data)).read(size)
        except Exception as error:  # noqa: BLE001 - each library has its own errors
            raise DataError(f"{path} cannot be unpacked ({str(error)[:100]}): is it whole?") from None
    raise ConfigError(f"{path} is packed with Zstandard: pip install 'mashq[parquet]' or zstandard to read it")


def _object(path: Path, value: object) -> Document:
    if not isinstance(value, dict):
        raise DataError(f"{path} is not an Inspect log: it should hold JSON objects")
    return cast(Document, value)


def _objects(path: Path, value: object) -> list[Document]:
    if not isinstance(value, list):
        raise DataError(f"{path} is not an Inspect log: its samples should be a list")
    return [_object(path, element) for element in cast(list[object], value)]
