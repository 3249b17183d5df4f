"""A run prepared for display: its matches, their players and their rules.

Contract: derived from the manifest and the items' ids alone, and cached as long as the manifest does not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from mashq.config import Config
from mashq.errors import MashqError
from mashq.protocol.items import Item
from mashq.protocol.score import ScoreRules
from mashq.protocol.state import MatchState
from mashq.runs.manifest import config_of, rules_of_play
from mashq.runs.open import Season
from mashq.runs.seasons import Fixture
from mashq.runs.setup import first_state, score_rules_of
from mashq.web.api import queries
from mashq.web.library import Found

CONDITIONS = {"alone": "{} alone", "unseen": "all, rivals unseen", "seen": "all, rivals seen"}


@dataclass(frozen=True)
class RunView:
    """A run that is being viewed."""

    found: Found

    @cached_property
    def config(self) -> Config:
        """The configuration that the run was played with."""
        return config_of(self.found.manifest, self.found.id)

    @cached_property
    def item_ids(self) -> list[str]:
        """The ids of the items, in order."""
        with queries.opened(self.found.path, finished=self.found.finished) as connection:
            return queries.item_ids(connection)

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each item by its id."""
        return {name: position for position, name in enumerate(self.item_ids)}

    @cached_property
    def season(self) -> Season:
        """The run as the documents take it."""
        return Season(self.found.path, self.found.manifest, self.config)

    @cached_property
    def _fixtures(self) -> dict[str, Fixture]:
        try:
            return {fixture.id: fixture for fixture in self.season.fixtures()}
        except MashqError:  # a season of an unknown kind: its moves can still be shown
            return {}

    def fixture(self, match: str) -> Fixture:
        """Return a match of the run; one that is not in the season gets the configuration of the run."""
        if self.found.kind == "match" and match.isdigit():
            return Fixture(match, int(match), self.config, int(match))
        fixture = self._fixtures.get(match)
        if fixture is None:  # a later batch of a season that is being played
            self.__dict__.pop("_fixtures", None)
            fixture = self._fixtures.get(match)
        return fixture or Fixture(match, 0, self.config)

    @property
    def trials(self) -> int:
        """How many trials each of its matches is to have."""
        return self.found.manifest.get("season", {}).get("trials", 1)

    def label(self, match: str) -> str:
        """Name a match for people, by its players in the order of their seats and what sets it apart; empty if the
        run has no other match."""
        fixture = self.fixture(match)
        cell = dict(fixture.cell)
        players = " – ".join(player.name for player in fixture.config.players)
        condition = cell.pop("condition", None)
        parts = [CONDITIONS[condition].format(players)] if condition in CONDITIONS else []
        if cell.pop("seats", None) is not None and not parts:
            parts.append(players)
        parts += [f"{name.removeprefix('rules.')} {_shown(value)}" for name, value in cell.items()]
        if self.trials > 1:
            parts.append(f"trial {fixture.trial + 1}")
        return " · ".join(parts)

    def rules(self, match: str) -> ScoreRules:
        """Return the scoring rules of a match."""
        return score_rules_of(self.fixture(match).config)

    def first_state(self, match: str) -> MatchState:
        """Return a match before its first move; its items have no texts."""
        fixture = self.fixture(match)
        items = tuple(Item(name, "") for name in self.item_ids)
        return first_state(fixture.config, items, fixture.trial, rules_of_play(self.found.manifest))


def _shown(value: object) -> str:
    """Return the value of a setting as text; the values of settings that change together are joined."""
    return ", ".join(map(str, cast(Sequence[object], value))) if isinstance(value, list | tuple) else str(value)
