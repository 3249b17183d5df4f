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
    from mashq.report.text.formatting import safe
    from mashq.runs import verify as checks

    findings = list(checks.verify(run))
    wrong = [finding for finding in findings if finding.wrong]
    if as_json:
        click.echo(checks.summary(findings))
    else:
        for finding in wrong:
            click.echo(f"{safe(finding.check)}: {safe(finding.wrong, 400)}")
        click.echo(f"{len(findings)} checks, {len(wrong)} wrong." if wrong else f"{len(findings)} checks, all hold.")
    if wrong:
        sys.exit(WRONG)
