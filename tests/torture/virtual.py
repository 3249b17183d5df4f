"""Seeded random matches in this process, on a virtual clock, over a wire that fails in every way, cut off at random.

`trial(seed, folder)` plays one and checks what must hold of any match; it raises Violation with the seed otherwise. A
cut is a copy of the run directory taken between two commits: exactly what a killed process leaves behind. Some
matches also have a disk that fills up, and some cuts lose the end of a file.
"""

import asyncio
import errno
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mashq.arena import context as table
from mashq.arena import match
from mashq.config import BudgetConfig, Config, check
from mashq.detectors import base
from mashq.detectors.base import Pair
from mashq.errors import MashqError, StoreError
from mashq.gateway import model
from mashq.gateway.backends.http import HttpBackend, Pool
from mashq.gateway.backends.simulated import Draws
from mashq.gateway.types import Call, Entry, Outcome, Request
from mashq.runs import database as db
from mashq.runs import manifest
from mashq.runs.database import Writer
from mashq.runs.file import Statement
from mashq.runs.ledger import entries
from mashq.runs.reading import reading
from tests.arena.helpers import rows
from tests.gateway.fakes import EPOCH
from tests.torture import invariants
from tests.torture.invariants import Violation
from tests.torture.wire import FAULTS, KEY, Line, asking

TEXTS = ("Text {n}.", "{{braces}} {0} %d", "</item> <script>", "\u202e\u0000 ünï 🦜", "x " * 50)


class Leap:
    """A clock on which sleeping takes no time; from time to time it is set, forwards and back."""

    def __init__(self, seed: int) -> None:
        self._random, self._at, self._wall = random.Random(seed), 100.0, EPOCH
        self.jumps = 0

    def now(self) -> float:
        """Return the wall clock, which may jump."""
        if self._random.random() < 0.02:
            self.jumps += 1
            self._wall += self._random.choice((-3600.0, 86400.0, -1.0, -1e6, 1e7))
        return self._wall + self._at

    def tick(self) -> float:
        """Return the monotonic clock."""
        self._at += 0.001
        return self._at

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run, then advance the clock."""
        await asyncio.sleep(0)
        self._at += max(0.0, min(seconds, 1e6))


class Hashed:
    """A detector that derives a score from a hash of the texts."""

    name, version = "hashed", "1"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return scores that depend on the texts alone."""
        return [round(Draws("h", pair.source, pair.answer).uniform("h"), 4) for pair in pairs]


def configuration(seed: int, data: Path) -> dict[str, Any]:
    """Return a random match."""
    rng = random.Random(seed)
    with data.open("w") as file:
        for n in range(rng.randint(1, 5)):
            file.write(json.dumps({"id": f"item-{n}", "text": f"{n} {rng.choice(TEXTS)}"}) + "\n")
    rules: dict[str, Any] = {
        "turn": rng.choice(("cycle", "cycle", "single")),
        "T": rng.choice((0.0, 0.5, 0.9, 1.0)),
        "R": rng.randint(0, 3),
        "keep": rng.choice(("latest", "better")),
        "vision": {"when": rng.choice(("never", "review", "always")), "keep": rng.choice(("fresh", "latest"))},
        "show_seconds": False,
    }
    if rng.random() < 0.1:
        rules["shared_budget"] = {"calls": rng.choice((3, 10, 40))}
    model: dict[str, Any] = {
        "base_url": "http://model.invalid/v1",
        "api_key_env": "TORTURE_KEY",
        "wire": rng.choice(("openai", "openai", "anthropic")),
        "retry": {"attempts": rng.randint(1, 4), "base": 0.1, "cap": 2.0},
        "concurrency": rng.choice((1, 2, 8)),
        "give_up": False,  # it would stop under many faults
    }
    return {
        "task": {"data": str(data)},
        "players": [_player(rng, n) for n in range(rng.randint(1, 3))],
        "rules": rules,
        "models": {"my/m": model},
        "ahead": rng.choice((0, 0, 1, 3)),
        "seed": seed,
    }


def _player(rng: random.Random, n: int) -> dict[str, Any]:
    agent = rng.choice(("q-agent", "q-agent", "q-agent", "plain", "retry", "best-of-n", "react"))
    player: dict[str, Any] = {"name": f"p{n}", "model": "my/m", "agent": agent, "n": 2}
    player["policy"] = rng.choice(("llm", "llm", "rule"))
    if rng.random() < 0.2:
        player["budget"] = {rng.choice(("calls", "tokens", "reviews")): rng.choice((1, 5, 20, 2000))}
    if rng.random() < 0.3:
        player["order"] = rng.choice(("forward", "reverse", "shuffle", "rotate 1"))
    return player


class Cut:
    """Copies a run directory after so many commits, and records how many requests had arrived by then."""

    def __init__(self, after: int, into: Path, line: Line, checkpoint: int | None = None) -> None:
        self._after, self._into, self._line, self.checkpoint = after, into, line, checkpoint
        self.commits = 0
        self.hits: int | None = None

    def committed(self, writer: Writer, statements: list[Statement]) -> None:
        """Copy the run after enough commits; `checkpoint` is a small number of pages for automatic checkpoints."""
        if not self.commits and self.checkpoint is not None:
            connection = writer._connection  # pyright: ignore[reportPrivateUsage]
            connection.execute(f"PRAGMA wal_autocheckpoint = {self.checkpoint}")
        self.commits += bool(statements)
        path = writer._path.parent  # pyright: ignore[reportPrivateUsage]
        if self.hits is None and self.commits >= self._after and (path / "manifest.json").exists():
            self.hits = self._line.hits
            shutil.copytree(path, self._into)


class Full:
    """From some commit on, the file may not grow, or the disk no longer syncs."""

    def __init__(self, after: int, how: str) -> None:
        self._after, self._how, self._commits, self._syncs = after, how, 0, 0

    def committed(self, writer: Writer, statements: list[Statement]) -> None:
        """Fill the disk after so many commits."""
        self._commits += bool(statements)
        if self._commits == self._after and self._how == "full":
            writer._connection.execute("PRAGMA max_page_count = 1")  # pyright: ignore[reportPrivateUsage] # as it is

    def fsync(self, file: int) -> None:
        """Sync, or fail as a dying disk does."""
        self._syncs += 1
        if self._how == "sync" and self._syncs > self._after:
            raise OSError(errno.EIO, "Input/output error")
        _fsync(file)


_digest, _versions = cache(manifest.package_digest), cache(manifest._versions)  # pyright: ignore[reportPrivateUsage]
_commit, _attempt, _fsync = Writer._commit, HttpBackend.attempt, os.fsync  # pyright: ignore[reportPrivateUsage]


@contextmanager
def played_over(line: Line, watcher: Cut | Full | None = None) -> Generator[None]:
    """Send every request over this line, and reach nothing else; `watcher` sees each commit."""

    async def reached(_urls: dict[str, str]) -> None:
        return

    async def attempt(self: HttpBackend, request: Request, call: Call) -> Outcome:
        asking.set(call)
        return await _attempt(self, request, call)

    def never(*_: object, **__: object) -> None:
        return

    def loaded(_name: str) -> Hashed:
        return Hashed()

    def session(_pool: Pool) -> Line:
        return line

    def commit(writer: Writer, statements: list[Statement]) -> None:
        _commit(writer, statements)
        if watcher is not None:
            watcher.committed(writer, statements)

    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, TORTURE_KEY=KEY))
        stack.enter_context(patch.object(Pool, "session", session))
        stack.enter_context(patch.object(HttpBackend, "attempt", attempt))
        stack.enter_context(patch.object(table, "reach", reached))
        stack.enter_context(patch.object(model, "hopeless", never))  # a 401 here is a temporary fault
        stack.enter_context(patch.object(base, "load", loaded))
        stack.enter_context(patch.object(Writer, "_commit", commit))
        stack.enter_context(patch.object(manifest, "package_digest", _digest))  # the same for all, and slow
        stack.enter_context(patch.object(manifest, "_versions", _versions))
        if isinstance(watcher, Cut) and watcher.checkpoint is not None:
            stack.enter_context(patch.object(db, "SOME", watcher.checkpoint))
            stack.enter_context(patch.object(db, "LARGE", 50_000))
        if isinstance(watcher, Full):
            stack.enter_context(patch.object(os, "fsync", watcher.fsync))
        yield


class Trial:
    """One match in all its forms."""

    def __init__(self, seed: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.seed, self.folder, self.rng = seed, folder, random.Random(f"trial {seed}")
        self.config: Config = check(configuration(seed, folder / "items.jsonl"))
        self.faults = self.rng.choice((0.0, 0.1, 0.3, 0.6, 0.95))
        self.kinds = FAULTS if self.rng.random() < 0.7 else (self.rng.choice(FAULTS),)  # one kind alone is a storm
        self.met: Counter[str] = Counter()
        shared, players = self.config.rules.shared_budget, self.config.players
        self.shared = shared != BudgetConfig()
        self.budgeted = self.shared or any(player.budget for player in players)

    def line(self, spared: str | None = None) -> Line:
        """Return a new wire."""
        return Line(self.seed, self.faults, Leap(self.rng.randrange(2**32)), self.kinds, spared)

    def play(self) -> None:
        """Play the match whole, then in pieces."""
        line = self.line()
        cut = Cut(self.rng.randint(1, 25), self.folder / "cut", line, self.rng.choice((None, None, 3, 10, 30)))
        self._run("run", line, cut)
        self.holds("run", line.hits, killed=False)
        self.met.update({f"fault {kind}": count for kind, count in line.met.items()})
        if cut.hits is not None:
            if self.rng.random() < 0.25:
                self.torn("cut", cut.hits)
            self.gone_on("cut", cut.hits)
        if self.rng.random() < 0.1:
            self.torn("run", line.hits)
        if self.rng.random() < 0.15:
            self.full()
        if self.rng.random() < 0.2 and len(self.config.players) > 1 and self.config.rules.vision.when == "never":
            self.spared()

    def _run(self, name: str, line: Line, watcher: Cut | Full | None = None) -> None:
        with played_over(line, watcher):
            asyncio.run(match.run(self.config, self.folder / name, clock=line.clock))
        self._counted(name, line)

    def _resume(self, name: str, line: Line, watcher: Cut | None = None) -> None:
        line.closed.update(call for call, entry in attempts_in(self.folder / name) if entry.outcome is not None)
        with played_over(line, watcher):
            asyncio.run(match.resume(self.folder / name, clock=line.clock))
        self._counted(name, line)

    def _counted(self, name: str, line: Line) -> None:
        self.met.update(matches=1, attempts=rows(self.folder / name, "SELECT count(*) FROM attempts")[0][0])
        self.met["clock jumps"] += line.clock.jumps if isinstance(line.clock, Leap) else 0

    def gone_on(self, name: str, hits: int) -> None:
        """Resume a copy, perhaps cut off again; it must end as the whole one ended."""
        before = invariants.written(self.folder / name)
        invariants.law(self.folder / name, hits, killed=True)
        line = self.line()
        cut = Cut(self.rng.randint(1, 12), self.folder / f"{name}-again", line)
        self._resume(name, line, cut if self.rng.random() < 0.3 and name == "cut" else None)
        self.holds(name, hits + line.hits, killed=True)
        invariants.kept(before, self.folder / name)
        self.ends_as_the_whole(name)
        self.met["resumes"] += 1
        if cut.hits is not None:
            self.gone_on(f"{name}-again", hits + cut.hits)

    def full(self) -> None:
        """The disk fills up, or fails; the error is a sentence, and the match can be resumed."""
        line, how = self.line(), self.rng.choice(("full", "full", "sync"))
        try:
            self._run("full", line, Full(self.rng.randint(1, 20), how))
        except StoreError:
            self.met[f"disk {how}"] += 1
        if (self.folder / "full" / "manifest.json").exists():
            self.gone_on("full", line.hits)

    def torn(self, source: str, hits: int) -> None:
        """A file of a run loses its end: a clear error, or a consistent match of what remains."""
        run = self.folder / f"torn-{source}"
        shutil.copytree(self.folder / source, run)
        opened = rows(run, "SELECT count(*) FROM attempts")[0][0]
        path = run / self.rng.choice(("run.db", "run.db-wal", "run.db-wal", "manifest.json"))
        size = path.stat().st_size if path.exists() else 0
        if not size:
            return
        cut = self.rng.randrange(size)
        os.truncate(path, cut // 4096 * 4096 if self.rng.random() < 0.3 else cut)
        line = self.line()
        try:
            remaining = len(attempts_in(run))
            self._resume(run.name, line)
        except MashqError:
            self.met["torn refused"] += 1
            return
        invariants.law(run, hits + line.hits, killed=True, lost=opened - remaining)
        invariants.sums(run)
        self.ends_as_the_whole(run.name)
        self.met["torn resumed"] += 1

    def ends_as_the_whole(self, name: str) -> None:
        """Check that the run ends as the whole one, unless an unresolved attempt used up part of a budget."""
        unresolved = rows(self.folder / name, "SELECT count(*) FROM attempts WHERE outcome IS NULL")[0][0]
        self.met["unresolved"] += unresolved
        if not (self.budgeted and unresolved):
            invariants.same(self.folder / name, self.folder / "run")

    def spared(self) -> None:
        """Check that one player's faults do not change the others' results."""
        if self.shared:
            return
        faulty = self.config.players[-1].name
        self._run("apart", self.line(faulty))
        invariants.apart(self.folder / "run", self.folder / "apart", faulty)
        self.met["apart"] += 1

    def holds(self, name: str, hits: int, *, killed: bool) -> None:
        """Check everything that must hold of an ended run."""
        run = self.folder / name
        invariants.law(run, hits, killed=killed)
        invariants.sums(run)
        invariants.once(run)
        invariants.no_key(run, KEY)


def attempts_in(run: Path) -> list[tuple[Call, Entry]]:
    """Read the ledger as mashq reads it."""
    with reading(run) as connection:
        return entries(connection)


def trial(seed: int, folder: Path) -> Counter[str]:
    """Play one match, whole and in pieces; return its counts, for the summary."""
    try:
        match_trial = Trial(seed, folder)
        match_trial.play()
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed}: {type(error).__name__}: {error}") from error
    return match_trial.met
