"""A stored run: its manifest, its matches, and the record of each of them.

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
from mashq.runs.manifest import config_of, is_chained, manifest_digest, read_match, rules_of_play
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
    """One match as stored in its run directory."""

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
        """The state after all its recorded moves."""
        if self.changed is not None:
            return self.changed
        return fold(self.first, read_moves(self.path, self.fixture.id))

    @property
    def first(self) -> MatchState:
        """The state before its first move."""
        return first_state(self.config, read_items(self.path), self.fixture.trial, rules_of_play(self.manifest))

    def replay(self) -> Iterator[Delta]:
        """What each of its recorded moves changed, one by one."""
        return replay(self.first, read_moves(self.path, self.fixture.id))

    @cached_property
    def results(self) -> tuple[PlayerResult, ...]:
        """The results by item: the rows written when it ended or, without them, computed from the state."""
        stored = None if self.changed is not None else read_results(self.path, self.fixture.id)
        if stored is None:
            return read_charges(self.path, self.fixture.id).on(results_of(self.state))
        return fitted(self.path, self.fixture, stored)

    @cached_property
    def contents(self) -> list[Contents] | None:
        """What the answers contain, by seat: as stored, or measured from their texts; None if nobody writes texts."""
        seats = len(self.config.players)
        if not any(has_texts(self.config, seat) for seat in range(seats)):
            return None
        if self.changed is None:
            with reading(self.path) as connection:
                stored = read_contents(connection, self.fixture.id, seats, self.manifest["items"])
            if stored is not None:
                return stored
        floors = self.floors or floors_of(self.config.task.kind, self.state.items)
        return of_state(self.config, self.state, floors)

    @cached_property
    def attempts(self) -> list[dict[str, Any]]:
        """How its attempts ended, by player and purpose."""
        return read_attempts(self.path, self.fixture.id)


@dataclass(frozen=True, slots=True)
class Season:
    """A run directory: its manifest and its matches."""

    path: Path
    manifest: dict[str, Any]
    config: Config

    @property
    def kind(self) -> str:
        """The kind of run: a match (with its trials), a sweep, a tournament or a game."""
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
        ended = read_matches(self.path)
        season = self.manifest.get("season", {})
        for batch in batches(self.config, season, self.results):
            yield from batch
            if not all(ended.get(fixture.id, self.finished) for fixture in batch):
                return

    def fixtures_played(self) -> Iterator[Played]:
        """The same matches, as stored."""
        return (self.played(fixture) for fixture in self.fixtures())

    def played(self, fixture: Fixture) -> Played:
        """One of the matches, as stored."""
        return Played(self.path, self.manifest, fixture)

    def results(self, match: str) -> Sequence[PlayerResult]:
        """The results of a match that has ended; raises StoreError if there are none."""
        stored = read_results(self.path, match)
        if stored is None:
            raise StoreError(f"{self.path} has no results of match {match!r}: run 'mashq resume {self.path}'")
        return stored


def items_in(path: Path, manifest: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of a run; raises StoreError unless they are those it began with (a truncated file may lack some)."""
    items = read_items(path)
    if manifest["digests"].get("items", "") not in ("", digest(items)):
        raise StoreError(f"{path} is damaged (its items are not those it was begun with): restore it from a copy")
    return items


def sound(path: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """Raise StoreError if a run that was not closed contradicts itself: its files may be torn, or of two moments."""
    from mashq.runs.verify import END, verify  # imported here, because it imports this module

    findings = verify(path, progress=progress)
    wrong = next((finding for finding in findings if finding.wrong and finding.check != END), None)
    if wrong is not None:
        raise StoreError(f"{path} is damaged ({wrong.check}: {wrong.wrong}): restore it from a copy")


def changed_since(path: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The parts of a run's manifest that differ from what it began with, or was openly changed to.

    A process that died while writing a new manifest has left the previous one: that is not a change.
    """
    with reading(path) as connection:
        recorded = chain.notes(connection, chain.MANIFEST)
    if not recorded:
        return ["chain"] if is_chained(manifest) else []
    same = manifest_digest(manifest) in [entry[1] for entry in recorded[-2:]]
    items = [] if manifest["digests"].get("items", "") in ("", digest(read_items(path))) else ["items"]
    return items if same else [*chain.differing(recorded, manifest), *items]


def fitted(path: Path, fixture: Fixture, stored: Sequence[PlayerResult]) -> tuple[PlayerResult, ...]:
    """The stored results; raises StoreError unless they are of this match's players, each with the same items."""
    names = [player.name for player in fixture.config.players]
    if [player.name for player in stored] != names or len({len(player.items) for player in stored}) != 1:
        raise StoreError(
            f"{path} is damaged (its results are not of {', '.join(names)} on the same items): restore it from a copy"
        )
    return tuple(stored)


def load_season(out: Path, progress: Callable[[int, int], None] | None = None) -> Season:
    """Load a run, finished or not; a finished one is checked to be complete, which may take a while."""
    season = read_season(out)
    if season.finished:
        ended, expected = read_matches(out), season.manifest.get("matches")  # missing in a run of an earlier version
        if not all(ended.values()) or (isinstance(expected, int) and len(ended) < expected):
            raise StoreError(f"{out} is damaged (it ended, and its record has no end): restore it from a copy")
        if unclosed(out):
            sound(out, progress)
    return season


def read_season(out: Path) -> Season:
    """Load a run as its manifest describes it, without checking that its record is complete."""
    manifest = read_match(out)
    checked(manifest.get("season", {}))
    check_record(out)
    return Season(out, manifest, config_of(manifest, str(out)))


def load(out: Path, match: str | None = None) -> Played:
    """Load one match of a run: the given one, or the first."""
    season = load_season(out)
    for fixture in season.fixtures():
        if match is None or fixture.id == match:
            return season.played(fixture)
    raise StoreError(f"{out} has no match {match!r}: 'mashq show {out}' lists them")


def fold(state: MatchState, moves: Iterable[tuple[str, Move]]) -> MatchState:
    """The state after recorded moves; raises StoreError at a move that is not allowed in the match at that point."""
    try:
        return replaying.fold(state, moves)
    except BadMove as error:
        raise _damaged(error) from None


def replay(state: MatchState, moves: Iterable[tuple[str, Move]]) -> Iterator[Delta]:
    """What each recorded move changed; raises StoreError at a move that is not allowed at that point."""
    try:
        yield from replaying.replay(state, moves)
    except BadMove as error:
        raise _damaged(error) from None


def _damaged(error: BadMove) -> StoreError:
    return StoreError(f"the record is damaged: {error}; restore the run from a copy")
