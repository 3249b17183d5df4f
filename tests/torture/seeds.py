"""One seed of each kind of torture, as a pool of processes is handed it."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.torture import honest, hostile, kills, mishaps
from tests.torture.invariants import Violation
from tests.torture.virtual import trial

Found = tuple[Counter[str], str]


def one(play: Callable[[int, Path], Counter[str]], seed: int, *, memory: bool = True) -> Found:
    """A trial in a folder of its own, in memory where the system has such: what it met, and what it violated."""
    root = "/dev/shm" if memory and os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=root))
    try:
        return play(seed, folder / "t"), ""
    except Violation as violation:
        return Counter(), f"{play.__module__}: {violation}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def virtual(seed: int) -> Found:
    """A match on the virtual clock."""
    return one(trial, seed)


def killed(seed: int) -> Found:
    """A match of real processes, killed."""
    return one(kills.trial, seed)


def mishap(seed: int) -> Found:
    """One of the mishaps of real processes."""
    return one(mishaps.trial, seed)


def cheated(seed: int) -> Found:
    """A match with agents that cheat and break; isolated, they have a /dev of their own."""
    return one(hostile.trial, seed, memory=False)


def verified(seed: int) -> Found:
    """A run in which nobody did anything wrong."""
    return one(honest.trial, seed)
