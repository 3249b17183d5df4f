"""Every page of the documentation: its commands exist, and those of tutorial and how-to pages are run as written."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import click
import pytest

from mashq.analysis.conditions import FIGURES
from mashq.cli import cli
from mashq.cli.plan import plan
from mashq.gateway.backends.weights import cache_dir
from mashq.testing.fake_provider import FakeProvider
from tests.docs.pages import ROOT, calls, every_page, followed, script

SERVER = "http://127.0.0.1:8000/v1"  # what a page calls the reader's own server
TUTORIAL = "docs/tutorial.md"


@pytest.fixture
def provider() -> Generator[FakeProvider]:
    with FakeProvider() as found:
        yield found


def follow(page: str, folder: Path, server: str = SERVER, seconds: float = 100) -> subprocess.CompletedProcess[str]:
    """Run a page's commands in a new folder, with a `mashq` of this source."""
    told = script(page, folder)
    for path in folder.rglob("*.yaml"):
        path.write_text(path.read_text("utf-8").replace(SERVER, server), "utf-8")
    tools = folder / "bin"
    tools.mkdir()
    (tools / "mashq").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mashq "$@"\n')
    (tools / "mashq").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "NO_COLOR": "1",
    }
    return subprocess.run(
        ["sh", "-c", told], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=seconds
    )


def _by_tier(page: str) -> Any:
    """A page that makes reports or long seasons takes seconds, and is followed by `make check` only."""
    long = any(words[0] == "report" for words in calls(page))
    return pytest.param(page, marks=pytest.mark.slow) if long else page


@pytest.mark.parametrize("page", [_by_tier(page) for page in followed() if page != TUTORIAL])
def test_a_page_can_be_followed(page: str, tmp_path: Path, provider: FakeProvider) -> None:
    pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")
    done = follow(page, tmp_path, provider.base_url)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_can_be_followed_on_the_embedded_model(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")
    if not any(cache_dir().glob("*.gguf")):
        pytest.skip("the embedded model is not here: run mashq weights")
    done = follow(TUTORIAL, tmp_path, seconds=800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "first.html").stat().st_size > 100_000
    assert "Leads by beta" in done.stdout or "leads at every beta" in done.stdout


def test_the_pages_to_follow_are_found() -> None:
    assert {TUTORIAL, "docs/howto/data.md", "docs/howto/endpoint.md", "docs/howto/ci.md"} <= set(followed())


def test_the_figures_of_conditions_are_on_the_page_about_ci() -> None:
    text = (ROOT / "docs" / "howto" / "ci.md").read_text("utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in text] == []


def problem(words: list[str]) -> str:
    """What is wrong with a command line: a command or an option that does not exist; nothing if all is well."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    if command is plan and "run" in plan.commands:  # what is planned when nothing is said
        command = plan.commands["run"]
    if command is cli and words and not words[0].startswith("-"):
        return f"there is no command {words[0]}"
    known = {name for one in command.get_params(click.Context(command)) for name in (*one.opts, *one.secondary_opts)}
    own = words[: words.index("--")] if "--" in words else words
    strange = [word for word in own if word.startswith("-") and word.split("=")[0] not in known | {"-h"}]
    return f"{command.name} has no {strange[0]}" if strange and not _is_number(strange[0]) else ""


def _is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "").isdigit()


@pytest.mark.parametrize("page", every_page())
def test_every_command_shown_exists(page: str) -> None:
    wrong = [f"mashq {' '.join(words)}: {found}" for words in calls(page) if (found := problem(list(words)))]
    assert wrong == []


def test_a_wrong_command_would_be_found() -> None:
    assert (
        problem(["fly", "runs/a"]) and problem(["score", "runs/a", "--bta", "1"]) and not problem(["plan", "a.yaml"])
    )
