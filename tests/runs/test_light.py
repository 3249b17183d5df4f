"""Reading a run loads neither an HTTP client, nor an event loop, nor torch, nor scipy's heavy parts."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pinned.stage import copied

HEAVY = (
    "aiohttp",
    "torch",
    "scipy.optimize",
    "scipy.stats",
    "starlette",
    "asyncio",
    "jinja2",
    "ruamel",
    "vl_convert",
    "ray",
)
SCRIPT = f"""
import sys
from mashq.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("kind", ["match", "trials", "sweep", "tournament", "metered"])
def test_show_imports_nothing_heavy(kind: str, tmp_path: Path) -> None:
    run = copied(kind, tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "show", str(run)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stderr.strip().splitlines()[-1] == "[]", done.stderr
