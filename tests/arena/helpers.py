"""Small matches against the loopback provider, and what must hold of any run."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from mashq.gateway.types import spend_of
from mashq.protocol.resources import Spend
from mashq.runs.ledger import entries

PASSAGE = (
    "The council of Marrow Bay met on {day} and agreed to spend {sum} dollars on a new ferry for the island. "
    "Mayor Ida Holm said the old boat had carried {people} people last year. Her deputy, Jon Aske, voted against it. "
    "The ferry is to sail from {day} next spring, and tickets will cost {price} dollars."
)


def write_items(path: Path, count: int) -> Path:
    """A data file of small news-like items."""
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    with path.open("w") as file:
        for n in range(count):
            text = PASSAGE.format(day=days[n % 5], sum=1000 * (n + 3), people=137 * (n + 1), price=n + 2)
            file.write(json.dumps({"id": f"item-{n}", "text": text}) + "\n")
    return path


def http_config(base_url: str, data: Path, **changes: Any) -> dict[str, Any]:
    """Two players on two models of the loopback provider."""
    model = {"base_url": base_url, "timeout": 5.0, "retry": {"attempts": 4, "base": 0.01, "cap": 0.02}}
    return {
        "task": {"data": str(data)},
        "players": [{"name": "A", "model": "my/alpha"}, {"name": "B", "model": "my/beta"}],
        "rules": {"show_seconds": False},
        "models": {"my/alpha": model, "my/beta": model},
        **changes,
    }


def mashq(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "mashq", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )


def rows(run: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of a run's file."""
    connection = sqlite3.connect(f"{(run / 'run.db').resolve().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def story(run: Path) -> dict[str, list[dict[str, Any]]]:
    """A match without its costs: by player, the moves with their answers and scores. Equal means the same match."""
    found: dict[str, list[dict[str, Any]]] = {}
    for player, round_, kind, item, move, ruling in rows(
        run, "SELECT player, round, kind, item, move, ruling FROM events ORDER BY seq"
    ):
        body = {key: value for key, value in json.loads(move).items() if key != "spend"}
        found.setdefault(player, []).append({"round": round_, "kind": kind, "item": item, "ruling": ruling, **body})
    return found


def check_ledger(run: Path, hits: list[dict[str, Any]], *, killed: bool = False) -> None:
    """The ledger's law, and that the moves' costs are the attempts' costs."""
    opened, replied, unresolved = rows(
        run, "SELECT count(*), coalesce(sum(status IS NOT NULL), 0), coalesce(sum(outcome IS NULL), 0) FROM attempts"
    )[0]
    assert replied <= len(hits) <= opened
    if not killed:
        assert (unresolved, len(hits)) == (0, opened)
    check_sums(run)


def check_sums(run: Path, *, foreign: bool = False) -> None:
    """What the moves say they cost is what the ledger says; the seconds of a foreign agent are those of its turn."""
    connection = sqlite3.connect(f"{(run / 'run.db').resolve().as_uri()}?mode=ro", uri=True)
    by_player: dict[str, Spend] = {}
    for call, entry in entries(connection):
        by_player[call.player] = by_player.get(call.player, Spend()) + spend_of(entry)
    connection.close()
    charged: dict[str, Spend] = {}
    for player, move in rows(run, "SELECT player, move FROM events ORDER BY seq"):
        charged[player] = charged.get(player, Spend()) + Spend.from_json(json.loads(move).get("spend", {}))
    for player, spent in by_player.items():
        told = charged[player]
        assert (told.calls, told.unresolved, told.failed) == (spent.calls, spent.unresolved, spent.failed)
        assert (told.tokens, told.unknown) == (spent.tokens, spent.unknown)
        assert foreign or abs(told.seconds.total - spent.seconds.total) < 1e-6


def sent_twice(run: Path, match: str = "0") -> list[tuple[Any, ...]]:
    """Calls of a match that were sent again although a reply to them had been acknowledged."""
    made = rows(
        run,
        "SELECT player, round, item, purpose, n, ask, outcome FROM attempts"
        f" WHERE match = '{int(match)}' ORDER BY id",
    )
    replied: Counter[tuple[Any, ...]] = Counter()
    again: list[tuple[Any, ...]] = []
    for *call, outcome in made:
        if replied[tuple(call)]:
            again.append(tuple(call))
        replied[tuple(call)] += outcome in ("ok", "refused")
    return again
