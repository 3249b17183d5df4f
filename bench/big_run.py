"""A run directory of any size, written straight into its file: for looking at what the dashboard does with it.

    python bench/big_run.py runs/big --moves 100000
    python bench/big_run.py runs/many --moves 100000 --matches 100

The texts are nonsense of a usual length and the costs are drawn; it is marked as simulated, for nobody played it.
"""

import argparse
import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mashq.config import check
from mashq.store.db import SCHEMA
from mashq.store.results import statements
from mashq.store.run import EVENT

WORDS = ("the", "harbour", "ferry", "council", "agreed", "to", "spend", "on", "a", "new", "boat", "last", "year")
EVENTS_AN_ITEM = 2.6  # an answer, a decision and some reviews


def write(path: Path, moves: int, matches: int = 1, seed: int = 1) -> int:
    """Write the run; how many moves it has."""
    draw = random.Random(seed)
    items = max(1, round(moves / matches / 2 / EVENTS_AN_ITEM))
    path.mkdir(parents=True)
    connection = sqlite3.connect(path / "run.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(SCHEMA)
    connection.execute("BEGIN")
    rows = ((at, f"item-{at}", _text(draw, 120), None) for at in range(items))
    connection.executemany("INSERT INTO items VALUES (?,?,?,?)", rows)
    for match in range(matches):
        connection.execute("INSERT INTO matches VALUES (?,?,?,?)", (str(match), match, 0.0, 1.0))
        connection.executemany(EVENT, _moves(draw, str(match), items))
    total: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    connection.execute("COMMIT")
    _manifest(path, items, matches)
    _results(path, connection, matches)
    connection.close()
    return total


def _moves(draw: random.Random, match: str, items: int) -> Iterator[tuple[Any, ...]]:
    for at in range(items):
        for player, item in (("A", at), ("B", items - 1 - at)):
            h = round(min(1.0, max(0.0, draw.gauss(0.8, 0.2))), 4)
            yield _row(
                match, at, player, "answer", item, {"status": "ok", "text": _text(draw, 40), "h": h}, None, draw
            )
            reviews = h < 0.7 and draw.random() < 0.8
            ruling = {
                "choice": "review" if reviews else "continue",
                "position": at if reviews else None,
                "overridden": "",
            }
            yield _row(match, at, player, "decision", item, {"choice": ruling["choice"]}, ruling, draw)
            for _ in range(draw.randint(1, 3) if reviews else 0):
                h = round(min(1.0, h + draw.random() * (1 - h)), 4)
                move = {"status": "ok", "text": _text(draw, 40), "h": h}
                yield _row(match, at, player, "rewrite", item, move, None, draw)


def _row(
    match: str, round_: int, player: str, kind: str, item: int, move: dict[str, Any], ruling: Any, draw: random.Random
) -> tuple[Any, ...]:
    spend = {
        "calls": 1,
        "tokens_in": [draw.randint(200, 900), 1, 0, 0],
        "tokens_out": [draw.randint(20, 90), 1, 0, 0],
    }
    spend["seconds"] = [round(draw.random() * 2, 3), 1, 0, 0]
    said = None if ruling is None else json.dumps(ruling)
    return match, round_, player, kind, f"item-{item}", json.dumps(move | {"spend": spend}), said, float(round_)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words)) + "."


def _manifest(path: Path, items: int, matches: int) -> None:
    players = [{"name": "A", "model": "simulated/big"}, {"name": "B", "model": "simulated/big"}]
    config = check({"players": players}).model_dump(mode="json")
    document = {
        "format": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T01:00:00+00:00",
        "simulated": True,
        "seed": 0,
        "items": items,
        "season": {"kind": "match", "trials": matches},
        "detector": {"name": "grounding", "version": "2"},
        "guide": "judge",
        "digests": {},
        "config": config,
        "prompts": {},
    }
    (path / "manifest.json").write_text(json.dumps(document), "utf-8")


def _results(path: Path, connection: sqlite3.Connection, matches: int) -> None:
    """The rows that a match leaves when it ends, from the dashboard's own fold of its moves."""
    from mashq.protocol.resources import Amount, Spend
    from mashq.protocol.score import ItemResult, PlayerResult
    from mashq.web.library import Library
    from mashq.web.stage import Theatre

    theatre = Theatre(Library(path))
    for match in range(matches):
        projector = theatre.projector(path.name, str(match))
        projector.advance(1e9)
        reel, found = projector.reel, []
        for seat, name in enumerate(reel.shape.scene.players):
            rows: list[ItemResult] = []
            for position in range(reel.shape.scene.items):
                status, h, first, reviews = reel.cell(seat, position, len(reel))
                cost = Amount(600 * (2 + reviews), 2 + reviews)
                spend = Spend(2 + reviews, reviews=reviews, tokens_in=cost, tokens_out=cost, seconds=cost)
                assert status == "ok"
                rows.append(ItemResult(f"item-{position}", "ok", h, first, spend, length=200))
            found.append(PlayerResult(name, tuple(rows), threshold=0.85, max_reviews=3))
        connection.execute("BEGIN")
        for statement, values in statements(str(match), found):
            connection.execute(statement, values)
        connection.execute("COMMIT")


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--moves", type=int, default=100_000)
    parser.add_argument("--matches", type=int, default=1)
    asked = parser.parse_args()
    print(f"{write(asked.path, asked.moves, asked.matches):,} moves in {asked.path}")


if __name__ == "__main__":
    main()
