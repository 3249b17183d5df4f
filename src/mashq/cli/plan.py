"""`mashq plan`: what a match would cost."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mashq.arena.plan import Cost, Plan


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
    from mashq import config as configuration
    from mashq.arena import plan as planning

    count, plans = planning.plan(configuration.load(config, overrides), config.parent)
    if as_json:
        players = [
            {"name": p.name, "model": p.model, "expected": _costs(p.expected), "worst": _costs(p.worst)}
            for p in plans
        ]
        click.echo(json.dumps({"items": count, "players": players, "assumed": planning.ASSUMED}, indent=2))
        return
    _print(count, plans, planning.ASSUMED)


def _costs(cost: "Cost") -> dict[str, Any]:
    from mashq.protocol.resources import Unknown

    dollars = None if isinstance(cost.dollars, Unknown) else cost.dollars
    return {"calls": cost.calls, "tokens": cost.tokens, "dollars": dollars, "hours": cost.seconds / 3600}


def _print(count: int, plans: "tuple[Plan, ...]", assumed: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from mashq.report.text.formatting import dollars, number, safe

    table = Table(box=box.SIMPLE_HEAD, title=f"{count} items; expected / at worst", title_justify="left")
    table.add_column("player")
    table.add_column("model")
    for heading in ("calls", "tokens", "dollars", "hours"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in plans:
        low, high = _costs(row.expected), _costs(row.worst)
        table.add_row(
            Text(safe(row.name, 24)),
            Text(safe(row.model, 40)),
            f"{number(low['calls'])} / {number(high['calls'])}",
            f"{number(low['tokens'])} / {number(high['tokens'])}",
            f"{dollars(low['dollars'])} / {dollars(high['dollars'])}",
            f"{number(low['hours'], 2)} / {number(high['hours'], 1)}",
        )
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = max(console.width, 100)
    console.print(table)
    console.print(Text(assumed))
