"""Kill a match at random moments with SIGKILL, resume it, and compare with the uninterrupted one.

`python -m tests.arena.crash --kills 50` is the long form; the test suite runs a short one.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, rows, sent_twice, story, write_items

MATCH = {"turn": "cycle", "show_seconds": False, "vision": {"when": "review", "keep": "latest"}}


@dataclass(frozen=True)
class Report:
    """What the killing showed."""

    kills: int
    before_the_end: int
    unresolved: int


def torture(kills: int, items: int, seed: int, folder: Path) -> Report:
    """Kill `kills` matches once each; raises AssertionError when a resumed one differs."""
    random_ = random.Random(seed)
    data = write_items(folder / "items.jsonl", items)
    landed = unresolved = 0
    with FakeProvider(seed=seed, latency=0.02) as provider:
        config = http_config(provider.base_url, data, rules=MATCH)
        mashq.play(config, folder / "whole")
        requests = len(provider.hits())
        expected = story(folder / "whole")
        (folder / "match.yaml").write_text(json.dumps(config))  # JSON is YAML
        for kill in range(kills):
            run = folder / f"killed-{kill}"
            before = len(provider.hits())
            moment = before + random_.randint(0, requests - 4)
            _killed(folder / "match.yaml", run, provider, moment, random_.uniform(0, 0.04))
            finished = mashq.show(run)["finished"]
            landed += not finished
            mashq.resume(run)
            assert story(run) == expected, f"kill {kill}: the resumed match differs"
            assert not sent_twice(run), f"kill {kill}: a call with an acknowledged reply was sent again"
            check_ledger(run, provider.hits()[before:], killed=True)
            unresolved += rows(run, "SELECT count(*) FROM attempts WHERE outcome IS NULL")[0][0]
            again = (run / "run.db").read_bytes()
            mashq.resume(run)
            assert (run / "run.db").read_bytes() == again, "resuming a finished run changed it"
    return Report(kills, landed, unresolved)


def _killed(config: Path, run: Path, provider: FakeProvider, hits: int, after: float) -> None:
    """Play in a process of its own and kill it soon after the provider has seen so many requests."""
    command = [sys.executable, "-m", "mashq", "run", str(config), "--out", str(run), "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not ((run / "manifest.json").exists() and len(provider.hits()) >= hits):
            time.sleep(0.002)
        time.sleep(after)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--items", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = torture(options.kills, options.items, options.seed, Path(folder))
    sys.stdout.write(
        f"{report.kills} kills, {report.before_the_end} before the end; {report.unresolved} attempts unresolved; "
        f"every resumed match equals the uninterrupted one and no acknowledged call was sent again\n"
    )


if __name__ == "__main__":
    main()
