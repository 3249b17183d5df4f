"""The pins' only access to mashq: its command, the dashboard's application, and its version.

An internal redesign needs no change here; one that moves the entry points needs a change here and nowhere else.
"""

import asyncio
import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import vl_convert
from starlette.types import ASGIApp, Message

from mashq import __version__
from mashq.cli import main
from mashq.web.app import build
from mashq.web.library import checked

VERSION = __version__
COLUMNS = 100
HEAD = re.compile("head: [0-9a-f]{64}")  # the hash covers times


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a command: its exit code and output."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the dashboard."""

    status: int
    kind: str
    body: bytes


def command(arguments: Sequence[str], columns: int = COLUMNS) -> Said:
    """Run `mashq ARGUMENTS` in this process and this directory, as its console entry point does."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""),
        io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""),
    )
    code = 0
    settings = {"COLUMNS": str(columns), "LINES": "50", "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch.object(sys, "argv", ["mashq", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        charts(),
        _signals(),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    return Said(code, _written(out), HEAD.sub("head: …", _written(err)))


def _written(file: io.TextIOWrapper) -> str:
    file.flush()
    raw = file.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8")


@contextlib.contextmanager
def _signals() -> Generator[None]:
    """Restore the process's signal handlers."""
    import signal

    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def charts() -> Generator[None]:
    """Skip drawing charts, which would take most of the time: a picture contains its specification instead."""

    def picture(spec: Any, *_: object, **__: object) -> str:
        return "<svg>" + json.dumps(spec) + "</svg>"

    def pixels(spec: Any, *_: object, **__: object) -> bytes:
        return picture(spec).encode()

    def bundle(snippet: str, *_: object, **__: object) -> str:
        return "/* libraries */ " + snippet

    with (
        mock.patch.object(vl_convert, "vegalite_to_svg", picture),
        mock.patch.object(vl_convert, "vegalite_to_png", pixels),
        mock.patch.object(vl_convert, "vegalite_to_pdf", pixels),
        mock.patch.object(vl_convert, "javascript_bundle", bundle),
    ):
        yield


class Dashboard:
    """The dashboard over a directory of runs, called without a network."""

    def __init__(self, root: Path) -> None:
        self._app: ASGIApp = build(checked(root))

    def get(self, path: str, query: str = "", until: bytes | None = None) -> Reply:
        """Send one request; a stream ends once its body contains `until`."""
        return asyncio.run(self._get(path, query, until))

    async def _get(self, path: str, query: str, until: bytes | None) -> Reply:
        started: dict[str, Any] = {}
        body = bytearray()
        finished = asyncio.Event()
        request_sent = False

        async def receive() -> Message:
            nonlocal request_sent
            if not request_sent:
                request_sent = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await finished.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            else:
                body.extend(message.get("body", b""))
                if until is not None and until in body:
                    finished.set()

        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"host", b"127.0.0.1:8450")],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8450),
        }
        await asyncio.wait_for(self._app(scope, receive, send), 30)
        headers = {name.decode().lower(): value.decode() for name, value in started.get("headers", [])}
        return Reply(int(started.get("status", 0)), headers.get("content-type", ""), bytes(body))
