"""Keys out of the sight of other processes, as far as one process can do that for itself.

A process of the same user may read another's environment in /proc, where a variable stays as it was at the start even
after it was deleted. `forget` deletes the variables and wipes those bytes; `shut` asks the kernel to let no other
process of the user look into this one at all. Both do what the platform allows and never fail. Files, and processes
further up that hold the same variables, are beyond them.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable

PR_SET_DUMPABLE = 4


def forget(names: Iterable[str]) -> None:
    """Delete variables of the environment, and their bytes at the start of this process."""
    for name in names:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            _wipe(name)
        os.environ.pop(name, None)


def shut() -> None:
    """Close /proc/PID/environ, mem and the like of this process to others of its user (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _wipe(name: str) -> None:
    """Overwrite a variable's value where the C library keeps it."""
    find = ctypes.CDLL(None).getenv
    find.restype = ctypes.c_void_p
    place = find(os.fsencode(name))
    if place:
        ctypes.memset(place, ord("-"), len(ctypes.string_at(place)))
