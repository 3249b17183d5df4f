"""`mashq run`: play a match."""

from pathlib import Path

import click

from mashq.cli.playing import address_option, executor_of, executor_option


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, e.g. rules.T=0.9.")
@click.option("--trials", default=1, show_default=True, type=click.IntRange(1), help="Repeats with other seeds.")
@executor_option
@address_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def run(
    config: Path,
    out: Path | None,
    overrides: tuple[str, ...],
    trials: int,
    executor: str | None,
    ray_address: str | None,
    as_json: bool,
) -> None:
    """Play the match that CONFIG describes.

    \b
    Examples:
      mashq run examples/quickstart.yaml
      mashq run match.yaml --trials 100
      mashq run match.yaml --out runs/first --set rules.R=2 --set players.0.policy=rule
    """
    from mashq import config as configuration
    from mashq.cli.seasons import play

    settings = configuration.load(config, overrides)
    season = {"kind": "match", "trials": trials}
    play(settings, season, config, out, executor_of(executor, ray_address), as_json=as_json)
