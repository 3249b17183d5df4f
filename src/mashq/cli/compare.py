"""`mashq compare`: the same players in several runs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mashq.errors import MashqError

if TYPE_CHECKING:
    from mashq.runs.open import Season


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--h",
    "h",
    type=click.Choice(["faithful", "adequate"]),
    help="What H means for all runs; by default each run's own setting.",
)
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def compare(
    runs: tuple[Path, ...],
    h: Literal["faithful", "adequate"] | None,
    form: Literal["table", "md", "latex"],
    as_json: bool,
) -> None:
    """The players that RUNS have in common, side by side: trials, detectors, rules.

    Runs that cannot be read are skipped with a message, as long as two remain.

    \b
    Example:
      mashq compare runs/T80 runs/T85 runs/T90
    """
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.compare import document
    from mashq.report.text.compare import text
    from mashq.report.text.formatting import safe
    from mashq.runs.manifest import MANIFEST
    from mashq.runs.open import load_season

    seasons: list[Season] = []
    errors: list[MashqError] = []
    for path in runs:
        try:
            seasons.append(load_season(path))
        except MashqError as error:
            errors.append(error)
            if not os.path.exists(path / MANIFEST):
                raise
    if errors and len(seasons) < 2:
        raise errors[0]
    for error in errors:
        click.echo(f"Passed over: {safe(str(error), 300)}", err=True)
    comparison = document(seasons, h)
    click.echo(json_of(comparison) if as_json else text(comparison, form))
