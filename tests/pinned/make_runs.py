"""Makes the stored runs. They were written by release 0.1.0 and are to stay as that release wrote them.

    cd CLONE-OF-0.1.0 && PYTHONPATH=src python /path/to/tests/pinned/make_runs.py [NAME …]

Run it against 0.1.0 only, never against a later version: the runs are also the proof that what 0.1.0 wrote still
opens, shows, scores and resumes. Everything is played in /srv/mashq, as a run keeps the absolute paths of its data.
Afterwards: `python -m tests.pinned --update`, and read what has changed.
"""

import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mashq
from mashq.testing import FakeProvider

HERE = Path(__file__).resolve().parent
PLACE = Path("/srv/mashq")
PORT = 18181
STOPPED = 3
PLAIN = """
import platform, mashq.cli
platform.platform = lambda: "Linux"
mashq.cli.main()
"""
INTERRUPTED = """
import os, platform, signal, mashq.cli, mashq.gateway.simulated as simulated
platform.platform = lambda: "Linux"
asked, real = [0], simulated.SimulatedBackend.attempt
async def attempt(self, request, call):
    asked[0] += 1
    if asked[0] == {after}:
        os.kill(os.getpid(), signal.SIGINT)
    return await real(self, request, call)
simulated.SimulatedBackend.attempt = attempt
mashq.cli.main()
"""


def command(*arguments: str, code: int = 0, start: tuple[str, ...] = ("-c", PLAIN)) -> None:
    """Run `mashq` in a separate process, in the place where everything is played."""
    result = subprocess.run([sys.executable, *start, *arguments], cwd=PLACE, env=_environment(), check=False)
    if result.returncode != code:
        raise SystemExit(f"{' '.join(arguments)}: ended with {result.returncode}, not {code}")


def _environment() -> dict[str, str]:
    return {**os.environ, "MASHQ_CACHE": str(PLACE / "cache"), "PYTHONPATH": str(Path(mashq.__file__).parents[1])}


def simple(name: str, config: str, verb: str = "run", *more: str) -> Callable[[], None]:
    """A run that needs nothing but its configuration."""
    return lambda: command(verb, f"{config}.yaml", "--out", f"runs/{name}", *more)


def interrupted(name: str, config: str, after: int, verb: str = "run", *more: str) -> Callable[[], None]:
    """A run stopped by Ctrl-C in the middle of an attempt."""
    start = ("-c", INTERRUPTED.format(after=after))
    return lambda: command(verb, f"{config}.yaml", "--out", f"runs/{name}", *more, code=STOPPED, start=start)


def over_http(name: str, script: dict[str, list[str]]) -> Callable[[], None]:
    """A run against the fake provider."""

    def make() -> None:
        faults = {"models": {model: {"script": kinds} for model, kinds in script.items()}}
        with FakeProvider(faults=faults, port=PORT, latency=0.03):
            command("run", f"{name}.yaml", "--out", f"runs/{name}")

    return make


class Judge(BaseHTTPRequestHandler):
    """A model that judges: the more figures a text has, the less of it is supported."""

    def do_POST(self) -> None:
        """Reply with one verdict."""
        body: Any = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = str(body["messages"][-1]["content"])
        digits = sum(character.isdigit() for character in question)
        claims = [{"claim": f"statement {n}", "supported": n % 4 < 4 - digits % 3} for n in range(4)]
        message = {"role": "assistant", "content": json.dumps({"claims": claims})}
        usage = {"prompt_tokens": len(question.split()), "completion_tokens": 20 + digits, "total_tokens": 0}
        reply = json.dumps(
            {"model": "judge", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )
        time.sleep(0.02)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.encode())))
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


def referee() -> None:
    """A run judged by a model."""
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command("run", "referee.yaml", "--out", "runs/referee")
    server.shutdown()
    server.server_close()


def metered() -> None:
    """A program through `mashq gateway`."""
    with FakeProvider(faults={"script": ["ok", "no_usage", "429", "ok"]}, port=PORT, latency=0.03):
        out = ("--out", "runs/metered")
        command("gateway", "--config", "metered.yaml", *out, "--", "python3", "client.py")


def unresolved() -> None:
    """Killed while a request is in flight, then resumed to the end."""
    out = PLACE / "runs/unresolved"
    with FakeProvider(
        faults={"models": {"alpha": {"script": ["ok", "ok", "ok", "hang"]}}}, port=PORT, latency=0.03
    ) as provider:
        _killed_when(["run", "unresolved.yaml", "--out", "runs/unresolved"], lambda: len(provider.hits()) >= 5)
    with FakeProvider(port=PORT, latency=0.03):
        command("resume", "runs/unresolved")
    assert out.is_dir()


def cut_off() -> None:
    """Killed while a request is in flight, and not resumed."""
    with FakeProvider(
        faults={"models": {"beta": {"script": ["ok", "ok", "hang"]}}}, port=PORT, latency=0.03
    ) as provider:
        _killed_when(["run", "unresolved.yaml", "--out", "runs/cut-off"], lambda: len(provider.hits()) >= 6)


def before() -> None:
    """Stopped before any attempt was made."""
    _killed_when(["run", "silent.yaml", "--out", "runs/before"], lambda: False, signal.SIGINT, timeout=4.0)


def _killed_when(
    arguments: list[str], ready: Callable[[], bool], how: signal.Signals = signal.SIGKILL, timeout: float = 20.0
) -> None:
    process = subprocess.Popen([sys.executable, "-c", PLAIN, *arguments], cwd=PLACE, env=_environment())
    deadline = time.monotonic() + timeout
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(how)
    process.wait(30)


def imported() -> None:
    """Other tools' results: rows with other names for the columns, and Inspect logs."""
    out = PLACE / "runs/imported"
    out.mkdir()
    shutil.copy(PLACE / "theirs.csv", out)
    names = ("--map", "player=system", "--map", "item=question", "--map", "h=score")
    command("import", "runs/imported/theirs.csv", *names, "-o", "runs/imported/rows.csv")
    command("export", "runs/match", "--format", "inspect", "-o", "runs/imported/logs")
    logs = sorted(f"runs/imported/logs/{path.name}" for path in (out / "logs").iterdir())
    command("import", *logs, "-o", "runs/imported/logs.csv")


def joined() -> None:
    """A finished tournament that a newcomer joins."""
    command("tournament", "league.yaml", "--out", "runs/joined")
    command("tournament", "newcomer.yaml", "--join", "runs/joined")


ALPHA = [
    "ok",
    "refusal",
    "429",
    "ok",
    "length",
    "ok",
    "no_usage",
    "wrong_json",
    "500",
    "ok",
    "content_filter",
    "drop_body",
]
BETA = ["ok", "length", "500", "500", "500", "ok", "bad_usage", "empty", "ok", "fenced", "ok", "refusal"]
RUNS: dict[str, Callable[[], None]] = {
    "match": simple("match", "match"),
    "match-again": simple("match-again", "match", "run", "--set", "seed=4", "--set", "rules.T=0.9"),
    "summaries": simple("summaries", "summaries"),
    "troubles": simple("troubles", "troubles"),
    "refusals": simple("refusals", "refusals"),
    "questions": simple("questions", "questions"),
    "guided": simple("guided", "guided"),
    "budget": simple("budget", "budget"),
    "external": simple("external", "external"),
    "best-of-n": simple("best-of-n", "best-of-n"),
    "agents": simple("agents", "agents"),
    "three": simple("three", "three"),
    "fixed": simple("fixed", "fixed"),
    "tie": simple("tie", "tie"),
    "single": simple("single", "single"),
    "alone": simple("alone", "alone"),
    "names": simple("names", "names"),
    "many": simple("many", "many"),
    "many-again": simple("many-again", "many", "run", "--set", "rules.keep=better", "--set", "seed=2"),
    "trials": simple("trials", "two", "run", "--trials", "3"),
    "trials-troubled": simple("trials-troubled", "single", "run", "--trials", "3"),
    "sweep": simple(
        "sweep", "two", "sweep", "--over", "rules.T=0.7,0.9", "--over", "score.beta=0.01,0.1", "--trials", "2"
    ),
    "tournament": simple("tournament", "league", "tournament", "--trials", "2"),
    "swiss": simple("swiss", "league", "tournament", "--system", "swiss", "--rounds", "2"),
    "threes": simple("threes", "league", "tournament", "--seats", "3"),
    "joined": joined,
    "game": simple("game", "three", "game", "--trials", "2"),
    "game-policies": simple(
        *("game-policies", "match", "game", "--policies", "frugal,bayes,lavish", "--set", "task.limit=5"),
        *("--vision", "never,always"),
    ),
    "vision": simple("vision", "match", "vision", "--trials", "2"),
    "stopped": interrupted("stopped", "long", 40, "run", "--set", "task.limit=8"),
    "stopped-trials": interrupted("stopped-trials", "long", 275, "run", "--set", "task.limit=3", "--trials", "18"),
    "stopped-league": interrupted("stopped-league", "league", 420, "tournament", "--trials", "2"),
    "faults": over_http("faults", {"alpha": ALPHA, "beta": BETA}),
    "referee": referee,
    "unresolved": unresolved,
    "cut-off": cut_off,
    "before": before,
    "metered": metered,
    "imported": imported,
}


def kept(name: str) -> None:
    """Copy a run here: its log merged into its file, and that file compressed."""
    source, target = PLACE / "runs" / name, HERE / "runs" / name
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)
    for path in list(target.rglob("run.db")):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        path.with_name("run.db.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)


def main() -> None:
    """Make the runs named, or all of them."""
    if mashq.__version__ != "0.1.0":
        raise SystemExit("the stored runs are 0.1.0's: do not make them anew with another version")
    names = sys.argv[1:] or list(RUNS)
    PLACE.mkdir(parents=True, exist_ok=True)
    for path in (HERE / "configs").iterdir():
        shutil.copy(path, PLACE)
    for name in names:
        if (PLACE / "runs" / name).exists():
            shutil.rmtree(PLACE / "runs" / name)
        RUNS[name]()
        kept(name)


if __name__ == "__main__":
    main()
