"""Server-sent events of a chat stream: cut out of the bytes as they come, and read for what they amount to."""

import json

from mashq.gateway.types import Completion, Kind, Usage
from mashq.gateway.untrusted import as_list, as_object, child, whole
from mashq.gateway.wire.openai_chat import REFUSING_STOPS, read_usage

MAX_EVENT = 4 * 1024 * 1024
MAX_TEXT = 1_000_000
DONE = b"[DONE]"


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
        if len(self._rest) > MAX_EVENT:
            raise TooLong(f"an event of the stream is longer than {MAX_EVENT} bytes")
        return events

    @property
    def rest(self) -> bytes:
        """What came after the last whole event."""
        return self._rest


class Heard:
    """What the chunks of a stream amount to."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._done, self._stop, self._error = False, "", ""
        self._texts: list[str] = []
        self._length = 0
        self._tools = self._refusal = False

    def hear(self, event: bytes) -> bool:
        """Take an event in; True when it holds nothing but the usage."""
        lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == DONE:
            self._done = True
            return False
        try:
            chunk = as_object(json.loads(data)) if data else None
        except (ValueError, RecursionError):
            chunk = None
        return chunk is not None and self._chunk(chunk)

    def _chunk(self, chunk: dict[str, object]) -> bool:
        told = chunk.get("usage")
        if told is not None:
            self.usage = read_usage(told)
        words = child(chunk, "error").get("message")
        if chunk.get("error"):
            self._error = words if isinstance(words, str) else json.dumps(chunk["error"])
        choices = as_list(chunk.get("choices")) or []
        for entry in choices:
            choice = as_object(entry) or {}
            delta = child(choice, "delta")
            self._stop = str(choice.get("finish_reason") or self._stop)
            self._tools |= bool(delta.get("tool_calls"))
            self._refusal |= bool(delta.get("refusal"))
            for name in ("content", "refusal", "tool_calls"):
                self._keep(delta.get(name))
        return told is not None and not choices

    def _keep(self, said: object) -> None:
        if said and self._length < MAX_TEXT:
            text = said if isinstance(said, str) else json.dumps(said)
            self._texts.append(text[:MAX_TEXT])
            self._length += len(text)

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """How it ended: the kind of outcome, the reply, and what was wrong."""
        if self._error:
            return "unparsable", None, f"the stream ended in an error: {self._error}"
        if not (self._done or self._stop):
            return "unparsable", None, "the stream broke off before its end"
        text = whole("".join(self._texts))
        refused = self._refusal or self._stop in REFUSING_STOPS or not (text.strip() or self._tools)
        return "refused" if refused else "ok", Completion(text, whole(self._stop), refused), ""
