"""Nothing opens a connection when mashq is imported or started, and starting it is quick."""

import resource
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import mashq
from mashq.cli import cli

GUARD = """
import sys

def guard(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"}:
        raise SystemExit(f"reached for the network: {event} {args}")

sys.addaudithook(guard)
"""
HEAVY = ("aiohttp", "numpy", "scipy", "pydantic", "pyarrow", "torch", "starlette", "altair", "ray", "datasets")
MATCH = "players: [{name: A, model: simulated/a}, {name: B, model: simulated/b}]\ntask: {limit: 3}\n"


def guarded(code: str, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a process that dies when it reaches for the network."""
    command = [sys.executable, "-c", GUARD + textwrap.dedent(code), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


COMMAND = """
from mashq.cli import main
sys.argv[0] = "mashq"
main()
"""


def test_the_guard_sees_a_connection() -> None:
    done = guarded("import socket\nsocket.create_connection(('127.0.0.1', 9))")
    assert done.returncode == 1 and "reached for the network" in done.stderr


def test_importing_every_module_opens_no_connection() -> None:
    done = guarded(
        """
        import importlib, pkgutil, mashq
        from mashq.errors import ConfigError

        OURS = {"mashq", "aiohttp", "click", "genai_prices", "numpy", "pydantic", "rich", "ruamel", "scipy"}
        count = 0
        for module in pkgutil.walk_packages(mashq.__path__, "mashq."):
            if module.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                missing = (error.name or "mashq").partition(".")[0]
                if missing in OURS | sys.stdlib_module_names:
                    raise
            except ConfigError as error:
                if "needs the extra" not in str(error):
                    raise
            count += 1
        print(count)
        """
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize("command", ["", *sorted(cli.commands)])
def test_help_opens_no_connection(command: str) -> None:
    done = guarded(COMMAND, *filter(None, [command]), "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage: mashq" in done.stdout


@pytest.mark.slow
def test_a_first_look_and_a_simulated_match_open_no_connection(tmp_path: Path) -> None:
    (tmp_path / "match.yaml").write_text(MATCH)
    for args in (["doctor"], ["detectors"], ["plan", "match.yaml"], ["run", "match.yaml", "--out", "run"]):
        done = guarded(COMMAND, *args, cwd=tmp_path)
        assert done.returncode == 0, (args, done.stdout, done.stderr)


def test_help_imports_nothing_heavy() -> None:
    done = guarded(
        f"""
        from mashq.cli import cli
        cli(["--help"], standalone_mode=False)
        print("heavy:", [name for name in {HEAVY!r} if name in sys.modules])
        """
    )
    assert done.stdout.splitlines()[-1] == "heavy: []", done.stderr


def test_help_is_quick() -> None:
    """Half a second of processor time at most, in the best of three: it takes a tenth."""
    used: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "mashq", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(used) < 0.5


def test_the_version_is_the_same_wherever_it_is_stated() -> None:
    stated = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert stated["project"]["version"] == mashq.__version__
