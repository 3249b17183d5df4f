"""`mashq rescore`: a stored run under other judges."""

from pathlib import Path
from typing import Literal

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--detector", "names", multiple=True, required=True, help="Another judge; may be given several times.")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the documents and nothing else.")
def rescore(run: Path, names: tuple[str, ...], form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """Score the answers of RUN with other detectors, with no model calls, and show the rankings side by side.

    \b
    Example:
      mashq rescore runs/first --detector hhem --detector exact-match
    """
    from mashq.detectors import base
    from mashq.errors import ConfigError
    from mashq.gateway.backends.weights import cache_dir
    from mashq.report.documents import match, trials
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.columns import trials_of
    from mashq.report.text.rescore import text
    from mashq.runs.open import Played, load_season
    from mashq.runs.rescore import cache_file, rescored
    from mashq.runs.score_cache import Cached

    season = load_season(run)
    if season.kind != "match":
        raise ConfigError(
            f"{run} is a {season.label}, and rescore is for matches and their trials: give one of those"
        )
    several = season.manifest.get("season", {}).get("trials", 1) > 1

    def document(played: list[Played]) -> match.Match | trials.Trials:
        return trials.document(season, played) if several else match.document(played[0])

    before = trials_of(season)
    documents = [document(before)]
    for name in names:
        judge = Cached(base.load(name), cache_file(cache_dir()))
        documents.append(document([rescored(played, judge) for played in before]))
    click.echo(json_of(documents) if as_json else text(documents, form))
