"""Speed of a season of simulated matches, whole engine and store: 100 trials of 813 items and 2 players.

Prints seconds, microseconds of wall time per call, and the peak memory of this process for a quarter of the trials
and for all of them: it must not grow with their number.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def play_trials(trials: int, items: int) -> dict[str, float]:
    """Play a series of trials and return its time and memory."""
    import mashq

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "items.jsonl").open("w") as file:
            for n in range(items):
                file.write(json.dumps({"id": f"item-{n}", "text": "word " * 400}) + "\n")
        players = [{"name": "A", "model": "simulated/default"}, {"name": "B", "model": "simulated/default"}]
        config = {"task": {"data": str(folder / "items.jsonl")}, "players": players}
        started = time.perf_counter()
        result = mashq.play(config, folder / "run", trials=trials)
        seconds = time.perf_counter() - started
        size = (folder / "run" / "run.db").stat().st_size / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    calls = result["attempts"]["opened"]
    return {"seconds": seconds, "calls": calls, "mb": memory, "worker_mb": workers, "file_mb": size}


def main() -> None:
    """Measure a quarter of the trials, then all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--items", type=int, default=813)
    parser.add_argument("--one", type=int)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(play_trials(options.one, options.items)))
        return
    print("trials  seconds  us/call  peak MB  a worker's MB  file MB")
    for trials in (max(2, options.trials // 4), options.trials):
        command = [sys.executable, __file__, "--one", str(trials), "--items", str(options.items)]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(
            f"{trials:6}  {row['seconds']:7.1f}  {1e6 * row['seconds'] / row['calls']:7.0f}  {row['mb']:7.0f}"
            f"  {row['worker_mb']:13.0f}  {row['file_mb']:7.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
