"""`mashq sweep`: the same match under every combination of some settings."""

from pathlib import Path

import click

from mashq.cli.playing import address_option, executor_of, executor_option


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--over", "overs", multiple=True, required=True, metavar="KEY=V,V…", help="A setting and its values; may repeat."
)
@click.option("--trials", default=1, show_default=True, type=click.IntRange(1), help="Repeats with other seeds.")
@click.option("--out", type=click.Path(path_type=Path), help="Run directory; a new one under runs/ by default.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting for all of them.")
@executor_option
@address_option
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def sweep(
    config: Path,
    overs: tuple[str, ...],
    trials: int,
    out: Path | None,
    overrides: tuple[str, ...],
    executor: str | None,
    ray_address: str | None,
    as_json: bool,
) -> None:
    """Play CONFIG under every combination of the values given with --over, in one directory that can be resumed.

    Any setting can be swept: rules.T, rules.R, rules.review_cost, rules.vision.when, players.0.order,
    players.0.model, rules.R=0,3 for reviews off and on. Settings of the score (score.beta, score.alpha, ...) cost
    nothing: each distinct match is played once and scored under every value.

    \b
    Examples:
      mashq sweep match.yaml --over rules.T=0.8,0.85,0.9 --over rules.R=2,3,4
      mashq sweep match.yaml --over rules.vision.when=never,review --over score.beta=0.05,0.1 --trials 10
      mashq resume runs/20260101-120000
    """
    from mashq import config as configuration
    from mashq.cli.seasons import play

    settings = configuration.load(config, overrides)
    season = {"kind": "sweep", "trials": trials, "over": [list(configuration.values_of(over)) for over in overs]}
    play(settings, season, config, out, executor_of(executor, ray_address), as_json=as_json)
