"""The matches that are looked at, each read from its file as far as it has come.

Contract: a match is read in steps, each no longer than it may take; matches not looked at for long are forgotten.
"""

import threading
import time
from collections import OrderedDict
from typing import Any

from mashq.errors import StoreError
from mashq.web.api import queries
from mashq.web.api.scores import final
from mashq.web.library import Library
from mashq.web.replay import MatchReplay
from mashq.web.run_view import RunView

CHUNK, MAX_MATCHES, MAX_MOVES = 500, 64, 500_000


class LiveReplay:
    """One match and how far it is read; safe to be asked by many threads."""

    view: "RunView"
    match: str
    replay: "MatchReplay"
    total: int
    ended: bool
    lock: "threading.RLock"

    def __init__(self, view: RunView, match: str) -> None:
        self.view, self.match = view, match
        self.replay = MatchReplay(view.first_state(match), view.rules(match))
        self.total = 0
        self.ended = False
        self.final: dict[str, Any] | None = None
        self.lock = threading.RLock()

    def advance(self, seconds: float) -> bool:
        """Read on for at most so long; whether all that there was is read."""
        found = self.view.found
        until = time.monotonic() + seconds
        with self.lock, queries.opened(found.path, finished=found.finished) as connection:
            if not self.ended:
                self.ended = queries.ended(connection, self.match) or (found.finished and found.kind == "match")
                self.total = queries.count(connection, self.match)
            while len(self.replay) < self.total:
                rows = queries.events_after(connection, self.match, self.replay.last, CHUNK)
                try:
                    if not self.replay.take(rows):
                        self.total = len(self.replay)
                except (ValueError, LookupError, TypeError) as error:
                    why = f"{found.id} holds a move that cannot be read ({error!r:.200}): restore it from a copy"
                    raise StoreError(why) from None
                if time.monotonic() > until:
                    break
            return len(self.replay) >= self.total

    def result(self) -> dict[str, Any] | None:
        """The final score, once the match is over."""
        with self.lock:
            if self.final is None and self.ended:
                found = self.view.found
                with queries.opened(found.path, finished=found.finished) as connection:
                    self.final = final(connection, [self.match], self.view.rules(self.match))
            return self.final

    def review_tokens(self) -> dict[str, float]:
        """What the reviews took of players that review within their own steps, by the ledger."""
        if not self.replay.story.reviewed_within_steps:
            return {}
        found = self.view.found
        with queries.opened(found.path, finished=found.finished) as connection:
            return queries.review_tokens(connection, self.match)


class ReplayCache:
    """Runs and matches by name, the least lately used forgotten."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._views: OrderedDict[str, RunView] = OrderedDict()
        self._replays: OrderedDict[tuple[str, str], LiveReplay] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, run: str) -> RunView:
        """The run with this name, or a LookupError."""
        found = self.library.find(run)
        with self._lock:
            known = self._views.get(run)
            if known is None or known.found.manifest is not found.manifest:
                fresh = RunView(found)
                if known is not None and "item_ids" in known.__dict__:
                    fresh.__dict__["item_ids"] = known.item_ids
                known = self._views[run] = fresh
            self._views.move_to_end(run)
            while len(self._views) > MAX_MATCHES:
                self._views.popitem(last=False)
            return known

    def match(self, run: str, match: str) -> LiveReplay:
        """A match of a run."""
        view = self.run(run)
        with self._lock:
            known = self._replays.get((run, match))
            if known is not None:
                known.view = view
                self._replays.move_to_end((run, match))
                return known
        fresh = LiveReplay(view, match)
        with self._lock:
            known = self._replays.setdefault((run, match), fresh)
            kept = sum(len(live.replay) for live in self._replays.values())
            while len(self._replays) > 1 and (len(self._replays) > MAX_MATCHES or kept > MAX_MOVES):
                kept -= len(self._replays.popitem(last=False)[1].replay)
            return known
