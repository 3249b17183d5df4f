"""Server-sent events: cut out of the bytes as they come, read, and written."""

import json

from mashq.bounds import EVENT, TooMuch, parse, size
from mashq.gateway.untrusted import as_object, whole

MAX_TEXT = 1_000_000


class TooLong(ValueError):
    """An event that goes on for longer than any could."""


class Cutter:
    """Bytes in, whole events out, each with its closing blank line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The events that `data` completes."""
        lines = (self._rest + data).split(b"\n")
        events: list[bytes] = []
        event: list[bytes] = []
        for line in lines[:-1]:
            event.append(line)
            if not line.rstrip(b"\r"):
                events.append(b"\n".join(event) + b"\n")
                event = []
        self._rest = b"\n".join([*event, lines[-1]])
        if len(self._rest) > EVENT:
            raise TooLong(f"an event of the stream is longer than {size(EVENT)}")
        return events

    @property
    def rest(self) -> bytes:
        """What came after the last whole event."""
        return self._rest


class Transcript:
    """The words of a stream, up to a length that any reply could have."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0

    def add(self, part: object) -> None:
        """Keep a piece: a string as it is, anything else as JSON."""
        if part and self._length < MAX_TEXT:
            text = part if isinstance(part, str) else json.dumps(part)
            self._texts.append(text[:MAX_TEXT])
            self._length += len(text)

    @property
    def text(self) -> str:
        """All of it."""
        return whole("".join(self._texts))


def data_of(event: bytes) -> bytes:
    """The data lines of an event."""
    return b"\n".join(line[5:].strip() for line in event.splitlines() if line.startswith(b"data:"))


def object_of(data: bytes) -> dict[str, object] | None:
    """The JSON object in an event's data, if it is one."""
    try:
        return as_object(parse(data, "an event")) if data else None
    except (ValueError, RecursionError, TooMuch):
        return None
