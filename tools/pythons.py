"""Run the core tests on the other supported Pythons that this machine has; report those it does not have.

python -m tools.pythons [VERSION …]
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.environments import LOCK, TESTERS, clean

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def interpreter(version: str) -> str | None:
    """Return a working interpreter of that version, from PATH or pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for path in [*([on_path] if on_path else []), *map(str, pyenv.glob(f"{version}.*/bin/python"))]:
        if subprocess.run([path, "-c", "import ssl, sqlite3"], capture_output=True, check=False).returncode == 0:
            return path
    return None


def main() -> None:
    """Test each in a clean environment, with the locked versions."""
    current = "{}.{}".format(*sys.version_info[:2])
    for version in sys.argv[1:] or [version for version in VERSIONS if version != current]:
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: not on this machine, not tested")
            continue
        with clean(python) as environment:
            environment.install("--constraint", LOCK, ".", *TESTERS)
            print(f"Python {version}: {environment.core_tests()}", flush=True)


if __name__ == "__main__":
    main()
