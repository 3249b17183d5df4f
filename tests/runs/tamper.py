"""A run with everything in it, and every way to change one thing of it."""

import json
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import mashq
from mashq.runs.schema import ROWS
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, write_items

PROGRAM = Path(__file__).with_name("asking_program.py")
FAULTS = {"429": 0.05, "500": 0.05, "drop_body": 0.05, "no_usage": 0.05, "refusal": 0.05, "no_temperature": 0.2}


def played(folder: Path, seed: int = 0, trials: int = 2) -> Path:
    """Reviews, refusals, retries, an external player, a price, unknown costs, and two trials."""
    with FakeProvider(seed=seed) as provider:
        provider.configure(rates=FAULTS)
        config = http_config(provider.base_url, write_items(folder / "items.jsonl", 4))
        config["players"].append(
            {"name": "C", "agent": "external", "model": "my/alpha", "command": [sys.executable, str(PROGRAM)]}
        )
        config["models"]["my/alpha"] |= {"price": {"input": 1.0, "output": 2.0, "cached": 0.5}}
        config["rules"] |= {"T": 0.95}
        config["models"] = {name: {**model, "timeout": 2.0} for name, model in config["models"].items()}
        mashq.play(config, folder / "run", trials=trials)
    return folder / "run"


def tables(run: Path) -> dict[str, tuple[list[str], int]]:
    """The columns of every table, and how many rows it has."""
    connection = sqlite3.connect(run / "run.db")
    found: dict[str, tuple[list[str], int]] = {}
    for table in ROWS:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        found[table] = columns, count
    connection.close()
    return found


def copied(run: Path, to: Path) -> Path:
    """A copy to change."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in ("run.db", "manifest.json"):
        shutil.copy(run / name, to / name)
    return to


def changes(run: Path) -> Iterator[tuple[str, str]]:
    """A name and a statement for one cell of every column; rows removed, added and swapped in every table."""
    for table, (columns, count) in tables(run).items():
        if not count:
            continue
        for column in columns:
            row = f"(SELECT {_key(table)} FROM {table} WHERE {column} IS NOT NULL LIMIT 1)"
            fallback = f"(SELECT {_key(table)} FROM {table} LIMIT 1)"
            where = f"{_key(table)} = coalesce({row}, {fallback})" if "," not in _key(table) else "1"
            if "," in _key(table):
                first = f"SELECT {_key(table)} FROM {table} ORDER BY {column} IS NULL LIMIT 1"
                where = f"({_key(table)}) = ({first})"
            yield f"{table}.{column}", f"UPDATE OR REPLACE {table} SET {column} = {_other(column)} WHERE {where}"
        key = _key(table)
        last = f"({key}) = (SELECT {key} FROM {table} ORDER BY {key.replace(',', ' DESC,')} DESC LIMIT 1)"
        yield f"{table} without its last row", f"DELETE FROM {table} WHERE {last}"
        first = f"({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1)"
        yield f"{table} without its first row", f"DELETE FROM {table} WHERE {first}"
        yield f"{table} with a row more", _more(table, columns)
        if count > 1 and not _rowid(table):  # rows without a key have no order
            yield f"{table} with two rows swapped", _swapped(table, columns)


def _key(table: str) -> str:
    keys = {"items": "position", "prompts": "digest", "attempts": "id", "events": "seq", "refusals": "id",
            "matches": "id", "seats": "match, seat", "results": "match, seat, position", "chain": "n",
            "spent": "match, player, purpose", "marks": "match", "learnt": "model, field",
            "contents": "match, seat, position", "floors": "name, position"}  # fmt: skip
    return keys.get(table, "rowid")


def _other(column: str) -> str:
    """Another value of the same kind; 1 where there is none."""
    return (
        f"CASE typeof({column}) WHEN 'integer' THEN {column} + 1 WHEN 'real' THEN {column} * 0.5 + 0.125"
        f" WHEN 'null' THEN 1 ELSE CASE json_valid({column}) AND substr({column}, 1, 1) IN ('{{', '[')"
        f" WHEN 1 THEN ' ' || {column} ELSE {column} || 'x' END END"
    )


def _more(table: str, columns: list[str]) -> str:
    """A copy of a row under a key of its own."""
    keys = [key.strip() for key in _key(table).split(",")]
    numbered = table != "matches" and keys[-1] in ("id", "seq", "n", "position", "seat")
    fresh = f"(SELECT max({keys[-1]}) FROM {table}) + 1" if numbered else f"{keys[-1]} || 'x'"
    values = [fresh if name == keys[-1] else name for name in columns]
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {table} LIMIT 1"


def _swapped(table: str, columns: list[str]) -> str:
    """The contents of the first and the last row under each other's keys."""
    keys = [key.strip() for key in _key(table).split(",")]
    rest = [name for name in columns if name not in keys] or columns
    order = ", ".join(keys)
    last = order.replace(",", " DESC,") + " DESC"
    pick = f"SELECT {', '.join(rest)} FROM old ORDER BY"
    return (
        f"CREATE TEMP TABLE old AS SELECT * FROM {table};"
        f"UPDATE {table} SET ({', '.join(rest)}) = ({pick} {last} LIMIT 1) WHERE ({order}) ="
        f" (SELECT {order} FROM old ORDER BY {order} LIMIT 1);"
        f"UPDATE {table} SET ({', '.join(rest)}) = ({pick} {order} LIMIT 1) WHERE ({order}) ="
        f" (SELECT {order} FROM old ORDER BY {last} LIMIT 1);"
    )


def _rowid(table: str) -> bool:
    return _key(table) == "rowid"


def levels(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in plain data."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = cast(dict[Any, Any], value).items()
    elif isinstance(value, list):
        inner = enumerate(cast(list[Any], value))
    for key, entry in inner:
        yield (*path, key)
        yield from levels(entry, (*path, key))


def edited(manifest: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """A manifest with one value changed."""
    document = json.loads(json.dumps(manifest))
    here: Any = document
    for key in path[:-1]:
        here = here[key]
    before = here[path[-1]]
    if isinstance(before, bool):
        here[path[-1]] = not before
    elif isinstance(before, int | float):
        here[path[-1]] = before + 1
    elif isinstance(before, str):
        here[path[-1]] = before + "x"
    elif isinstance(before, list):
        here[path[-1]] = [*before, *before[:1]] if before else ["x"]
    elif isinstance(before, dict):
        here[path[-1]] = before | {"x": 1}
    else:
        here[path[-1]] = "x"
    return document
