"""Start-up time: the command's help, the dashboard's first answer, a report on disk.

    python bench/start.py [--repeats N] [--items N]

Each in a separate process, several times, after one that leaves every module compiled, as an installed package is
(in a separate folder); prints the median and best wall seconds, the least CPU time, the
ratio of the best to a bare Python that starts and ends, and the ratio of CPU times to a Python that imports
numpy and rich, which every table needs, all measured in turns. The peak memory is of one process.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SMALL = 20
TABLES = "python, numpy and rich"


@dataclass(frozen=True, slots=True)
class Took:
    """One process: wall and CPU seconds, and peak megabytes."""

    wall: float
    cpu: float
    mb: float


def once(command: list[str], *, serves: bool, compiled: str) -> Took:
    """Run a command until it ends, or, if it serves, until its first page has arrived."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = compiled
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    assert process.stdout is not None
    if serves:
        match = re.search(r":(\d+)/", process.stdout.readline())
        assert match is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(match[1]))
        connection.request("GET", "/api/runs")
        assert connection.getresponse().read()
        wall = time.perf_counter() - started
        process.terminate()
    else:
        process.stdout.read()
        wall = 0.0
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert serves or process.returncode == 0, command
    wall = wall or time.perf_counter() - started
    return Took(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def played(folder: Path, items: int) -> str:
    """Play a simulated match of two players over `items` items; return the run's folder."""
    folder.mkdir(parents=True)
    with (folder / "items.jsonl").open("w") as file:
        for n in range(items):
            file.write(json.dumps({"id": f"item-{n}", "text": f"The ferry {n} carried {n * 7} people. " * 12}) + "\n")
    players = [{"name": name, "model": "simulated/default"} for name in "AB"]
    (folder / "match.yaml").write_text(json.dumps({"task": {"data": "items.jsonl"}, "players": players}))
    play = [sys.executable, "-m", "mashq", "run", "match.yaml", "--out", "run", "--json"]
    subprocess.run(play, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # keeps this process, and its peak, small
    return str(folder / "run")


def commands(folder: Path, items: int) -> dict[str, list[str]]:
    """Return the commands to measure, by their title in the table."""
    command = [sys.executable, "-m", "mashq"]
    runs = {count: played(folder / str(count), count) for count in {SMALL, items}}
    by_title = {
        "python -c ''": [sys.executable, "-c", ""],
        TABLES: [sys.executable, "-c", "import numpy, rich.table"],
    }
    by_title |= {"mashq --help": [*command, "--help"]}
    by_title["mashq doctor"] = [*command, "doctor"]
    by_title["mashq view, first answer"] = [*command, "view", runs[items], "--port", "0"]
    for count, run in runs.items():
        by_title[f"mashq show, {count:,} items"] = [*command, "show", run]
    if find_spec("vl_convert") is None:
        print("The extra 'charts' is not installed: no report is measured.")
        return by_title
    for count, run in runs.items():
        by_title[f"mashq report, {count:,} items"] = [*command, "report", run, "-o", str(folder / "page.html")]
    return by_title


def main() -> None:
    """Measure all commands in turns, then print one line each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--items", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        started = commands(Path(name), options.items)
        measured: dict[str, list[Took]] = {title: [] for title in started}
        for turn in range(options.repeats + 1):
            for title, command in started.items():
                run = once(command, serves="view" in command, compiled=str(Path(name) / "compiled"))
                if turn:
                    measured[title].append(run)
    bare = min(run.wall for run in measured["python -c ''"])
    tables = min(run.cpu for run in measured[TABLES])
    print("                                median s   best s   CPU s   x python   CPU x tables   peak MB")
    for title, runs in measured.items():
        walls = [run.wall for run in runs]
        cpu, mb = min(run.cpu for run in runs), max(run.mb for run in runs)
        print(
            f"{title:30}  {statistics.median(walls):8.3f}  {min(walls):7.3f}  {cpu:6.2f}  {min(walls) / bare:9.1f}"
            f"  {cpu / tables:13.2f}  {mb:8.0f}"
        )


if __name__ == "__main__":
    main()
