"""`mashq plan`: what a match would cost."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mashq.arena.plan import Cost
    from mashq.report.documents.plan import PlannedCost


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
    from mashq.report.documents.plan import PlanDocument, PlannedPlayer
    from mashq.report.text.plan import text

    count, plans = planning.plan(configuration.load(config, overrides), config.parent)
    document = PlanDocument(
        items=count,
        players=[
            PlannedPlayer(name=one.name, model=one.model, expected=_cost(one.expected), worst=_cost(one.worst))
            for one in plans
        ],
        assumed=planning.ASSUMED,
    )
    if as_json:
        click.echo(json_of(document))
        return
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = max(console.width, 100)
    console.print(text(document))


def _cost(cost: "Cost") -> "PlannedCost":
    from mashq.protocol.resources import Unknown
    from mashq.report.documents.plan import PlannedCost

    dollars = None if isinstance(cost.dollars, Unknown) else cost.dollars
    return PlannedCost(calls=cost.calls, tokens=cost.tokens, dollars=dollars, hours=cost.seconds / 3600)
