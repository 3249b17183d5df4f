"""`mashq verify`: does a run's record agree with itself?"""

import sys
from pathlib import Path

import click

WRONG = 1


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON and nothing else.")
def verify(run: Path, as_json: bool) -> None:
    """Check every number of RUN against where it came from: results, costs, items, prompts and the file itself.

    The rows written when a match ended must be the fold of its moves, and the moves' costs those of the attempts in
    the ledger. Exit code 1 when something does not agree.

    \b
    Example:
      mashq verify runs/first
    """
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.verify import document
    from mashq.report.text.formatting import safe
    from mashq.report.text.tables import prose
    from mashq.runs import verify as checks

    found = document(list(checks.verify(run)))
    if as_json:
        click.echo(json_of(found))
    else:
        for finding in found.wrong:
            click.echo(prose([f"{safe(finding.check)}: {safe(finding.wrong, 400)}"], "table"))
        wrong = f"{len(found.wrong)} wrong" if found.wrong else "all hold"
        click.echo(f"{found.checks} checks, {wrong}.")
    if found.wrong:
        sys.exit(WRONG)
