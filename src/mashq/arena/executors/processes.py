"""Play matches in separate processes: for players that compute rather than wait, such as simulated ones.

A worker gets a job, plays it and sends what it writes back through a pipe; a thread here hands it to the single
writer. A worker that dies is replaced, and its match continues from what is stored.
"""

import asyncio
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from mashq.arena.context import RunContext
from mashq.arena.executors.base import Shown
from mashq.arena.executors.jobs import MatchJob, WorkerSetup, do
from mashq.arena.executors.local import begun
from mashq.config import Config
from mashq.errors import MashqError, StoreError
from mashq.gateway.clock import RealClock
from mashq.runs.file import Statement
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run

BACKLOG = 50_000
DEATHS = 3


class Processes:
    """Plays matches in `workers` processes, one match each at a time."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1

    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        """Play all of them; the first error stops it, and what was written is kept."""
        setup = WorkerSetup(
            context.config.model_dump(mode="json"), context.items, prompts, context.facilities.rules_of_play
        )
        season = _Season(setup, stored, fixtures, show)
        loop = asyncio.get_running_loop()
        threads = [loop.run_in_executor(None, season.serve) for _ in range(min(self._workers, len(fixtures)))]
        try:
            await asyncio.gather(*threads)
        finally:
            season.stop()
            await asyncio.gather(*threads, return_exceptions=True)


class _Season:
    """The remaining jobs, and the threads that serve them."""

    def __init__(self, setup: WorkerSetup, stored: Run, fixtures: Sequence[Fixture], show: Shown | None) -> None:
        self._setup, self._stored, self._show = setup, stored, show
        self._left: queue.SimpleQueue[Fixture] = queue.SimpleQueue()
        for fixture in fixtures:
            self._left.put(fixture)
        self._stopped = threading.Event()
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Run in one thread: keep one worker busy until nothing is left."""
        worker = self._start_worker()
        try:
            while not self._stopped.is_set():
                try:
                    fixture = self._left.get_nowait()
                except queue.Empty:
                    return
                worker = self._play_fixture(worker, fixture)
                if self._show is not None:
                    self._show.ended(fixture)
        finally:
            self._end_worker(worker)

    def stop(self) -> None:
        """End every worker now."""
        self._stopped.set()
        with self._lock:
            for worker in self._workers:
                worker.end()

    def _play_fixture(self, worker: "_Worker", fixture: Fixture) -> "_Worker":
        for _ in range(DEATHS):
            try:
                self._stored.writer.flush(synced=False)
                worker.give(MatchJob.of(fixture, begun(self._stored, fixture)))
                self._receive(worker)
                return worker
            except (EOFError, OSError):
                if self._stopped.is_set():
                    return worker
                self._end_worker(worker)
                worker = self._start_worker()
        raise StoreError(
            f"the process that plays match {fixture.id} died {DEATHS} times: is there enough memory? What it wrote "
            f"is kept, continue with 'mashq resume {self._stored.path}'"
        )

    def _receive(self, worker: "_Worker") -> None:
        """Store what the worker writes until its match is over."""
        writer = self._stored.writer
        while True:
            kind, body = worker.hear()
            if kind == "write":
                for statement, values in body:
                    writer.put(statement, values)
                if writer.backlog > BACKLOG:
                    writer.flush(synced=False)
            elif kind == "settle":
                writer.flush(synced=body)
                worker.give(None)
            elif kind == "error":
                raise body
            else:
                return

    def _start_worker(self) -> "_Worker":
        worker = _Worker(self._setup)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _end_worker(self, worker: "_Worker") -> None:
        worker.end()
        with self._lock:
            self._workers.discard(worker)


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, setup: WorkerSetup) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, setup), daemon=True, name="mashq-worker")
        self._process.start()
        theirs.close()

    def give(self, body: object) -> None:
        self._pipe.send(body)

    def hear(self) -> tuple[str, Any]:
        return self._pipe.recv()

    def end(self) -> None:
        self._process.terminate()
        self._process.join()
        self._pipe.close()


class _Pipe:
    """The wire of a worker."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe

    def send(self, statements: list[Statement]) -> None:
        self._pipe.send(("write", statements))

    async def settled(self, *, synced: bool) -> None:
        self._pipe.send(("settle", synced))
        self._pipe.recv()


def _work(pipe: "Connection[Any, Any]", setup: WorkerSetup) -> None:
    """The main function of a worker: play jobs until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    try:
        asyncio.run(_jobs(pipe, setup))
    except (EOFError, OSError):
        return


async def _jobs(pipe: "Connection[Any, Any]", setup: WorkerSetup) -> None:
    context = RunContext(
        Config.model_validate(setup.config), setup.items, RealClock(), rules_of_play=setup.rules_of_play
    )
    try:
        while True:
            job: MatchJob = pipe.recv()
            try:
                await do(context, job, setup, _Pipe(pipe))
            except MashqError as error:
                pipe.send(("error", error))
            else:
                pipe.send(("done", None))
    finally:
        await context.close()
