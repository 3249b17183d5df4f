"""Live progress on standard error: a table in a terminal, plain lines otherwise."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from mashq.protocol.moves import Move
from mashq.protocol.resources import Spend, Unknown
from mashq.protocol.score import ScoreRules, standings
from mashq.protocol.state import MatchState, PlayerState
from mashq.report.documents.base import COSTS
from mashq.report.text.formatting import cost, duration, is_shown, number, safe
from mashq.report.text.tables import Grid, written
from mashq.runs.seasons import Fixture

WORRY = 60.0  # seconds between lines about the same problem
PATIENCE = 1.0  # seconds before a read-only operation shows its progress


class Progress:
    """Shows the state of a running match, or the progress of a season of many matches."""

    def __init__(self, console: Console, rules: ScoreRules, *, simulated: bool, every: float = 10.0) -> None:
        self._console, self._rules, self._simulated, self._every = console, rules, simulated, every
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._started = self._shown = time.monotonic()
        self._at_start = 0
        self._matches = self._done = self._before = 0
        self._trouble, self._worried = "", self._started
        self._last: RenderableType | None = None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def batch(self, matches: int, done: int) -> None:
        """Announce a batch of matches, of which `done` were played before."""
        self._matches, self._done, self._before = matches, done, done

    def ended(self, fixture: Fixture) -> None:
        """Count a match that has ended."""
        self._done += 1
        self._show_season(fixture, time.monotonic())

    def moved(self, fixture: Fixture, state: MatchState, seat: int | None, move: Move | None) -> None:
        """Show the state, at a limited rate."""
        now = time.monotonic()
        if self._matches > 1:
            self._show_season(fixture, now)
            return
        if move is None or seat is None:
            self._at_start = _items_done(state)
        elif now - self._shown < (0.2 if self._live is not None else self._every):
            return
        self._shown = now
        if self._live is not None:
            self._last = self._table(state, now)
            self._live.update(self._last, refresh=True)
        elif move is not None:
            self._console.print(Text(self._line(state, now)), soft_wrap=True)

    def checked(self, done: int, whole: int) -> None:
        """Show the progress of checking a run that was not closed, before it is resumed."""
        now = time.monotonic()
        if now - self._started < PATIENCE or now - self._shown < (0.2 if self._live is not None else self._every):
            return
        self._shown = now
        line = Text(_percentage("checking what was recorded", done, whole))
        if self._live is not None:
            self._live.update(line, refresh=True)
        else:
            self._console.print(line, soft_wrap=True)

    def trouble(self, said: str) -> None:
        """Show what is wrong with the models: below the table in a terminal, otherwise as an occasional line."""
        now = time.monotonic()
        if self._live is not None:
            if said or self._trouble:
                shown = [self._last, Text(safe(said, 400))] if said else [self._last]
                self._live.update(Group(*(part for part in shown if part is not None)), refresh=True)
        elif said and (not self._trouble or now - self._worried >= WORRY):
            self._worried = now
            self._console.print(Text(f"[{duration(now - self._started)} gone] {safe(said, 400)}"), soft_wrap=True)
        self._trouble = said

    def _show_season(self, fixture: Fixture, now: float) -> None:
        """Show the progress of a season of many matches."""
        if now - self._shown < (0.2 if self._live is not None else self._every):
            return
        self._shown = now
        played = self._done - self._before
        time_left = "?" if not played else duration((now - self._started) * (self._matches - self._done) / played)
        prefix = "simulated, " if self._simulated else ""
        line = (
            f"[{prefix}{time_left} left] {self._done:,} of {self._matches:,} matches; playing {safe(fixture.id, 60)}"
        )
        if self._live is not None:
            self._last = Text(line)
            self._live.update(self._last, refresh=True)
        else:
            self._console.print(Text(line), soft_wrap=True)

    def _left(self, state: MatchState, now: float) -> str:
        """Estimate the time left from the pace so far."""
        done, total = _items_done(state), len(state.items) * len(state.players)
        pace = done - self._at_start
        if pace <= 0:
            return "?"
        return duration((now - self._started) * (total - done) / pace)

    def _table(self, state: MatchState, now: float) -> Text:
        prefix = "SIMULATED, " if self._simulated else ""
        elapsed, time_left = duration(now - self._started), self._left(state, now)
        title = f"{prefix}round {state.round + 1}, {elapsed} gone, {time_left} left"
        costs, rows = _shown_costs(state), list[list[str]]()
        for player, standing in zip(state.players, standings(state, self._rules), strict=True):
            activity = "stopped" if player.stopped is not None else player.phase
            rows.append([player.name, *_figures(state, player, costs, standing.h, standing.q), activity])
        headings = ["player", "items", "H", *costs, "Q now", "doing"]
        return Text(written(Grid(headings, rows, title), "table"))

    def _line(self, state: MatchState, now: float) -> str:
        costs = _shown_costs(state)
        names = ("items", "H", *costs, "Q")
        players: list[str] = []
        for player, standing in zip(state.players, standings(state, self._rules), strict=True):
            figures = _figures(state, player, costs, standing.h, standing.q)
            values = " ".join(f"{name} {value}" for name, value in zip(names, figures, strict=True))
            players.append(f"{safe(player.name)}: {values}")
        prefix = "simulated, " if self._simulated else ""
        return f"[{prefix}{self._left(state, now)} left] {' | '.join(players)}"


@contextmanager
def told(label: str, *, hidden: bool = False) -> Generator[Callable[[int, int], None]]:
    """Show the progress of an operation over a whole run: only in a terminal, and after a second."""
    console = Console(stderr=True)
    began = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if not hidden and console.is_terminal and now - began > PATIENCE and now - shown > 0.2:
            shown = now
            console.print(Text(_percentage(label, done, total)), end="\r")

    yield show
    if shown > began:
        console.print(" " * (len(label) + 6), end="\r")


def _percentage(label: str, done: int, total: int) -> str:
    return f"{label}: {100 * done // max(total, 1)}%"


def _items_done(state: MatchState) -> int:
    return sum(player.position for player in state.players)


def _shown_costs(state: MatchState) -> list[str]:
    """The resources that are shown: as in the table of results."""
    spent = [{name: _known(player.spend, name) for name in COSTS} for player in state.players]
    return [name for name in COSTS if is_shown(name, spent)]


def _known(spend: Spend, name: str) -> float | None:
    value = spend.amount(name).value
    return None if isinstance(value, Unknown) else value


def _figures(
    state: MatchState, player: PlayerState, costs: Sequence[str], h: float | None, q: float | None
) -> tuple[str, ...]:
    return (
        f"{player.position}/{len(state.items)}",
        "-" if h is None else number(h, 4),
        *(cost(name, _known(player.spend, name)) for name in costs),
        "-" if q is None else number(q, 4),
    )
