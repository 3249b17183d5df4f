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
CORE = (  # tests that need no extra; about a minute
    *("tests/protocol", "tests/runs", "tests/tasks", "tests/players", "tests/gateway"),
    *("tests/arena/test_engine.py", "tests/test_offline.py", "--ignore=tests/gateway/backends/test_llama.py"),
)
TESTERS = ("pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "hypothesis")


def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it printed; exits the program if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)
    if result.returncode:
        output = f"{result.stdout[-8000:]}{result.stderr[-8000:]}"
        sys.exit(f"{' '.join(map(str, command))} exited with {result.returncode}:\n{output}")
    return result.stdout


class Environment:
    """A virtual environment with only what is installed through it."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self._uv("venv", "--clear", "--python", python, folder)

    def install(self, *requirements: str | Path) -> None:
        """Install from the index and check for conflicts."""
        self._uv("pip", "install", "--python", self.folder, *requirements)
        self._uv("pip", "check", "--python", self.folder)

    def installed(self) -> list[str]:
        """Return the installed packages as requirements: `name==version`."""
        return self._uv("pip", "freeze", "--python", self.folder).splitlines()

    def run(self, program: str, *arguments: str, cwd: Path = ROOT) -> str:
        """Run a program of this environment and return what it printed."""
        return run(self.folder / "bin" / program, *arguments, cwd=cwd)

    def core_tests(self) -> str:
        """Run the core tests against the installed package; return pytest's last line."""
        output = self.run(
            "python", "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow", *CORE
        )
        return output.splitlines()[-1]

    def _uv(self, *arguments: str | Path) -> str:
        return run(sys.executable, "-m", "uv", "--quiet", *arguments)


@contextmanager
def clean(python: str = sys.executable) -> Generator[Environment]:
    """Create an environment that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as name:
        yield Environment(Path(name) / "env", python)
