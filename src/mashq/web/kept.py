"""Computed results, kept as long as the files of their runs do not change.

Contract: a result is computed once per state of the files. A result of a run that is being played is also reused for
a multiple of the time that it took, so that watching never takes more than a small share of a core.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mashq.runs.manifest import MANIFEST
from mashq.runs.reading import DATABASE
from mashq.web.library import Found, plain_file

MAX_KEPT, REUSED = 1024, 10.0
FILES = (MANIFEST, DATABASE, DATABASE + "-wal")


class _Slot:
    """One result with the state of the files that it was computed from, and how long it may be reused."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: object = None
        self.until = 0.0
        self.value: Any = None


class Kept:
    """Results by key; the least recently used are dropped."""

    def __init__(self) -> None:
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, runs: Sequence[Found], compute: Callable[[], Any]) -> Any:
        """Return the result for the current state of these runs."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > MAX_KEPT:
                self._slots.popitem(last=False)
        with slot.lock:
            state = [plain_file(run.path / name) for run in runs for name in FILES]
            ended = all(run.finished for run in runs)
            if slot.state == state or (not ended and time.monotonic() < slot.until):
                return slot.value
            started = time.monotonic()
            slot.value = compute()
            slot.state = state
            slot.until = time.monotonic() + REUSED * (time.monotonic() - started)
            return slot.value
