"""Tables of a run: its results by item, its attempts, or its events.

Results are in the form that `mashq score` reads: one row per match, player and item, including the item's share of
costs that belong to no item, so that the file gives the same scores as the run. Attempts and events are streamed from
the run's file; their texts (prompts, replies, answers) are included only on demand.
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
from mashq.protocol.resources import COUNTED, MEASURES, TABLE
from mashq.protocol.results import COST_NAMES, ItemResult, PlayerResult
from mashq.protocol.results import columns_of as result_columns
from mashq.protocol.score import ScoreRules
from mashq.runs.file import RATED_COLUMNS, columns_of, connect
from mashq.runs.open import Played, Season
from mashq.runs.reading import DATABASE, read_charges, read_items
from mashq.runs.seasons import Fixture

ALWAYS = (*MEASURES[:2], *COUNTED, "dollars")  # the costs that have a column even where they are unknown
CHARGED = "charged_"  # before the name of a measure: how much of it is a charge for attempts of unknown cost
RESULTS: tuple[tuple[str, Kind], ...] = (
    ("player", "text"),
    ("item", "text"),
    ("trial", "whole"),
    ("h", "real"),
    ("status", "text"),
    *((name, "real") for name in COST_NAMES if name in ALWAYS),
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
    """Open the run's file read-only; raises StoreError if it is missing or damaged."""
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
    """The named matches of a season; all of them if none is named."""
    fixtures = list(season.fixtures())
    for name in matches:
        if all(fixture.id != name for fixture in fixtures):
            raise ConfigError(f"{season.path} has no match {name!r}: it has {_some([f.id for f in fixtures])}")
    return [fixture for fixture in fixtures if not matches or fixture.id in matches]


def results(season: Season, matches: Collection[str] = ()) -> Table:
    """One row per match, player and item. Settings that differ between matches have their own columns."""
    fixtures = chosen(season, matches)
    settings = list(dict.fromkeys(name for fixture in fixtures for name, _ in fixture.cell))
    optional = [*_declared(season), *_charged(season, fixtures)]
    names = [name for name, _ in RESULTS] + optional
    documents = {item.id: item for item in read_items(season.path)} if season.config.task.kind == "rag" else {}
    extra: list[tuple[str, Kind]] = [*((name, "text") for name in settings), *((name, "real") for name in optional)]
    if documents:
        extra += DOCUMENTS

    def rows() -> Iterator[tuple[Cell, ...]]:
        for fixture in fixtures:
            cell = dict(fixture.cell)
            settings_cells = tuple(_setting(cell[name]) if name in cell else None for name in settings)
            models = {player.name: player.model for player in fixture.config.players}
            played = season.played(fixture)
            for seat, player in enumerate(played.results):
                contents = _contents(played, seat, len(player.items))
                item_rows = zip(player_rows(player, fixture.trial), contents, player.items, strict=True)
                for row, content, result in item_rows:
                    row |= {"model": models.get(player.name), "match": fixture.id, **content}
                    document_cells = _document_cells(documents[result.item], result) if documents else ()
                    cells = [row[name] for name in names]
                    yield (*cells[: len(RESULTS)], *settings_cells, *cells[len(RESULTS) :], *document_cells)

    return Table((*RESULTS, *extra), rows())


def _document_cells(item: Item, row: ItemResult) -> tuple[Cell, ...]:
    """The DOCUMENTS columns of an answer over documents; whether there is an answer may be unknown."""
    answerable = None if item.answerable is None else int(item.answerable)
    return answerable, int(row.abstained) if row.status == "ok" else None, len(item.passages)


def _declared(season: Season) -> list[str]:
    """The resources without their own column for which some model of the run declares a rate."""
    listed, models = {name for name, _ in RESULTS}, season.config.models.values()
    return [
        name
        for name, row in TABLE.items()
        if name not in listed and (not row.rated or any(getattr(model, row.rate) is not None for model in models))
    ]


def _charged(season: Season, fixtures: list[Fixture]) -> list[str]:
    """The columns of charges; none where every attempt reported its costs."""
    charges = [charge for fixture in fixtures for charge in read_charges(season.path, fixture.id).by.values()]
    return [CHARGED + measure for measure in MEASURES if any(charge.measured(measure).total for charge in charges)]


def player_rows(player: PlayerResult, trial: int) -> Iterator[dict[str, Cell]]:
    """The cells of one player in a match by column, without those that identify the match; all costs and charges."""
    count, shared = len(player.items), player.shared
    for item, costs in zip(player.items, _costs(player), strict=True):
        spend = item.spend
        yield {
            "player": player.name,
            "item": item.item,
            "trial": trial,
            "h": item.h if item.status == "ok" else None,
            "status": item.status,
            **costs,
            "h_first": item.h_first,
            "guide": item.guide,
            "guide_first": item.guide_first,
            "length": item.length,
            "failed": _whole(spend.failed + shared.failed / count),
            "unknown_attempts": _whole(spend.unknown + shared.unknown / count),
            "waited": spend.waited + shared.waited / count,
        }


def _contents(played: Played, seat: int, items: int) -> list[dict[str, Cell]]:
    """Words, coverage and copied share of each answer of a player; None if unknown."""
    names = ("words", "coverage", "copied")
    if played.contents is None:
        return [dict.fromkeys(names)] * items
    answers = played.contents[seat].answers
    rows: list[list[float]] = np.array([answers[name][0] for name in names]).T.tolist()
    return [
        {name: None if math.isnan(value) else _whole(value) for name, value in zip(names, row, strict=True)}
        for row in rows
    ]


def attempts(run: Path, matches: Collection[str] = (), *, content: bool = False) -> Table:
    """Every attempt of the ledger, oldest first."""
    columns = (*ATTEMPTS, *known_columns(run))
    names = ", ".join(f"a.{name}" for name, _ in columns)
    text_columns: tuple[tuple[str, Kind], ...] = (("messages", "text"), ("reply", "text")) if content else ()
    names += ", p.messages, a.reply" if content else ""
    join = " LEFT JOIN prompts p ON p.digest = a.prompt" if content else ""
    return Table(
        columns + text_columns, _query(run, f"SELECT {names} FROM attempts a{join}", "a.match", matches, "a.id")
    )


def known_columns(run: Path) -> list[tuple[str, Kind]]:
    """The optional columns that have values in this ledger: rated resources, and the time to a stream's first
    data."""
    listed = {name for name, _ in ATTEMPTS}
    with reading(run) as connection:
        existing = columns_of(connection, "attempts")
        query = "SELECT 1 FROM attempts WHERE {} IS NOT NULL LIMIT 1"
        return [
            (name, "real")
            for name in (*RATED_COLUMNS, "first_byte")
            if name in existing and name not in listed and connection.execute(query.format(name)).fetchone()
        ]


def events(run: Path, matches: Collection[str] = (), *, content: bool = False) -> Table:
    """Every move in order; without the answers' texts unless `content` is set."""
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
    """The cost of each item of a player per resource, as scored: including its share of costs that belong to no item
    and the charge for unknown attempts; None if there is neither. If no attempt of a player reported a resource,
    items without an attempt have None too, or a reader would take their 0 for the player's usual cost. How much of a
    measure is a charge stands beside it."""
    columns = result_columns([player])[0]
    measured = {measure: columns.cost(measure) for measure in MEASURES}
    charges = {CHARGED + measure: (cost.value - cost.low).tolist() for measure, cost in measured.items()}
    calls = columns.cost("calls").value.tolist()
    costs = {name: columns.cost(name).value.tolist() for name in COST_NAMES}
    holes = {
        name
        for name, values in costs.items()
        if any(map(math.isnan, values))
        and all(math.isnan(value) for value, call_count in zip(values, calls, strict=True) if call_count)
    }
    holes |= {measure for name in holes if name in TABLE for measure in TABLE[name].measures}
    for index in range(len(player.items)):
        yield {
            name: None if math.isnan(values[index]) or (name in holes and not calls[index]) else _whole(values[index])
            for name, values in (costs | charges).items()
        }


def _whole(value: float) -> Cell:
    return int(value) if abs(value) < WHOLE and value == int(value) else value


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def score_flags(rules: ScoreRules) -> list[str]:
    """The flags with which `mashq score` scores the rows as the run is scored."""
    flags = [f"--alpha {rules.alpha!r}", f"--beta {rules.beta!r}", f"--refusals {rules.refusals}"]
    flags.append(f"--resources {','.join(rules.weights)}")
    weights = [f"{name}={weight!r}" for name, weight in rules.weights.items() if weight != 1]
    if weights:
        flags.append(f"--weights {','.join(weights)}")
    if rules.reference is not None:
        flags.append("--normalise reference:FILE")
    return flags
