"""The log of the provider: one JSON line for every request, written before anything is answered.

Contract: a line has the keys of `entry` below, always all of them. `authorization` is a fingerprint, the
first 12 hex digits of the SHA-256 of the key; the key itself is never written. `status` is null when no
complete header block will be sent. Each line is one write to a file opened for appending: a reader sees
whole lines only, once it ignores a last line without a line feed, and a killed provider loses nothing.
"""

import hashlib
import json
import os
import time
from pathlib import Path

from mashq.testing.documents import JsonObject, parse_object
from mashq.testing.wire import Request


class Journal:
    """An append-only file of requests, numbered from 1 in each run of the provider."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._count = 0

    def write(self, request: Request, fault: str, status: int | None) -> int:
        """Log `request` and return its number."""
        self._count += 1
        line = _line(entry(self._count, request, fault, status))
        while line:
            line = line[os.write(self._file, line) :]
        return self._count

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def entry(number: int, request: Request, fault: str, status: int | None) -> JsonObject:
    """The line of one request."""
    asked = _asked(request.body)
    return {
        "n": number,
        "time": time.time(),
        "method": request.method,
        "path": request.path,
        "authorization": fingerprint(request.key),
        "model": asked.get("model"),
        "body_digest": hashlib.sha256(request.body).hexdigest(),
        "system": asked.get("system"),
        "messages": asked.get("messages"),
        "fault": fault,
        "status": status,
        "partial": request.partial,
    }


def _line(fields: JsonObject) -> bytes:
    try:
        text = json.dumps(fields)
    except RecursionError:  # nested more deeply than can be written: the digest has to do
        text = json.dumps(fields | {"model": None, "system": None, "messages": None})
    return text.encode("ascii") + b"\n"


def fingerprint(key: str | None) -> str | None:
    """What the log says about a key."""
    return None if key is None else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _asked(body: bytes) -> JsonObject:
    try:
        return parse_object(body)
    except ValueError:
        return {}
