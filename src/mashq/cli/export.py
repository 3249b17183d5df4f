"""`mashq export`: a run for other tools."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.export.base import What


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help="csv, jsonl, parquet, latex, otel, inspect or an installed one; by default what -o ends in.",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="A file, or a folder for inspect.")
@click.option(
    "--what",
    type=click.Choice(["results", "attempts", "events"]),
    help="Which rows, for csv, jsonl and parquet.  [default: results]",
)
@click.option("--match", "matches", multiple=True, metavar="ID", help="Only this match of the run; may be repeated.")
@click.option("--content", is_flag=True, help="Prompts, replies and answers too, in attempts, events and spans.")
def export(
    run: Path, form: str | None, out: Path | None, what: "What | None", matches: tuple[str, ...], content: bool
) -> None:
    """Write RUN in a form that other tools read; without -o, on standard output.

    \b
    csv, jsonl, parquet  rows: results (what mashq score reads back), attempts or events
    latex                the result table, with booktabs
    otel                 attempts as OpenTelemetry spans, OTLP JSON lines
    inspect              a log for each player, for inspect view

    \b
    Examples:
      mashq export runs/first --format csv -o results.csv
      mashq export runs/first --format parquet --what attempts -o attempts.parquet
      mashq export runs/first --format inspect -o logs && inspect view --log-dir logs
    """
    from mashq.export.base import Options
    from mashq.extensions import EXPORTS

    name = form or _format_of(out)
    chosen = EXPORTS.create(name)
    if what is not None and what not in chosen.holds:
        raise ConfigError(f"--what {what} is for csv, jsonl and parquet, not for {name}")
    for note in chosen.write(run, out, Options(what or chosen.holds[0], matches, content)):
        click.echo(note, err=True)


def _format_of(out: Path | None) -> str:
    """The first format whose file suffix matches `out`."""
    from mashq.extensions import EXPORTS

    for name in EXPORTS.names():
        if out is not None and out.name.lower().endswith(tuple(EXPORTS.create(name).suffixes)):
            return name
    raise ConfigError("which format: name it with --format, or a file that ends in .csv or the like with -o")
