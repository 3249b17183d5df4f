"""A private copy of the project, in which one fault at a time is planted, and pytest run."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import venv
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.environments import ROOT
from tools.mutants.faults import Fault

LEFT = {".git", ".venv", ".hypothesis", ".pytest_cache", ".ruff_cache", "__pycache__"}
LEFT_ON_TOP = {"runs", "dist", "build"}
TESTED = ("tests", "docs", "examples", "pyproject.toml")  # what a test's result depends on, besides the sources
PLUGINS = ("asyncio", "timeout", "hypothesispytest")
NO_OTHERS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"  # set for pytest; our plugins unset it for processes that tests start
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def digest(root: Path, *parts: str) -> str:
    """Return the digest of all files of these parts of the project."""
    hash_ = hashlib.sha256()
    for part in parts:
        top = root / part
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                hash_.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return hash_.hexdigest()[:16]


@dataclass(slots=True)
class Tree:
    """The copy is `folder/tree`; next to it are what belongs next to the project, temporary files and pytest's log.

    `folder/env` is a virtual environment with the packages of the running one and the copy for mashq, so that child
    processes import the copy too, whatever their environment variables.
    """

    folder: Path
    written: int = 0
    running: subprocess.Popen[bytes] | None = None
    stopped: bool = False

    @property
    def root(self) -> Path:
        """The root of the copied project."""
        return self.folder / "tree"

    @classmethod
    def copied(cls, source: Path, folder: Path) -> "Tree":
        """Copy everything except what git ignores; link `../shared`, which some tests read."""

        def ignored(where: str, names: list[str]) -> set[str]:
            return set(names) & (LEFT | LEFT_ON_TOP if Path(where) == source else LEFT)

        shutil.copytree(source, folder / "tree", ignore=ignored)
        if (shared := source.parent / "shared").is_dir():
            (folder / "shared").symlink_to(shared.resolve())
        venv.create(folder / "env", symlinks=True)
        (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        installed = sysconfig.get_path("purelib")
        lines = [str(folder / "tree" / "src"), f"import site; site.addsitedir({installed!r})"]
        (packages / "copy.pth").write_text("\n".join(lines) + "\n", "utf-8")
        return cls(folder)

    def _write(self, path: Path, text: bytes) -> None:
        """Write a file with a unique time, so that no stale compiled file is used for it."""
        path.write_bytes(text)
        self.written += 1
        os.utime(path, (1_000_000_000 + self.written, 1_000_000_000 + self.written))

    @contextmanager
    def planted(self, fault: Fault) -> Generator[None]:
        """Plant the fault in the tree, and remove it afterwards."""
        path = self.root / fault.file
        source = path.read_bytes()
        self._write(path, fault.planted(source))
        try:
            yield
        finally:
            self._write(path, source)

    def pytest(self, plugin: str, plan: dict[str, Any], arguments: Sequence[str], seconds: float) -> int | None:
        """Run pytest with a plugin and its plan; return the exit status, or None if it had to be killed.

        Only the plugins named here are loaded: loading all installed ones takes longer than most tests.
        """
        temporary = self.folder / "tmp"
        for old in (temporary, self.root / ".hypothesis"):
            shutil.rmtree(old, ignore_errors=True)
        temporary.mkdir()
        plan_file = self.folder / "plan.json"
        plan_file.write_text(json.dumps(plan), "utf-8")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST"))}
        paths = os.pathsep.join(map(str, (self.root, ROOT)))
        environment = (
            inherited | ALONE | {"PYTHONPATH": paths, "TMPDIR": str(temporary), "MUTANTS_PLAN": str(plan_file)}
        )
        environment[NO_OTHERS] = "1"
        python = str(self.folder / "env" / "bin" / "python")
        command = [python, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", plugin]
        command += [word for name in PLUGINS for word in ("-p", name)]
        command += ["--hypothesis-seed=0", f"--basetemp={temporary / 'pytest'}", *arguments]
        if self.stopped:
            raise RuntimeError("Stopped.")
        with (self.folder / "log.txt").open("wb") as log:
            self.running = process = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end_all(process)
                self.running = None

    def stop(self) -> None:
        """End the running pytest, from another thread, and run nothing more."""
        self.stopped = True
        if (process := self.running) is not None:
            _end_all(process)

    def told(self) -> str:
        """Return the end of pytest's output."""
        return (self.folder / "log.txt").read_text("utf-8", errors="replace")[-4000:]


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its session, that is, everything it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all have ended already
    process.wait()
