"""Tab completion as the tutorial sets it up, in each shell that it names."""

import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

SHELLS = ("bash", "zsh", "fish")
PAGE = "docs/tutorial.md"


def mashq(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | variables
    line = [sys.executable, "-m", "mashq"]
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False, timeout=60)


def test_the_tutorial_names_every_shell() -> None:
    assert re.findall(r"_MASHQ_COMPLETE=(\w+)_source mashq", (ROOT / PAGE).read_text("utf-8")) == list(SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(shell: str) -> None:
    done = mashq(_MASHQ_COMPLETE=f"{shell}_source")
    assert done.returncode == 0, done.stderr
    assert f"_MASHQ_COMPLETE={shell}_complete" in done.stdout


def test_what_the_script_asks_for_is_completed() -> None:
    commands = mashq(_MASHQ_COMPLETE="bash_complete", COMP_WORDS="mashq ver", COMP_CWORD="1")
    options = mashq(_MASHQ_COMPLETE="bash_complete", COMP_WORDS="mashq score runs/a --fail", COMP_CWORD="3")
    assert commands.stdout.split() == ["plain,verify"]
    assert options.stdout.split() == ["plain,--fail-if"]
