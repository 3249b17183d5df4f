"""`mashq sweep`: the same match under every combination of some settings."""

import click

from mashq.cli.playing import Playing, play_options
from mashq.errors import ConfigError


@click.command()
@click.option("--over", "overs", multiple=True, metavar="KEY=V,V…", help="A setting and its values; may repeat.")
@click.option(
    "--with",
    "withs",
    multiple=True,
    metavar="KEY,KEY=V,V/V,V…",
    help="Settings that change together, and their values; may repeat.",
)
@play_options
def sweep(playing: Playing, overs: tuple[str, ...], withs: tuple[str, ...]) -> None:
    """Play CONFIG under every combination of the values given with --over, in one directory that can be resumed.

    Any setting can be swept: rules.T, rules.R, rules.review_cost, rules.vision.when, players.0.order,
    players.0.model, rules.R=0,3 for reviews off and on. Settings given with --with change together. Settings of the
    score that no player is told cost nothing: each distinct match is played once and scored under every value. Where
    players are told the formula (rules.tell), score.beta, alpha, weights and normalise are played.

    \b
    Examples:
      mashq sweep match.yaml --over rules.T=0.8,0.85,0.9 --over rules.R=2,3,4
      mashq sweep match.yaml --with players.0.agent,players.1.agent=q-agent,q-agent/react,react
      mashq sweep match.yaml --over rules.vision.when=never,review --over score.beta=0.05,0.1 --trials 10
      mashq resume runs/20260101-120000
    """
    from mashq.config import together_of, values_of

    if not overs and not withs:
        raise ConfigError("a sweep needs settings: name them with --over rules.T=0.8,0.9 or with --with")
    settings = playing.settings()
    over = [list(together_of(text)) for text in withs] + [list(values_of(text)) for text in overs]
    playing.play(settings, {"kind": "sweep", "over": over})
