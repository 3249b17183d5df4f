"""Results from anyone: CSV, TSV, JSONL or Parquet, per item or as totals, plain or gzipped.

Columns: `player`, `h` and, for results by item, `item`; any of `trial`, `tokens` or `tokens_in` and `tokens_out`,
`calls`, `reviews`, `seconds`, `dollars`, `status`. Others are ignored, with a note. An empty cell is unknown.
"""

import csv
import gzip
import importlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from mashq.analysis.results import Results, Row, check, from_rows
from mashq.config import nearest
from mashq.errors import ConfigError, DataError

COSTS = ("tokens", "tokens_in", "tokens_out", "calls", "reviews", "seconds", "dollars")
KNOWN = ("player", "item", "h", "trial", "status", *COSTS)
Cells = tuple[str, Mapping[str, object]]


def read(path: Path, renamed: Mapping[str, str] | None = None) -> tuple[Results, list[str]]:
    """The results in a file, with notes on what was left aside. `renamed` says which column stands for which."""
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path} is empty: it needs a row for each player and item")
    names = _columns(path, list(first[1]), renamed or {})
    totals = "item" not in names
    kept = [_row(where, cells, names, totals=totals) for where, cells in _chain(first, rows)]
    ignored = [column for column in first[1] if column and column not in names.values()]
    notes = [f"Ignored columns: {', '.join(map(str, ignored))}."] if ignored else []
    results = from_rows(kept, totals=totals)
    return results, notes


def _chain(first: Cells, rest: Iterator[Cells]) -> Iterator[Cells]:
    yield first
    yield from rest


def _columns(path: Path, there: list[str], renamed: Mapping[str, str]) -> dict[str, str]:
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


def _row(where: str, cells: Mapping[str, object], names: Mapping[str, str], *, totals: bool) -> Row:
    def cell(name: str) -> object:
        value = cells.get(names[name]) if name in names else None
        return None if value is None or (isinstance(value, str) and not value.strip()) else value

    player, item = cell("player"), "all" if totals else cell("item")
    if player is None or item is None:
        raise DataError(f"{where}: the {'player' if player is None else 'item'} is empty")
    h = _number(where, "h", cell("h"))
    given = cell("status")
    status = str(given).strip().lower() if given is not None else ("ok" if h is not None else "unanswered")
    if given is None and h is None:
        raise DataError(
            f"{where}: h is empty: give it, or say why in a 'status' column (refused, failed, unanswered)"
        )
    costs: dict[str, float] = {}
    for name in COSTS:
        value = _number(where, name, cell(name))
        if value is not None:
            costs[name] = value
    check(h, status, costs, where)
    return Row(str(player), str(item), str(cell("trial") or ""), h, status, _tokens(costs), where)


def _tokens(costs: dict[str, float]) -> dict[str, float]:
    """Tokens in and out as one; one without the other is unknown."""
    tokens_in, tokens_out = costs.pop("tokens_in", None), costs.pop("tokens_out", None)
    if "tokens" not in costs and tokens_in is not None and tokens_out is not None:
        costs["tokens"] = tokens_in + tokens_out
    return costs


def _number(where: str, name: str, value: object) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(cast(Any, value))
    except (TypeError, ValueError):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}, must be a number") from None


def _rows(path: Path) -> Iterator[Cells]:
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        yield from _parquet(path)
    elif kind in ("jsonl", "ndjson"):
        yield from _jsonl(_text(path), path)
    elif kind in ("csv", "tsv"):
        yield from _csv(_text(path), path, "\t" if kind == "tsv" else ",")
    else:
        raise DataError(f"{path} has an unknown ending: use .csv, .tsv, .jsonl (or these with .gz) or .parquet")


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give a run directory or a file of results") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}): is it whole?") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): convert it first") from None


def _csv(body: str, path: Path, delimiter: str) -> Iterator[Cells]:
    reader = csv.DictReader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if None in cells:
                raise DataError(f"{path} line {reader.line_num} has more cells than columns")
            yield f"{path} line {reader.line_num}", cast(Mapping[str, object], cells)
    except csv.Error as error:
        raise DataError(f"{path} line {reader.line_num} is not CSV ({error})") from None


def _jsonl(body: str, path: Path) -> Iterator[Cells]:
    for number, line in enumerate(body.split("\n"), 1):
        if not line.strip():
            continue
        try:
            cells: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} line {number} is not JSON ({error})") from None
        if not isinstance(cells, dict):
            raise DataError(f"{path} line {number} is not a JSON object")
        yield f"{path} line {number}", cast(Mapping[str, object], cells)


def _parquet(path: Path) -> Iterator[Cells]:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(f"reading {path} needs the extra: pip install 'mashq[parquet]'") from None
    try:
        columns: dict[str, list[object]] = parquet.read_table(path).to_pydict()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give a run directory or a file of results") from None
    except (OSError, arrow.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} is not a Parquet file that can be read ({reason})") from None
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        yield f"{path} row {number}", dict(zip(columns, values, strict=True))
