"""Cost of the dashboard: how soon a big run opens, and how much viewers slow a match that is being played.

    python bench/view.py               both python bench/view.py open          a run of 100,000 moves: each page's
    first answer, and the time to read all of it python bench/view.py viewers       the same match with 0 and with 20
    live viewers, in turns; prints the ratio

A match is played against the loopback provider, which takes a fixed time to answer as a model does; and again on
simulated players, which answer at once, where every CPU cycle counts.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from big_run import write

MOVES, VIEWERS, TURNS = 100_000, 20, 5
ITEMS = {"real": 60, "simulated": 1500}


class View:
    """`mashq view` in a separate process."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "mashq", "view", str(folder), "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        match = re.search(r":(\d+)/", self._process.stdout.readline())
        assert match is not None
        self.port = int(match[1])

    def get(self, path: str, **values: object) -> tuple[float, bytes]:
        """Return seconds and body of one request."""
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"{path}?{urlencode(values)}")
        body = connection.getresponse().read()
        connection.close()
        return time.perf_counter() - started, body

    def cpu(self) -> float:
        """Return the CPU seconds it has used so far, or NaN if the system does not report them."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Stop the process."""
        self._process.terminate()
        self._process.wait()


def opening() -> None:
    """Print how long each page of a big run takes to its first answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shapes = {f"one match of {MOVES:,} moves": ("big", 1), f"100 matches, {MOVES:,} moves": ("many", 100)}
        for run, matches in shapes.values():
            write(folder / run, MOVES, matches)
        view = View(folder)
        try:
            print(f"list of runs: {view.get('/api/runs')[0]:.3f} s")
            for title, (run, matches) in shapes.items():
                started = time.perf_counter()
                last = str(matches - 1)
                queries: dict[str, dict[str, object]] = {"match": {}, "frame": {}, "chart": {}, "story": {"most": 20}}
                times = {
                    endpoint: view.get(f"/api/{endpoint}", run=run, match=last, **parameters)[0]
                    for endpoint, parameters in queries.items()
                }
                times["matches"] = view.get("/api/matches", run=run)[0]
                first = sum(times[endpoint] for endpoint in ("match", "frame"))
                print(f"{title}: first picture {first:.3f} s ({', '.join(f'{k} {v:.3f}' for k, v in times.items())})")
                while True:
                    frame: dict[str, Any] = json.loads(view.get("/api/frame", run=run, match=last)[1])
                    if frame["read"] == frame["total"]:
                        break
                print(f"  all {frame['total']:,} moves read after {time.perf_counter() - started:.2f} s")
                jumps = [
                    view.get("/api/frame", run=run, match=last, at=frame["total"] * n // 10)[0] for n in range(11)
                ]
                print(f"  a jump of the slider: median {statistics.median(jumps):.4f} s, worst {max(jumps):.4f} s")
                print(f"  an item: {view.get('/api/item', run=run, match=last, item=7)[0]:.3f} s")
        finally:
            view.close()


class Watcher(threading.Thread):
    """One live viewer: reads everything it is sent."""

    def __init__(self, port: int, folder: Path, run: str) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._port, self._folder, self._run, self.over = port, folder, run, False

    def run(self) -> None:
        """Watch until `over` is set."""
        while not self.over:
            if not (self._folder / self._run / "manifest.json").exists():
                time.sleep(0.05)
                continue
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
            try:
                connection.request("GET", f"/api/live?run={self._run}&match=0")
                reply = connection.getresponse()
                while reply.status == 200 and not self.over and (line := reply.readline()):
                    self.bytes += len(line)
                if reply.status != 200:
                    time.sleep(0.05)
            except OSError:
                pass
            finally:
                connection.close()


PLAY = """
import sys, time, mashq
started = time.perf_counter()
mashq.play(sys.argv[1], sys.argv[2])
print(time.perf_counter() - started)
"""


def played(config: Path, out: Path) -> float:
    """Return the wall time of a match in a separate process, without starting Python."""
    result = subprocess.run([sys.executable, "-c", PLAY, config, out], capture_output=True, text=True, check=True)
    return float(result.stdout)


def viewers(kind: str) -> None:
    """Print the wall time of the same match without and with viewers, in turns."""
    from mashq.testing import FakeProvider

    with tempfile.TemporaryDirectory() as name, FakeProvider(seed=3, latency=0.02) as provider:
        folder = Path(name)
        config = folder / "match.yaml"
        config.write_text(json.dumps(_config(kind, provider.base_url, folder)))
        write(folder / "runs" / "there", 100)
        view = View(folder / "runs")
        times: dict[int, list[float]] = {0: [], VIEWERS: []}
        received, used = 0, 0.0
        try:
            for turn in range(TURNS):
                for count in ((0, VIEWERS), (VIEWERS, 0))[turn % 2]:
                    run = f"{turn}-{count}"
                    watchers = [Watcher(view.port, folder / "runs", run) for _ in range(count)]
                    for watcher in watchers:
                        watcher.start()
                    before = view.cpu()
                    times[count].append(played(config, folder / "runs" / run))
                    used += view.cpu() - before if count else 0.0
                    for watcher in watchers:
                        watcher.over = True
                    received += sum(watcher.bytes for watcher in watchers)
        finally:
            view.close()
    alone, watched = min(times[0]), min(times[VIEWERS])
    middle = statistics.median(b / a for a, b in zip(times[0], times[VIEWERS], strict=True))
    print(
        f"{kind}: {alone:.2f} s alone, {watched:.2f} s with {VIEWERS} viewers (best of {TURNS}): ratio "
        f"{watched / alone:.3f}, median of pairs {middle:.3f}; the dashboard itself used "
        f"{100 * used / sum(times[VIEWERS]):.1f} % of a core and "
        f"sent {received / 1e6:.1f} MB"
    )


def _config(kind: str, base_url: str, folder: Path) -> dict[str, Any]:
    count = ITEMS[kind]
    with (folder / "items.jsonl").open("w") as file:
        for n in range(count):
            file.write(json.dumps({"id": f"item-{n}", "text": f"The ferry {n} carried {n * 7} people. " * 12}) + "\n")
    model = {"base_url": base_url} if kind == "real" else {}
    names = ("my/a", "my/b") if kind == "real" else ("simulated/a", "simulated/b")
    return {
        "task": {"data": str(folder / "items.jsonl")},
        "players": [{"name": player, "model": name} for player, name in zip("AB", names, strict=True)],
        "models": dict.fromkeys(names, model),
    }


def main() -> None:
    """Run all parts, or those named."""
    parts = sys.argv[1:] or ["open", "viewers"]
    if "open" in parts:
        opening()
    if "viewers" in parts:
        for kind in ITEMS:
            viewers(kind)


if __name__ == "__main__":
    main()
