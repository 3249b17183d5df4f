"""`mashq demo`: a real match on the embedded model."""

from pathlib import Path

import click


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def demo(out: Path | None, as_json: bool) -> None:
    """Play a real match of two Q-Agents on the embedded model, with no key and no server.

    One player reviews answers that score below T, the other never reviews: what did the reviews buy?

    \b
    Example:
      mashq weights && mashq demo
    """
    from importlib.resources import files

    from mashq import config as configuration
    from mashq.arena import match
    from mashq.cli.playing import next_step, played, show_head, show_result
    from mashq.gateway.clock import RealClock
    from mashq.runs.manifest import default_out

    text = files("mashq.cli").joinpath("demo.yaml").read_text("utf-8")
    settings = configuration.parse(text, "the demo")
    directory = out or default_out(RealClock())
    if not as_json:
        click.echo("A match of two Q-Agents on SmolLM2-135M, on this machine; about two minutes.", err=True)
    result = played(directory, settings, lambda show: match.run(settings, directory, show=show))
    if not as_json:
        click.echo(f"run: {directory}", err=True)
    show_result(result, as_json=as_json)
    show_head(directory, as_json=as_json)
    if not as_json:
        click.echo(next_step(result.kind, directory), err=True)
        click.echo(
            f"The judge compared wording. For a judge of meaning:\n      mashq rescore {directory} --detector reader",
            err=True,
        )
