"""Real processes killed with SIGKILL while they play against the loopback provider, then resumed.

`trial(seed, folder)` is one match, killed once or twice; the seed chooses one of three fault plans:

    every     every fault there is: the ledger's law holds
    passing   faults that pass when the request is sent again: it ends as the match without faults or kills ends
    one       every fault, and only for A: B's moves are those of the match without
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mashq
from mashq.testing import FakeProvider
from mashq.testing.faults import BODIES, ERRORS, TURNS, WIRE
from tests.arena.helpers import http_config, rows, write_items
from tests.torture import invariants
from tests.torture.invariants import Violation

MASHQ = (sys.executable, "-m", "mashq")
KEY = "sk-torture-0123456789abcdef"
SLOW = {"hang": 0.004, "endless": 0.004, "slow_drip": 0.01}
TIMES = {"retry_after": 0.01, "drip": 0.0002, "hang": 1.5}
FINAL = frozenset({"400"})  # sending again does not help
HOPELESS = frozenset({"401", "404", "insufficient_quota"})  # at a model's first call they end the run
PLANS = ("every", "passing", "one")


def trial(seed: int, folder: Path) -> Counter[str]:
    """Play one match, killed and resumed; return its counts. Raises Violation if an invariant does not hold."""
    folder.mkdir(parents=True)
    try:
        with patch.dict(os.environ, TORTURE_KEY=KEY), served(seed, 0.004) as provider:
            return _kill_and_resume(seed, folder, provider)
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed}: {type(error).__name__}: {error}") from error


def _kill_and_resume(seed: int, folder: Path, provider: FakeProvider) -> Counter[str]:
    rng, plan = random.Random(seed), PLANS[seed % len(PLANS)]
    config = settings(provider.base_url, write_items(folder / "items.jsonl", rng.randint(2, 5)), plan)
    (folder / "match.yaml").write_text(json.dumps(config))  # JSON is YAML
    run, whole = folder / "run", folder / "whole"
    mashq.play(config, whole)
    hits_before = len(provider.hits())
    provider.configure(**faults(plan, rng.choice((0.1, 0.3, 0.5))))
    counts: Counter[str] = Counter()
    for command in (["run", str(folder / "match.yaml"), "--out", str(run)], ["resume", str(run)])[
        : rng.randint(1, 2)
    ]:
        moment = len(provider.hits()) + rng.randint(0, hits_before) if rng.random() < 0.8 else None
        if not killed(command, provider, moment, rng.uniform(0, 0.03 if moment is not None else 1.0)):
            break
        counts["kills"] += 1
        if not (run / "manifest.json").exists():
            counts["before the run began"] += 1
            break
    if not (run / "manifest.json").exists():
        mashq.play(config, run)
    before = invariants.written(run)
    counts["before the end"] += not mashq.show(run)["finished"]
    mashq.resume(run)
    hits = provider.hits()[hits_before:]
    invariants.law(run, len(hits), killed=True)
    invariants.kept(before, run)
    invariants.sums(run)
    invariants.once(run)
    invariants.no_key(run, KEY)
    if plan == "passing":
        invariants.same(run, whole)
    if plan == "one":
        invariants.apart(run, whole, "A")
    unresolved = rows(run, "SELECT count(*) FROM attempts WHERE outcome IS NULL")[0][0]
    counts.update({f"plan {plan}": 1, "attempts": len(hits), "unresolved": unresolved})
    counts.update(Counter(f"fault {hit['fault']}" for hit in hits))
    return counts


@contextmanager
def served(seed: int, latency: float) -> Generator[FakeProvider]:
    """Start the loopback provider, with enough time for a busy machine."""
    provider = FakeProvider(seed=seed, latency=latency).start(timeout=180)
    try:
        yield provider
    finally:
        provider.stop()


def settings(base_url: str, data: Path, plan: str) -> dict[str, Any]:
    """Return the match: under `every` the models decide; else the rule policy, which does not see what was spent."""
    config = http_config(base_url, data)
    retry = {"attempts": 50 if plan == "passing" else 4, "base": 0.005, "cap": 0.01, "retry_after_cap": 0.02}
    for name, model in config["models"].items():
        has_faults = plan != "one" or name == "my/alpha"
        config["models"][name] = model | {
            "api_key_env": "TORTURE_KEY",
            "timeout": 1.0 if has_faults else 60.0,
            "retry": retry,
        }
    for player in config["players"]:
        player["policy"] = "llm" if plan == "every" else "rule"
    config["rules"] = {"show_seconds": False, "vision": {"when": "review" if plan == "every" else "never"}}
    return config


def faults(plan: str, rate: float) -> dict[str, Any]:
    """Return the provider's fault plan: each fault at a common rate; slow ones rarely."""
    kinds = (ERRORS | BODIES | WIRE | TURNS) - HOPELESS
    common = sorted(kinds - set(SLOW) - (FINAL | TURNS if plan == "passing" else set[str]()))
    rates = SLOW | {kind: round(rate / len(common), 4) for kind in common}
    return {"models": {"alpha": {"rates": rates}}, **TIMES} if plan == "one" else {"rates": rates, **TIMES}


def killed(
    arguments: list[str], provider: FakeProvider, moment: int | None, after: float, program: Sequence[str] = MASHQ
) -> bool:
    """Kill a command soon after `moment` requests, or after its start; return whether it was still running."""
    with subprocess.Popen([*program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and moment is not None and len(provider.hits()) < moment:
            time.sleep(0.004)
        time.sleep(after)
        if process.poll() is not None:
            return False
        os.kill(process.pid, signal.SIGKILL)
        return True
