"""Shared by the commands that play: their options, playing with a progress display, and printing the result."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mashq.errors import ConfigError, Stopped

if TYPE_CHECKING:
    from mashq.arena.executors.base import Executor
    from mashq.config import Config
    from mashq.report.documents.match import Match, ReviewSpend
    from mashq.report.text.progress import Progress
    from mashq.runs.open import Season

Decorator = Callable[[Any], Any]
executor_option: Decorator = click.option(
    "--executor",
    metavar="NAME",
    help="Where matches run: local, processes, ray or an installed one; the fastest on this machine by default.",
)
address_option: Decorator = click.option(
    "--ray-address", metavar="HOST:PORT", help="A Ray cluster; a local one by default."
)
json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else."
)
OPTIONS = (
    click.argument("config", type=click.Path(path_type=Path)),
    click.option("--trials", default=1, show_default=True, type=click.IntRange(1), help="Repeats with other seeds."),
    click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default."),
    click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, for example rules.T=0.9."
    ),
    click.option(
        "--map", "renames", multiple=True, metavar="OURS=THEIRS", help="Which field is which, e.g. question=query."
    ),
    executor_option,
    address_option,
    json_option,
)
PLAYING = "mashq.playing"  # the context key for what is done with a season: play it, or plan it


@dataclass(frozen=True, slots=True)
class Playing:
    """What every command that plays takes: CONFIG and the options above."""

    config: Path
    trials: int
    overrides: tuple[str, ...]
    as_json: bool
    out: Path | None = None
    executor: str | None = None
    ray_address: str | None = None
    renames: tuple[str, ...] = ()

    def settings(self) -> "Config":
        """The configuration with its overrides."""
        from mashq import config as configuration
        from mashq.cli.score import pairs

        fields = [f"task.map.{ours}={theirs}" for ours, theirs in pairs("--map", self.renames).items()]
        return configuration.load(self.config, (*self.overrides, *fields))

    def play(self, settings: "Config", season: "Mapping[str, Any]") -> Path | None:
        """Play a season under a progress display, print its result, and return its directory."""
        from mashq.arena import match
        from mashq.gateway.clock import RealClock
        from mashq.runs.manifest import default_out

        executor = executor_of(self.executor, self.ray_address)
        directory, base = self.out or default_out(RealClock()), self.config.parent
        trials = {**season, "trials": self.trials}
        result = played(
            directory,
            settings,
            lambda show: match.run(settings, directory, season=trials, base=base, show=show, executor=executor),
        )
        if not self.as_json:
            click.echo(f"run: {directory}", err=True)
        show_result(result, as_json=self.as_json)
        show_head(directory, as_json=self.as_json)
        if not self.as_json:
            click.echo(next_step(result.kind, directory), err=True)
        return directory

    def join(self, settings: "Config", tournament: Path) -> None:
        """Add the new players of the configuration to a tournament and print its result."""
        from mashq.arena import match

        base = self.config.parent
        joined = played(tournament, settings, lambda show: match.join(tournament, settings, base=base, show=show))
        show_result(joined, as_json=self.as_json)
        show_head(tournament, as_json=self.as_json)


def next_step(kind: str, place: Path) -> str:
    """What to do with a run that was just played."""
    commands = [f"mashq report {place} -o report.html", "mashq view"]
    if kind == "match":
        commands.insert(1, f"mashq score {place}")
    return "\n".join(f"{'      ' if number else 'Next: '}{command}" for number, command in enumerate(commands))


def play_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add CONFIG and the options of playing to a command, passed as one `playing`.

    Under `mashq plan` it plans instead: see PLAYING.
    """

    @wraps(command)
    def with_playing(**options: Any) -> None:
        kind: type[Playing] = click.get_current_context().meta.get(PLAYING, Playing)
        others = {name: value for name, value in options.items() if name not in Playing.__slots__}
        return command(kind(**{name: value for name, value in options.items() if name not in others}), **others)

    wrapped: Callable[..., None] = with_playing
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def executor_of(name: str | None, address: str | None) -> "Executor | None":
    """The executor for matches; None leaves the choice to the arena."""
    if address is not None and name != "ray":
        raise ConfigError("--ray-address goes with --executor ray")
    if name is None:
        return None
    from mashq.extensions import EXECUTORS

    return EXECUTORS.create(name if address is None else f"{name}:{address}")


def played(out: Path, config: "Config", start: "Callable[[Progress], Awaitable[Season]]") -> "Season":
    """Play under a progress display; an interrupt reports how to continue."""
    import asyncio

    from rich.console import Console

    from mashq.gateway.providers import is_simulated
    from mashq.report.text.progress import Progress
    from mashq.runs.setup import score_rules_of

    simulated = any(is_simulated(player.model) for player in config.players)
    progress = Progress(Console(stderr=True), score_rules_of(config), simulated=simulated)

    async def run_season() -> "Season":
        return await start(progress)

    try:
        with progress:
            return asyncio.run(run_season())
    except (KeyboardInterrupt, asyncio.CancelledError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # already stopping: ignore a second interrupt
        raise Stopped(f"stopped; what was paid for is kept: continue with 'mashq resume {out}'") from None


def show_result(season: "Season", *, as_json: bool) -> None:
    """Print the document, or the table."""
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.match import Match, review_spend
    from mashq.report.documents.seasons import document
    from mashq.report.text.seasons import text

    result = document(season)
    if as_json:
        click.echo(json_of(result))
    elif isinstance(result, Match):
        print_table(result, review_spend(next(season.fixtures_played())))
    else:
        say(text(result))


def show_head(run: Path, *, as_json: bool) -> None:
    """Print the hash to publish with a result, so that the run cannot be changed unnoticed."""
    from mashq.runs.reading import read_head

    head = None if as_json else read_head(run)
    if head is not None:
        click.echo(
            f"head: {head}\n  (publish it with the result: 'mashq verify RUN --head' finds any change)", err=True
        )


def print_table(result: "Match", reviews: "Mapping[str, ReviewSpend]") -> None:
    """Print the result as a table."""
    from mashq.report.text.match import text

    say(text(result, reviews))


def show_metered(run: Path, *, as_json: bool) -> None:
    """Print what was spent through a gateway."""
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.metered import document
    from mashq.report.text.metered import text

    result = document(run)
    if as_json:
        click.echo(json_of(result))
    else:
        say(text(result))


def say(text: str) -> None:
    """Print a result; in a terminal, unless NO_COLOR is set, the winner's line is bold and a warning yellow."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        click.echo(text)
        return
    for line in text.split("\n"):
        is_warning = line.startswith("SIMULATED")
        click.secho(
            line, bold=True if is_warning or " ★ " in f"{line} " else None, fg="yellow" if is_warning else None
        )
