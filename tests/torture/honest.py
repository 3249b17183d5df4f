"""Honest runs of every kind: `mashq verify` must find nothing wrong with any of them.

`trial(seed, folder)` plays one, of the seed's kind, in the seed's way: whole, stopped and resumed, killed and
resumed, by other processes, or resumed after an accepted change. Tournaments are joined afterwards.
"""

import asyncio
import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mashq.arena import match, metering
from mashq.arena.executors.processes import Processes
from mashq.config import Config, check
from mashq.errors import Stopped
from mashq.gateway.clock import RealClock
from mashq.runs.database import Writer
from mashq.runs.file import Statement
from mashq.runs.reading import read_head
from mashq.runs.verify import verify
from tests.arena.test_seasons import config, field
from tests.torture import virtual
from tests.torture.invariants import Violation

SEASONS: list[dict[str, Any]] = [
    {"kind": "match", "trials": 2},
    {"kind": "sweep", "trials": 1, "over": [["rules.T", [0.8, 0.9]]]},
    {"kind": "tournament", "trials": 1, "system": "round-robin", "seats": 2},
    {"kind": "tournament", "trials": 1, "system": "swiss", "rounds": 2, "seats": 2},
    {"kind": "game", "trials": 1, "vision": ["never", "review"]},
    {"kind": "vision", "trials": 1, "when": "review"},
]
ALONE = {"kind": "match", "trials": 1}
WAYS = ("whole", "stopped", "killed", "clustered", "accepted")
PROGRAM = Path(__file__).parents[1] / "runs" / "asking_program.py"
ASKS = """
import json, os, urllib.request
for n in range(3):
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": f"number {n}"}], "stream": n == 1})
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode(), headers)
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30).read()
"""


class StopsAfter:
    """Progress display that stops a run after so many moves."""

    def __init__(self, moves: int) -> None:
        self._left = moves

    def batch(self, matches: int, done: int) -> None:
        """Nothing to do."""

    def moved(self, fixture: object, state: object, seat: object, move: object) -> None:
        """Count the move, and stop at the limit."""
        self._left -= 1
        if self._left < 0:
            raise Stopped("stopped")

    def ended(self, fixture: object) -> None:
        """Nothing to do."""


def complaints(run: Path, head: str | None = None, *, rescore: bool = True) -> list[str]:
    """Return what `verify` finds wrong with a run; with `rescore`, every H is worked out anew."""
    findings = verify(run, head=head, rescore=rescore)
    return [f"{finding.check}: {finding.wrong}" for finding in findings if finding.wrong]


def edit(run: Path, *path: str, value: object) -> None:
    """Change one value of a manifest."""
    document = json.loads((run / "manifest.json").read_text())
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    (run / "manifest.json").write_text(json.dumps(document))


def _check_verified(run: Path, *, rescore: bool = True) -> None:
    """Raise a Violation if `verify` finds anything wrong: a false alarm."""
    problems = complaints(run, read_head(run), rescore=rescore)
    if problems:
        raise Violation(f"verify complains of an honest run: {problems}")


@contextmanager
def left_behind(after: int, run: Path, into: Path) -> Generator[None]:
    """Copy a run directory between two commits, once `after` rows are written: what a killed process leaves."""
    commit, rows_written = Writer._commit, [0]  # pyright: ignore[reportPrivateUsage]

    def committed(writer: Writer, statements: list[Statement]) -> None:
        commit(writer, statements)
        rows_written[0] += len(statements)
        if rows_written[0] >= after and not into.exists() and (run / "manifest.json").exists():
            shutil.copytree(run, into)

    with patch.object(Writer, "_commit", committed):
        yield


def _play(settings: Config, run: Path, season: dict[str, Any], way: str, rng: random.Random) -> Path:
    """Play a season in some way; return the run's folder."""
    if way == "clustered":
        asyncio.run(match.run(settings, run, season=season, executor=Processes(2)))
        return run
    if way == "killed":
        copy = run.with_name("killed")
        with left_behind(rng.randint(10, 150), run, copy):
            asyncio.run(match.run(settings, run, season=season))
        _check_verified(run)
        if not copy.exists():
            return run
        if complaints(copy):
            raise Violation(f"verify complains of a killed run: {complaints(copy)}")
        asyncio.run(match.resume(copy))
        return copy
    try:
        show = None if way == "whole" else StopsAfter(rng.choice((1, 3, 9, 17, 60)))
        asyncio.run(match.run(settings, run, season=season, show=show))
    except Stopped:
        _check_verified(run)
        if way == "accepted":
            edit(run, "config", "score", "beta", value=0.25)
        asyncio.run(match.resume(run, accept_change=way == "accepted"))
    return run


def _season(at: int) -> Callable[[random.Random, Path, str], Path]:
    """Return a function that plays a season of simulated players."""

    def played(rng: random.Random, folder: Path, way: str) -> Path:
        season = SEASONS[at]
        changes: dict[str, Any] = {"rules": {"T": rng.choice((0.5, 0.9)), "turn": rng.choice(("cycle", "single"))}}
        if season["kind"] in ("tournament", "game"):
            changes["players"] = field("ABC", 0.8, 0.85, 0.9)
        settings = check(config(items=rng.randint(1, 4), seed=rng.randrange(1000), **changes))
        run = _play(settings, folder / "run", season, way, rng)
        if season.get("system") == "round-robin":
            _check_verified(run)
            current = json.loads((run / "manifest.json").read_text())["config"]
            asyncio.run(match.join(run, check(current | {"players": field("DE", 0.7, 0.95)})))
        return run

    return played


def _budgets(rng: random.Random, folder: Path, way: str) -> Path:
    """Play with budgets that run out, individual or shared."""
    settings = config(items=4, rules={"T": 0.95})
    if rng.random() < 0.5:
        settings["rules"]["shared_budget"] = {"calls": rng.choice((3, 10))}
    for player in settings["players"]:
        player["budget"] = {rng.choice(("calls", "tokens", "seconds")): rng.choice((1, 5, 2000))}
    return _play(check(settings), folder / "run", ALONE, way, rng)


def _documents(rng: random.Random, folder: Path, way: str) -> Path:
    """Play questions with passages."""
    items = [
        {"id": f"q{n}", "question": f"How many boats has harbour {n}?", "answerable": n % 2 == 0}
        | {"passages": [f"Harbour {n} has {n + 3} boats.", "The mill burned down in 1921."], "reference": str(n + 3)}
        for n in range(rng.randint(1, 4))
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    settings = config() | {"task": {"kind": "rag", "data": str(folder / "items.jsonl")}}
    return _play(check(settings), folder / "run", {"kind": "match", "trials": rng.randint(1, 2)}, way, rng)


def _program(rng: random.Random, folder: Path, way: str) -> Path:
    """Play an external program against a built-in player."""
    settings = config(items=2)
    command = [sys.executable, str(PROGRAM)]
    settings["players"][0] = {"name": "P", "agent": "external", "model": "simulated/a", "command": command}
    return _play(check(settings), folder / "run", ALONE, "whole" if way == "clustered" else way, rng)


def _ready(_variables: object) -> None:
    """Ignore the variables."""


def _metered(_rng: random.Random, folder: Path, _way: str) -> Path:
    """Make the ledger of a gateway."""
    settings, command = check(config()), (sys.executable, "-c", ASKS)
    clock = RealClock()
    asyncio.run(metering.meter(settings, folder / "run", ("A",), command, _ready, clock=clock, base=folder))
    return folder / "run"


def _over_http(rng: random.Random, folder: Path, _way: str) -> Path:
    """Play models over HTTP that fail in every way, on a virtual clock, cut off and resumed."""
    match_trial = virtual.Trial(rng.randrange(2**31), folder / "http")
    match_trial.play()
    if (folder / "http" / "cut").exists():
        _check_verified(folder / "http" / "cut", rescore=False)
    return folder / "http" / "run"


KINDS: dict[str, Callable[[random.Random, Path, str], Path]] = {
    "trials": _season(0),
    "sweep": _season(1),
    "tournament": _season(2),
    "swiss": _season(3),
    "game": _season(4),
    "vision": _season(5),
    "budgets": _budgets,
    "documents": _documents,
    "program": _program,
    "metered": _metered,
    "HTTP": _over_http,
}


def trial(seed: int, folder: Path) -> Counter[str]:
    """Play one run; return its kind and way. Raises Violation if an invariant does not hold."""
    folder.mkdir(parents=True)
    kind, way = list(KINDS)[seed % len(KINDS)], WAYS[seed // len(KINDS) % len(WAYS)]
    try:
        run = KINDS[kind](random.Random(f"honest {seed}"), folder, way)
        _check_verified(run, rescore=kind != "HTTP")  # there a stand-in scores, which the run does not name
    except Violation as violation:
        raise Violation(f"seed {seed} ({kind}, {way}): {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed} ({kind}, {way}): {type(error).__name__}: {error}") from error
    return Counter({f"of {kind}": 1, way: 1})
