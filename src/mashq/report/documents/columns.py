"""The results of matches, from their stored rows if complete, otherwise recomputed from the moves."""

from collections.abc import Sequence
from dataclasses import replace

from mashq.protocol.results import Columns, Results, columns_of, from_matches
from mashq.runs.columns import read_columns
from mashq.runs.open import Played, Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture


def results_of(played: Played) -> tuple[Columns, ...]:
    """Return the results of a match in its current state."""
    if played.changed is None:
        columns = read_columns(played.path, played.fixture.id)
        if columns is not None and [column.name for column in columns] == [
            player.name for player in played.config.players
        ]:
            return _with_contents(columns, played)
    return _with_contents(columns_of(played.results), played)


def ended_results(season: Season, fixture: Fixture) -> tuple[Columns, ...]:
    """Return the results of a match that has ended."""
    columns = read_columns(season.path, fixture.id)
    return _with_contents(
        columns_of(season.results(fixture.id)) if columns is None else columns, season.played(fixture)
    )


def ended_trials(season: Season, fixtures: Sequence[Fixture]) -> Results:
    """Combine the ended trials of a match into one set of results."""
    return from_matches((ended_results(season, fixture) for fixture in fixtures), _trial_numbers(fixtures))


def _trial_numbers(fixtures: Sequence[Fixture]) -> list[str] | None:
    """Return the trial numbers, which may have gaps; None if there is only the first trial."""
    numbers = [fixture.trial for fixture in fixtures]
    return None if numbers == [0] else [*map(str, numbers)]


def _with_contents(columns: tuple[Columns, ...], played: Played) -> tuple[Columns, ...]:
    """Add the content measures of the answers: as stored, or measured from their texts."""
    if columns[0].content is not None or played.contents is None:
        return columns
    return tuple(replace(column, content=content) for column, content in zip(columns, played.contents, strict=True))


def trials_of(season: Season) -> list[Played]:
    """Return the trials of a match that are scored: those that have ended, or else the first in its current state."""
    ended = read_matches(season.path)
    played = list(season.fixtures_played())
    return [trial for trial in played if ended.get(trial.fixture.id, season.finished)] or played[:1]


def season_results(trials: Sequence[Played]) -> Results:
    """Combine the trials of a match into one set of results."""
    return from_matches(
        (results_of(played) for played in trials), _trial_numbers([played.fixture for played in trials])
    )
