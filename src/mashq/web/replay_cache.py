"""A cache of the viewed matches, each read from its file as far as needed.

Contract: a match is read in steps of limited duration; the least recently used matches are dropped.
"""

import threading
import time
from collections import OrderedDict
from typing import Any

from mashq.errors import StoreError
from mashq.web.api import queries
from mashq.web.api.scores import final
from mashq.web.kept import Kept
from mashq.web.library import Library
from mashq.web.replay import MatchReplay
from mashq.web.run_view import RunView

CHUNK, MAX_MATCHES, MAX_MOVES = 500, 64, 500_000


class LiveReplay:
    """One match and how far it has been read; thread-safe."""

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
        """Read on for at most `seconds`; return whether all recorded moves have been read."""
        entry = self.view.found
        deadline = time.monotonic() + seconds
        with self.lock, queries.opened(entry.path, finished=entry.finished) as connection:
            if not self.ended:
                self.ended = queries.ended(connection, self.match) or (entry.finished and entry.kind == "match")
                self.total = queries.count(connection, self.match)
            while len(self.replay) < self.total:
                rows = queries.events_after(connection, self.match, self.replay.last, CHUNK)
                try:
                    if not self.replay.take(rows):
                        self.total = len(self.replay)
                except (ValueError, LookupError, TypeError) as error:
                    reason = f"{entry.id} holds a move that cannot be read ({error!r:.200}): restore it from a copy"
                    raise StoreError(reason) from None
                if time.monotonic() > deadline:
                    break
            return len(self.replay) >= self.total

    def result(self) -> dict[str, Any] | None:
        """Return the final score; None before the match has ended."""
        with self.lock:
            if self.final is None and self.ended:
                entry = self.view.found
                with queries.opened(entry.path, finished=entry.finished) as connection:
                    self.final = final(connection, self.match, self.view.rules(self.match))
            return self.final

    def review_tokens(self) -> dict[str, float]:
        """Return from the ledger the tokens of reviews by players that review within their own steps."""
        if not self.replay.story.reviewed_within_steps:
            return {}
        entry = self.view.found
        with queries.opened(entry.path, finished=entry.finished) as connection:
            return queries.review_tokens(connection, self.match)


class ReplayCache:
    """Runs and matches by name; the least recently used are dropped."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._views: OrderedDict[str, RunView] = OrderedDict()
        self._replays: OrderedDict[tuple[str, str], LiveReplay] = OrderedDict()
        self._lock = threading.Lock()
        self.kept = Kept()

    def run(self, run: str) -> RunView:
        """Return the run with this name; raises LookupError if there is none."""
        entry = self.library.find(run)
        with self._lock:
            view = self._views.get(run)
            if view is None or view.found.manifest is not entry.manifest:
                new_view = RunView(entry)
                if view is not None and "item_ids" in view.__dict__:
                    new_view.__dict__["item_ids"] = view.item_ids
                view = self._views[run] = new_view
            self._views.move_to_end(run)
            while len(self._views) > MAX_MATCHES:
                self._views.popitem(last=False)
            return view

    def match(self, run: str, match: str) -> LiveReplay:
        """Return a match of a run."""
        view = self.run(run)
        with self._lock:
            live_replay = self._replays.get((run, match))
            if live_replay is not None:
                live_replay.view = view
                self._replays.move_to_end((run, match))
                return live_replay
        new_replay = LiveReplay(view, match)
        with self._lock:
            live_replay = self._replays.setdefault((run, match), new_replay)
            move_count = sum(len(live.replay) for live in self._replays.values())
            while len(self._replays) > 1 and (len(self._replays) > MAX_MATCHES or move_count > MAX_MOVES):
                move_count -= len(self._replays.popitem(last=False)[1].replay)
            return live_replay
