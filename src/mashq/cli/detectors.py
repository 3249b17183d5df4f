"""`mashq detectors`: list the available detectors, and whether they work."""

from pathlib import Path

import click

from mashq.cli.groups import Group
from mashq.errors import MashqError


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def detectors(context: click.Context) -> None:
    """List the detectors: their versions, what is installed, and a quick self-test of each installed one.

    \b
    Examples:
      mashq detectors
      mashq detectors check hhem --pairs published.json
    """
    if context.invoked_subcommand is None:
        _list()


def _list() -> None:
    import os

    from mashq.detectors.base import load
    from mashq.extensions import DETECTORS
    from mashq.report.text.tables import listed
    from mashq.testing.conformance import check_detector

    os.environ["HF_HUB_OFFLINE"] = "1"  # listing must not download anything
    for name in DETECTORS.names():
        try:
            detector = load(name)
            check_detector(detector, quick=True)
        except MashqError as error:
            click.echo(listed(" no", f"{name}  ({error})"))
        except AssertionError as error:
            click.echo(listed("BAD", f"{name}  ({error})"))
        else:
            click.echo(listed("yes", f"{name} {detector.version}"))
    click.echo("  -  llm-judge:PROVIDER/MODEL asks a model, in a match")


@detectors.command()
@click.argument("name")
@click.option("--pairs", type=click.Path(path_type=Path), required=True, help="JSON list of [source, answer, score].")
@click.option("--within", default=0.02, show_default=True, help="How far a score may be off.")
def check(name: str, pairs: Path, within: float) -> None:
    """Compare a detector with published scores; exits with 1 when one is off by more than --within.

    \b
    Example:
      mashq detectors check hhem --pairs published.json
    """
    from mashq.detectors.base import load
    from mashq.detectors.neural.published import compare, read

    report = compare(load(name), read(pairs), within)
    for row in report.rows:
        mark = "OFF" if row.difference > within else " ok"
        click.echo(f"{mark}  published {row.published:.4f}  here {row.ours:.4f}  {row.answer[:60]!r}")
    good = sum(row.difference <= within for row in report.rows)
    click.echo(f"{good} of {len(report.rows)} within {within:g} ({report.detector} {report.version})")
    if not report.agrees:
        raise SystemExit(1)
