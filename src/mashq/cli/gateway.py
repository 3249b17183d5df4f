"""`mashq gateway`: meter any program."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.arena.metering import Standing


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--config", "file", type=click.Path(path_type=Path), help="Players, their models and limits.")
@click.option("--model", "models", multiple=True, help="A model, instead of a file: provider/model. May be repeated.")
@click.option("--player", "players", multiple=True, help="Whose model and budget to use; all players' by default.")
@click.option("--budget", "budgets", multiple=True, help="Stop at this total, such as dollars=2 or calls=500.")
@click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def gateway(
    file: Path | None,
    models: tuple[str, ...],
    players: tuple[str, ...],
    budgets: tuple[str, ...],
    out: Path | None,
    command: tuple[str, ...],
) -> int:
    """Meter any program: an endpoint on this machine that counts every attempt.

    It speaks OpenAI's chat completions, Responses and embeddings, Anthropic's messages and Gemini's generateContent.
    Prints the variables a program needs and serves until Ctrl-C; with COMMAND, runs it with them and stops when
    it ends, or when the budget is spent. The program never sees a key. 'mashq show RUN' then says what was spent.

    \b
    Examples:
      mashq gateway --model openai/gpt-4o-mini --budget dollars=2 -- python my_agent.py
      mashq gateway --config match.yaml
      mashq gateway --config match.yaml --player A --out runs/metered -- python my_agent.py
    """
    import asyncio

    from mashq import config as configuration
    from mashq.arena import metering
    from mashq.gateway.clock import RealClock
    from mashq.runs.manifest import default_out

    if (file is None) == (not models):
        raise ConfigError("a gateway needs to know which model answers: give either --config FILE or --model NAME")
    if file is not None:
        settings = configuration.load(file)
    else:
        settings = configuration.check({"players": [{"name": name, "model": name} for name in models]})
    clock = RealClock()
    directory = out or default_out(clock)
    line = _Line(live=not command and sys.stderr.isatty())

    def ready(variables: Mapping[str, Mapping[str, str]]) -> None:
        for player, player_variables in variables.items() if not command else ():
            if len(variables) > 1:
                click.echo(f"# {player}")
            for name, value in player_variables.items():
                click.echo(f"export {name}={value}")
        click.echo(f"metering into {directory}" + ("" if command else "; stop with Ctrl-C"), err=True)

    try:
        code = asyncio.run(
            metering.meter(
                settings,
                directory,
                players,
                command,
                ready,
                clock=clock,
                base=Path() if file is None else file.parent,
                budget=_budget(budgets),
                watch=line.show,
            )
        )
    finally:
        if os.path.exists(directory):
            line.end()
            click.echo(f"see what was spent: mashq show {directory}", err=True)
    return code


class _Line:
    """One status line: overwritten while it is live, and printed once more at the end."""

    def __init__(self, *, live: bool) -> None:
        self._live, self._last, self._stopped = live, "", ""

    def show(self, standing: "Standing") -> None:
        """Update the line."""
        self._last, self._stopped = _status_text(standing), standing.stopped or ""
        if self._live:
            click.echo(f"\r\x1b[K{self._last[:160]}", err=True, nl=False)

    def end(self) -> None:
        """Print the final line."""
        if self._last:
            click.echo(f"\r\x1b[K{self._last}" if self._live else self._last, err=True)
        if self._stopped:
            click.echo(f"stopped: {self._stopped}", err=True)


def _status_text(standing: "Standing") -> str:
    from mashq.report.text.formatting import cost, number, safe

    spend = standing.spend
    dollars = spend.measured("dollars")
    parts = [
        f"{number(spend.calls)} calls",
        f"{number(spend.tokens_in.total)} tokens in, {number(spend.tokens_out.total)} out",
        f"{cost('dollars', dollars.total if dollars.known else None)} dollars",
    ]
    parts += [f"{number(spend.unknown)} of unknown cost"] if spend.unknown else []
    parts += [f"{number(standing.under_way)} under way"] if standing.under_way else []
    parts += [f"last error: {safe(standing.last_error, 80)}"] if standing.last_error else []
    return " · ".join(parts)


def _budget(options: tuple[str, ...]) -> dict[str, float]:
    """Parse limits by resource, such as dollars=2."""
    from mashq.protocol.resources import TABLE

    limits: dict[str, float] = {}
    for text in options:
        name, _, amount = text.partition("=")
        try:
            limits[name] = float(amount)
        except ValueError:
            limits[name] = -1.0
        if name not in TABLE or name == "reviews" or not 0 < limits[name] < float("inf"):
            known = ", ".join(name for name in TABLE if name != "reviews")
            raise ConfigError(f"--budget {text} is not a budget: write one of {known} and a number, as in dollars=2")
    return limits
