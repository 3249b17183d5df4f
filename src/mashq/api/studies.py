"""Results that are no score of their own: a check of a record, the power of a match, a gateway's ledger."""

from pathlib import Path
from typing import Any, cast

from mashq.analysis.power import PowerPoint
from mashq.api import frames
from mashq.api.frames import Library
from mashq.api.results import Result, Run, Scored, What
from mashq.errors import ConfigError
from mashq.report.documents import metered, power, verify
from mashq.report.documents.base import Document, plain
from mashq.runs.verify import Finding

__all__ = ["MeteredRun", "Power", "Rescored", "Verification"]


class Verification(Result[verify.Verification]):
    """Whether a run's record agrees with itself; true if every check holds."""

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return not self.document.wrong

    @property
    def wrong(self) -> tuple[Finding, ...]:
        """The checks that do not hold, each with what is wrong."""
        return tuple(self.document.wrong)

    def __bool__(self) -> bool:
        return self.ok

    def _headline(self) -> str:
        return f"{self.document.checks} checks, {f'{len(self.wrong)} wrong' if self.wrong else 'all hold'}."

    def _rows(self) -> list[dict[str, Any]]:
        return [plain(finding) for finding in self.wrong]

    def __str__(self) -> str:
        return "\n".join([*(f"{finding.check}: {finding.wrong}" for finding in self.wrong), self._headline()])


class Power(Result[power.Power]):
    """How many items tell two players apart."""

    @property
    def needed(self) -> int | None:
        """The scored items needed; None: more than can be told."""
        return self.document.found.needed

    @property
    def asked(self) -> int | None:
        """The items that a match needs for that, with those that would be left out of the score."""
        return self.document.found.asked

    @property
    def curve(self) -> tuple[PowerPoint, ...]:
        """Power by the number of items."""
        return tuple(self.document.found.curve)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must not miss."""
        return tuple(self.document.found.notes)

    def _headline(self) -> str:
        a, b = self.document.found.players
        return f"{a} and {b}: {'more items than can be told' if self.needed is None else f'{self.needed:,} items'}"

    def _rows(self) -> list[dict[str, Any]]:
        return [frames.flat(plain(point)) for point in self.curve]

    def __str__(self) -> str:
        from mashq.report.text.power import power_text

        return power_text(self.document, "table")


class Rescored(Scored[Document]):
    """A match, or its trials, as another judge would have scored it."""

    @property
    def detector(self) -> str:
        """The judge, with its version."""
        named: Any = getattr(self.document, "detector")  # noqa: B009
        return f"{named.name} {named.version}"

    def __str__(self) -> str:
        return f"{self.detector}: {self.headline}"


class MeteredRun(Run):
    """The ledger of a gateway: what was spent through it, with no match."""

    def __init__(self, path: Path) -> None:
        self.document = metered.document(path)
        self._place = path

    @property
    def _ledger(self) -> metered.Metered:
        return cast(metered.Metered, self.document)

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._place

    @property
    def finished(self) -> bool:
        """Whether the gateway has stopped."""
        return self._ledger.finished

    @property
    def simulated(self) -> bool:
        """Whether some model was not a real one."""
        return self._ledger.simulated

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the gateway."""
        from mashq.runs.manifest import read_manifest

        return dict(read_manifest(self.path).get("config") or {})

    def to_frame(self, what: What = "players", *, library: Library | None = None) -> Any:
        """A data frame of what was spent, by player and model, or of all attempts."""
        if what == "players":
            return frames.frame(*frames.table(self._rows()), library)
        from mashq.export import tables

        if what != "attempts":
            raise ConfigError(f"a gateway has no rows of {what!r}: use players or attempts")
        table = tables.attempts(self.path)
        return frames.frame(table.names, table.rows, library)

    def _rows(self) -> list[dict[str, Any]]:
        return [frames.flat(plain(row)) for row in self._ledger.spent]

    def __str__(self) -> str:
        from mashq.report.text.metered import text

        return text(self._ledger)
