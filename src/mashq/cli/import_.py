"""`mashq import`: other tools' results for `mashq score`."""

from pathlib import Path
from typing import Literal

import click


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="A .csv, .jsonl or .parquet file.")
@click.option("--scorer", metavar="NAME", help="Which score of an Inspect log is H; NAME.KEY for one of several.")
@click.option(
    "--player", metavar="TEXT", help="What players are called, with {model}, {task}, {solver}, {file}; the model."
)
@click.option(
    "--usage",
    type=click.Choice(["own", "all"]),
    default="own",
    show_default=True,
    help="Tokens of the evaluated model, or of all models but the grader.",
)
@click.option("--map", "renames", multiple=True, metavar="OURS=THEIRS", help="Which column is which, for rows.")
def import_(
    files: tuple[Path, ...],
    out: Path,
    scorer: str | None,
    player: str | None,
    usage: Literal["own", "all"],
    renames: tuple[str, ...],
) -> None:
    """Turn FILES into results that mashq score reads: Inspect logs (.eval, .json) or rows (.csv, .jsonl, .parquet).

    What a file does not say stays unknown. Inspect counts neither calls nor reviews; its epochs become trials.

    \b
    Examples:
      mashq import logs/*.eval --scorer match -o results.csv && mashq score results.csv --resources tokens,seconds
      mashq import theirs.csv --map h=hhem_score --map player=model -o results.parquet
    """
    from mashq.cli.score import pairs
    from mashq.export import files as written
    from mashq.export.imports import Reading, table

    form = written.form_of(out)
    reading = Reading(scorer, player, usage, pairs("--map", renames))
    result = written.write(table(files, reading), form, out)
    for note in reading.notes:
        click.echo(f"Note: {note}", err=True)
    click.echo(f"{result.rows:,} rows in {out}.", err=True)
