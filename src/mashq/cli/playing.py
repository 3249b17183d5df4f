"""What the commands that play share: their options, playing with progress, printing the result."""

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
PLAYING = "mashq.playing"  # where a command's context says what is done with a season: it is played, or planned


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
        """Play a season under a progress display and print its result; where it is."""
        from mashq.arena import match
        from mashq.gateway.clock import RealClock
        from mashq.runs.manifest import default_out

        executor = executor_of(self.executor, self.ray_address)
        place, base = self.out or default_out(RealClock()), self.config.parent
        trials = {**season, "trials": self.trials}
        result = played(
            place,
            settings,
            lambda show: match.run(settings, place, season=trials, base=base, show=show, executor=executor),
        )
        if not self.as_json:
            click.echo(f"run: {place}", err=True)
        show_result(result, as_json=self.as_json)
        show_head(place, as_json=self.as_json)
        if not self.as_json:
            click.echo(next_step(result.kind, place), err=True)
        return place

    def join(self, settings: "Config", tournament: Path) -> None:
        """Let the new players of the configuration into a tournament and print its result."""
        from mashq.arena import match

        base = self.config.parent
        joined = played(tournament, settings, lambda show: match.join(tournament, settings, base=base, show=show))
        show_result(joined, as_json=self.as_json)
        show_head(tournament, as_json=self.as_json)


def next_step(kind: str, place: Path) -> str:
    """What to do with a run that was just played."""
    more = f" · mashq score {place}" if kind == "match" else ""
    return f"Next: mashq report {place} -o report.html{more} · mashq view"


def play_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Give a command CONFIG and the options of playing, handed over as one `playing`.

    Under `mashq plan` that is one that plans: see PLAYING.
    """

    @wraps(command)
    def gathered(**options: Any) -> None:
        kind: type[Playing] = click.get_current_context().meta.get(PLAYING, Playing)
        own = {name: value for name, value in options.items() if name not in Playing.__slots__}
        return command(kind(**{name: value for name, value in options.items() if name not in own}), **own)

    wrapped: Callable[..., None] = gathered
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


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
    import asyncio

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
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it stops already: a second one changes nothing
        raise Stopped(f"stopped; what was paid for is kept: continue with 'mashq resume {out}'") from None


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
        say(text(found))


def show_head(run: Path, *, as_json: bool) -> None:
    """Say what to publish with a result, so that nobody can change the run unnoticed."""
    from mashq.runs.reading import read_head

    head = None if as_json else read_head(run)
    if head is not None:
        click.echo(f"head: {head}", err=True)


def print_table(found: "Match", reviews: "Mapping[str, ReviewSpend]") -> None:
    """The result for a person."""
    from mashq.report.text.match import text

    say(text(found, reviews))


def show_metered(run: Path, *, as_json: bool) -> None:
    """What was spent through a gateway."""
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.metered import document
    from mashq.report.text.metered import text

    found = document(run)
    if as_json:
        click.echo(json_of(found))
    else:
        say(text(found))


def say(text: str) -> None:
    """Print a result: in a terminal, unless NO_COLOR is set, the winner's line is bold and a warning yellow."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        click.echo(text)
        return
    for line in text.split("\n"):
        warned = line.startswith("SIMULATED")
        click.secho(line, bold=True if warned or " ★ " in f"{line} " else None, fg="yellow" if warned else None)
