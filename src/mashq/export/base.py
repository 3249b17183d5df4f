"""The protocol of an export: a run in a format that other tools read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from mashq.errors import ConfigError
from mashq.export.tables import chosen
from mashq.runs.metered import is_metered
from mashq.runs.open import load_season
from mashq.runs.reading import check_record

What = Literal["results", "attempts", "events"]


@dataclass(frozen=True, slots=True)
class Options:
    """What is exported: which part of the run, which matches (empty: all), and whether with texts."""

    what: What = "results"
    matches: tuple[str, ...] = ()
    content: bool = False


class Export(Protocol):
    """A file format for runs."""

    @property
    def suffixes(self) -> Sequence[str]:
        """The suffixes of its files, such as `.csv`; empty if it writes a folder."""
        ...

    @property
    def holds(self) -> Sequence[What]:
        """The parts of a run that it can hold; the first is the default."""
        ...

    def write(self, run: Path, out: Path | None, options: Options) -> Sequence[str]:
        """Write the run to `out`, or to standard output; returns sentences for the user.

        Raises ConfigError for what it does not support (selecting matches, writing to standard output).
        """
        ...


def check_matches(run: Path, matches: Sequence[str]) -> None:
    """Raise ConfigError if the run lacks one of these matches; a gateway's ledger has none."""
    if not is_metered(run):
        chosen(load_season(run), matches)
        return
    check_record(run)
    if matches:
        raise ConfigError(f"{run} is the ledger of a gateway: it has no matches to choose from")
