"""Scores that a detector's authors published, compared with ours.

Contract: a file of published scores is a JSON list of [source, answer, score]. `compare` scores the pairs and reports
the differences; a detector agrees when no pair differs by more than the tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mashq.detectors.base import Detector, Pair
from mashq.errors import DataError

__all__ = ["TOLERANCE", "Published", "Report", "Row", "compare", "read"]

TOLERANCE = 0.02
Published = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One pair: the published score and ours."""

    source: str
    answer: str
    published: float
    ours: float

    @property
    def difference(self) -> float:
        return abs(self.published - self.ours)


@dataclass(frozen=True, slots=True)
class Report:
    """All pairs of a check."""

    detector: str
    version: str
    tolerance: float
    rows: tuple[Row, ...]

    @property
    def worst(self) -> float:
        """The largest difference; 0 when there are no pairs."""
        return max((row.difference for row in self.rows), default=0.0)

    @property
    def agrees(self) -> bool:
        """Whether there are pairs and every one is within the tolerance."""
        return bool(self.rows) and self.worst <= self.tolerance


def compare(detector: Detector, pairs: Sequence[Published], tolerance: float = TOLERANCE) -> Report:
    """Compare the detector's scores with the published ones."""
    scores = detector.score([Pair(source, answer) for source, answer, _ in pairs])
    rows = tuple(Row(*pair, h) for pair, h in zip(pairs, scores, strict=True))
    return Report(detector.name, detector.version, tolerance, rows)


def read(path: Path) -> list[Published]:
    """Read the published pairs from a file."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not JSON ({error}): give a list of [source, answer, score].") from error
    rows = cast("list[Any]", document) if isinstance(document, list) else []
    if not rows:
        raise DataError(f"{path} has no pairs: give a JSON list of [source, answer, score].")
    return [_row(path, number, row) for number, row in enumerate(rows, 1)]


def _row(path: Path, number: int, row: Any) -> Published:
    match row:
        case [str(source), str(answer), int(score) | float(score)] if 0 <= score <= 1:
            return source, answer, float(score)
        case _:
            raise DataError(f"{path}, pair {number}: expected [source, answer, score from 0 to 1], got {row!r}.")
