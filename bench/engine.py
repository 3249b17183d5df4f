"""How fast the whole engine is, store included, on simulated players: time and memory over the number of items.

Prints items, seconds, microseconds a call, the ratio to the raw limit (the same number of rows written to SQLite in
groups, measured in the same run) and peak memory, each size in a process of its own.

    python bench/engine.py --chain      what the hash chain takes of that: with it and without it in turn, CPU seconds
"""

import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SIZES = (100, 200, 400, 800, 1600, 3200)
CHAINED, TURNS, PROMISED = 1600, 9, 0.05


def one(count: int, *, chained: bool = True) -> dict[str, float]:
    """Play one match of two simulated players over `count` items of 400 words."""
    import mashq

    if not chained:
        _unchain()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "items.jsonl").open("w") as file:
            for n in range(count):
                file.write(json.dumps({"id": f"item-{n}", "text": "word " * 400}) + "\n")
        players = [{"name": "A", "model": "simulated/default"}, {"name": "B", "model": "simulated/default"}]
        config = {"task": {"data": str(folder / "items.jsonl")}, "players": players}
        started, before = time.perf_counter(), time.process_time()
        result = mashq.play(config, folder / "run")
        seconds, cpu = time.perf_counter() - started, time.process_time() - before
        calls = result["attempts"]["opened"]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "items": count,
            "seconds": seconds,
            "calls": calls,
            "mb": memory,
            "cpu": cpu,
            "raw": raw(folder, calls),
        }


def _unchain() -> None:
    """Nothing is hashed and no link is written: the statements alone."""
    from mashq.runs.chain import NOTE, Chain

    def write(_chain: Chain, cursor: sqlite3.Cursor, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        for statement, values in statements:
            if statement != NOTE:
                cursor.execute(statement, values)

    Chain.write = write


def raw(folder: Path, calls: int) -> float:
    """The limit: the rows of that many calls (prompt, open, close, move) into SQLite, 512 a commit."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    body = "word " * 400
    started = time.perf_counter()
    for at in range(0, 4 * calls, 512):
        connection.execute("BEGIN")
        for n in range(at, min(at + 512, 4 * calls)):
            connection.execute("INSERT INTO t VALUES (?, ?)", (n, body if n % 4 == 0 else "move"))
        connection.execute("COMMIT")
    connection.close()
    return time.perf_counter() - started


def child(*arguments: object) -> dict[str, float]:
    """One match in a process of its own."""
    told = subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(told.stdout)


def chain() -> None:
    """With the chain and without it, in turn."""
    ratios: list[float] = []
    print(f"{CHAINED} items: CPU s with the chain, without, ratio")
    for turn in range(TURNS):
        order = (("chained", "bare"), ("bare", "chained"))[turn % 2]
        cpu = {how: child(CHAINED, how)["cpu"] for how in order}
        ratios.append(cpu["chained"] / cpu["bare"])
        print(f"{cpu['chained']:.2f}  {cpu['bare']:.2f}  {ratios[-1]:.3f}", flush=True)
    cost = statistics.median(ratios) - 1
    print(f"The chain costs {cost:.1%} of the engine's CPU (median of {TURNS}); promised: at most {PROMISED:.0%}.")


def main() -> None:
    """Every size in turn."""
    print("items  seconds  us/call  x raw SQLite  peak MB")
    for size in SIZES:
        row = child(size)
        micro, ratio = 1e6 * row["seconds"] / row["calls"], row["seconds"] / row["raw"]
        print(f"{row['items']:5}  {row['seconds']:7.2f}  {micro:7.0f}  {ratio:12.1f}  {row['mb']:7.0f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--chain"]:
        chain()
    elif len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]), chained="bare" not in sys.argv)))
    else:
        main()
