"""`mashq plan`: what a command that plays would cost, with the same options."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mashq.cli.playing import PLAYING, Playing
from mashq.cli.run import run
from mashq.cli.seasons import game, tournament, vision
from mashq.cli.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mashq.arena.plan_costs import Cost
    from mashq.arena.plan_season import SeasonPlan
    from mashq.config import Config
    from mashq.report.documents.plan import PlanDocument, PlannedCost

PLAYING_ONLY = ("out", "executor", "ray_address", "conditions", "junit", "summary")


class Planning(Playing):
    """The options of a command that plays, to plan with instead."""

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
        from mashq.arena.plan_season import plan as planned
        from mashq.report.documents.base import as_json as json_of
        from mashq.report.text.plan import text

        document = documented(planned(settings, self.config.parent, season, done))
        click.echo(json_of(document) if self.as_json else text(document))


class Plans(click.Group):
    """Commands to plan for; the first is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without the name of a command, its first."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In their own order."""
        return list(self.commands)


@click.group(cls=Plans, subcommand_metavar="[COMMAND] CONFIG [OPTIONS]…")
@click.pass_context
def plan(context: click.Context) -> None:
    """Calls, reviews, tokens, dollars and hours, expected and at worst, before anything is paid.

    COMMAND is the one that would play, run by default, with its own options: `mashq plan sweep --help` lists them. At
    worst is a bound: R reviews of every item, every reply asked for again, every attempt repeated and timing out.

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


def documented(season: "SeasonPlan") -> "PlanDocument":
    """A plan as the document has it."""
    from mashq.arena.plan import ASSUMED
    from mashq.report.documents.plan import (
        PlanDocument,
        PlannedPart,
        PlannedPlayer,
        PlannedReferee,
        Repeats,
        WallTime,
    )

    hours = [None if (seconds := _known(lasts)) is None else seconds / 3600 for lasts in season.lasts]
    return PlanDocument(
        season=season.kind,
        items=season.items,
        trials=season.trials,
        matches=season.matches,
        paired_later=season.paired_later,
        players=[
            PlannedPlayer(
                name=own.name,
                model=own.model,
                matches=own.matches,
                expected=_cost(own.expected),
                worst=_cost(own.worst),
                repeats=None if own.repeats is None else Repeats(asks=own.repeats[0], attempts=own.repeats[1]),
            )
            for own in season.players
        ],
        referee=season.referee and PlannedReferee(expected=_cost(season.referee[0]), worst=_cost(season.referee[1])),
        parts=[
            PlannedPart(
                name=part.name,
                matches=part.matches,
                expected=_cost(part.expected),
                worst=_cost(part.worst),
            )
            for part in season.parts
        ],
        expected=_cost(season.expected),
        worst=_cost(season.worst),
        wall_hours=WallTime(expected=hours[0], worst=hours[1]),
        assumed=ASSUMED,
    )


def _cost(cost: "Cost") -> "PlannedCost":
    """Tokens as whole numbers, other counts to a tenth; the rest as it is."""
    from mashq.protocol.resources import TABLE
    from mashq.report.documents.base import COSTS
    from mashq.report.documents.plan import PlannedCost

    known = {name: _known(cost[name]) for name in COSTS}
    counts = {
        name: _count(name, value) for name, value in known.items() if value is not None and not TABLE[name].digits
    }
    seconds = known["seconds"]
    return PlannedCost(costs={**known, **counts}, service_hours=None if seconds is None else seconds / 3600)


def _count(name: str, value: float) -> float:
    tenths = round(value, 0 if name == "tokens" else 1)
    return int(tenths) if tenths == int(tenths) else tenths


def _known(amount: object) -> float | None:
    return amount if isinstance(amount, int | float) else None
