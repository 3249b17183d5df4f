"""`mashq show`: the result of a run."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def show(run: Path, as_json: bool) -> None:
    """Show the result of RUN as it stands, even while it is being played.

    \b
    Example:
      mashq show runs/20260101-120000
    """
    from mashq.cli.playing import show_metered, show_result
    from mashq.runs.metered import is_metered
    from mashq.runs.open import load_season

    if is_metered(run):
        show_metered(run, as_json=as_json)
    else:
        show_result(load_season(run), as_json=as_json)
