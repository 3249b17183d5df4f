"""`FakeProvider`: the loopback provider of `mashq.testing.provider`, started and stopped from a test.

    with FakeProvider(faults={"script": ["429", "ok"]}) as provider:
        play_against(provider.base_url)
        assert len(provider.hits()) == 2

Contract: the provider is another process, so that the code under test cannot affect what it counts,
and it ends with the process that started it, however that process ends. `hits` is exact as soon as a reply has
been received, and still works after `stop`. `configure` replaces the whole fault plan (see
`mashq.testing.faults`) and restarts it; without arguments it ends all faults. Nothing here is
asynchronous: it fits any kind of test.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from mashq.testing.documents import parse_object

_SOURCE = Path(__file__).resolve().parents[2]


class FakeProvider:
    """A model provider on 127.0.0.1, in a separate process. When started again, it keeps its port."""

    port: int

    def __init__(
        self,
        *,
        faults: Mapping[str, object] | None = None,
        seed: int = 7,
        latency: float = 0.0,
        log: Path | None = None,
        port: int = 0,
    ) -> None:
        """`log` is a file to append the log to; without it, the log is temporary."""
        self.port = port
        self.pid: int | None = None
        self._faults = dict(faults or {})
        self._options = ["--seed", str(seed), "--latency", str(latency)]
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._log = log
        self._last_hits: list[dict[str, Any]] = []
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self, timeout: float = 30.0) -> Self:
        """Start the process and wait until it listens."""
        if self._process is not None:
            raise RuntimeError("the provider is running already; stop it first")
        self._folder = tempfile.TemporaryDirectory(prefix="mashq-provider-")
        plan = Path(self._folder.name, "faults.json")
        plan.write_text(json.dumps(self._faults), encoding="utf-8")
        command = [sys.executable, "-m", "mashq.testing.provider", "--until-stdin-closes", *self._options]
        command += ["--port", str(self.port), "--log", str(self._path()), "--faults", str(plan)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=_environment())
        try:
            ready = parse_object(_first_line(self._process, timeout))
        except ValueError:
            self.stop()
            raise RuntimeError(f"the provider did not start: {' '.join(command)}") from None
        self.port, self.pid = int(str(ready["port"])), int(str(ready["pid"]))
        return self

    def hits(self) -> list[dict[str, Any]]:
        """Return the log so far, one dictionary per request, partial ones included."""
        if self._folder is None:
            return list(self._last_hits)
        path = self._path()
        data = path.read_bytes() if path.exists() else b""
        return [parse_object(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]

    def configure(self, **faults: object) -> None:
        """Replace the fault plan; raises ValueError if the plan is invalid."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/__control", json.dumps(faults).encode("ascii"))
            reply = connection.getresponse()
            document = parse_object(reply.read())
        finally:
            connection.close()
        if reply.status != 200:
            raise ValueError(str(document.get("error")))

    def stop(self) -> None:
        """End the process. Stopping twice is fine."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            _close(pipe)
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._last_hits = self.hits()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _path(self) -> Path:
        assert self._folder is not None
        return self._log or Path(self._folder.name, "requests.jsonl")


def _environment() -> dict[str, str]:
    """Return the environment, with the package importable from where this process found it."""
    paths = [str(_SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _first_line(process: subprocess.Popen[bytes], timeout: float) -> bytes:
    """Return the first line of the process, or nothing if it ends or takes longer than `timeout`."""
    assert process.stdout is not None
    guard = threading.Timer(timeout, process.kill)
    guard.start()
    try:
        return process.stdout.readline()
    finally:
        guard.cancel()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()
