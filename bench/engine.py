"""Speed of the whole engine, store included, on simulated players: time and memory by the number of items.

Prints items, seconds, microseconds per call, the ratio to the raw limit (the same number of rows written to SQLite in
groups, measured in the same run) and peak memory, each size in a separate process.

    python bench/engine.py --chain      the share of the hash chain: the same transactions written with it and
                                        without it in turn (median of the differences), and the whole match's CPU
"""

import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (100, 200, 400, 800, 1600, 3200)
CHAINED, TURNS, PROMISED = (400, 800, 1600), 15, 0.05


def play_match(count: int) -> dict[str, float]:
    """Play one match of two simulated players over `count` items of 400 words."""
    import mashq

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


def chained(count: int) -> None:
    """Play a match and write its transactions again, with and without the chain in turn; print the chain's share."""
    from mashq.runs.chain import NOTE, Chain
    from mashq.runs.database import Writer
    from mashq.runs.file import SCHEMA, Statement

    transactions: list[list[Statement]] = []
    commit = Writer._commit

    def committed(writer: Writer, statements: list[Statement]) -> None:
        transactions.append(statements)
        commit(writer, statements)

    def written(path: Path, *, bare: bool) -> float:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(SCHEMA)
        chain, cursor, before = Chain(connection), connection.cursor(), time.process_time()
        for statements in transactions:
            chain.begin(cursor)
            if bare:
                for statement, values in statements:
                    if statement != NOTE:
                        cursor.execute(statement, values)
            else:
                chain.write(cursor, statements)
            cursor.execute("COMMIT")
            chain.advance()
        spent = time.process_time() - before
        connection.close()
        return spent

    Writer._commit = committed
    try:
        played = play_match(count)["cpu"]
    finally:
        Writer._commit = commit
    with tempfile.TemporaryDirectory() as name:
        pairs = [
            (written(Path(name) / f"{turn}-a", bare=False), written(Path(name) / f"{turn}-b", bare=True))
            for turn in range(TURNS)
        ]
    overhead = statistics.median(full - bare for full, bare in pairs)
    print(
        f"{count:5}  {played:11.2f}  {min(full for full, _ in pairs):13.3f}  {min(bare for _, bare in pairs):9.3f}",
        end="",
    )
    print(f"  {overhead / (played - overhead):8.1%}", flush=True)


def raw(folder: Path, calls: int) -> float:
    """Return the raw limit: seconds to write the rows of that many calls into SQLite, 512 rows per commit."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    body = "word " * 400
    started = time.perf_counter()
    for start in range(0, 4 * calls, 512):
        connection.execute("BEGIN")
        for n in range(start, min(start + 512, 4 * calls)):
            connection.execute("INSERT INTO t VALUES (?, ?)", (n, body if n % 4 == 0 else "move"))
        connection.execute("COMMIT")
    connection.close()
    return time.perf_counter() - started


def child(*arguments: object) -> dict[str, float]:
    """Play one match in a separate process."""
    result = subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


def main() -> None:
    """Measure every size in turn."""
    print("items  seconds  us/call  x raw SQLite  peak MB")
    for size in SIZES:
        row = child(size)
        micro, ratio = 1e6 * row["seconds"] / row["calls"], row["seconds"] / row["raw"]
        print(f"{row['items']:5}  {row['seconds']:7.2f}  {micro:7.0f}  {ratio:12.1f}  {row['mb']:7.0f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--chain"]:
        print("items  engine's CPU  rows and chain  rows only  chain of the rest")
        for size in CHAINED:
            chained(size)
        print(f"Promised: at most {PROMISED:.0%}.")
    elif len(sys.argv) > 1:
        print(json.dumps(play_match(int(sys.argv[1]))))
    else:
        main()
