"""Where the cases run: a new directory with the stored runs unpacked in it and nothing else from this machine."""

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
RUNS, CONFIGS = HERE / "runs", HERE / "configs"
LONG_AGO = 1_700_000_000


def unpack(target: Path) -> None:
    """Copy the stored runs and the configurations into `target`."""
    shutil.copytree(CONFIGS, target, dirs_exist_ok=True)
    for run in sorted(path for path in RUNS.iterdir() if path.is_dir()):
        copied(run.name, target / "runs" / run.name)


def copied(name: str, target: Path) -> Path:
    """Copy one stored run to a writable place."""
    shutil.copytree(RUNS / name, target)
    for packed in list(target.rglob("run.db.gz")):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
        (packed.parent / "lock").touch()
    return target


@contextlib.contextmanager
def stage() -> Generator[Path]:
    """Change to a directory with the runs; keys and caches of this machine are hidden."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="pinned-") as folder:
        place = Path(folder).resolve()
        unpack(place)
        hidden = [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("HF_")]
        with mock.patch.dict(os.environ, {"MASHQ_CACHE": str(place / "cache")}):
            for name in hidden:
                del os.environ[name]
            os.chdir(place)
            try:
                yield place
            finally:
                os.chdir(before)
