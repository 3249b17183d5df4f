"""`mashq run`: play a match."""

import click

from mashq.cli.checks import Checks, check_options
from mashq.cli.playing import Playing, play_options


@click.command()
@play_options
@check_options
def run(playing: Playing, checks: Checks) -> None:
    """Play the match that CONFIG describes.

    \b
    Examples:
      mashq run examples/quickstart.yaml
      mashq run match.yaml --trials 100
      mashq run match.yaml --out runs/first --set rules.R=2 --set players.0.policy=rule
      mashq run match.yaml --fail-if 'q(mine) < q(baseline) - 0.02' --junit mashq.xml
    """
    from mashq.analysis.conditions import check_names

    settings, conditions = playing.settings(), checks.read()
    check_names(conditions, [player.name for player in settings.players])
    directory = playing.play(settings, {"kind": "match"})
    if checks and directory is not None:
        from mashq.cli.score import RESAMPLES
        from mashq.report.documents.source import read_source

        results = read_source(directory, {})
        checks.decide(conditions, results.scored(results.rules, RESAMPLES, 0), str(directory))
