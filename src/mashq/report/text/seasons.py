"""What the texts of all kinds of runs share, and the text of a document of any kind."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from mashq.report.documents.base import DetectorVersion, Document
from mashq.report.text.formatting import safe

SIMULATED = "SIMULATED: some of these players were not real models."
DRAWN = "SIMULATED: no real model answered; scores, costs and times are drawn."


class Scored(Protocol):
    """A document that names its detector, and whether some or all of its players were simulated."""

    @property
    def simulated(self) -> bool: ...

    @property
    def drawn(self) -> bool: ...

    @property
    def detector(self) -> DetectorVersion: ...


def text(document: Document) -> str:
    """Return a document as text. Only the module of its kind is loaded."""
    module: Any = import_module(f"mashq.report.text.{document.kind}")
    return module.text(document)


def simulated(document: Scored) -> Iterator[str]:
    """Say what was simulated, if anything was."""
    if document.simulated:
        yield DRAWN if document.drawn else SIMULATED


def scored_by(document: Scored) -> str:
    """Name the detector that scored, or say that none did."""
    if document.drawn:
        return "scored as drawn (no detector ran)"
    return f"scored by {safe(document.detector.name)} {safe(document.detector.version)}"
