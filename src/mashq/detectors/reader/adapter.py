"""The trained parts: the adapter, the head and the linear model that combines them with grounding.

Contract: `load()` reads `adapter.npz` (made by `bench/reader/train.py`) and `line.json` (by
`bench/reader/combine.py`) once. `Adapter.changed` adds the adapter to one of the base's matrices.
`Adapter.measures` turns an answer's last vectors into three numbers: its score (a mean of verdicts, weighted by
the attention of each token), its greatest doubt and its mean doubt; `doubts` has the doubt of each token, as
a probability. `Line.h` combines them with grounding's log-odds.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from mashq.detectors.reader.gguf import Floats

__all__ = ["Adapter", "Line", "Measures", "load"]

_FILE, _LINE = "adapter.npz", "line.json"


@dataclass(frozen=True, slots=True)
class Measures:
    """The reader's measures of an answer."""

    score: float
    greatest: float  # log-odds of the most doubtful token
    mean: float  # probability


@dataclass(frozen=True, slots=True)
class Line:
    """Log-odds that an answer is faithful, as a weighted sum."""

    intercept: float
    grounding: float
    score: float
    greatest: float
    mean: float

    def h(self, grounding: float, read: Measures) -> float:
        """Return the probability that an answer is faithful."""
        z = self.intercept + self.grounding * grounding
        z += self.score * read.score + self.greatest * read.greatest + self.mean * read.mean
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


@dataclass(frozen=True, slots=True)
class Adapter:
    """Two low-rank matrices for each of the base's, and a head of three numbers per token."""

    parts: dict[str, tuple[Floats, Floats]]  # matrix name -> (down, up)
    head: Floats  # (attention, verdict, doubt) x width
    shift: float  # of the doubts
    line: Line
    digest: str

    def changed(self, name: str, matrix: Floats) -> Floats:
        """Return a matrix of the base, rows as outputs, with the adapter added."""
        if name not in self.parts:
            return matrix
        down, up = self.parts[name]
        return (matrix + up @ down).astype(np.float32, copy=False)

    def measures(self, states: Floats) -> Measures:
        """Measure an answer from its last vectors, one row per token."""
        return self.measures_at(states @ self.head.T, [0])[0]

    def measures_at(self, out: Floats, begins: Sequence[int]) -> list[Measures]:
        """Measure several answers from the head's numbers per token; `begins` has each answer's first row."""
        lengths = np.diff([*begins, len(out)])
        attention, verdicts, doubts = out.astype(np.float64).T
        weights = np.exp(attention - np.repeat(np.maximum.reduceat(attention, begins), lengths))
        doubts = doubts + self.shift
        scores = np.add.reduceat(weights * verdicts, begins) / np.add.reduceat(weights, begins)
        means = np.add.reduceat(1.0 / (1.0 + np.exp(-doubts)), begins) / lengths
        greatest = np.maximum.reduceat(doubts, begins)
        return [Measures(*map(float, row)) for row in zip(scores, greatest, means)]

    def doubts(self, states: Floats) -> Floats:
        """Return the probability that the answer goes wrong at each token."""
        return 1.0 / (1.0 + np.exp(-(states @ self.head[2] + np.float32(self.shift))))


@cache
def load() -> Adapter:
    """Load the adapter shipped with this package."""
    folder = files("mashq.detectors.reader")
    data = folder.joinpath(_FILE).read_bytes()
    line_bytes = folder.joinpath(_LINE).read_bytes()
    line: dict[str, float] = {k: v for k, v in json.loads(line_bytes).items() if k != "made_by"}
    with np.load(io.BytesIO(data)) as archive:
        arrays: dict[str, Floats] = {name: archive[name].astype(np.float32) for name in archive.files}
    names = [name.removesuffix(".down") for name in arrays if name.endswith(".down")]
    parts = {name: (arrays[f"{name}.down"], arrays[f"{name}.up"]) for name in names}
    digest = hashlib.sha256(data + line_bytes).hexdigest()[:8]
    return Adapter(parts, arrays["head"], float(arrays["bias"][-1]), Line(**line), digest)
