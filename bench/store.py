"""How fast the store is with a million events: appending, asking, and the first table, each beside its raw limit.

    python bench/store.py                      a million events, in a folder of its own
    python bench/store.py --events 100000
    python bench/store.py --run runs/big       ask a run that bench/big_run.py wrote before

A raw limit is the same rows through bare sqlite3, or a bare Python that starts, measured in the same run. The first
table and the start of the command have limits of their own: 3 s and 400 MB, and 200 ms.
"""

import argparse
import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from big_run import write

from mashq.gateway.clock import RealClock
from mashq.protocol import Answer, Item
from mashq.protocol.resources import Amount, Spend
from mashq.runs.columns import NAMES, read_columns
from mashq.runs.file import SCHEMA
from mashq.runs.reading import read_attempts, read_moves
from mashq.runs.writer import EVENT, Run

GROUP = 512
KINDS, ITEMS = 1000, 1000
FIRST = 1000
SHOW, MEMORY, HELP = 3.0, 400.0, 0.2
BARE = """import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): pass"""


def moves() -> list[Answer]:
    """Return answers of a typical length and cost."""
    tokens = Amount(600, 1)
    return [
        Answer(
            "ok",
            f"{n} " + "word " * 40,
            0.8,
            spend=Spend.of(1, tokens_in=tokens, tokens_out=tokens, seconds=Amount(1.5, 1)),
        )
        for n in range(KINDS)
    ]


async def append(path: Path, events: int) -> float:
    """Return the seconds to record events through the store, as a match does, until all are in the file."""
    run = Run.create(path, RealClock(), {"ended": None}, [Item(f"item-{n}", "text") for n in range(ITEMS)])
    record, answers = run.record("0"), moves()
    started = time.perf_counter()
    for start in range(0, events, GROUP):
        for number in range(start, min(start + GROUP, events)):
            record.record(number // 4, "A", f"item-{number % ITEMS}", answers[number % KINDS], None)
        await run.writer.durable()
    seconds = time.perf_counter() - started
    run.close()
    return seconds


def append_raw(source: Path, path: Path) -> float:
    """Return the seconds to insert the same prepared rows by executemany in groups of the writer's size."""
    source_db = sqlite3.connect(source)
    target_db = sqlite3.connect(path, isolation_level=None)
    target_db.execute("PRAGMA journal_mode=WAL")
    target_db.execute("PRAGMA synchronous=NORMAL")
    target_db.executescript(SCHEMA)
    rows: Iterator[tuple[object, ...]] = source_db.execute(
        "SELECT match, round, player, kind, item, move, ruling, time FROM events ORDER BY seq"
    )
    seconds = 0.0
    while group := list(islice(rows, GROUP)):
        started = time.perf_counter()
        target_db.execute("BEGIN")
        target_db.executemany(EVENT, group)
        target_db.execute("COMMIT")
        seconds += time.perf_counter() - started
    target_db.close()
    source_db.close()
    return seconds


def best(action: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of several times, in seconds."""
    durations: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        durations.append(time.perf_counter() - started)
    return min(durations)


def child(*command: str, times: int = 3) -> tuple[float, float]:
    """Return the shortest wall time of a process in seconds, including its start, and its peak memory in MB."""
    runs: list[tuple[float, float]] = []
    for _ in range(times):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        runs.append((time.perf_counter() - started, used.ru_maxrss / 1024))
    return min(runs)


def print_row(what: str, seconds: float, raw: float, more: str = "") -> None:
    """Print one row of the table."""
    print(f"{what:34} {seconds:9.3f} s  raw {raw:8.3f} s  x {seconds / raw:6.1f}  {more}", flush=True)


def limit(value: float, maximum: float, unit: str) -> str:
    """Format a value with its limit."""
    return f"{value:.3g} {unit} of {maximum:g}{'' if value <= maximum else ': OVER THE LIMIT'}"


def appending(folder: Path, events: int) -> None:
    """Measure appending, compared with bare inserts."""
    seconds = asyncio.run(append(folder / "appended", events))
    raw = append_raw(folder / "appended" / "run.db", folder / "raw.db")
    print_row(f"append {events:,} events", seconds, raw, f"{1e6 * seconds / events:.1f} us an event")


def asking(run: Path) -> None:
    """Measure the queries of a table, a page and a bill."""
    database = str(run / "run.db")

    def bare(query: str) -> Callable[[], object]:
        def ask() -> None:
            connection = sqlite3.connect(database)
            for _ in connection.execute(query):
                pass
            connection.close()

        return ask

    rows = f"SELECT {', '.join(NAMES)} FROM results WHERE match = '0' ORDER BY seat, position"
    page = f"SELECT player, kind, move FROM events WHERE match = '0' ORDER BY seq LIMIT {FIRST}"
    counts = "SELECT * FROM spent WHERE match = '0'"
    print_row("results by item", best(lambda: read_columns(run, "0")), best(bare(rows)))
    print_row(f"the first {FIRST:,} moves", best(lambda: list(islice(read_moves(run, "0"), FIRST))), best(bare(page)))
    print_row("what was spent", best(lambda: read_attempts(run, "0")), best(bare(counts)))
    raw, _ = child(sys.executable, "-c", BARE, database, rows)
    for command in ("show", "score"):
        seconds, memory = child(sys.executable, "-m", "mashq", command, str(run))
        limits = (
            f"{limit(seconds, SHOW, 's')}, {limit(memory, MEMORY, 'MB')}" if command == "show" else f"{memory:.0f} MB"
        )
        print_row(f"mashq {command}, a process", seconds, raw, limits)


def starting() -> None:
    """Measure the start of the command, compared with a bare Python."""
    seconds, _ = child(sys.executable, "-m", "mashq", "--help", times=7)
    raw, _ = child(sys.executable, "-c", "pass", times=7)
    extra_ms = 1000 * (seconds - raw)
    print_row("mashq --help, a process", seconds, raw, f"over python: {limit(extra_ms, 1000 * HELP, 'ms')}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--run", type=Path, help="a run to ask, instead of one written now")
    options = parser.parse_args()
    starting()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        appending(folder, options.events)
        run: Path | None = options.run
        if run is None:
            run = folder / "big"
            print(f"a run of {write(run, options.events):,} events:")
        asking(run)


if __name__ == "__main__":
    main()
