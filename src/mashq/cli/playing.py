"""What `demo`, `run` and `resume` share: play with progress, then print the result."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mashq.errors import ConfigError, Stopped

if TYPE_CHECKING:
    from mashq.arena.executors.base import Executor
    from mashq.config import Config
    from mashq.report.documents.match import Match, ReviewSpend
    from mashq.report.text.progress import Progress
    from mashq.runs.open import Season


executor_option = click.option(
    "--executor",
    metavar="NAME",
    help="Where matches run: local, processes, ray or an installed one; by default here, as is quickest.",
)
address_option = click.option("--ray-address", metavar="HOST:PORT", help="A Ray cluster; a local one by default.")


def executor_of(name: str | None, address: str | None) -> "Executor | None":
    """Where matches are played; None leaves the choice to the arena."""
    if address is not None and name != "ray":
        raise ConfigError("--ray-address goes with --executor ray")
    if name is None:
        return None
    from mashq.extensions import EXECUTORS

    return EXECUTORS.create(name if address is None else f"{name}:{address}")


def played(out: Path, config: "Config", start: "Callable[[Progress], Awaitable[Season]]") -> "Season":
    """Play under a progress display; an interrupt says how to go on."""
    from rich.console import Console

    from mashq.report.text.progress import Progress
    from mashq.runs.setup import score_rules_of

    simulated = any(player.model.startswith("simulated/") for player in config.players)
    progress = Progress(Console(stderr=True), score_rules_of(config), simulated=simulated)

    async def go() -> "Season":
        return await start(progress)

    try:
        with progress:
            return asyncio.run(go())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Stopped(f"stopped; what was paid for is kept: go on with 'mashq resume {out}'") from None


def show_result(season: "Season", *, as_json: bool) -> None:
    """Print the document, or the table."""
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.match import Match, review_spend
    from mashq.report.documents.seasons import document
    from mashq.report.text.seasons import text

    found = document(season)
    if as_json:
        click.echo(json_of(found))
    elif isinstance(found, Match):
        print_table(found, review_spend(next(season.fixtures_played())))
    else:
        click.echo(text(found))


def print_table(found: "Match", reviews: "Mapping[str, ReviewSpend]") -> None:
    """The result for a person, as wide as the terminal but never too narrow for its columns."""
    from rich.console import Console

    from mashq.report.text.match import NARROWEST, result, table_width

    console = Console(highlight=False, emoji=False, markup=False)
    shown = result(found, reviews)
    needed = console.measure(shown, options=console.options.update(width=1000)).maximum
    console.width = max(console.width, min(needed, NARROWEST), table_width(found))
    console.print(shown)


def show_metered(run: Path, *, as_json: bool) -> None:
    """What was spent through a gateway."""
    from rich.console import Console

    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.metered import document
    from mashq.report.text.metered import metered

    found = document(run)
    if as_json:
        click.echo(json_of(found))
        return
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = max(console.width, 120)
    console.print(metered(found))
