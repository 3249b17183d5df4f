"""A program that receives a line and sends a line back, within limits: it may hang, flood, die or leave forks behind.

It runs in its own process group, which is killed as a whole. A line is awaited only after one was sent; anything it
writes at other times is discarded, and writing more than any answer could need ends it. Of its standard error only
the end is kept.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Self, cast

from mashq.bounds import AGENT

MAX_OUTPUT = AGENT
LAST_WORDS = 300
GRACE = 0.3
KILLING = 5.0


class AgentError(Exception):
    """The program sent no line; the message says why."""


class Program(asyncio.SubprocessProtocol):
    """A running program."""

    def __init__(self) -> None:
        self._transport: asyncio.SubprocessTransport | None = None
        self._line: asyncio.Future[bytes] | None = None
        self._buffer, self._errors, self._size = b"", b"", 0
        self._end, self._answered = "", False
        self._exited = asyncio.Event()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: str | None,
        descriptors: Sequence[int] = (),
    ) -> Self:
        """Start it with these file descriptors passed on; raises OSError if there is no such program."""
        loop = asyncio.get_running_loop()
        _, program = await loop.subprocess_exec(
            cls, *command, env=dict(environment), cwd=directory, start_new_session=True, pass_fds=descriptors
        )
        return program

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return not self._end and not self._exited.is_set()

    @property
    def retired(self) -> bool:
        """Whether it exited successfully after answering: one answer per process is a valid way to play."""
        code = None if self._transport is None else self._transport.get_returncode()
        return self._answered and code == 0

    async def ask(self, line: bytes) -> bytes:
        """Send a line and wait for one; raises AgentError if none will come."""
        assert self._transport is not None
        self._size, self._buffer = 0, b""
        self._line = asyncio.get_running_loop().create_future()
        if not self.running:
            self._fail(self._end or self._exit_message())
        stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        stdin.write(line + b"\n")
        try:
            return await self._line
        finally:
            self._line = None

    async def kill(self) -> None:
        """Kill it and everything in its process group, and wait until it is gone."""
        self._end = self._end or "the agent was stopped"
        transport, self._transport = self._transport, None
        if transport is None:
            return
        _kill_group(transport.get_pid())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILLING):
                await self._exited.wait()
        transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when the process has started."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Called when the process wrote something."""
        data = cast(bytes, data)
        if fd == 2:
            self._errors = (self._errors + data)[-4 * LAST_WORDS :]
            return
        self._size += len(data)
        if self._size > MAX_OUTPUT:
            self._fail(f"the agent wrote more than {MAX_OUTPUT} bytes")
            if self._transport is not None:
                _kill_group(self._transport.get_pid())
            return
        if self._line is None:
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if line.strip() and not self._line.done():
                self._line.set_result(line)
                self._answered = True

    def process_exited(self) -> None:
        """Called when the process exited; its last output may still arrive."""
        self._exited.set()
        asyncio.get_running_loop().call_later(GRACE, lambda: self._fail(self._exit_message()))

    def _fail(self, why: str) -> None:
        self._end = self._end or why
        if self._line is not None and not self._line.done():
            self._line.set_exception(AgentError(self._end))

    def _exit_message(self) -> str:
        code = None if self._transport is None else self._transport.get_returncode()
        words = " ".join(self._errors.decode("utf-8", "replace").split())[-LAST_WORDS:]
        return f"the agent ended (exit code {code}) without an answer" + (f": {words}" if words else "")


def _kill_group(pid: int) -> None:
    """Kill a process group: the program and what it started, unless that left the group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
