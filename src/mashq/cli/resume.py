"""`mashq resume`: continue a match that was interrupted."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mashq.cli.playing import address_option, executor_of, executor_option

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mashq.report.text.progress import Progress
    from mashq.runs.open import Season


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@executor_option
@address_option
@click.option(
    "--accept-change", is_flag=True, help="Continue although its manifest was changed; results will say so."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def resume(run: Path, executor: str | None, ray_address: str | None, accept_change: bool, as_json: bool) -> None:
    """Continue RUN where it stopped; no reply that was received is paid for again.

    A run whose configuration, model addresses or items have changed since it started is refused.

    \b
    Example:
      mashq resume runs/20260101-120000
    """
    from mashq.arena import match
    from mashq.cli.playing import played, show_head, show_result
    from mashq.runs.manifest import config_of, read_manifest

    settings = config_of(read_manifest(run), str(run))
    where = executor_of(executor, ray_address)

    def start(show: "Progress") -> "Coroutine[None, None, Season]":
        return match.resume(run, show=show, executor=where, accept_change=accept_change)

    result = played(run, settings, start)
    show_result(result, as_json=as_json)
    show_head(run, as_json=as_json)
