"""`mashq site`: a static leaderboard of finished runs."""

from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="A new directory, or an earlier site."
)
def site(folder: Path, out: Path) -> None:
    """Make a static leaderboard in OUT from the finished runs and tournaments under DIR.

    The page ranks again as beta is moved and links to every run's report. It opens from a disk or on any static host,
    and needs no network.

    \b
    Example:
      mashq site runs -o public
    """
    from mashq.report.html.extra import needed

    needed()
    from mashq.report.site import write_site
    from mashq.report.text.formatting import safe

    count, skipped = write_site(folder, out)
    for line in skipped:
        click.echo(f"Passed over: {safe(line, 300)}", err=True)
    click.echo(f"{out / 'index.html'} ({count} run{'' if count == 1 else 's'})", err=True)
