"""`mashq report`: runs as one HTML page, figures and tables."""

from pathlib import Path

import click

from mashq.cli import checks


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="The page; report.html by default."
)
@click.option("--figures", type=click.Path(path_type=Path), help="Write every chart here, as SVG, PNG and PDF.")
@click.option("--tables", type=click.Path(path_type=Path), help="Write every table here, as LaTeX.")
@click.option(
    "--detector", "detectors", multiple=True, metavar="NAME", help="Also score the answers with this detector."
)
def report(
    runs: tuple[Path, ...], out: Path | None, figures: Path | None, tables: Path | None, detectors: tuple[str, ...]
) -> None:
    """Write RUNS as one HTML page that needs no network: who wins, how sure that is, and what it depends on.

    A run is a match, its trials, a sweep, a tournament, a game or a vision study; several are set
    side by side. The page can be sent, printed and put on any web server as it is.

    \b
    Examples:
      mashq report runs/first -o first.html
      mashq report runs/a runs/b -o both.html --figures figures --tables tables
      mashq report runs/first --detector hhem
    """
    from mashq.report.html.extra import needed

    needed()
    from mashq.report.html.figures import write_figures, write_tables
    from mashq.report.html.report import report as made

    path = out or Path("report.html")
    for target in (path, figures, tables):
        if target is not None:
            checks.check_folder(target)
    result = made(runs, detectors)
    text = result.html().encode("utf-8", "replace")
    checks.write(path, text)
    click.echo(f"{path} ({len(text) / 1e6:.1f} MB)", err=True)
    if figures is not None:
        count = len(write_figures(figures, result.chapters, result.comparison))
        click.echo(f"{count} files in {figures}", err=True)
    if tables is not None:
        count = len(write_tables(tables, result.chapters, result.comparison))
        click.echo(f"{count} files in {tables}", err=True)
