"""Scores remembered by content and detector version, so that nothing is scored twice.

A small SQLite file in the cache directory. It is an aid, not a record: a file that is damaged or cannot be written is
ignored, and the scores are computed again.
"""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mashq.detectors.base import Detector, Pair

SCHEMA = "CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, h REAL NOT NULL)"


class Cached:
    """A detector that looks up its scores in the cache first."""

    hits: int

    def __init__(self, detector: Detector, path: Path) -> None:
        self._detector, self._path = detector, path
        self.hits = 0

    @property
    def name(self) -> str:
        """The detector's name."""
        return self._detector.name

    @property
    def version(self) -> str:
        """The detector's version."""
        return self._detector.version

    @property
    def needs_reference(self) -> bool:
        """Whether the detector compares with a reference answer."""
        return getattr(self._detector, "needs_reference", False)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, from the cache if it is there."""
        keys = [_key(self.name, self.version, pair) for pair in pairs]
        known = self._read(keys)
        self.hits += sum(key in known for key in keys)
        missing = [index for index, key in enumerate(keys) if key not in known]
        if missing:
            new_scores = dict(zip(missing, self._detector.score([pairs[index] for index in missing]), strict=True))
            known |= {keys[index]: h for index, h in new_scores.items()}
            self._write([(keys[index], h) for index, h in new_scores.items()])
        return [known[key] for key in keys]

    def _read(self, keys: list[str]) -> dict[str, float]:
        scores: dict[str, float] = {}
        try:
            with closing(self._open()) as connection:
                for start in range(0, len(keys), 500):
                    chunk = keys[start : start + 500]
                    placeholders = ",".join("?" * len(chunk))
                    scores |= dict(
                        connection.execute(f"SELECT key, h FROM scores WHERE key IN ({placeholders})", chunk)
                    )
        except (sqlite3.Error, OSError):
            return {}
        return scores

    def _write(self, rows: list[tuple[str, float]]) -> None:
        try:
            with closing(self._open()) as connection, connection:
                connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return  # they are computed again the next time

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=10)
        connection.execute(SCHEMA)
        return connection


def _key(name: str, version: str, pair: Pair) -> str:
    body = json.dumps([name, version, pair.source, pair.answer, pair.reference])
    return hashlib.sha256(body.encode()).hexdigest()
