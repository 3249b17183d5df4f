"""What was spent through a gateway, whose run directory has no match."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from mashq.analysis.parts import OPTIONAL, Costs, flat
from mashq.protocol.resources import MEASURES
from mashq.report.documents.first_byte import FirstByte, by
from mashq.runs.manifest import GATEWAY, read_manifest
from mashq.runs.reading import check_record, read_first_bytes, read_metered, read_refusals

SUMS = tuple(part for name in MEASURES for part in ((name, "waited") if name == "seconds" else (name,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The attempts of a player with a model."""

    player: str
    """Who asked."""
    model: str
    """The model."""
    attempts: int
    """How many requests."""
    unresolved: int
    """Those of which the end is not known."""
    failed: int
    """Those that failed."""
    unknown: int
    """Those of which the tokens are not known."""
    costs: Costs = field(metadata=flat(SUMS))
    """The sums of what is known; `waited` are seconds that requests waited for their turn."""
    first_byte: FirstByte | None = field(default=None, metadata=OPTIONAL)
    """How long streamed replies took to begin; absent where none was streamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """Requests that were not let through."""

    player: str | None
    """Who asked; null is unknown."""
    status: int
    """The HTTP status that was answered."""
    reason: str
    """Why."""
    requests: int
    """How many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """What was spent through a gateway."""

    kind: ClassVar[str] = GATEWAY

    run: str
    """The run directory."""
    finished: bool
    """Whether the gateway has stopped."""
    simulated: bool
    """Whether some model was not a real one."""
    spent: Sequence[Spent]
    """By player and model."""
    refused: Sequence[TurnedAway]
    """By player and reason."""


def document(run: Path) -> Metered:
    """Summarise the ledger of a gateway in its current state."""
    manifest = read_manifest(run)
    check_record(run)
    first_bytes = by(((player, model), seconds) for _, player, model, seconds in read_first_bytes(run))
    counts = ("player", "model", "attempts", "unresolved", "failed", "unknown")
    return Metered(
        run=str(run),
        finished=manifest["ended"] is not None,
        simulated=manifest["simulated"],
        spent=[
            Spent(
                **{name: row[name] for name in counts},
                costs={name: row[name] for name in SUMS},
                first_byte=first_bytes.get((row["player"], row["model"])),
            )
            for row in read_metered(run)
        ],
        refused=[TurnedAway(**row) for row in read_refusals(run)],
    )
