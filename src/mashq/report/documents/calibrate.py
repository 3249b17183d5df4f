"""Whether simulated players resemble the recorded ones: the document of `mashq calibrate --check`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mashq.analysis.calibration.fit_check import FitCheck
from mashq.analysis.parts import flat


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Simulated players beside the recorded ones."""

    kind: ClassVar[str] = "calibrate"

    found: FitCheck = field(metadata=flat())
    """Figures of both."""
    notes: Mapping[str, Sequence[str]]
    """By player, what could not be fitted."""
    run: str
    """The run directory."""
