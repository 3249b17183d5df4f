"""The provider's log: one JSON line per request, written before it is answered.

Contract: a line always has all the keys of `entry` below. `authorization` is a fingerprint, the
first 12 hex digits of the SHA-256 of the key; the key itself is never written. `status` is null when no
complete header block will be sent. Each line is one write to a file opened for appending: a reader sees
only whole lines if it ignores a last line without a line feed, and a killed provider loses nothing.
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
    """Return the log line of one request."""
    document = _document(request.body)
    return {
        "n": number,
        "time": time.time(),
        "method": request.method,
        "path": request.path,
        "authorization": fingerprint(request.key),
        "model": document.get("model"),
        "body_digest": hashlib.sha256(request.body).hexdigest(),
        "system": document.get("system"),
        "messages": document.get("messages"),
        "fault": fault,
        "status": status,
        "partial": request.partial,
    }


def _line(fields: JsonObject) -> bytes:
    try:
        text = json.dumps(fields)
    except RecursionError:  # nested too deeply to be written: the digest must suffice
        text = json.dumps(fields | {"model": None, "system": None, "messages": None})
    return text.encode("ascii") + b"\n"


def fingerprint(key: str | None) -> str | None:
    """Return the fingerprint that the log has in place of a key."""
    return None if key is None else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _document(body: bytes) -> JsonObject:
    try:
        return parse_object(body)
    except ValueError:
        return {}
