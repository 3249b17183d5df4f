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
    """Answers of a usual length and cost."""
    one = Amount(600, 1)
    return [
        Answer(
            "ok",
            f"{n} " + "word " * 40,
            0.8,
            spend=Spend.of(1, tokens_in=one, tokens_out=one, seconds=Amount(1.5, 1)),
        )
        for n in range(KINDS)
    ]


async def append(path: Path, events: int) -> float:
    """Seconds to record events through the store, as a match does, until they are all in the file."""
    run = Run.create(path, RealClock(), {"ended": None}, [Item(f"item-{n}", "text") for n in range(ITEMS)])
    record, made = run.record("0"), moves()
    started = time.perf_counter()
    for start in range(0, events, GROUP):
        for at in range(start, min(start + GROUP, events)):
            record.record(at // 4, "A", f"item-{at % ITEMS}", made[at % KINDS], None)
        await run.writer.durable()
    seconds = time.perf_counter() - started
    run.close()
    return seconds


def append_raw(source: Path, path: Path) -> float:
    """Seconds to insert the same rows, ready made, by executemany in groups of the writer's size."""
    here = sqlite3.connect(source)
    there = sqlite3.connect(path, isolation_level=None)
    there.execute("PRAGMA journal_mode=WAL")
    there.execute("PRAGMA synchronous=NORMAL")
    there.executescript(SCHEMA)
    rows: Iterator[tuple[object, ...]] = here.execute(
        "SELECT match, round, player, kind, item, move, ruling, time FROM events ORDER BY seq"
    )
    seconds = 0.0
    while group := list(islice(rows, GROUP)):
        started = time.perf_counter()
        there.execute("BEGIN")
        there.executemany(EVENT, group)
        there.execute("COMMIT")
        seconds += time.perf_counter() - started
    there.close()
    here.close()
    return seconds


def best(do: Callable[[], object], times: int = 3) -> float:
    """The least of some times, in seconds."""
    took: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        do()
        took.append(time.perf_counter() - started)
    return min(took)


def child(*command: str, times: int = 3) -> tuple[float, float]:
    """The least wall time of a process in seconds, its start included, and its peak memory in MB."""
    found: list[tuple[float, float]] = []
    for _ in range(times):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        found.append((time.perf_counter() - started, used.ru_maxrss / 1024))
    return min(found)


def told(what: str, seconds: float, raw: float, more: str = "") -> None:
    """One line."""
    print(f"{what:34} {seconds:9.3f} s  raw {raw:8.3f} s  x {seconds / raw:6.1f}  {more}", flush=True)


def limit(value: float, most: float, unit: str) -> str:
    """A value beside its limit."""
    return f"{value:.3g} {unit} of {most:g}{'' if value <= most else ': OVER THE LIMIT'}"


def appending(folder: Path, events: int) -> None:
    """Appending, beside bare inserts."""
    seconds = asyncio.run(append(folder / "appended", events))
    raw = append_raw(folder / "appended" / "run.db", folder / "raw.db")
    told(f"append {events:,} events", seconds, raw, f"{1e6 * seconds / events:.1f} us an event")


def asking(run: Path) -> None:
    """What a table, a page and a bill need."""
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
    told("results by item", best(lambda: read_columns(run, "0")), best(bare(rows)))
    told(f"the first {FIRST:,} moves", best(lambda: list(islice(read_moves(run, "0"), FIRST))), best(bare(page)))
    told("what was spent", best(lambda: read_attempts(run, "0")), best(bare(counts)))
    raw, _ = child(sys.executable, "-c", BARE, database, rows)
    for command in ("show", "score"):
        seconds, memory = child(sys.executable, "-m", "mashq", command, str(run))
        limits = (
            f"{limit(seconds, SHOW, 's')}, {limit(memory, MEMORY, 'MB')}" if command == "show" else f"{memory:.0f} MB"
        )
        told(f"mashq {command}, a process", seconds, raw, limits)


def starting() -> None:
    """The start of the command, beside a bare Python."""
    seconds, _ = child(sys.executable, "-m", "mashq", "--help", times=7)
    raw, _ = child(sys.executable, "-c", "pass", times=7)
    over = 1000 * (seconds - raw)
    told("mashq --help, a process", seconds, raw, f"over python: {limit(over, 1000 * HELP, 'ms')}")


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--run", type=Path, help="a run to ask, instead of one written now")
    asked = parser.parse_args()
    starting()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        appending(folder, asked.events)
        run: Path | None = asked.run
        if run is None:
            run = folder / "big"
            print(f"a run of {write(run, asked.events):,} events:")
        asking(run)


if __name__ == "__main__":
    main()
