"""Row exports: results, attempts or events as CSV, JSON lines and Parquet."""

from collections.abc import Sequence
from pathlib import Path

from mashq.errors import ConfigError
from mashq.export import files, tables
from mashq.export.base import Options, What, check_matches
from mashq.report.documents.columns import trials_of
from mashq.runs.open import Season, load_season
from mashq.runs.setup import score_rules_of


class Rows:
    """What the three formats have in common."""

    form: files.Form
    suffixes: tuple[str, ...]
    holds: tuple[What, ...] = ("results", "attempts", "events")

    def write(self, run: Path, out: Path | None, options: Options) -> list[str]:
        """Write the rows; returns how many there are and how to score them."""
        notes: list[str] = []
        if options.what == "results":
            if options.content:
                raise ConfigError("--content is for attempts, events and spans: results hold no texts")
            season = load_season(run)
            written = files.write(tables.results(season, options.matches), self.form, out)
            if season.kind == "match" and out is not None:
                notes.append(_how_scored(season, options.matches, out))
        else:
            check_matches(run, options.matches)
            table = tables.attempts if options.what == "attempts" else tables.events
            written = files.write(table(run, options.matches, content=options.content), self.form, out)
        if out is not None:
            notes.append(f"{written.rows:,} rows in {out}.")
        if written.formulas:
            notes.append(
                f"Note: {written.formulas:,} cells begin with =, +, - or @, as they do in the run: in a spreadsheet, "
                "import them as text."
            )
        return notes


def _how_scored(season: Season, matches: Sequence[str], out: Path) -> str:
    """How to score the rows as the run does, or which rows the run's own score leaves out."""
    scored = {played.fixture.id for played in trials_of(season)}
    started = {fixture.id for fixture in tables.chosen(season, matches)}
    if started > scored:
        trials = ", ".join(sorted(started - scored, key=int))
        return f"Note: rows of trial {trials} are in the file, and the run's score leaves them out: it has not ended."
    if score_rules_of(season.config).h != "faithful":
        return "Note: h is the judge's own; the run is scored by an adequate H, which takes the texts that it has."
    flags = " ".join(tables.score_flags(score_rules_of(season.config)))
    return f"Scores as the run does with: mashq score {out} {flags}"


class Csv(Rows):
    """Comma-separated values."""

    form: files.Form = "csv"
    suffixes: tuple[str, ...] = (".csv",)


class Jsonl(Rows):
    """One JSON object per line."""

    form: files.Form = "jsonl"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")


class Parquet(Rows):
    """A Parquet file; needs the `parquet` extra."""

    form: files.Form = "parquet"
    suffixes: tuple[str, ...] = (".parquet",)
