"""Replies without an end, or that would take all the memory there is: the attempt ends, the process stays small."""

import json
import subprocess
import sys

import pytest

SLOW = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("endless", "the body is longer than 8 MB"),
        ("packed", "the body is longer than 8 MB"),
        ("objects", "the reply brings what is held in memory to more than 256 MB"),
        ("events", "the stream is longer than 32 MB or 400,000 events"),
        pytest.param("line", "an event of the stream is longer than 4 MB", marks=SLOW),
        pytest.param("head", "the reply is not HTTP", marks=SLOW),
        pytest.param("small_events", "the stream is longer than 32 MB or 400,000 events", marks=SLOW),
        pytest.param("wide", "", marks=SLOW),
    ],
)
def test_a_reply_that_would_take_all_memory(name: str, error: str) -> None:
    command = [sys.executable, "-m", "tests.gateway.endless", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    outcome = json.loads(done.stdout)
    kind = "left" if name == "events" else "unparsable" if error else "ok"  # of that stream the agent has had words
    assert outcome["error"].startswith(error) and outcome["kind"] == kind, outcome
    assert outcome["memory"] < 500, outcome
