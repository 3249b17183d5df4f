"""Whether a run's record agrees with itself: the document of `mashq verify`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mashq.runs.verify import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Whether a run's record agrees with itself."""

    kind: ClassVar[str] = "verify"

    checks: int
    """How many checks were made."""
    wrong: Sequence[Finding]
    """Those that do not hold, each with what is wrong."""


def document(findings: Sequence[Finding]) -> Verification:
    """Return a document of the findings that report a problem."""
    return Verification(checks=len(findings), wrong=[finding for finding in findings if finding.wrong])
