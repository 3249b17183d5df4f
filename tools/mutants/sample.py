"""Which faults are planted: the same number in each folder, drawn line by line.

The draw is by digest: a line keeps its rank while it is unchanged, so that a change elsewhere leaves the rest of
the sample and its results valid.
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
    """A fault that no test can catch, since the program behaves the same, and the reason."""

    file: str
    function: str
    original: str
    mutated: str
    reason: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The key of the fault, as `Fault.key`."""
        return self.file, self.function, self.original, self.mutated, self.nth


def equivalents(path: Path) -> list[Equivalent]:
    """Read the reviewed list; raises ValueError if an entry has no reason or is a duplicate."""
    entries = [Equivalent(**row) for row in tomllib.loads(path.read_text("utf-8")).get("equivalent", [])]
    for entry in entries:
        if not entry.reason.strip():
            raise ValueError(f"{path.name}: {entry.file}, {entry.mutated}: why is it equivalent?")
    if len({entry.key for entry in entries}) < len(entries):
        raise ValueError(f"{path.name}: an entry stands twice.")
    return entries


def unknown(listed: Iterable[Equivalent], root: Path) -> list[Equivalent]:
    """Return entries that match no fault of the current sources, as their lines have changed."""
    by_file: dict[str, set[tuple[str, str, str, str, int]]] = {}
    for entry in listed:
        path = root / entry.file
        if entry.file not in by_file:
            known = faults(entry.file, path.read_bytes()) if path.is_file() else []
            by_file[entry.file] = {fault.key for fault in known}
    return [entry for entry in listed if entry.key not in by_file[entry.file]]


def _rank(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def sample(root: Path, folder: str, count: int, seed: int) -> list[Fault]:
    """Draw up to `count` faults from a folder of the package, at most one per line."""
    texts = {path: path.read_bytes() for path in sorted((root / PACKAGE / folder).rglob("*.py"))}
    lines: defaultdict[tuple[Path, int], list[Fault]] = defaultdict(list)
    for path, text in texts.items():
        for fault in faults(path.relative_to(root).as_posix(), text):
            lines[path, fault.line].append(fault)
    ranked: list[tuple[bytes, Path, list[Fault]]] = []
    for (path, _), line_faults in lines.items():
        line_faults.sort(key=lambda fault: _rank(seed, *fault.key))
        first = min(line_faults, key=lambda fault: fault.key)
        ranked.append((_rank(seed, first.file, first.function, first.original, first.nth), path, line_faults))
    ranked.sort(key=lambda row: row[0])
    drawn = (
        next((fault for fault in line_faults if differs(texts[path], fault.planted(texts[path]))), None)
        for _, path, line_faults in ranked
    )
    return list(islice((fault for fault in drawn if fault is not None), count))


def samples(root: Path, folders: Sequence[str], count: int, seed: int) -> list[Fault]:
    """Draw `count` faults, divided among the folders."""
    shares = dict.fromkeys(folders, 0)
    for folder in islice(cycle(folders), count):
        shares[folder] += 1
    return [fault for folder, share in shares.items() for fault in sample(root, folder, share, seed)]


def folder_of(fault: Fault) -> str:
    """Return the folder of the package that the fault is in."""
    return fault.file.removeprefix(f"{PACKAGE}/").partition("/")[0]
