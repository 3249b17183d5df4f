"""`mashq sweep`: the same match under every combination of some settings."""

import click

from mashq.cli.playing import Playing, play_options


@click.command()
@click.option(
    "--over", "overs", multiple=True, required=True, metavar="KEY=V,V…", help="A setting and its values; may repeat."
)
@play_options
def sweep(playing: Playing, overs: tuple[str, ...]) -> None:
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
    from mashq.config import values_of

    settings = playing.settings()
    playing.play(settings, {"kind": "sweep", "over": [list(values_of(over)) for over in overs]})
