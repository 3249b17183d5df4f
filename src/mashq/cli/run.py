"""`mashq run`: play a match."""

import click

from mashq.cli.playing import Playing, play_options


@click.command()
@play_options
def run(playing: Playing) -> None:
    """Play the match that CONFIG describes.

    \b
    Examples:
      mashq run examples/quickstart.yaml
      mashq run match.yaml --trials 100
      mashq run match.yaml --out runs/first --set rules.R=2 --set players.0.policy=rule
    """
    playing.play(playing.settings(), {"kind": "match"})
