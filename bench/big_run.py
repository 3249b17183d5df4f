"""A run directory of any size, written straight into its file: for looking at what is done with it.

    python bench/big_run.py runs/big --moves 100000
    python bench/big_run.py runs/many --moves 100000 --matches 100

It holds all that a played run holds: moves that follow the rules, the attempts behind them, and the rows that a match
leaves when it ends, so that `mashq show`, `score` and `verify` take it for one. The texts are nonsense of a usual
length and the costs are drawn; it is marked as simulated, for nobody played it.
"""

import argparse
import hashlib
import heapq
import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mashq.config import check
from mashq.protocol.items import Item
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.results import ItemResult, PlayerResult
from mashq.runs.file import SCHEMA
from mashq.runs.results import statements
from mashq.runs.writer import COUNTED, EVENT
from mashq.tasks.load import digest

WORDS = ("the", "harbour", "ferry", "council", "agreed", "to", "spend", "on", "a", "new", "boat", "last", "year")
EVENTS_AN_ITEM = 2.56  # an answer, a decision and some reviews
T, R = 0.85, 3
PROMPTS = 64
PURPOSE = {"answer": "answer", "decision": "decision", "rewrite": "review"}
ATTEMPT = """INSERT INTO attempts (id, match, round, player, item, purpose, n, ask, model, prompt, opened, worst_in,
  worst_out, worst_seconds, worst_dollars, closed, outcome, tokens_in, tokens_out, usage, seconds, waited, dollars,
  reply, stop, error)
  VALUES (?,?,?,?,?,?,0,0,'simulated/big',?,?,2000,512,120.0,1.0,?,'ok',?,?,'',?,0.0,?,?,'stop','')"""


def write(path: Path, moves: int, matches: int = 1, seed: int = 1) -> int:
    """Write the run; return the number of moves."""
    draw = random.Random(seed)
    items = [
        Item(f"item-{position}", _text(draw, 120))
        for position in range(max(1, round(moves / matches / 2 / EVENTS_AN_ITEM)))
    ]
    path.mkdir(parents=True)
    connection = sqlite3.connect(path / "run.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(SCHEMA)
    connection.execute("BEGIN")
    rows = ((position, item.id, item.text, None) for position, item in enumerate(items))
    connection.executemany("INSERT INTO items (position, id, text, reference) VALUES (?,?,?,?)", rows)
    prompts = [json.dumps([["user", _text(draw, 200)]]) for _ in range(PROMPTS)]
    digests = [hashlib.blake2b(prompt.encode(), digest_size=16).hexdigest() for prompt in prompts]
    connection.executemany("INSERT INTO prompts VALUES (?,?)", zip(digests, prompts, strict=True))
    for match in range(matches):
        connection.execute("INSERT INTO matches VALUES (?,?,?,?)", (str(match), match, 0.0, 1.0))
        _match(connection, draw, match, items, digests)
    total: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    connection.execute("COMMIT")
    connection.close()
    _manifest(path, items, matches)
    return total


def _match(
    connection: sqlite3.Connection, draw: random.Random, match: int, items: Sequence[Item], digests: Sequence[str]
) -> None:
    """Play and write one match: its moves, attempts, results and counts."""
    order = range(len(items))
    players = (_Player("A", order, items, draw), _Player("B", order[::-1], items, draw))
    attempt = match << 32

    def moves() -> Iterator[tuple[Any, ...]]:
        nonlocal attempt
        for round_ in order:
            for player in players:
                for kind, item, move, ruling, spend in player.turn(round_):
                    attempt += 1
                    costs = (
                        spend.tokens_in.total,
                        spend.tokens_out.total,
                        spend.seconds.total,
                        spend.measured("dollars").total,
                    )
                    head = (attempt, str(match), round_, player.name, item, PURPOSE[kind])
                    tail = (digests[attempt % PROMPTS], float(round_), float(round_), *costs, move.get("text", "{}"))
                    connection.execute(ATTEMPT, (*head, *tail))
                    body = json.dumps(move | {"spend": spend.to_json()})
                    ruling_json = None if ruling is None else json.dumps(ruling)
                    yield str(match), round_, player.name, kind, item, body, ruling_json, float(round_)

    for row in moves():
        connection.execute(EVENT, row)
    for statement, values in statements(str(match), [player.result() for player in players]):
        connection.execute(statement, values)
    connection.execute(COUNTED, (str(match),))


class _Player:
    """A player that answers, decides, and reviews its worst answer when that is bad, following the rules."""

    def __init__(self, name: str, order: Sequence[int], items: Sequence[Item], draw: random.Random) -> None:
        self.name, self._order, self._items, self._draw = name, order, items, draw
        self._worst: list[tuple[float, int]] = []
        self._done: list[ItemResult] = []

    def turn(self, at: int) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any] | None, Spend]]:
        """Yield the moves of a round, each with its item, ruling and cost."""
        item, h, spend = self._items[self._order[at]].id, self._drawn(), self._spend()
        answer = {"status": "ok", "text": _text(self._draw, 40), "h": h}
        self._done.append(ItemResult(item, "ok", h, h, spend, length=len(answer["text"])))
        heapq.heappush(self._worst, (h, at))
        yield "answer", item, answer, None, spend
        reviews = bool(self._worst) and self._worst[0][0] < 0.7 and self._draw.random() < 0.8
        choice, position = ("review", self._worst[0][1]) if reviews else ("continue", None)
        spend = self._spend()
        self._done[at] = replace(self._done[at], spend=self._done[at].spend + spend)
        yield "decision", item, {"choice": choice}, {"choice": choice, "position": position, "overridden": ""}, spend
        if position is not None:
            yield from self._review(position)

    def _review(self, at: int) -> Iterator[tuple[str, str, dict[str, Any], None, Spend]]:
        """Rewrite an answer until it is good enough or may not be reviewed again."""
        heapq.heappop(self._worst)
        while True:
            was, spend = self._done[at], self._spend()
            h = round(min(1.0, was.h + self._draw.random() * (1 - was.h)), 4) if was.h is not None else 0.0
            move = {"status": "ok", "text": _text(self._draw, 40), "h": h}
            cost = was.spend + replace(spend, reviews=1)
            self._done[at] = replace(was, h=h, spend=cost, length=len(move["text"]))
            yield "rewrite", was.item, move, None, spend
            if cost.reviews >= R:
                return
            if h >= T:
                heapq.heappush(self._worst, (h, at))
                return

    def result(self) -> PlayerResult:
        """Return its results, in the order of the items."""
        rows = [row for _, row in sorted(zip(self._order, self._done, strict=True), key=lambda pair: pair[0])]
        return PlayerResult(self.name, tuple(rows), threshold=T, max_reviews=R)

    def _drawn(self) -> float:
        return round(min(1.0, max(0.0, self._draw.gauss(0.8, 0.2))), 4)

    def _spend(self) -> Spend:
        draw = self._draw
        amounts = (
            draw.randint(200, 900),
            draw.randint(20, 90),
            round(draw.random() * 2, 3),
            draw.randint(1, 9) / 8192,
        )
        tokens_in, tokens_out, seconds, dollars = (Amount(total, 1) for total in amounts)
        return Spend.of(1, tokens_in=tokens_in, tokens_out=tokens_out, seconds=seconds, dollars=dollars)


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words)) + "."


def _manifest(path: Path, items: Sequence[Item], matches: int) -> None:
    players = [{"name": "A", "model": "simulated/big"}, {"name": "B", "model": "simulated/big"}]
    config = check({"players": players, "rules": {"T": T, "R": R}}).model_dump(mode="json")
    document = {
        "format": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T01:00:00+00:00",
        "simulated": True,
        "seed": 0,
        "items": len(items),
        "season": {"kind": "match", "trials": matches},
        "detector": {"name": "grounding", "version": "2"},
        "guide": "judge",
        "digests": {"config": "0" * 64, "items": digest(tuple(items))},
        "versions": {},
        "config": config,
        "prompts": {},
    }
    (path / "manifest.json").write_text(json.dumps(document), "utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--moves", type=int, default=100_000)
    parser.add_argument("--matches", type=int, default=1)
    options = parser.parse_args()
    print(f"{write(options.path, options.moves, options.matches):,} moves in {options.path}")


if __name__ == "__main__":
    main()
