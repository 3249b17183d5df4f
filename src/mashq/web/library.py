"""The runs under a directory, and the only mapping from a name in a request to a file.

Contract: a name is looked up in the list of runs that were found by walking the directory; it is never joined to a
path. Symbolic links are not followed, neither to directories nor to files. A manifest is read again only if it has
changed.
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
    """One run: its name in requests, its path, its manifest, and the state of the manifest file when it was read."""

    id: str
    path: Path
    manifest: dict[str, Any]
    stamp: Stamp

    @property
    def finished(self) -> bool:
        """Whether the run was played to the end."""
        return self.manifest["ended"] is not None

    @property
    def kind(self) -> str:
        """What it is: a match (with its trials), a sweep, a tournament, a game …, or the ledger of a gateway."""
        return self.manifest.get("kind") or self.manifest.get("season", {}).get("kind", "match")


class Library:
    """The runs under one directory."""

    root: "Path"

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._runs: dict[str, Found] = {}
        self._looked = 0.0
        self._lock = Lock()

    def runs(self) -> list[Found]:
        """Return all runs, newest first."""
        with self._lock:
            if time.monotonic() - self._looked > FRESH:
                self._runs = {entry.id: entry for entry in self._walk()}
                self._looked = time.monotonic()
            return sorted(self._runs.values(), key=lambda entry: (str(entry.manifest["started"]), entry.id))[::-1]

    def find(self, name: str) -> Found:
        """Return the run with this name and its current manifest; raises LookupError if there is none."""
        entry = self._runs.get(name)
        if entry is None:
            entry = next((run for run in self.runs() if run.id == name), None)
        if entry is None:
            raise LookupError("there is no such run here")
        fresh = self._read(entry.path, entry.id)
        if fresh is None:
            raise LookupError("there is no such run here")
        with self._lock:
            self._runs[name] = fresh
        return fresh

    def _walk(self) -> Iterator[Found]:
        root_run = self._read(self.root, self.root.name or "run")
        if root_run is not None:
            yield root_run
            return
        pending, visited = [(self.root, 0)], 0
        while pending:
            folder, depth = pending.pop()
            for entry in _folders(folder):
                visited += 1
                path = Path(entry.path)
                run = self._read(path, path.relative_to(self.root).as_posix())
                if run is not None:
                    yield run
                elif depth + 1 < DEEPEST and visited < MAX_COST:
                    pending.append((path, depth + 1))

    def _read(self, path: Path, name: str) -> Found | None:
        """Return the run in a directory; None if there is none or it cannot be read."""
        stamp = plain_file(path / MANIFEST)
        if stamp is None or plain_file(path / DATABASE) is None:
            return None
        known = self._runs.get(name)
        if known is not None and known.stamp == stamp and known.path == path:
            return known
        try:
            manifest = read_manifest(path)
            checked_season(manifest.get("season", {}))
        except MashqError:
            return None
        return Found(name, path, manifest, stamp)


def playing(entry: Found, locked: frozenset[int] | None = None) -> bool:
    """Whether a process is playing a run: its lock is held, or its log was written within the last minute."""
    if entry.finished:
        return False
    try:
        if locked is None:
            locked = locks()
        if (entry.path / LOCK).lstat().st_ino in locked:
            return True
        log = entry.path / (DATABASE + "-wal")
        return time.time() - log.lstat().st_mtime < 60
    except OSError:
        return False


def locks() -> frozenset[int]:
    """Return the inodes of all locked files on this machine; empty if the system does not list them."""
    try:
        lines = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        return frozenset()
    inodes: set[int] = set()
    for line in lines:
        parts = line.split()
        if "FLOCK" in parts and "->" not in parts:
            inode = next((part.rpartition(":")[2] for part in parts if part.count(":") == 2), "")
            if inode.isdigit():
                inodes.add(int(inode))
    return frozenset(inodes)


def checked(root: Path) -> Library:
    """Return the library of a directory; raises StoreError if it has no runs."""
    if not os.path.exists(root):
        raise StoreError(f"{root} does not exist: play a match first ('mashq demo'), or name another directory")
    if not os.path.isdir(root):
        raise StoreError(f"{root} is not a directory: name the directory that holds your runs")
    library = Library(root)
    if not library.runs():
        raise StoreError(f"{root} holds no runs: play one with 'mashq run … --out {root}/first'")
    return library


def plain_file(path: Path) -> Stamp | None:
    """Return a stamp that changes with the file; None if there is no file or it is a link."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _folders(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [e for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    except OSError:
        return []
