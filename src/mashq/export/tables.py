"""A run as tables: its results by item, its attempts, or its events.

Results are what `mashq score` reads back: one row for each match, player and item, with the item's share of what the
player spent on no item in particular, so that the file gives the same scores as the run. Attempts and events come
straight from the run's file, one at a time; what was said in them (prompts, replies, answers) only on demand.
"""

import json
import math
import os
import sqlite3
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mashq.errors import ConfigError, StoreError
from mashq.export.files import Cell, Kind, Table
from mashq.protocol.items import Item
from mashq.protocol.resources import TABLE
from mashq.protocol.results import COST_NAMES, ItemResult, PlayerResult
from mashq.protocol.results import columns_of as result_columns
from mashq.protocol.score import ScoreRules
from mashq.runs.file import RATED_COLUMNS, columns_of, connect
from mashq.runs.open import Played, Season
from mashq.runs.reading import DATABASE, read_items
from mashq.runs.seasons import Fixture

RESULTS: tuple[tuple[str, Kind], ...] = (
    ("player", "text"),
    ("item", "text"),
    ("trial", "whole"),
    ("h", "real"),
    ("status", "text"),
    ("tokens_in", "real"),
    ("tokens_out", "real"),
    ("tokens", "real"),
    ("calls", "real"),
    ("reviews", "real"),
    ("seconds", "real"),
    ("dollars", "real"),
    ("h_first", "real"),
    ("guide", "real"),
    ("guide_first", "real"),
    ("length", "whole"),
    ("failed", "real"),
    ("unknown_attempts", "real"),
    ("waited", "real"),
    ("model", "text"),
    ("match", "text"),
    ("words", "whole"),
    ("coverage", "real"),
    ("copied", "real"),
)
ATTEMPTS: tuple[tuple[str, Kind], ...] = (
    ("id", "whole"),
    ("match", "text"),
    ("round", "whole"),
    ("player", "text"),
    ("item", "text"),
    ("purpose", "text"),
    ("n", "whole"),
    ("ask", "whole"),
    ("model", "text"),
    ("opened", "real"),
    ("closed", "real"),
    ("outcome", "text"),
    ("status", "whole"),
    ("tokens_in", "whole"),
    ("tokens_out", "whole"),
    ("cached", "whole"),
    ("reasoning", "whole"),
    ("seconds", "real"),
    ("waited", "real"),
    ("dollars", "real"),
    ("stop", "text"),
    ("h", "real"),
    ("error", "text"),
    ("usage", "text"),
    ("worst_in", "whole"),
    ("worst_out", "whole"),
    ("worst_seconds", "real"),
    ("worst_dollars", "real"),
)
EVENTS: tuple[tuple[str, Kind], ...] = (
    ("seq", "whole"),
    ("match", "text"),
    ("round", "whole"),
    ("player", "text"),
    ("kind", "text"),
    ("item", "text"),
    ("status", "text"),
    ("h", "real"),
    ("judged", "real"),
    ("choice", "text"),
    ("move", "text"),
    ("ruling", "text"),
    ("time", "real"),
)
DOCUMENTS: tuple[tuple[str, Kind], ...] = (("answerable", "whole"), ("abstained", "whole"), ("passages", "whole"))
WORDS = ("text", "text_first", "reason")
WHOLE = 2**53


@contextmanager
def reading(run: Path) -> Generator[sqlite3.Connection]:
    """The run's file, to read only; a damaged one is a clear error."""
    path = run / DATABASE
    if not os.path.exists(path):
        raise StoreError(f"{path} is missing: the run directory is incomplete")
    connection = connect(path, readonly=True)
    try:
        yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path} is damaged ({error}): restore it from a copy") from None
    finally:
        connection.close()


def chosen(season: Season, matches: Collection[str]) -> list[Fixture]:
    """The matches of a season that were named; all of them when none was."""
    fixtures = list(season.fixtures())
    for name in matches:
        if all(fixture.id != name for fixture in fixtures):
            raise ConfigError(f"{season.path} has no match {name!r}: it has {_some([f.id for f in fixtures])}")
    return [fixture for fixture in fixtures if not matches or fixture.id in matches]


def results(season: Season, matches: Collection[str] = ()) -> Table:
    """One row for each match, player and item. The settings that tell matches apart are columns of their own."""
    fixtures = chosen(season, matches)
    settings = list(dict.fromkeys(name for fixture in fixtures for name, _ in fixture.cell))
    more = _declared(season)
    documents = {item.id: item for item in read_items(season.path)} if season.config.task.kind == "rag" else {}
    extra: list[tuple[str, Kind]] = [*((name, "text") for name in settings), *((name, "real") for name in more)]
    if documents:
        extra += DOCUMENTS

    def rows() -> Iterator[tuple[Cell, ...]]:
        for fixture in fixtures:
            cell = dict(fixture.cell)
            own = tuple(_setting(cell[name]) if name in cell else None for name in settings)
            models = {player.name: player.model for player in fixture.config.players}
            played = season.played(fixture)
            for seat, player in enumerate(played.results):
                carried = _carried(played, seat, len(player.items))
                each = zip(player_rows(player, fixture.trial), _costs(player), carried, player.items, strict=True)
                for row, costs, said, one in each:
                    about = _about(documents[one.item], one) if documents else ()
                    named = models.get(player.name), fixture.id
                    yield (*row, *named, *said, *own, *(costs[name] for name in more), *about)

    return Table((*RESULTS, *extra), rows())


def _about(item: Item, row: ItemResult) -> tuple[Cell, ...]:
    """What DOCUMENTS says of an answer over documents; whether there is an answer may be unknown."""
    answerable = None if item.answerable is None else int(item.answerable)
    return answerable, int(row.abstained) if row.status == "ok" else None, len(item.passages)


def _declared(season: Season) -> list[str]:
    """The resources without a column of their own that some model of the run declares a rate for."""
    named, models = {name for name, _ in RESULTS}, season.config.models.values()
    return [
        name
        for name, row in TABLE.items()
        if name not in named and (not row.rated or any(getattr(model, row.rate) is not None for model in models))
    ]


def player_rows(player: PlayerResult, trial: int) -> Iterator[tuple[Cell, ...]]:
    """The rows of one player in a match, without what names the match."""
    count = len(player.items)
    for item, costs in zip(player.items, _costs(player), strict=True):
        yield (
            player.name,
            item.item,
            trial,
            item.h if item.status == "ok" else None,
            item.status,
            *(
                costs[name]
                for name in ("tokens_in", "tokens_out", "tokens", "calls", "reviews", "seconds", "dollars")
            ),
            *_beside(item, player, count),
        )


def _carried(played: Played, seat: int, items: int) -> list[tuple[Cell, ...]]:
    """What each answer of a player carries; None where it is not known."""
    if played.contents is None:
        return [(None, None, None)] * items
    answers = played.contents[seat].answers
    rows: list[list[float]] = np.array([answers[name][0] for name in ("words", "coverage", "copied")]).T.tolist()
    return [tuple(None if math.isnan(value) else _whole(value) for value in row) for row in rows]


def _beside(item: ItemResult, player: PlayerResult, count: int) -> tuple[Cell, ...]:
    """What the score does not need and a reader may want."""
    spend, shared = item.spend, player.shared
    return (
        item.h_first,
        item.guide,
        item.guide_first,
        item.length,
        _whole(spend.failed + shared.failed / count),
        _whole(spend.unknown + shared.unknown / count),
        spend.waited + shared.waited / count,
    )


def attempts(run: Path, matches: Collection[str] = (), *, content: bool = False) -> Table:
    """Every attempt of the ledger, oldest first."""
    columns = (*ATTEMPTS, *known_columns(run))
    names = ", ".join(f"a.{name}" for name, _ in columns)
    said: tuple[tuple[str, Kind], ...] = (("messages", "text"), ("reply", "text")) if content else ()
    names += ", p.messages, a.reply" if content else ""
    joined = " LEFT JOIN prompts p ON p.digest = a.prompt" if content else ""
    return Table(columns + said, _query(run, f"SELECT {names} FROM attempts a{joined}", "a.match", matches, "a.id"))


def known_columns(run: Path) -> list[tuple[str, Kind]]:
    """The columns that are not always exported, of which this ledger knows something: of rated resources, and of
    streams the time to their first data."""
    listed = {name for name, _ in ATTEMPTS}
    with reading(run) as connection:
        there = columns_of(connection, "attempts")
        known = "SELECT 1 FROM attempts WHERE {} IS NOT NULL LIMIT 1"
        return [
            (name, "real")
            for name in (*RATED_COLUMNS, "first_byte")
            if name in there and name not in listed and connection.execute(known.format(name)).fetchone()
        ]


def events(run: Path, matches: Collection[str] = (), *, content: bool = False) -> Table:
    """Every move, in the order it was made; without the answers' texts unless they are asked for."""
    paths = ", ".join(f"'$.{name}'" for name in WORDS)
    move = "move" if content else f"json_remove(move, {paths})"
    parts = [f"json_extract(move, '$.{name}')" for name in ("status", "h", "judged", "choice")]
    names = f"seq, match, round, player, kind, item, {', '.join(parts)}, {move}, ruling, time"
    return Table(EVENTS, _query(run, f"SELECT {names} FROM events", "match", matches, "seq"))


def _query(run: Path, select: str, column: str, matches: Collection[str], order: str) -> Iterator[Any]:
    where = f" WHERE {column} IN ({','.join('?' * len(matches))})" if matches else ""
    with reading(run) as connection:
        yield from connection.execute(f"{select}{where} ORDER BY {order}", tuple(matches))


def _costs(player: PlayerResult) -> Iterator[dict[str, Cell]]:
    """What each item of a player took of each resource as it is scored: with its share of what belongs to no item and
    the charge for what is unknown; None where there is neither. Where no attempt of a player told it, items without
    an attempt have none either, or a reader would take their 0 for the player's usual cost."""
    own = result_columns([player])[0]
    calls = own.cost("calls").value.tolist()
    costs = {name: own.cost(name).value.tolist() for name in COST_NAMES}
    holes = {
        name
        for name, values in costs.items()
        if any(map(math.isnan, values))
        and all(math.isnan(value) for value, made in zip(values, calls, strict=True) if made)
    }
    holes |= {measure for name in holes if name in TABLE for measure in TABLE[name].measures}
    for at in range(len(player.items)):
        yield {
            name: None if math.isnan(values[at]) or (name in holes and not calls[at]) else _whole(values[at])
            for name, values in costs.items()
        }


def _whole(value: float) -> Cell:
    return int(value) if abs(value) < WHOLE and value == int(value) else value


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def score_flags(rules: ScoreRules) -> list[str]:
    """What to tell `mashq score` so that it scores the rows as the run is scored."""
    flags = [f"--alpha {rules.alpha!r}", f"--beta {rules.beta!r}", f"--refusals {rules.refusals}"]
    flags.append(f"--resources {','.join(rules.weights)}")
    weights = [f"{name}={weight!r}" for name, weight in rules.weights.items() if weight != 1]
    if weights:
        flags.append(f"--weights {','.join(weights)}")
    if rules.reference is not None:
        flags.append("--normalise reference:FILE")
    return flags
