"""A run as it stands: its manifest, the matches it is made of, and each of them.

season = load_season(path)           the whole run
played = load(path)                  one match of it
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mashq.config import Config
from mashq.errors import StoreError
from mashq.protocol import replay as replaying
from mashq.protocol.content import Contents
from mashq.protocol.items import Item
from mashq.protocol.moves import Move
from mashq.protocol.replay import BadMove, Delta
from mashq.protocol.results import PlayerResult, results_of
from mashq.protocol.state import MatchState
from mashq.runs import chain
from mashq.runs.contents import Floors, floors_of, has_texts, of_state
from mashq.runs.contents import read as read_contents
from mashq.runs.manifest import config_of, manifest_digest, read_match, rules_of_play
from mashq.runs.reading import (
    check_record,
    read_attempts,
    read_charges,
    read_items,
    read_matches,
    read_moves,
    read_results,
    reading,
    unclosed,
)
from mashq.runs.seasons import Fixture, batches, checked
from mashq.runs.setup import first_state
from mashq.tasks.load import digest


@dataclass(frozen=True)
class Played:
    """One match as it stands in its run directory."""

    path: Path
    manifest: dict[str, Any]
    fixture: Fixture
    changed: MatchState | None = field(default=None)
    floors: Floors | None = field(default=None)

    @property
    def config(self) -> Config:
        """The configuration of the match."""
        return self.fixture.config

    @property
    def finished(self) -> bool:
        """Whether it was played to the end."""
        if self.manifest["ended"] is not None:
            return True
        return read_matches(self.path).get(self.fixture.id, False)

    @cached_property
    def state(self) -> MatchState:
        """The state, from a fold of its moves."""
        if self.changed is not None:
            return self.changed
        return fold(self.first, read_moves(self.path, self.fixture.id))

    @property
    def first(self) -> MatchState:
        """The state before its first move."""
        return first_state(self.config, read_items(self.path), self.fixture.trial, rules_of_play(self.manifest))

    def replay(self) -> Iterator[Delta]:
        """Its recorded moves, one by one."""
        return replay(self.first, read_moves(self.path, self.fixture.id))

    @cached_property
    def results(self) -> tuple[PlayerResult, ...]:
        """The results by item: the rows written when it ended, or as the state has them."""
        found = None if self.changed is not None else read_results(self.path, self.fixture.id)
        if found is None:
            return read_charges(self.path, self.fixture.id).on(results_of(self.state))
        return fitted(self.path, self.fixture, found)

    @cached_property
    def contents(self) -> list[Contents] | None:
        """What the answers carry, by seat: as stored, or measured from their texts; None where nobody's are texts."""
        seats = len(self.config.players)
        if not any(has_texts(self.config, seat) for seat in range(seats)):
            return None
        if self.changed is None:
            with reading(self.path) as connection:
                found = read_contents(connection, self.fixture.id, seats, self.manifest["items"])
            if found is not None:
                return found
        floors = self.floors or floors_of(self.config.task.kind, self.state.items)
        return of_state(self.config, self.state, floors)

    @cached_property
    def attempts(self) -> list[dict[str, Any]]:
        """How its attempts ended, by player and purpose."""
        return read_attempts(self.path, self.fixture.id)


@dataclass(frozen=True, slots=True)
class Season:
    """A run directory: its manifest and the matches it is made of."""

    path: Path
    manifest: dict[str, Any]
    config: Config

    @property
    def kind(self) -> str:
        """What it is: a match (with its trials), a sweep, a tournament or a game."""
        return self.manifest.get("season", {}).get("kind", "match")

    @property
    def label(self) -> str:
        """What a sentence calls a run of this kind."""
        return "vision study" if self.kind == "vision" else self.kind

    @property
    def finished(self) -> bool:
        """Whether every match was played to the end."""
        return self.manifest["ended"] is not None

    def fixtures(self) -> Iterator[Fixture]:
        """The matches that are known so far, in order."""
        there = read_matches(self.path)
        season = self.manifest.get("season", {})
        for batch in batches(self.config, season, self.results):
            yield from batch
            if not all(there.get(fixture.id, self.finished) for fixture in batch):
                return

    def fixtures_played(self) -> Iterator[Played]:
        """The same, as they stand."""
        return (self.played(fixture) for fixture in self.fixtures())

    def played(self, fixture: Fixture) -> Played:
        """One of the matches."""
        return Played(self.path, self.manifest, fixture)

    def results(self, match: str) -> Sequence[PlayerResult]:
        """The results of a match that has ended."""
        found = read_results(self.path, match)
        if found is None:
            raise StoreError(f"{self.path} has no results of match {match!r}: run 'mashq resume {self.path}'")
        return found


def items_in(path: Path, manifest: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of a run, seen to be those it was begun with: a file that lost its end may have lost some."""
    items = read_items(path)
    if manifest["digests"].get("items", "") not in ("", digest(items)):
        raise StoreError(f"{path} is damaged (its items are not those it was begun with): restore it from a copy")
    return items


def sound(path: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """See that a run that was not closed agrees with itself: its files may be torn, or of two moments."""
    from mashq.runs.verify import END, verify  # it is made of what is here

    found = verify(path, progress=progress)
    wrong = next((finding for finding in found if finding.wrong and finding.check != END), None)
    if wrong is not None:
        raise StoreError(f"{path} is damaged ({wrong.check}: {wrong.wrong}): restore it from a copy")


def changed_since(path: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The parts of a run's manifest that are not those it was begun, or openly changed, with.

    A process that died while it wrote a new manifest has left the one before it: that is no change.
    """
    with reading(path) as connection:
        told = chain.notes(connection, chain.MANIFEST)
    if not told:
        return []
    same = manifest_digest(manifest) in [entry[1] for entry in told[-2:]]
    items = [] if manifest["digests"].get("items", "") in ("", digest(read_items(path))) else ["items"]
    return items if same else [*chain.differing(told, manifest), *items]


def fitted(path: Path, fixture: Fixture, found: Sequence[PlayerResult]) -> tuple[PlayerResult, ...]:
    """Stored results, seen to be those of this match: its players, each with the same items."""
    names = [player.name for player in fixture.config.players]
    if [player.name for player in found] != names or len({len(player.items) for player in found}) != 1:
        raise StoreError(
            f"{path} is damaged (its results are not of {', '.join(names)} on the same items): restore it from a copy"
        )
    return tuple(found)


def load_season(out: Path, progress: Callable[[int, int], None] | None = None) -> Season:
    """A run as it stands, finished or not; a finished one is seen to have its end, which may take a while."""
    season = read_season(out)
    if season.finished:
        there, said = read_matches(out), season.manifest.get("matches")  # none in a run of an earlier version
        if not all(there.values()) or (isinstance(said, int) and len(there) < said):
            raise StoreError(f"{out} is damaged (it ended, and its record has no end): restore it from a copy")
        if unclosed(out):
            sound(out, progress)
    return season


def read_season(out: Path) -> Season:
    """A run as its manifest has it, whatever its record says."""
    manifest = read_match(out)
    checked(manifest.get("season", {}))
    check_record(out)
    return Season(out, manifest, config_of(manifest, str(out)))


def load(out: Path, match: str | None = None) -> Played:
    """One match of a run as it stands: the one named, or the first."""
    season = load_season(out)
    for fixture in season.fixtures():
        if match is None or fixture.id == match:
            return season.played(fixture)
    raise StoreError(f"{out} has no match {match!r}: 'mashq show {out}' lists them")


def fold(state: MatchState, played: Iterable[tuple[str, Move]]) -> MatchState:
    """The state after recorded moves; StoreError at one that the match as it stood does not allow."""
    try:
        return replaying.fold(state, played)
    except BadMove as bad:
        raise _damaged(bad) from None


def replay(state: MatchState, played: Iterable[tuple[str, Move]]) -> Iterator[Delta]:
    """What each recorded move changed; StoreError at one that the match as it stood does not allow."""
    try:
        yield from replaying.replay(state, played)
    except BadMove as bad:
        raise _damaged(bad) from None


def _damaged(bad: BadMove) -> StoreError:
    return StoreError(f"the record is damaged: {bad}; restore the run from a copy")
