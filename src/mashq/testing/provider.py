"""A real HTTP/1.1 model provider on the loopback interface, with faults, as a separate process.

    python -m mashq.testing.provider --port 0 --log requests.jsonl --faults faults.json --seed 7 --latency 0.0

Contract: once it listens it prints one line, `{"port": N, "pid": P}`. It serves POST /v1/chat/completions,
/v1/responses and /v1/embeddings as OpenAI does, /v1/messages as Anthropic does and, as Gemini does,
/v1beta/models/M:generateContent, whole and streamed; `replies` defines what it says, `faults` its possible faults,
`journal` the format of its log. Every request whose header block and body arrived is logged before it is answered;
one that arrived only in part is logged as partial when its connection ends. The fault plan counts neither partial
requests nor those that the service itself rejects (wrong path, not JSON, no model). POST /__control replaces the
fault plan and restarts it; it is not logged. SIGTERM or SIGINT stops the process; so does the end of standard input,
when --until-stdin-closes is given.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mashq.testing.delivery import deliver
from mashq.testing.documents import parse_object
from mashq.testing.faults import NO_STATUS, OK, Plan, Timing, parse_plan
from mashq.testing.journal import Journal
from mashq.testing.newer_shapes import shape_of
from mashq.testing.outcomes import error, outcome
from mashq.testing.shapes import OpenAI, Rejected, Shape
from mashq.testing.wire import Connection, Reply, Request

CONTROL = "/__control"


class Provider:
    """The server: a journal, a fault plan and the open connections."""

    def __init__(self, journal: Journal, plan: Plan, seed: int, latency: float) -> None:
        self._journal = journal
        self._plan = plan
        self._seed = seed
        self._latency = latency
        self._open: dict[asyncio.Task[None], Connection] = {}

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None
        connection = self._open[task] = Connection(reader, writer)
        try:
            with contextlib.suppress(OSError):
                while (request := await connection.receive()) and await self._serve(connection, request):
                    pass
        finally:
            await connection.close()
            del self._open[task]

    async def stop(self) -> None:
        """Abort every connection; a request that arrived in part is still logged."""
        tasks = list(self._open)
        for connection in self._open.values():
            connection.abort()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=0.5)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _serve(self, connection: Connection, request: Request) -> bool:
        if request.path == CONTROL:
            if request.partial or request.refused:
                return False
            reply = self._control(request)
            return await deliver(connection, reply, OK, self._plan.timing, close=request.last)
        if request.refused or request.partial:
            return await self._turn_away(connection, request)
        reply, kind, timing = self._answer(request)
        number = self._journal.write(request, kind, None if kind in NO_STATUS else reply.status)
        numbered = replace(reply, headers={"x-request-id": str(number), **reply.headers})
        await asyncio.sleep(self._latency)
        return await deliver(connection, numbered, kind, timing, close=request.last)

    async def _turn_away(self, connection: Connection, request: Request) -> bool:
        """Log a request that cannot be served, send an error if the client still listens, and close."""
        self._journal.write(request, OK, request.refused)
        if request.refused:
            reply = error(OpenAI(), request.refused, "This is not a request that can be served.")
            await deliver(connection, reply, OK, self._plan.timing, close=True)
            connection.finish()
            await connection.until_gone(1.0)  # closing with unread input would reset, and lose the reply
        return False

    def _answer(self, request: Request) -> tuple[Reply, str, Timing]:
        """Return the reply, the fault that affects it and the timing of the fault."""
        plan = self._plan
        matched = shape_of(request.path, request.query)
        shape: Shape = matched or OpenAI()
        try:
            if matched is None:
                raise Rejected(404, f"Unknown request URL: {request.method} {request.path}")
            if request.method != "POST":
                raise Rejected(405, f"Not allowed to {request.method} on {request.path}; use POST")
            prompt = shape.prompt(request.headers, request.body)
        except Rejected as refusal:
            return error(shape, refusal.status, str(refusal)), OK, plan.timing
        fault = plan.choose(prompt.model)
        reply = outcome(shape, prompt, fault, request.key or "", plan.timing, self._seed)
        return reply, fault.kind, plan.timing

    def _control(self, request: Request) -> Reply:
        try:
            self._plan = parse_plan(parse_object(request.body), self._seed)
        except ValueError as problem:
            return Reply(400, json.dumps({"error": str(problem)}).encode("ascii"))
        return Reply(200, b'{"ok": true}')


async def serve(provider: Provider, port: int, *, until_stdin_closes: bool) -> None:
    """Listen, announce it on standard output, and serve until stopped."""
    server = await asyncio.start_server(provider.connect, "127.0.0.1", port, backlog=1024)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    if until_stdin_closes:
        _when_stdin_closes(lambda: loop.call_soon_threadsafe(stopped.set))
    print(json.dumps({"port": server.sockets[0].getsockname()[1], "pid": os.getpid()}), flush=True)
    await stopped.wait()
    server.close()
    await provider.stop()


def _when_stdin_closes(then: Callable[[], object]) -> None:
    def wait() -> None:
        while os.read(0, 4096):
            pass
        with contextlib.suppress(RuntimeError):  # the loop may have closed already
            then()

    threading.Thread(target=wait, daemon=True).start()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 2 when its input is invalid."""
    parser = argparse.ArgumentParser(prog="mashq.testing.provider", description="A loopback model provider.")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--log", type=Path, default=Path("requests.jsonl"), help="one JSON line a request")
    parser.add_argument("--faults", type=Path, help="a JSON file with the fault plan")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    options = parser.parse_args(arguments)
    try:
        config = parse_object(options.faults.read_bytes()) if options.faults else {}
        plan = parse_plan(config, options.seed)
        journal = Journal(options.log)
    except (OSError, ValueError) as problem:
        print(f"mashq.testing.provider: {problem}", file=sys.stderr)
        return 2
    provider = Provider(journal, plan, options.seed, options.latency)
    try:
        asyncio.run(serve(provider, options.port, until_stdin_closes=options.until_stdin_closes))
    except OSError as problem:
        print(f"mashq.testing.provider: port {options.port}: {problem}", file=sys.stderr)
        return 2
    finally:
        journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
