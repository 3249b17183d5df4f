"""The results of matches as columns, from their rows where these are all there, else from a fold of the moves."""

from mashq.analysis.columns import Columns, columns_of
from mashq.runs.columns import read_columns
from mashq.runs.open import Played, Season


def results_of(played: Played) -> tuple[Columns, ...]:
    """The results of a match as it stands."""
    if played.changed is None:
        found = read_columns(played.path, played.fixture.id)
        if found is not None and [own.name for own in found] == [player.name for player in played.config.players]:
            return found
    return columns_of(played.results)


def ended_results(season: Season, match: str) -> tuple[Columns, ...]:
    """The results of a match that has ended."""
    found = read_columns(season.path, match)
    return columns_of(season.results(match)) if found is None else found
