"""`mashq plan`: what a command that plays would cost, with the same options."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mashq.cli.groups import Group
from mashq.cli.playing import PLAYING, Playing
from mashq.cli.run import run
from mashq.cli.seasons import game, tournament, vision
from mashq.cli.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mashq.config import Config

PLAYING_ONLY = ("out", "executor", "ray_address", "conditions", "junit", "summary")


class Planning(Playing):
    """The options of a command that plays, used to plan instead."""

    __slots__ = ()

    def play(self, settings: "Config", season: "Mapping[str, Any]") -> None:
        """Print what the season would cost."""
        self._show(settings, {**season, "trials": self.trials})

    def join(self, settings: "Config", tournament: Path) -> None:
        """Print what the matches of the new players would cost."""
        from mashq.arena.match import grown_by
        from mashq.runs.reading import read_matches

        season, grown = grown_by(tournament, settings, base=self.config.parent)
        done = {match for match, ended in read_matches(tournament).items() if ended}
        self._show(grown, season.manifest["season"], done)

    def _show(
        self, settings: "Config", season: "Mapping[str, Any]", done: "Collection[str]" = frozenset[str]()
    ) -> None:
        from mashq.arena.plan_document import documented
        from mashq.arena.plan_season import plan as planned
        from mashq.report.documents.base import as_json as json_of
        from mashq.report.text.plan import text

        document = documented(planned(settings, self.config.parent, season, done))
        click.echo(json_of(document) if self.as_json else text(document))


class Plans(Group):
    """The commands to plan for; the first one is the default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the first command if none is named: a mistyped one is a word without a dot before another word."""
        is_file = len(args) < 2 or args[1].startswith("-") or os.path.exists(args[0]) or "." in args[0]
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names and is_file:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


@click.group(cls=Plans, subcommand_metavar="[COMMAND] CONFIG [OPTIONS]…")
@click.pass_context
def plan(context: click.Context) -> None:
    """Calls, reviews, tokens, dollars and hours, expected and at worst, before anything is paid.

    COMMAND is the one that would play, run by default, with its own options: `mashq plan sweep --help` lists them.
    The worst case is a bound: R reviews of every item, every reply requested again, every attempt repeated and timing
    out.

    \b
    Examples:
      mashq plan examples/two-apis.yaml --set task.limit=100
      mashq plan match.yaml --trials 20
      mashq plan sweep match.yaml --over rules.T=0.8,0.9 --trials 3
      mashq plan tournament field.yaml --system swiss --rounds 5
      mashq plan game match.yaml --policies frugal,rule,lavish
    """
    context.meta[PLAYING] = Planning


for _command in (run, sweep, tournament, game, vision):
    plan.add_command(
        click.Command(
            _command.name,
            params=[option for option in _command.params if option.name not in PLAYING_ONLY],
            callback=_command.callback,
            help=f"What `mashq {_command.name}` would cost with the same options.",
        )
    )
