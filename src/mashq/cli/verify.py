"""`mashq verify`: check whether a run's record is consistent."""

import sys
from pathlib import Path

import click

WRONG = 1


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--head", metavar="HASH", help="The hash published with the result; this run's must be the same.")
@click.option("--rescore", is_flag=True, help="Score every answer again, too: H must be the same.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON and nothing else.")
def verify(run: Path, head: str | None, rescore: bool, as_json: bool) -> None:
    """Check every number of RUN against where it came from: results, costs, replies, prompts and the file itself.

    Everything recorded is in a hash chain. Replies are parsed again from their bodies, tokens and dollars are
    recomputed, the moves must follow from the replies and the results from the moves. Exit code 1 when something does
    not agree. Only --head, with the hash that was published, detects a run that was rewritten as a whole.

    \b
    Examples:
      mashq verify runs/first
      mashq verify runs/first --rescore
    """
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.verify import document
    from mashq.report.text.formatting import safe
    from mashq.report.text.progress import told
    from mashq.report.text.tables import prose
    from mashq.runs import verify as checks

    with told("verifying", hidden=as_json) as progress:
        result = document(list(checks.verify(run, head=head, rescore=rescore, progress=progress)))
    if as_json:
        click.echo(json_of(result))
    else:
        for finding in result.wrong:
            click.echo(prose([f"{safe(finding.check)}: {safe(finding.wrong, 400)}"], "table"))
        wrong = f"{len(result.wrong)} wrong" if result.wrong else "all hold"
        click.echo(f"{result.checks} checks, {wrong}.")
    if result.wrong:
        sys.exit(WRONG)
