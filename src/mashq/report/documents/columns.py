"""The results of matches, from their rows where these are all there, else from a fold of the moves."""

from collections.abc import Sequence
from dataclasses import replace

from mashq.protocol.results import Columns, Results, columns_of, from_matches
from mashq.runs.columns import read_columns
from mashq.runs.open import Played, Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture


def results_of(played: Played) -> tuple[Columns, ...]:
    """The results of a match as it stands."""
    if played.changed is None:
        found = read_columns(played.path, played.fixture.id)
        if found is not None and [own.name for own in found] == [player.name for player in played.config.players]:
            return _with_contents(found, played)
    return _with_contents(columns_of(played.results), played)


def ended_results(season: Season, fixture: Fixture) -> tuple[Columns, ...]:
    """The results of a match that has ended."""
    found = read_columns(season.path, fixture.id)
    return _with_contents(columns_of(season.results(fixture.id)) if found is None else found, season.played(fixture))


def ended_trials(season: Season, fixtures: Sequence[Fixture]) -> Results:
    """The trials of a match that have ended, as one."""
    return from_matches((ended_results(season, one) for one in fixtures), _numbers(fixtures))


def _numbers(fixtures: Sequence[Fixture]) -> list[str] | None:
    """The numbers of trials, whichever others have ended; none for the first alone."""
    numbers = [one.trial for one in fixtures]
    return None if numbers == [0] else [*map(str, numbers)]


def _with_contents(found: tuple[Columns, ...], played: Played) -> tuple[Columns, ...]:
    """The results with what the answers carry: as stored, or measured from their texts."""
    if found[0].content is not None or played.contents is None:
        return found
    return tuple(replace(own, content=content) for own, content in zip(found, played.contents, strict=True))


def trials_of(season: Season) -> list[Played]:
    """The trials of a match that are scored: those that have ended, or the first as it stands where none has."""
    ended = read_matches(season.path)
    played = list(season.fixtures_played())
    return [one for one in played if ended.get(one.fixture.id, season.finished)] or played[:1]


def season_results(trials: Sequence[Played]) -> Results:
    """The trials of a match as one."""
    return from_matches((results_of(played) for played in trials), _numbers([played.fixture for played in trials]))
