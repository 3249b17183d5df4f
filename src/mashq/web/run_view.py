"""What a run is made of, made ready to be shown: its matches, who plays each, under which rules.

Contract: follows from the manifest and the items' ids alone and is remembered as long as the manifest stays the same.
A match's reel is read in steps, each no longer than it may take; reels not looked at for long are forgotten.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mashq.analysis.story.tell import Scene
from mashq.config import Config, check
from mashq.errors import MashqError, StoreError
from mashq.protocol.items import Item
from mashq.protocol.score import ScoreRules
from mashq.runs.open import Season
from mashq.runs.seasons import Fixture
from mashq.runs.setup import first_state, score_rules_of
from mashq.web.api import queries
from mashq.web.library import Found, Library
from mashq.web.replay import Reel, Shape

CHUNK, MAX_MOVES = 1000, 500_000


@dataclass(frozen=True)
class Stage:
    """A run that is looked at."""

    found: Found

    @cached_property
    def config(self) -> Config:
        """The configuration it was played with."""
        return check(self.found.manifest["config"], f"{self.found.id}/manifest.json")

    @cached_property
    def item_ids(self) -> list[str]:
        """The ids of its items, in order."""
        with queries.opened(self.found.path, finished=self.found.finished) as connection:
            return queries.item_ids(connection)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each item stands."""
        return {name: at for at, name in enumerate(self.item_ids)}

    @cached_property
    def _fixtures(self) -> dict[str, Fixture]:
        season = Season(self.found.path, self.found.manifest, self.config)
        try:
            return {fixture.id: fixture for fixture in season.fixtures()}
        except MashqError:  # of a kind this version does not know: the moves still show
            return {}

    def fixture(self, match: str) -> Fixture:
        """A match of the run; one that the season does not tell of is taken as one of its configuration."""
        if self.found.kind == "match" and match.isdigit():
            return Fixture(match, int(match), self.config, int(match))
        found = self._fixtures.get(match)
        if found is None:  # a later batch of a season that is being played
            self.__dict__.pop("_fixtures", None)
            found = self._fixtures.get(match)
        return found or Fixture(match, 0, self.config)

    def rules(self, match: str) -> ScoreRules:
        """How a match is scored."""
        return score_rules_of(self.fixture(match).config)

    def shape(self, match: str) -> Shape:
        """What must be known of a match before its first move."""
        fixture = self.fixture(match)
        config = fixture.config
        state = first_state(config, (Item("", ""),) * len(self.item_ids), fixture.trial)
        rules, seats = state.rules, state.players
        scene = Scene(
            players=tuple(player.name for player in seats),
            items=len(self.item_ids),
            thresholds={player.name: player.threshold for player in seats},
            keep=rules.keep,
            vision=rules.vision.when,
            vision_keep=rules.vision.keep,
            rules=score_rules_of(config),
        )
        show = tuple(name for name in rules.vision.show if name != "seconds" or rules.show_seconds)
        orders = tuple(player.order for player in seats)
        return Shape(scene, rules.turn, orders, tuple(p.max_reviews for p in seats), show, self.positions)


class Projector:
    """One match's reel and how far it is read; safe to be asked by many threads."""

    def __init__(self, stage: Stage, match: str) -> None:
        self.stage, self.match = stage, match
        self.reel = Reel(stage.shape(match))
        self.total = 0
        self.ended = False
        self.final: dict[str, Any] | None = None
        self.lock = threading.RLock()

    def advance(self, seconds: float) -> bool:
        """Read on for at most so long; whether all that there was is read."""
        found = self.stage.found
        until = time.monotonic() + seconds
        with self.lock, queries.opened(found.path, finished=found.finished) as connection:
            if not self.ended:
                self.ended = queries.ended(connection, self.match) or (found.finished and found.kind == "match")
                self.total = queries.count(connection, self.match)
            while len(self.reel) < self.total:
                rows = queries.events_after(connection, self.match, self.reel.last, CHUNK)
                try:
                    if not self.reel.take(rows):
                        self.total = len(self.reel)
                except (ValueError, LookupError, TypeError, AttributeError) as error:
                    why = f"{found.id} holds a move that cannot be read ({error!r:.120}): restore it from a copy"
                    raise StoreError(why) from None
                if time.monotonic() > until:
                    break
            return len(self.reel) >= self.total

    def result(self) -> dict[str, Any] | None:
        """The final score, once the match is over."""
        with self.lock:
            if self.final is None and self.ended:
                found = self.stage.found
                with queries.opened(found.path, finished=found.finished) as connection:
                    from mashq.web.api.scores import final

                    self.final = final(connection, self.match, self.stage.rules(self.match))
            return self.final


class Theatre:
    """Stages and reels by name, the least lately used forgotten."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._stages: OrderedDict[str, Stage] = OrderedDict()
        self._reels: OrderedDict[tuple[str, str], Projector] = OrderedDict()
        self._lock = threading.Lock()

    def stage(self, run: str) -> Stage:
        """The run with this name, or a LookupError."""
        found = self.library.find(run)
        with self._lock:
            known = self._stages.get(run)
            if known is None or known.found.manifest is not found.manifest:
                fresh = Stage(found)
                if known is not None and "item_ids" in known.__dict__:
                    fresh.__dict__["item_ids"] = known.item_ids
                known = self._stages[run] = fresh
            self._stages.move_to_end(run)
            while len(self._stages) > 64:
                self._stages.popitem(last=False)
            return known

    def projector(self, run: str, match: str) -> Projector:
        """The reel of a match."""
        stage = self.stage(run)
        with self._lock:
            known = self._reels.get((run, match))
            if known is not None:
                known.stage = stage
                self._reels.move_to_end((run, match))
                return known
        fresh = Projector(stage, match)
        with self._lock:
            known = self._reels.setdefault((run, match), fresh)
            kept = sum(len(one.reel) for one in self._reels.values())
            while len(self._reels) > 1 and (len(self._reels) > 64 or kept > MAX_MOVES):
                kept -= len(self._reels.popitem(last=False)[1].reel)
            return known
