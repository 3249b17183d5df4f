"""`mashq gateway`: meter any program."""

from pathlib import Path

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--config", "file", type=click.Path(path_type=Path), required=True, help="Which model, at which limits."
)
@click.option("--player", help="Whose model and budget to use; needed when the file has more than one player.")
@click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def gateway(file: Path, player: str | None, out: Path | None, command: tuple[str, ...]) -> int:
    """Meter any program: an OpenAI-compatible endpoint on this machine that counts every attempt.

    Prints the variables a program needs and serves until Ctrl-C; with COMMAND, runs it with them and stops when
    it ends. The key stays inside. 'mashq show RUN' then says what was spent.

    \b
    Examples:
      mashq gateway --config match.yaml --player A
      mashq gateway --config match.yaml --out runs/metered -- python my_agent.py
    """
    import asyncio

    from mashq import config as configuration
    from mashq.arena import metering
    from mashq.gateway.clock import RealClock
    from mashq.runs.manifest import default_out

    settings = configuration.load(file)
    clock = RealClock()
    place = out or default_out(clock)

    def ready(variables: dict[str, str]) -> None:
        if not command:
            for name, value in variables.items():
                click.echo(f"export {name}={value}")
        click.echo(f"metering into {place}" + ("" if command else "; stop with Ctrl-C"), err=True)

    try:
        code = asyncio.run(metering.meter(settings, place, player, command, ready, clock=clock, base=file.parent))
    finally:
        if place.exists():
            click.echo(f"see what was spent: mashq show {place}", err=True)
    return code
