"""How many items tell two players apart: the document of `mashq power`."""

from dataclasses import dataclass, field
from typing import ClassVar

from mashq.analysis.parts import flat
from mashq.analysis.power import PowerReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """How many items tell two players of a run apart."""

    kind: ClassVar[str] = "power"

    found: PowerReport = field(metadata=flat())
    """What the items say."""
    simulated: bool
    """Whether some of the scores are drawn."""
    drawn: bool
    """Whether the items are of simulated players calibrated on the run."""
    recorded_needed: int | None
    """Where they are, the items needed by the recorded ones alone."""
    source: str
    """The run, or the file of results."""
