"""Reads Inspect's logs, `.eval` and `.json`, without Inspect.

An `.eval` log is a zip of JSON; its summaries hold all that a result needs. Newer ones are packed with Zstandard,
which Python reads from 3.14 on and the packages zstandard or pyarrow before that. A log is someone else's file: what
is not as it should be is one sentence, and no more is unpacked than the log says there is.
"""

import importlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from mashq.errors import ConfigError, DataError

ZSTANDARD = 93
LARGEST = 4 << 30
Document = dict[str, Any]
READERS: dict[str, Callable[[Any, IO[bytes]], Any]] = {
    "compression.zstd": lambda zstd, file: zstd.ZstdFile(file),
    "zstandard": lambda zstd, file: zstd.ZstdDecompressor().stream_reader(file, read_across_frames=True),
    "pyarrow": lambda arrow, file: arrow.input_stream(file, compression="zstd"),
}


@dataclass(frozen=True, slots=True)
class Log:
    """A log: its header, and its samples in brief."""

    path: Path
    header: Document
    samples: list[Document]

    @property
    def spec(self) -> Document:
        """What was evaluated: task, model, metadata."""
        return self.header["eval"]


def is_log(path: Path) -> bool:
    """Whether a file's name is that of an Inspect log."""
    return path.suffix.lower() in (".eval", ".json")


def read(path: Path) -> Log:
    """The log in a file."""
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
    found = _object(path, json.loads(path.read_bytes()))
    samples = _objects(path, found.pop("samples", None) or [])
    for sample in samples:
        if "score" in sample and "scores" not in sample:  # logs of early versions
            sample["scores"] = {"score": sample.pop("score")}
    return Log(path, found, samples)


def _packed(path: Path) -> Log:
    with zipfile.ZipFile(path) as packed:
        names = set(packed.namelist())
        header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if header is None:
            raise DataError(f"{path} is not an Inspect log: it has no header")
        samples = {
            (str(sample.get("id")), sample.get("epoch")): sample for sample in _summaries(path, packed, names)
        }  # one that was run again stands later, and counts
        for key, sample in samples.items():
            whole = f"samples/{key[0]}_epoch_{key[1]}.json"
            if "model_usage" not in sample and whole in names:  # early versions left it out of the summaries
                samples[key] = _object(path, _member(path, packed, whole))
        return Log(path, _object(path, _member(path, packed, header)), list(samples.values()))


def _summaries(path: Path, packed: zipfile.ZipFile, names: Iterable[str]) -> Iterator[Document]:
    """The summaries, together or as they were written down one after the other; else the samples themselves."""
    if "summaries.json" in names:
        yield from _objects(path, _member(path, packed, "summaries.json"))
        return
    numbered = {int(m[1]): m[0] for name in names if (m := re.fullmatch(r"_journal/summaries/(\d+)\.json", name))}
    for _, name in sorted(numbered.items()):
        yield from _objects(path, _member(path, packed, name))
    if not numbered:
        for name in sorted(name for name in names if re.fullmatch(r"samples/.*_epoch_\d+\.json", name)):
            yield _object(path, _member(path, packed, name))


def _member(path: Path, packed: zipfile.ZipFile, name: str) -> object:
    info = packed.getinfo(name)
    if info.file_size > LARGEST:
        raise DataError(f"{path}: {name} says it has {info.file_size:,} bytes, too many to read")
    if info.compress_type != ZSTANDARD:
        try:
            return json.loads(packed.read(info))
        except NotImplementedError as error:
            raise DataError(f"{path}: {name} is packed in a way that is not known ({error})") from None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = struct.unpack("<HH", file.read(30)[26:30])
        file.seek(sum(lengths), io.SEEK_CUR)
        data = _unpacked(path, file.read(info.compress_size), info.file_size)
    if zlib.crc32(data) != info.CRC:
        raise DataError(f"{path}: {name} is damaged: copy the log again")
    return json.loads(data)


def _unpacked(path: Path, data: bytes, size: int) -> bytes:
    """Zstandard, by whatever can read it here; never more than `size` bytes."""
    for name, opened in READERS.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return opened(module, io.BytesIO(data)).read(size)
        except Exception as error:  # noqa: BLE001 - each of them has errors of its own
            raise DataError(f"{path} cannot be unpacked ({str(error)[:100]}): is it whole?") from None
    raise ConfigError(f"{path} is packed with Zstandard: pip install 'mashq[parquet]' or zstandard to read it")


def _object(path: Path, value: object) -> Document:
    if not isinstance(value, dict):
        raise DataError(f"{path} is not an Inspect log: it should hold JSON objects")
    return cast(Document, value)


def _objects(path: Path, value: object) -> list[Document]:
    if not isinstance(value, list):
        raise DataError(f"{path} is not an Inspect log: its samples should be a list")
    return [_object(path, one) for one in cast(list[object], value)]
