"""Ctrl-C, once or again: the command ends with code 3 and its sentence, never by the signal."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, mashq, write_items

# A second Ctrl-C at the worst moment: while the sentence about the first is printed.
AGAIN = """
import os, signal, sys, time
import click
echo = click.echo
def interrupted(message="", **how):
    if "stopped" in str(message):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    echo(message, **how)
click.echo = interrupted
sys.argv[0] = "mashq"
from mashq import cli
"""
SLOW = pytest.mark.slow
PLAY = "cli.main()"
ELSEWHERE = """
def first(**_):
    raise KeyboardInterrupt
cli.cli.main = first
cli.main()
"""


def interruptible() -> None:
    """Ctrl-C is heard, also where these tests run in the background and it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("pause", [None, pytest.param(0.0, marks=SLOW), pytest.param(0.02, marks=SLOW)])
def test_a_match_that_is_interrupted_twice(tmp_path: Path, pause: float | None) -> None:
    out = tmp_path / "run"
    with FakeProvider() as provider:
        (tmp_path / "match.yaml").write_text(
            json.dumps(http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 15)))
        )
        program = ["-c", AGAIN + PLAY] if pause is None else ["-m", "mashq"]
        command = [sys.executable, *program, "run", str(tmp_path / "match.yaml"), "--out", str(out)]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
        ) as process:
            while not (out / "manifest.json").exists() and process.poll() is None:
                time.sleep(0.02)
            time.sleep(0.1)
            for _ in range(1 if pause is None else 4):
                process.send_signal(signal.SIGINT)
                time.sleep(pause or 0)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 3, (process.returncode, said)
        assert f"mashq resume {out}" in said
        assert mashq("resume", out, "--json").returncode == 0, "what was recorded goes on"


def test_any_other_command_that_is_interrupted_twice() -> None:
    done = subprocess.run([sys.executable, "-c", AGAIN + ELSEWHERE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "mashq: stopped\n")
