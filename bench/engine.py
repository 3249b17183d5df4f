"""How fast the whole engine is, store included, on simulated players: time and memory over the number of items.

Prints items, seconds, microseconds a call, the ratio to the raw limit (the same number of rows written to SQLite in
groups, measured in the same run) and peak memory, each size in a process of its own.
"""

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (100, 200, 400, 800, 1600, 3200)


def one(count: int) -> dict[str, float]:
    """Play one match of two simulated players over `count` items of 400 words."""
    import mashq

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "items.jsonl").open("w") as file:
            for n in range(count):
                file.write(json.dumps({"id": f"item-{n}", "text": "word " * 400}) + "\n")
        players = [{"name": "A", "model": "simulated/default"}, {"name": "B", "model": "simulated/default"}]
        config = {"task": {"data": str(folder / "items.jsonl")}, "players": players}
        started = time.perf_counter()
        result = mashq.play(config, folder / "run")
        seconds = time.perf_counter() - started
        calls = result["attempts"]["opened"]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"items": count, "seconds": seconds, "calls": calls, "mb": memory, "raw": raw(folder, calls)}


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


def main() -> None:
    """Every size in turn."""
    print("items  seconds  us/call  x raw SQLite  peak MB")
    for size in SIZES:
        told = subprocess.run([sys.executable, __file__, str(size)], capture_output=True, text=True, check=True)
        row = json.loads(told.stdout)
        micro, ratio = 1e6 * row["seconds"] / row["calls"], row["seconds"] / row["raw"]
        print(f"{row['items']:5}  {row['seconds']:7.2f}  {micro:7.0f}  {ratio:12.1f}  {row['mb']:7.0f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
