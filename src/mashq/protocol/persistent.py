"""Values that cannot be changed, and of which a changed copy is cheap: long sequences, and wide data classes.

A state is a value, and every move makes a new one; were a player's items a plain tuple, each move would copy as many
pointers as the match has items. Here the elements lie in chunks, and a copy shares all but the one that differs.
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
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(f"there is no element {index} of {self._length}")
        return self._at(at)

    @abstractmethod
    def _at(self, at: int) -> Element:
        """The element at a position that exists."""


class PersistentList(_Chunks[Element]):
    """A sequence of fixed length: one element can be put in another's place."""

    __slots__ = ()

    def _at(self, at: int) -> Element:
        return self._chunks[at // SIZE][at % SIZE]

    def put(self, at: int, element: Element) -> "PersistentList[Element]":
        """The sequence with another element at a position from 0 on."""
        chunks = self._chunks
        which, place = divmod(at, SIZE)
        chunk = list(chunks[which])
        chunk[place] = element
        fresh = tuple(chunk)
        many = len(chunks) > 1
        return PersistentList((*chunks[:which], fresh, *chunks[which + 1 :]) if many else (fresh,), self._length)


def persistent_list(elements: Iterable[Element]) -> PersistentList[Element]:
    """These, in order."""
    plain = tuple(elements)
    return PersistentList(tuple(plain[start : start + SIZE] for start in range(0, len(plain), SIZE)), len(plain))


class PersistentSorted(_Chunks[Entry]):
    """Entries in ascending order; no chunk is empty."""

    __slots__ = ()

    def _at(self, at: int) -> Entry:
        for chunk in self._chunks:
            if at < len(chunk):
                return chunk[at]
            at -= len(chunk)
        raise IndexError(at)

    def add(self, entry: Entry) -> "PersistentSorted":
        """With one more, after those that equal it."""
        if not self._chunks:
            return PersistentSorted(((entry,),), 1)
        which = self._where(entry)
        chunk = list(self._chunks[which])
        chunk.insert(bisect_right(chunk, entry), entry)
        half = len(chunk) // 2
        fresh = (tuple(chunk[:half]), tuple(chunk[half:])) if len(chunk) > 2 * SIZE else (tuple(chunk),)
        return self._with(which, fresh, self._length + 1)

    def without(self, entry: Entry) -> "PersistentSorted":
        """Without one that equals it; a ValueError where there is none."""
        which = self._where(entry)
        chunk = self._chunks[which] if self._chunks else ()
        at = bisect_left(chunk, entry)
        if at == len(chunk) or chunk[at] != entry:
            raise ValueError(f"{entry!r} is not among these")
        return self._with(which, (chunk[:at] + chunk[at + 1 :],) if len(chunk) > 1 else (), self._length - 1)

    def _where(self, entry: Entry) -> int:
        """The last chunk that begins no later than the entry, else the first."""
        return max(0, bisect_right(self._chunks, entry, key=_first) - 1) if len(self._chunks) > 1 else 0

    def _with(self, which: int, fresh: tuple[tuple[Entry, ...], ...], length: int) -> "PersistentSorted":
        if len(self._chunks) == 1:
            return PersistentSorted(fresh, length)
        return PersistentSorted((*self._chunks[:which], *fresh, *self._chunks[which + 1 :]), length)


def _first(chunk: tuple[Entry, ...]) -> Entry:
    return chunk[0]


EMPTY_SORTED = PersistentSorted((), 0)


def replaced(value: Value, **changes: Any) -> Value:
    """What `dataclasses.replace` does, in half its time: a match changes a player's state several times per move."""
    read, places = _layout(type(value))
    values = list(read(value))
    for name, change in changes.items():
        values[places[name]] = change
    return type(value)(*values)


@cache
def _layout(kind: type) -> tuple[Callable[[object], tuple[Any, ...]], dict[str, int]]:
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: at for at, name in enumerate(names)}
