"""Clean virtual environments, made with uv, and the tests that need no extra."""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "dev.lock"
CORE = (  # what needs no extra, in about a minute
    *("tests/protocol", "tests/runs", "tests/tasks", "tests/players", "tests/gateway"),
    *("tests/arena/test_engine.py", "tests/test_offline.py", "--ignore=tests/gateway/backends/test_llama.py"),
)
TESTERS = ("pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "hypothesis")


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What the command printed; ends the program where it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=kept)
    if done.returncode:
        told = f"{done.stdout[-8000:]}{done.stderr[-8000:]}"
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}:\n{told}")
    return done.stdout


class Environment:
    """A virtual environment that holds nothing but what is installed here."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self._uv("venv", "--clear", "--python", python, folder)

    def install(self, *what: str | Path) -> None:
        """Install from the index; what came out is checked for conflicts."""
        self._uv("pip", "install", "--python", self.folder, *what)
        self._uv("pip", "check", "--python", self.folder)

    def installed(self) -> list[str]:
        """What is here, as requirements: `name==version`."""
        return self._uv("pip", "freeze", "--python", self.folder).splitlines()

    def run(self, program: str, *arguments: str, cwd: Path = ROOT) -> str:
        """What a program of this environment printed."""
        return run(self.folder / "bin" / program, *arguments, cwd=cwd)

    def core_tests(self) -> str:
        """Run the core tests against the package as installed; pytest's last line."""
        told = self.run("python", "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow", *CORE)
        return told.splitlines()[-1]

    def _uv(self, *arguments: str | Path) -> str:
        return run(sys.executable, "-m", "uv", "--quiet", *arguments)


@contextmanager
def clean(python: str = sys.executable) -> Generator[Environment]:
    """An environment that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        yield Environment(Path(name) / "env", python)
