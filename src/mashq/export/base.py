"""What an export is: a run in a form that other tools read."""

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
    """What of a run is written: which of what it holds, which matches (none named: all), and whether with texts."""

    what: What = "results"
    matches: tuple[str, ...] = ()
    content: bool = False


class Export(Protocol):
    """A form for runs."""

    @property
    def suffixes(self) -> Sequence[str]:
        """What its files end in, such as `.csv`; none when it writes a folder."""
        ...

    @property
    def holds(self) -> Sequence[What]:
        """What of a run it can hold; the first when nothing is said."""
        ...

    def write(self, run: Path, out: Path | None, options: Options) -> Sequence[str]:
        """Write the run to `out`, or to standard output; what to tell the user, in sentences.

        What it cannot do (leave matches out, write to standard output) is a ConfigError.
        """
        ...


def check_matches(run: Path, matches: Sequence[str]) -> None:
    """Whether the run has these matches; the ledger of a gateway has none."""
    if not is_metered(run):
        chosen(load_season(run), matches)
        return
    check_record(run)
    if matches:
        raise ConfigError(f"{run} is the ledger of a gateway: it has no matches to choose from")
