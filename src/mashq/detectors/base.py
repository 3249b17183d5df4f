"""What a detector is, and how one is found by name.

Contract: a detector maps each (source, answer, reference) to H in [0, 1], 1 = fully supported. It scores in
batches, the order of the pairs does not matter, and equal pairs get equal scores. A detector of one's own is
a class with `name`, `version` and `score`, named by an entry point in the group `mashq.detectors`; `load`
calls the entry point without arguments.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol, cast

from mashq.errors import ConfigError, DetectorError

__all__ = ["GROUP", "Detector", "Pair", "load"]

GROUP = "mashq.detectors"
_NEURAL = ("hhem", "minicheck")


@dataclass(frozen=True, slots=True)
class Pair:
    """One answer to score: the text it must rest on and, for questions, the reference answer."""

    source: str
    answer: str
    reference: str | None = None


class NoVerdict(DetectorError):
    """A judge gave no readable verdict on one answer: that answer counts as failed, and the match goes on."""


class Detector(Protocol):
    """Anything that scores pairs. May raise `mashq.errors.DetectorError` when it cannot."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        ...


def load(name: str) -> Detector:
    """The detector of that name (`hhem:PATH` hands over where its weights are), built in or by an entry point."""
    plain, colon, argument = name.partition(":")
    if plain in _NEURAL:
        return _neural(plain)(argument) if colon else _neural(plain)()
    built_in = _built_in()
    if name in built_in:
        return built_in[name]()
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name in found:
        return cast(Callable[[], Detector], found[name].load())()
    raise ConfigError(_unknown(name, sorted({*built_in, *_NEURAL, *found})))


def _built_in() -> dict[str, Callable[[], Detector]]:
    # Imported here because the built-in detectors import Pair from this module.
    from mashq.detectors.exact_match import ExactMatch
    from mashq.detectors.grounding.detector import Grounding
    from mashq.detectors.simpleqa import SimpleQA

    return {"exact-match": ExactMatch, "grounding": Grounding, "simpleqa": SimpleQA}


def _neural(name: str) -> Callable[..., Detector]:
    """The class of a detector whose extra may be missing, which is a ConfigError."""
    module = import_module(f"mashq.detectors.neural.{name}")
    return cast(Callable[..., Detector], getattr(module, name.capitalize()))


def _unknown(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name.casefold().replace("_", "-"), known, n=1, cutoff=0.0)
    return f"There is no detector {name!r}; the known ones are {', '.join(known)} (nearest: {nearest[0]})."
