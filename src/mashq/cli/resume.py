"""`mashq resume`: go on with a match that stopped."""

from pathlib import Path

import click

from mashq.cli.playing import address_option, executor_of, executor_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@executor_option
@address_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def resume(run: Path, executor: str | None, ray_address: str | None, as_json: bool) -> None:
    """Go on with RUN where it stopped; nothing acknowledged is paid for again.

    \b
    Example:
      mashq resume runs/20260101-120000
    """
    from mashq.arena import match
    from mashq.cli.playing import played, show_result
    from mashq.config import check
    from mashq.runs.manifest import read_manifest

    settings = check(read_manifest(run)["config"], f"{run}/manifest.json")
    where = executor_of(executor, ray_address)
    result = played(run, settings, lambda show: match.resume(run, show=show, executor=where))
    show_result(result, as_json=as_json)
