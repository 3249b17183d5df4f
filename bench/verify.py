"""What `mashq verify` takes: seconds of a processor per million moves, and peak memory, at two sizes of each kind.

    python bench/verify.py                    simulated players, and models over HTTP, whose replies are read again
    python bench/verify.py --items 2000       the smaller size; the other is twice that, over HTTP a quarter of each

The runs are played, chain and bodies included. Each is verified in a process of its own, all of whose time counts;
the last figure of a kind is what the larger run takes more than the smaller, so without the start.
"""

import argparse
import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

MOVES, SECONDS, MEGABYTES = 1_000_000, 150, 500  # the promised limits


def simulated(items: Path, out: Path) -> None:
    """Play with two simulated players."""
    import mashq

    players = [{"name": name, "model": "simulated/default"} for name in "AB"]
    mashq.play({"task": {"data": str(items)}, "players": players}, out)


def over_http(items: Path, out: Path) -> None:
    """Play with two players on a loopback model server."""
    from match import Constant, configuration

    from mashq.arena import match
    from mashq.detectors import base
    from mashq.testing import FakeProvider

    def constant(_name: str) -> Any:
        return Constant()

    base.load = constant
    with FakeProvider(seed=1, latency=0.0) as provider:
        asyncio.run(match.run(configuration(provider.base_url, items, ahead=16), out))


def measured(run: Path) -> dict[str, float]:
    """Verify a run; return the CPU time and peak memory of the whole process."""
    from mashq.runs.verify import verify

    problems = [finding for finding in verify(run) if finding.wrong]
    assert not problems, problems
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def child(*arguments: object) -> str:
    """Run this file in a separate process; return its output."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _measure_size(folder: Path, kind: str, count: int) -> dict[str, float]:
    """Play and verify a run of `count` items, and print time and memory."""
    items, run = folder / f"{kind}-{count}.jsonl", folder / f"{kind}-{count}"
    rows = (json.dumps({"id": f"item-{n}", "text": f"{n} " + "word " * 400}) + "\n" for n in range(count))
    items.write_text("".join(rows))
    started = time.perf_counter()
    child("--play", kind, items, run)
    seconds = time.perf_counter() - started
    with closing(sqlite3.connect(run / "run.db")) as connection:
        (moves,) = connection.execute("SELECT count(*) FROM events").fetchone()
    result = json.loads(child("--verify", run)) | {"moves": moves}
    per_million = result["cpu"] * MOVES / moves
    figures = f"{moves:10,}  {seconds:10.0f}  {result['cpu']:12.2f}  {per_million:19.0f}  {result['mb']:7.0f}"
    print(f"{kind:9}  {figures}", flush=True)
    return result


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=8000)
    parser.add_argument("--play", nargs=3, metavar=("KIND", "ITEMS", "RUN"), help=argparse.SUPPRESS)
    parser.add_argument("--verify", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        kind, items, out = options.play
        {"simulated": simulated, "HTTP": over_http}[kind](Path(items), Path(out))
        return
    if options.verify:
        print(json.dumps(measured(options.verify)))
        return
    print("models         moves    played s  verify CPU s  s per million moves  peak MB", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for kind, items in (("simulated", options.items), ("HTTP", options.items // 4)):
            small = _measure_size(Path(name), kind, items)
            large = _measure_size(Path(name), kind, 2 * items)
            marginal = (large["cpu"] - small["cpu"]) / (large["moves"] - small["moves"])
            print(f"{kind:9}  {MOVES * marginal:.0f} s per million moves", flush=True)
    print(f"Promised: at most {SECONDS} s of a processor per million moves, and {MEGABYTES} MB.")


if __name__ == "__main__":
    main()
