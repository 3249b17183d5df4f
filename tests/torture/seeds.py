"""One function per kind of torture that runs one seed, for a pool of processes."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.torture import honest, hostile, kills, mishaps
from tests.torture.invariants import Violation
from tests.torture.virtual import trial

TrialResult = tuple[Counter[str], str]


def run_trial(play: Callable[[int, Path], Counter[str]], seed: int, *, memory: bool = True) -> TrialResult:
    """Run a trial in its own folder, in memory if possible; return its counts and its violation."""
    root = "/dev/shm" if memory and os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=root))
    try:
        return play(seed, folder / "t"), ""
    except Violation as violation:
        return Counter(), f"{play.__module__}: {violation}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def virtual(seed: int) -> TrialResult:
    """A match on the virtual clock."""
    return run_trial(trial, seed)


def killed(seed: int) -> TrialResult:
    """A match of real processes, killed."""
    return run_trial(kills.trial, seed)


def mishap(seed: int) -> TrialResult:
    """One of the mishaps of real processes."""
    return run_trial(mishaps.trial, seed)


def cheated(seed: int) -> TrialResult:
    """A match with agents that cheat and break; isolated, they have their own /dev."""
    return run_trial(hostile.trial, seed, memory=False)


def verified(seed: int) -> TrialResult:
    """An honest run."""
    return run_trial(honest.trial, seed)
