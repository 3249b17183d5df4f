"""`mashq paper`: the paper's printed scores beside what its own figures give."""

import json
from typing import Any, Literal

import click


@click.command()
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def paper(form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """Every Q-Score the MAS-HQ paper prints beside what its counts, or its printed penalty, give.

    Then its Best-of-N table, as printed and as one match of all five players.

    \b
    Example:
      mashq paper --format md
    """
    from importlib.resources import files

    from mashq.analysis.paper import paper as recomputed
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.text.paper import text

    figures: dict[str, Any] = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text("utf-8"))
    document = recomputed(figures)
    click.echo(json_of(document) if as_json else text(document, form))
