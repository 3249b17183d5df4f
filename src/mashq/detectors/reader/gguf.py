"""Reading a GGUF file: its settings, its vocabulary and its tensors as float32.

Contract: `Gguf(path)` reads the header and maps the rest; `tensor(name)` gives one tensor as float32, rows of
the input's width, and `rows(name, numbers)` some of its rows alone. The kinds F32, F16, Q4_1 and Q8_0 are
supported. A file that is not GGUF, is cut short or contains another kind is a `DetectorError`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mashq.bounds import file_at
from mashq.errors import DetectorError

__all__ = ["Floats", "Gguf", "Setting"]

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Setting = str | int | float | bool | list["Setting"]

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_BLOCK = 32  # numbers that share a scale


def _q4_1(raw: Bytes) -> Floats:
    """Decode blocks of a scale, a minimum and 32 four-bit numbers: low halves first, then high ones."""
    scales = raw[:, :4].copy().view(np.float16).astype(np.float32)
    low, high = raw[:, 4:] & 15, raw[:, 4:] >> 4
    return np.concatenate([low, high], axis=1).astype(np.float32) * scales[:, :1] + scales[:, 1:]


def _q8_0(raw: Bytes) -> Floats:
    """Decode blocks of a scale and 32 signed bytes."""
    return raw[:, 2:].copy().view(np.int8).astype(np.float32) * raw[:, :2].copy().view(np.float16).astype(np.float32)


def _f32(raw: Bytes) -> Floats:
    return raw.copy().view(np.float32)


def _f16(raw: Bytes) -> Floats:
    return raw.copy().view(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Bytes per block, numbers per block, and the function that decodes blocks."""

    size: int
    numbers: int
    read: Callable[[Bytes], Floats]


_KINDS = {0: _Kind(4, 1, _f32), 1: _Kind(2, 1, _f16), 3: _Kind(20, _BLOCK, _q4_1), 8: _Kind(34, _BLOCK, _q8_0)}


@dataclass(frozen=True, slots=True)
class _Tensor:
    shape: tuple[int, ...]  # rows first
    kind: int
    offset: int


class _Reader:
    """A position in the file, advanced by every read."""

    def __init__(self, data: mmap.mmap, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self) -> str:
        size = self.number("Q")
        start, self.at = self.at, self.at + size
        return self.data[start : self.at].decode("utf-8", "replace")

    def setting(self, kind: int) -> Setting:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, size = self.number("I"), self.number("Q")
            return [self.setting(inner) for _ in range(size)]
        return self.number(_SCALARS[kind])


class Gguf:
    """One file, open for as long as this object lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with file_at(path) as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._header(_Reader(self._data))
        except (OSError, ValueError, KeyError, struct.error) as error:
            raise DetectorError(f"{path} is no GGUF file that can be read ({error}).") from error

    def _header(self, reader: _Reader) -> None:
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not start with GGUF")
        reader.at = 8
        tensors, settings = reader.number("Q"), reader.number("Q")
        self.settings: dict[str, Setting] = {}
        for _ in range(settings):
            name = reader.text()
            self.settings[name] = reader.setting(reader.number("I"))
        self._tensors: dict[str, _Tensor] = {}
        for _ in range(tensors):
            name = reader.text()
            shape = tuple(reader.number("Q") for _ in range(reader.number("I")))[::-1]
            self._tensors[name] = _Tensor(shape, reader.number("I"), reader.number("Q"))
        align = self.whole("general.alignment", 32)
        self._start = (reader.at + align - 1) // align * align

    def whole(self, name: str, default: int | None = None) -> int:
        """Return an integer setting."""
        value = self.settings.get(name, default)
        if not isinstance(value, int):
            raise DetectorError(f"{self.path} does not say {name}: give the embedded model's file.")
        return value

    def real(self, name: str) -> float:
        """Return a numeric setting."""
        value = self.settings.get(name)
        if not isinstance(value, int | float):
            raise DetectorError(f"{self.path} does not say {name}: give the embedded model's file.")
        return float(value)

    def texts(self, name: str) -> list[str]:
        """Return a setting that is a list of strings."""
        value = self.settings.get(name)
        if not isinstance(value, list):
            raise DetectorError(f"{self.path} does not say {name}: give the embedded model's file.")
        return [str(entry) for entry in value]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a tensor's shape, rows first."""
        return self._tensor(name).shape

    def tensor(self, name: str) -> Floats:
        """Return a tensor as float32."""
        tensor = self._tensor(name)
        return self._read(tensor, 0, int(np.prod(tensor.shape))).reshape(tensor.shape)

    def rows(self, name: str, numbers: Sequence[int]) -> Floats:
        """Return some rows of a matrix, in the order requested."""
        tensor = self._tensor(name)
        width = tensor.shape[-1]
        return np.stack([self._read(tensor, n * width, width) for n in numbers])

    def _tensor(self, name: str) -> _Tensor:
        if name not in self._tensors:
            raise DetectorError(f"{self.path} has no tensor {name}: give the embedded model's file.")
        return self._tensors[name]

    def _read(self, tensor: _Tensor, first: int, count: int) -> Floats:
        kind = _KINDS.get(tensor.kind)
        if kind is None:
            raise DetectorError(f"{self.path} holds numbers of kind {tensor.kind}: give the embedded model's file.")
        start = self._start + tensor.offset + first // kind.numbers * kind.size
        blocks = count // kind.numbers
        if start + blocks * kind.size > len(self._data):
            raise DetectorError(f"{self.path} is cut short: fetch it again with `mashq weights`.")
        raw = np.frombuffer(self._data, np.uint8, blocks * kind.size, start).reshape(blocks, kind.size)
        return kind.read(raw).reshape(-1)
