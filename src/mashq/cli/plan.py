"""`mashq plan`: what a match would cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mashq.arena.plan import Cost, Plan
    from mashq.protocol.resources import Unknown
    from mashq.report.documents.plan import PlannedCost, PlannedPlayer


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, e.g. rules.T=0.9.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON and nothing else.")
def plan(config: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Calls, tokens, dollars and hours of CONFIG, expected and at worst, before anything is paid.

    \b
    Example:
      mashq plan examples/two-apis.yaml --set task.limit=100
    """
    from rich.console import Console

    from mashq import config as configuration
    from mashq.arena import plan as planning
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.plan import PlanDocument
    from mashq.report.text.plan import text

    count, plans = planning.plan(configuration.load(config, overrides), config.parent)
    document = PlanDocument(items=count, players=planned(plans), assumed=planning.ASSUMED)
    if as_json:
        click.echo(json_of(document))
        return
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = max(console.width, 100)
    console.print(text(document))


def planned(plans: "Sequence[Plan]") -> "list[PlannedPlayer]":
    """The plans as the document has them."""
    from mashq.report.documents.plan import PlannedPlayer, Repeats

    return [
        PlannedPlayer(
            name=own.name,
            model=own.model,
            expected=_cost(own.expected),
            worst=_cost(own.worst),
            repeats=Repeats(asks=own.asks, attempts=own.attempts) if own.known else None,
        )
        for own in plans
    ]


def _cost(cost: "Cost") -> "PlannedCost":
    from mashq.report.documents.plan import PlannedCost

    seconds = _known(cost.seconds)
    return PlannedCost(
        calls=_known(cost.calls),
        tokens=_known(cost.tokens),
        dollars=_known(cost.dollars),
        hours=None if seconds is None else seconds / 3600,
    )


def _known(amount: "float | Unknown") -> float | None:
    return amount if isinstance(amount, int | float) else None
