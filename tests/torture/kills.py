"""Real processes killed with SIGKILL while they play against a provider with every fault, then gone on with."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import mashq
from mashq.arena.verify import verify
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, rows, sent_twice, write_items
from tests.arena.test_http_match import EVERY_FAULT

KEY = "sk-torture-0123456789abcdef"


@dataclass(frozen=True)
class Report:
    """What the killing showed."""

    kills: int
    before_the_end: int
    unresolved: int
    twice: int


def torture(kills: int, seed: int, folder: Path) -> Report:
    """Kill and go on `kills` times, some matches twice over; raises AssertionError when something does not hold."""
    rng = random.Random(seed)
    data = write_items(folder / "items.jsonl", 5)
    landed = unresolved = twice = 0
    os.environ["TORTURE_KEY"] = KEY
    with FakeProvider(seed=seed, latency=0.005, faults={"rates": EVERY_FAULT}) as provider:
        config = http_config(provider.base_url, data)
        for model in config["models"].values():
            model["api_key_env"] = "TORTURE_KEY"
        (folder / "match.yaml").write_text(json.dumps(config))
        done = 0
        while done < kills:
            run, before = folder / f"killed-{done}", len(provider.hits())
            command = ["run", str(folder / "match.yaml"), "--out", str(run)]
            for again in range(rng.choice((1, 1, 2))):
                killed = _killed(command if not again else ["resume", str(run)], rng.uniform(0.3, 1.6))
                done += killed
                twice += bool(again and killed)
                if not killed or not (run / "manifest.json").exists():
                    break
            if not (run / "manifest.json").exists():
                continue
            landed += not mashq.show(run)["finished"]
            mashq.resume(run)
            check_ledger(run, provider.hits()[before:], killed=True)
            assert not sent_twice(run), f"{run}: a call with an acknowledged reply was sent again"
            assert not [finding for finding in verify(run) if finding.wrong]
            for path in run.iterdir():
                assert KEY.encode() not in path.read_bytes(), f"the key is in {path}"
            unresolved += rows(run, "SELECT count(*) FROM attempts WHERE outcome IS NULL")[0][0]
    return Report(done, landed, unresolved, twice)


def _killed(arguments: list[str], after: float) -> bool:
    """Whether it was still playing when it was killed."""
    command = [sys.executable, "-m", "mashq", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + after
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        if process.poll() is not None:
            return False
        os.kill(process.pid, signal.SIGKILL)
        return True
