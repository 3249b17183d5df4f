"""The runs under a directory, and the only way from a name in a request to a file.

Contract: a run is found by looking it up in the list of those that were found by walking the directory; a name is
never joined to a path. Links are not followed, neither to directories nor to files. A manifest is read again only
when it changed.
"""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from mashq.errors import MashqError, StoreError
from mashq.runs.manifest import MANIFEST, read_manifest
from mashq.runs.reading import DATABASE
from mashq.runs.seasons import checked as checked_season
from mashq.runs.writer import LOCK

DEEPEST, MAX_COST, FRESH = 4, 20_000, 1.0
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One run: its name in requests, where it is, its manifest, and the state of that file when it was read."""

    id: str
    path: Path
    manifest: dict[str, Any]
    stamp: Stamp

    @property
    def finished(self) -> bool:
        """Whether it was played to the end."""
        return self.manifest["ended"] is not None

    @property
    def kind(self) -> str:
        """A match (with its trials), a sweep, a tournament, a game; or the ledger of a gateway."""
        return self.manifest.get("kind") or self.manifest.get("season", {}).get("kind", "match")


class Library:
    """The runs under one directory."""

    root: "Path"

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._found: dict[str, Found] = {}
        self._looked = 0.0
        self._lock = Lock()

    def runs(self) -> list[Found]:
        """All runs, newest first."""
        with self._lock:
            if time.monotonic() - self._looked > FRESH:
                self._found = {found.id: found for found in self._walk()}
                self._looked = time.monotonic()
            return sorted(self._found.values(), key=lambda found: (str(found.manifest["started"]), found.id))[::-1]

    def find(self, name: str) -> Found:
        """The run with this name, its manifest as it is now."""
        found = self._found.get(name)
        if found is None:
            found = next((one for one in self.runs() if one.id == name), None)
        if found is None:
            raise LookupError("there is no such run here")
        fresh = self._read(found.path, found.id)
        if fresh is None:
            raise LookupError("there is no such run here")
        with self._lock:
            self._found[name] = fresh
        return fresh

    def _walk(self) -> Iterator[Found]:
        alone = self._read(self.root, self.root.name or "run")
        if alone is not None:
            yield alone
            return
        todo, seen = [(self.root, 0)], 0
        while todo:
            folder, depth = todo.pop()
            for entry in _folders(folder):
                seen += 1
                path = Path(entry.path)
                found = self._read(path, path.relative_to(self.root).as_posix())
                if found is not None:
                    yield found
                elif depth + 1 < DEEPEST and seen < MAX_COST:
                    todo.append((path, depth + 1))

    def _read(self, path: Path, name: str) -> Found | None:
        """The run in a directory, if there is one; what cannot be read is none."""
        stamp = plain_file(path / MANIFEST)
        if stamp is None or plain_file(path / DATABASE) is None:
            return None
        known = self._found.get(name)
        if known is not None and known.stamp == stamp and known.path == path:
            return known
        try:
            manifest = read_manifest(path)
            checked_season(manifest.get("season", {}))
        except MashqError:
            return None
        return Found(name, path, manifest, stamp)


def playing(found: Found, held: frozenset[int] | None = None) -> bool:
    """Whether a process is playing it: it holds the lock, or its log was written to within the last minute."""
    if found.finished:
        return False
    try:
        if held is None:
            held = locks()
        if (found.path / LOCK).lstat().st_ino in held:
            return True
        log = found.path / (DATABASE + "-wal")
        return time.time() - log.lstat().st_mtime < 60
    except OSError:
        return False


def locks() -> frozenset[int]:
    """The inodes of the files that somebody on this machine holds locked, where the system tells."""
    try:
        lines = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        return frozenset()
    found: set[int] = set()
    for line in lines:
        parts = line.split()
        if "FLOCK" in parts and "->" not in parts:
            inode = next((part.rpartition(":")[2] for part in parts if part.count(":") == 2), "")
            if inode.isdigit():
                found.add(int(inode))
    return frozenset(found)


def checked(root: Path) -> Library:
    """The library of a directory that must have runs, or a sentence that says what is wrong."""
    if not os.path.exists(root):
        raise StoreError(f"{root} does not exist: play a match first ('mashq demo'), or name another directory")
    if not os.path.isdir(root):
        raise StoreError(f"{root} is not a directory: name the directory that holds your runs")
    library = Library(root)
    if not library.runs():
        raise StoreError(f"{root} holds no runs: play one with 'mashq run … --out {root}/first'")
    return library


def plain_file(path: Path) -> Stamp | None:
    """What tells one state of a file from the next; None where there is no file, or a link to one."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _folders(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [e for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    except OSError:
        return []
