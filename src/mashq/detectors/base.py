"""The detector interface, and loading a detector by name.

Contract: a detector maps each (source, answer, reference) to H in [0, 1], 1 = fully supported. It scores in
batches, the order of the pairs does not matter, and equal pairs get equal scores. A custom detector is
a class with `name`, `version` and `score`, named by an entry point: see `mashq.extensions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from mashq.errors import DetectorError
from mashq.extensions import DETECTORS

__all__ = ["Detector", "Pair", "declares", "load"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One answer to score: the text that must support it and, for questions, the reference answer."""

    source: str
    answer: str
    reference: str | None = None


class NoVerdict(DetectorError):
    """A judge gave no readable verdict on one answer: that answer counts as failed, and the match goes on."""


class Detector(Protocol):
    """Anything that scores pairs. May raise `mashq.errors.DetectorError` when it cannot.

    Its class may declare facts that are false unless it sets them to True: `free` (scoring takes next to no time),
    `needs_reference` (it reads the reference answer) and `uses_gpu`.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        ...


def declares(name: str, fact: Literal["free", "needs_reference", "uses_gpu"]) -> bool:
    """Whether the detector of that name declares a fact; it is asked of its class, so no weights are loaded."""
    base = name if name in DETECTORS.names() else name.partition(":")[0]
    return getattr(DETECTORS.load(base), fact, False) is True


def load(name: str) -> Detector:
    """Return the detector of that name, built in or from an entry point; `hhem:PATH` says where its weights are."""
    return DETECTORS.create(name)
