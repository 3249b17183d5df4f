"""Immutable values with cheap modified copies: long sequences, and wide data classes.

A state is a value, and every move makes a new one; if a player's items were a plain tuple, each move would copy as
many pointers as the match has items. Here the elements are stored in chunks, and a copy shares all chunks but one.
"""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar, cast, overload

Element = TypeVar("Element")
Value = TypeVar("Value")
Entry = tuple[float, int]
SIZE = 256


class _Chunks(Sequence[Element]):
    __slots__ = ("_chunks", "_length")

    def __init__(self, chunks: tuple[tuple[Element, ...], ...], length: int) -> None:
        self._chunks, self._length = chunks, length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Element]:
        return chain.from_iterable(self._chunks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return tuple(self) == tuple(cast(Sequence[object], other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @overload
    def __getitem__(self, index: int) -> Element: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Element, ...]: ...
    def __getitem__(self, index: int | slice) -> Element | tuple[Element, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index == 0 and self._chunks:
            return self._chunks[0][0]
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError(f"there is no element {index} of {self._length}")
        return self._element(position)

    @abstractmethod
    def _element(self, position: int) -> Element:
        """The element at a position that exists."""


class PersistentList(_Chunks[Element]):
    """A sequence of fixed length whose elements can be replaced one at a time."""

    __slots__ = ()

    def _element(self, position: int) -> Element:
        return self._chunks[position // SIZE][position % SIZE]

    def put(self, index: int, element: Element) -> "PersistentList[Element]":
        """A copy with another element at the given non-negative index."""
        chunks = self._chunks
        number, offset = divmod(index, SIZE)
        chunk = list(chunks[number])
        chunk[offset] = element
        changed = tuple(chunk)
        many = len(chunks) > 1
        return PersistentList(
            (*chunks[:number], changed, *chunks[number + 1 :]) if many else (changed,), self._length
        )


def persistent_list(elements: Iterable[Element]) -> PersistentList[Element]:
    """A PersistentList of the elements, in order."""
    values = tuple(elements)
    return PersistentList(tuple(values[start : start + SIZE] for start in range(0, len(values), SIZE)), len(values))


class PersistentSorted(_Chunks[Entry]):
    """Entries in ascending order; no chunk is empty."""

    __slots__ = ()

    def _element(self, position: int) -> Entry:
        for chunk in self._chunks:
            if position < len(chunk):
                return chunk[position]
            position -= len(chunk)
        raise IndexError(position)

    def add(self, entry: Entry) -> "PersistentSorted":
        """A copy with one more entry, placed after equal ones."""
        if not self._chunks:
            return PersistentSorted(((entry,),), 1)
        number = self._chunk_for(entry)
        chunk = list(self._chunks[number])
        chunk.insert(bisect_right(chunk, entry), entry)
        half = len(chunk) // 2
        changed = (tuple(chunk[:half]), tuple(chunk[half:])) if len(chunk) > 2 * SIZE else (tuple(chunk),)
        return self._with_chunks(number, changed, self._length + 1)

    def without(self, entry: Entry) -> "PersistentSorted":
        """A copy with one entry equal to this removed; raises ValueError if there is none."""
        number = self._chunk_for(entry)
        chunk = self._chunks[number] if self._chunks else ()
        index = bisect_left(chunk, entry)
        if index == len(chunk) or chunk[index] != entry:
            raise ValueError(f"{entry!r} is not among these")
        return self._with_chunks(
            number, (chunk[:index] + chunk[index + 1 :],) if len(chunk) > 1 else (), self._length - 1
        )

    def _chunk_for(self, entry: Entry) -> int:
        """The index of the last chunk that does not start after the entry, otherwise 0."""
        return max(0, bisect_right(self._chunks, entry, key=_first_entry) - 1) if len(self._chunks) > 1 else 0

    def _with_chunks(self, number: int, changed: tuple[tuple[Entry, ...], ...], length: int) -> "PersistentSorted":
        if len(self._chunks) == 1:
            return PersistentSorted(changed, length)
        return PersistentSorted((*self._chunks[:number], *changed, *self._chunks[number + 1 :]), length)


def _first_entry(chunk: tuple[Entry, ...]) -> Entry:
    return chunk[0]


EMPTY_SORTED = PersistentSorted((), 0)


def replaced(value: Value, **changes: Any) -> Value:
    """Like `dataclasses.replace` in half the time: a match changes a player's state several times per move."""
    read_fields, indices = _layout(type(value))
    values = list(read_fields(value))
    for name, change in changes.items():
        values[indices[name]] = change
    return type(value)(*values)


@cache
def _layout(kind: type) -> tuple[Callable[[object], tuple[Any, ...]], dict[str, int]]:
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: index for index, name in enumerate(names)}
