"""Clean virtual environments, the interpreters of this machine, and what pyproject.toml and the lock say."""

import os
import re
import shutil
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
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
CORE = (  # what needs no extra, in about a minute
    *("tests/protocol", "tests/store", "tests/tasks", "tests/players", "tests/gateway"),
    *("tests/arena/test_engine.py", "tests/test_offline.py", "--ignore=tests/gateway/backends/test_llama.py"),
)
TESTERS = ("pytest", "pytest-asyncio", "hypothesis")
UNREACHABLE = ("after connection broken by", "Max retries exceeded", "Temporary failure in name resolution")


class Unreachable(Exception):
    """The package index does not answer: nothing is known about what was to be checked."""


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def normal(name: str) -> str:
    """A package's name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> list[str]:
    """The requirements of a lock without their hashes: `name==version ; marker`."""
    return [line.removesuffix("\\").strip() for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line)]


def interpreters() -> dict[str, str]:
    """The interpreters found on PATH and in pyenv's folder, by version; each was started and answered."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for version in VERSIONS:
        here = [sys.executable] if sys.version_info[:2] == tuple(map(int, version.split("."))) else []
        on_path = shutil.which(f"python{version}")
        tried = [*here, *([on_path] if on_path else []), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
        for path in tried:
            ask = [path, "-c", "import sys, venv, ssl, sqlite3; print('%d.%d' % sys.version_info[:2])"]
            told = subprocess.run(ask, capture_output=True, text=True, check=False)
            if told.returncode == 0 and told.stdout.strip() == version:
                found[version] = path
                break
    return found


class Environment:
    """A virtual environment with nothing in it but pip and what is installed here."""

    def __init__(self, folder: Path, python: str) -> None:
        subprocess.run([python, "-m", "venv", folder], check=True)
        self.bin = folder / "bin"
        self.install("--upgrade", "pip")

    def install(self, *what: str) -> None:
        """Install; raises Unreachable where no index answers, and ends the program where pip refuses."""
        command = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", *what]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
            raise Unreachable(f"no package index answers, so {' '.join(what)} could not be installed")
        if done.returncode:
            sys.exit(f"pip install {' '.join(what)} failed:\n{done.stderr}")

    def run(self, *command: str, cwd: Path = ROOT) -> str:
        """Run a program of this environment; ends the program where it fails, else returns what it printed."""
        kept = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]], capture_output=True, text=True, check=False, cwd=cwd, env=kept
        )
        if done.returncode:
            sys.exit(
                f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout[-8000:]}{done.stderr[-8000:]}"
            )
        return done.stdout

    def core_tests(self) -> str:
        """Run the core of the tests against the package as installed; pytest's last line."""
        return self.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *CORE).splitlines()[-1]


@contextmanager
def clean(python: str = sys.executable) -> Generator[Environment]:
    """An environment that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        yield Environment(Path(name) / "env", python)


@contextmanager
def locked() -> Generator[str]:
    """A file of the lock's versions, for `pip install -c` beside what has no hashes."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "pins.txt"
        path.write_text("\n".join(pins(LOCK.read_text())) + "\n")
        yield str(path)
