"""Results from anyone: CSV, TSV, JSONL or Parquet, per item or as totals, plain or gzipped.

Columns: `player`, `h` and, for results by item, `item`; any of `trial`, `tokens` or `tokens_in` and `tokens_out`,
`calls`, `reviews`, `seconds`, `dollars`, `status`. Others are ignored, with a note. An empty cell is unknown.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import Any, cast

from mashq.analysis.results import Row, check, from_rows
from mashq.config import nearest
from mashq.errors import ConfigError, DataError
from mashq.gateway.providers import is_simulated
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import Results
from mashq.tasks.rows import Row as FileRow
from mashq.tasks.rows import read_rows

COSTS = ("tokens", "tokens_in", "tokens_out", *(name for name in RESOURCES if name != "tokens"))
SIMULATED = (
    "SIMULATED: some of these answers are not from a real model; their scores, costs and times are random draws."
)
KNOWN = ("player", "item", "h", "trial", "status", *COSTS)


def read(path: Path, renamed: Mapping[str, str] | None = None) -> tuple[Results, list[str]]:
    """The results in a file, with notes on what was left aside. `renamed` says which column stands for which."""
    return _results(str(path), read_rows(path, "give a run directory or a file of results"), renamed or {})


def from_cells(
    source: str, cells: Iterable[Mapping[str, object]], renamed: Mapping[str, str] | None = None
) -> tuple[Results, list[str]]:
    """The same from rows in memory; `source` is what errors call them."""
    return _results(source, ((f"row {number}", row) for number, row in enumerate(cells, 1)), renamed or {})


def _results(path: str, rows: Iterable[FileRow], renamed: Mapping[str, str]) -> tuple[Results, list[str]]:
    """One row at a time, none of them kept: which columns there are is known at the end, and what is wrong with them
    is said before what is wrong with a row."""
    there: dict[str, None] = {}
    kept: list[Row] = []
    wrong: DataError | None = None
    itemless, drawn = "", False
    for where, cells in rows:
        there |= dict.fromkeys(cells)
        drawn = drawn or is_simulated(str(cells.get("model")))
        if wrong is None:
            try:
                row = _row(f"{path} {where}", cells, renamed)
            except DataError as error:
                wrong = error
            else:
                itemless = itemless or ("" if row.item else row.where)
                kept.append(row)
    if not there:
        raise DataError(f"{path} is empty: it needs a row for each player and item")
    names = _columns(path, list(there), renamed)
    totals = "item" not in names
    if itemless and not totals:
        raise DataError(f"{itemless}: the item is empty: fill it in")
    if wrong is not None:
        raise wrong
    ignored = [column for column in there if column and column not in names.values()]
    notes = [SIMULATED] if drawn else []
    notes += [f"Ignored columns: {', '.join(map(str, ignored))}."] if ignored else []
    return from_rows((replace(row, item="all") for row in kept) if totals else kept, totals=totals), notes


def _columns(path: str, there: list[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Which column of the file holds which of ours."""
    names = {name: name for name in KNOWN if name in there}
    for ours, theirs in renamed.items():
        if ours not in KNOWN:
            raise ConfigError(f"--map {ours}={theirs}: {ours!r} is not a column of results{nearest(ours, KNOWN)}")
        if theirs not in there:
            raise ConfigError(f"--map {ours}={theirs}: {path} has no column {theirs!r}{nearest(theirs, there)}")
        names[ours] = theirs
    for needed in ("player", "h"):
        if needed not in names:
            raise DataError(f"{path} has no column {needed!r}{_hint(needed, there)}")
    return names


def _hint(needed: str, there: list[str]) -> str:
    like = {"player": ("model", "system", "agent", "name"), "h": ("score", "hhem", "factuality", "hhem_score")}
    for word in like[needed]:
        for column in there:
            if word in column.lower():
                return f": did you mean {column!r}? Say so with --map {needed}={column}"
    return f" (it has {', '.join(there)}): name it with --map {needed}=COLUMN"


def _row(where: str, cells: Mapping[str, object], renamed: Mapping[str, str]) -> Row:
    """A row of ours; one without an item has an empty one."""

    def cell(name: str) -> object:
        value = cells.get(renamed.get(name, name))
        return None if value is None or (isinstance(value, str) and not value.strip()) else value

    player, item = cell("player"), cell("item")
    if player is None:
        raise DataError(f"{where}: the player is empty: fill it in")
    h = _number(where, "h", cell("h"))
    given = cell("status")
    status = str(given).strip().lower() if given is not None else ("ok" if h is not None else "unanswered")
    if given is None and h is None:
        raise DataError(
            f"{where}: h is empty: give it, or say why in a 'status' column (refused, failed, cut, unanswered)"
        )
    costs: dict[str, float] = {}
    for name in COSTS:
        value = _number(where, name, cell(name))
        if value is not None:
            costs[name] = value
    check(h, status, costs, where)
    _check_tokens(costs, where)
    trial = cell("trial")
    own, what, when = (intern(str("" if value is None else value)) for value in (player, item, trial))
    return Row(own, what, when, h, intern(status), costs, where)


def _check_tokens(costs: Mapping[str, float], where: str) -> None:
    """Refuse tokens that are not the sum of those in and out; where one of these is unknown, that are fewer."""
    known = [costs[name] for name in ("tokens_in", "tokens_out") if name in costs]
    tokens, parts = costs.get("tokens"), sum(known)
    if tokens is None or math.isclose(tokens, parts, rel_tol=1e-6) or (len(known) < 2 and tokens > parts):
        return
    raise DataError(
        f"{where}: tokens is {tokens:g}, and tokens_in and tokens_out come to {parts:g}: correct them, or leave out "
        "tokens"
    )


def _number(where: str, name: str, value: object) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}, must be a number") from None
