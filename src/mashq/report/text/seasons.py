"""What the texts of all kinds of runs share, and which text a document has."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from mashq.analysis.parts import Costs
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import COSTS, DetectorVersion, Document
from mashq.report.text.formatting import safe

SIMULATED = "SIMULATED: some of these players were not real models."


class Scored(Protocol):
    """A document that says who scored."""

    @property
    def drawn(self) -> bool: ...

    @property
    def detector(self) -> DetectorVersion: ...


def text(document: Document) -> str:
    """A document for a person. The texts of other kinds are not loaded."""
    module: Any = import_module(f"mashq.report.text.{document.kind}")
    return module.text(document)


def scored_by(document: Scored) -> str:
    """Who scored, or that nobody did."""
    if document.drawn:
        return "scored as drawn (no detector ran)"
    return f"scored by {safe(document.detector.name)} {safe(document.detector.version)}"


def cost_columns(costs: Sequence[Costs], without: Sequence[str] = ("dollars",)) -> list[str]:
    """The resources that a table shows: those that P counts by default, and of the others what somebody knows."""
    return [
        name
        for name in COSTS
        if name not in without and (TABLE[name].weight or any(row[name] is not None for row in costs))
    ]
