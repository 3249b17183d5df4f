"""Keys that are gone: from the environment, and from where the process began."""

import ctypes
import os
import subprocess
import sys

import pytest

from mashq.gateway import process_secrets

KEY = "sk-secret-0123456789abcdef"
READ = 'import os; print(open(f"/proc/{os.getppid()}/environ", "rb").read())'
FORGET = (
    "import os, subprocess, sys; from mashq.gateway import process_secrets\n"
    "process_secrets.forget(['LOOPBACK_KEY', 'NOT_THERE']); process_secrets.shut()\n"
    "done = subprocess.run([sys.executable, '-I', '-c', sys.argv[1]], capture_output=True, text=True)\n"
    "print('LOOPBACK_KEY' in os.environ, done.stdout, done.stderr)\n"
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_cannot_find_it_in_its_parent() -> None:
    env = {**os.environ, "LOOPBACK_KEY": KEY, "OTHER": "is-kept"}
    done = subprocess.run([sys.executable, "-c", FORGET, READ], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False")
    assert KEY not in done.stdout
    assert "is-kept" in done.stdout or "PermissionError" in done.stdout


def test_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    process_secrets.forget(["LOOPBACK_KEY", "NOT_THERE"])
    process_secrets.shut()
    assert "LOOPBACK_KEY" not in os.environ


def test_a_platform_that_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: object) -> object:
        raise OSError

    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    monkeypatch.setattr(ctypes, "CDLL", nothing)
    process_secrets.forget(["LOOPBACK_KEY"])
    process_secrets.shut()
    assert "LOOPBACK_KEY" not in os.environ
    monkeypatch.setattr(sys, "platform", "other")
    process_secrets.shut()
