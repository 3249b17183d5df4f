"""How well a detector agrees with people: the document of `mashq validate report`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mashq.analysis.parts import flat
from mashq.analysis.validation.agreement import Validation
from mashq.report.documents.base import DetectorVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationReport:
    """How well a detector agrees with the people who rated some answers of a run."""

    kind: ClassVar[str] = "validate"

    run: str
    """The run directory."""
    detector: DetectorVersion
    """Who scored."""
    rows: int
    """How many answers the sheet has."""
    found: Validation = field(metadata=flat())
    """How well they agree."""
    notes: Sequence[str]
    """What a reader must not miss."""
