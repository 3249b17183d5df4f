"""Whether a run's record agrees with itself: what `mashq verify` says."""

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
    """The findings that are worth a word."""
    return Verification(checks=len(findings), wrong=[finding for finding in findings if finding.wrong])
