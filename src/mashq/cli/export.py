"""`mashq export`: a run for other tools."""

from pathlib import Path
from typing import Literal

import click

from mashq.errors import ConfigError

Format = Literal["csv", "jsonl", "parquet", "latex", "otel", "inspect"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["csv", "jsonl", "parquet", "latex", "otel", "inspect"]), required=True
)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="A file, or a folder for inspect.")
@click.option(
    "--what",
    type=click.Choice(["results", "attempts", "events"]),
    default="results",
    show_default=True,
    help="Which rows, for csv, jsonl and parquet.",
)
@click.option("--match", "matches", multiple=True, metavar="ID", help="Only this match of the run; may be repeated.")
@click.option("--content", is_flag=True, help="Prompts, replies and answers too, in attempts, events and spans.")
def export(
    run: Path,
    form: Format,
    out: Path | None,
    what: Literal["results", "attempts", "events"],
    matches: tuple[str, ...],
    content: bool,
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
    if what != "results" and form not in ("csv", "jsonl", "parquet"):
        raise ConfigError(f"--what {what} is for csv, jsonl and parquet, not for {form}")
    if form in ("csv", "jsonl", "parquet"):
        _rows(run, form, out, what, matches, content)
    elif form == "latex":
        _latex(run, out, matches)
    elif form == "otel":
        _otel(run, out, matches, content)
    else:
        _inspect(run, out, matches)


def _rows(
    run: Path,
    form: Literal["csv", "jsonl", "parquet"],
    out: Path | None,
    what: str,
    matches: tuple[str, ...],
    content: bool,
) -> None:
    from mashq.export import files
    from mashq.export import tables as rows
    from mashq.runs.open import load_season
    from mashq.runs.setup import score_rules_of

    if what == "results":
        if content:
            raise ConfigError("--content is for attempts, events and spans: results hold no texts")
        season = load_season(run)
        found = files.write(rows.results(season, matches), form, out)
        kind = season.kind
        if kind == "match" and out is not None:
            flags = " ".join(rows.score_flags(score_rules_of(season.config)))
            click.echo(f"Scores as the run does with: mashq score {out} {flags}", err=True)
    else:
        _check(run, matches)
        table = rows.attempts if what == "attempts" else rows.events
        found = files.write(table(run, matches, content=content), form, out)
    if out is not None:
        click.echo(f"{found.rows:,} rows in {out}.", err=True)
    if found.formulas:
        click.echo(
            f"Note: {found.formulas:,} cells begin with =, +, - or @, as they do in the run: in a spreadsheet, "
            "import them as text.",
            err=True,
        )


def _latex(run: Path, out: Path | None, matches: tuple[str, ...]) -> None:
    from mashq.export import files, latex
    from mashq.runs.open import load_season

    if matches:
        raise ConfigError("--match is not for latex: the table is of the whole run")
    text = latex.document(load_season(run))
    with files.text_to(out) as file:
        file.write(text)


def _otel(run: Path, out: Path | None, matches: tuple[str, ...], content: bool) -> None:
    from mashq.export import files, otel

    _check(run, matches)
    with files.text_to(out) as file:
        count = otel.write(run, file, matches, content=content)
    if out is not None:
        click.echo(f"{count:,} spans in {out}.", err=True)


def _inspect(run: Path, out: Path | None, matches: tuple[str, ...]) -> None:
    from mashq.export.inspect import write as inspect_write
    from mashq.runs.open import load_season

    if out is None:
        raise ConfigError("inspect writes a log for each player: name a folder with -o")
    for path in inspect_write.write(load_season(run), out, matches):
        click.echo(f"{path}", err=True)


def _check(run: Path, matches: tuple[str, ...]) -> None:
    """Whether the run has these matches; the ledger of a gateway has none."""
    from mashq.export.tables import chosen
    from mashq.runs.metered import is_metered
    from mashq.runs.open import load_season

    if not is_metered(run):
        chosen(load_season(run), matches)
    elif matches:
        raise ConfigError(f"{run} is the ledger of a gateway: it has no matches to choose from")
