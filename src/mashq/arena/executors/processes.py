"""Matches in processes of their own: for players that cost computing, not waiting, such as simulated ones.

A worker gets a job, plays it and sends what it writes back through a pipe; a thread here hands it to the one writer.
A worker that dies is replaced, and its match goes on from what is stored.
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
        """Play them all; the first error ends it, and what was written stays."""
        kit = WorkerSetup(
            context.config.model_dump(mode="json"), context.items, prompts, context.facilities.rules_of_play
        )
        season = _Season(kit, stored, fixtures, show)
        loop = asyncio.get_running_loop()
        threads = [loop.run_in_executor(None, season.serve) for _ in range(min(self._workers, len(fixtures)))]
        try:
            await asyncio.gather(*threads)
        finally:
            season.stop()
            await asyncio.gather(*threads, return_exceptions=True)


class _Season:
    """The jobs left to do, and the threads that see to them."""

    def __init__(self, kit: WorkerSetup, stored: Run, fixtures: Sequence[Fixture], show: Shown | None) -> None:
        self._kit, self._stored, self._show = kit, stored, show
        self._left: queue.SimpleQueue[Fixture] = queue.SimpleQueue()
        for fixture in fixtures:
            self._left.put(fixture)
        self._stopped = threading.Event()
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """One thread: keep one worker busy until nothing is left."""
        worker = self._hire()
        try:
            while not self._stopped.is_set():
                try:
                    fixture = self._left.get_nowait()
                except queue.Empty:
                    return
                worker = self._see_to(worker, fixture)
                if self._show is not None:
                    self._show.ended(fixture)
        finally:
            self._dismiss(worker)

    def stop(self) -> None:
        """End every worker now."""
        self._stopped.set()
        with self._lock:
            for worker in self._workers:
                worker.end()

    def _see_to(self, worker: "_Worker", fixture: Fixture) -> "_Worker":
        for _ in range(DEATHS):
            try:
                self._stored.writer.flush(synced=False)
                worker.give(MatchJob.of(fixture, begun(self._stored, fixture)))
                self._listen(worker)
                return worker
            except (EOFError, OSError):
                if self._stopped.is_set():
                    return worker
                self._dismiss(worker)
                worker = self._hire()
        raise StoreError(
            f"the process that plays match {fixture.id} died {DEATHS} times: is there enough memory? What it wrote "
            f"is kept, continue with 'mashq resume {self._stored.path}'"
        )

    def _listen(self, worker: "_Worker") -> None:
        """Take what the worker writes until its match is over."""
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

    def _hire(self) -> "_Worker":
        worker = _Worker(self._kit)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _dismiss(self, worker: "_Worker") -> None:
        worker.end()
        with self._lock:
            self._workers.discard(worker)


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, kit: WorkerSetup) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, kit), daemon=True, name="mashq-worker")
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


def _work(pipe: "Connection[Any, Any]", kit: WorkerSetup) -> None:
    """The life of a worker: jobs until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who reads the pipe decides
    try:
        asyncio.run(_jobs(pipe, kit))
    except (EOFError, OSError):
        return


async def _jobs(pipe: "Connection[Any, Any]", kit: WorkerSetup) -> None:
    context = RunContext(Config.model_validate(kit.config), kit.items, RealClock(), rules_of_play=kit.rules_of_play)
    try:
        while True:
            job: MatchJob = pipe.recv()
            try:
                await do(context, job, kit, _Pipe(pipe))
            except MashqError as error:
                pipe.send(("error", error))
            else:
                pipe.send(("done", None))
    finally:
        await context.close()
