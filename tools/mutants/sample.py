"""Which faults are planted: the same number in each folder, drawn line by line.

The draw is by digest: a line keeps its rank while it stays as it is, so that a change elsewhere leaves the rest of
the sample, and what was judged about it, in force.
"""

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from tools.mutants.faults import Fault, differs, faults

PACKAGE = "src/mashq"
FLOORS = {
    **dict.fromkeys(("protocol", "analysis"), 0.95),
    **dict.fromkeys(("report", "export", "web", "arena", "runs"), 0.85),
}
DRAWN = "the same number in each folder; within it lines at random, one fault in a line"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A fault that no test can catch, since the program stays the same, and why."""

    file: str
    function: str
    original: str
    mutated: str
    reason: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The key of the fault."""
        return self.file, self.function, self.original, self.mutated, self.nth


def equivalents(path: Path) -> list[Equivalent]:
    """The reviewed list; raises ValueError where an entry gives no reason or stands twice."""
    found = [Equivalent(**entry) for entry in tomllib.loads(path.read_text("utf-8")).get("equivalent", [])]
    for one in found:
        if not one.reason.strip():
            raise ValueError(f"{path.name}: {one.file}, {one.mutated}: why is it equivalent?")
    if len({one.key for one in found}) < len(found):
        raise ValueError(f"{path.name}: an entry stands twice.")
    return found


def unknown(listed: Iterable[Equivalent], root: Path) -> list[Equivalent]:
    """Entries that name no fault of the sources as they are: the lines were changed since."""
    by_file: dict[str, set[tuple[str, str, str, str, int]]] = {}
    for one in listed:
        path = root / one.file
        if one.file not in by_file:
            known = faults(one.file, path.read_bytes()) if path.is_file() else []
            by_file[one.file] = {fault.key for fault in known}
    return [one for one in listed if one.key not in by_file[one.file]]


def _rank(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def sample(root: Path, folder: str, count: int, seed: int) -> list[Fault]:
    """So many faults of a folder of the package, or as many as its lines give."""
    texts = {path: path.read_bytes() for path in sorted((root / PACKAGE / folder).rglob("*.py"))}
    lines: defaultdict[tuple[Path, int], list[Fault]] = defaultdict(list)
    for path, text in texts.items():
        for fault in faults(path.relative_to(root).as_posix(), text):
            lines[path, fault.line].append(fault)
    ranked: list[tuple[bytes, Path, list[Fault]]] = []
    for (path, _), here in lines.items():
        here.sort(key=lambda fault: _rank(seed, *fault.key))
        first = min(here, key=lambda fault: fault.key)
        ranked.append((_rank(seed, first.file, first.function, first.original, first.nth), path, here))
    ranked.sort(key=lambda one: one[0])
    drawn = (
        next((fault for fault in here if differs(texts[path], fault.planted(texts[path]))), None)
        for _, path, here in ranked
    )
    return list(islice((fault for fault in drawn if fault is not None), count))


def samples(root: Path, folders: Sequence[str], count: int, seed: int) -> list[Fault]:
    """The count, shared out over the folders."""
    shares = dict.fromkeys(folders, 0)
    for folder in islice(cycle(folders), count):
        shares[folder] += 1
    return [fault for folder, share in shares.items() for fault in sample(root, folder, share, seed)]


def folder_of(fault: Fault) -> str:
    """The folder of the package it is in."""
    return fault.file.removeprefix(f"{PACKAGE}/").partition("/")[0]
