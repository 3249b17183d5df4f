"""A match that is being played, as its viewers get it."""

import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.web.client import Dashboard, dashboard


def begin(folder: Path, base_url: str, items: int, out: Path) -> "subprocess.Popen[bytes]":
    """A match in a process of its own, once its first move is stored."""
    data = write_items(folder / "items.jsonl", items)
    (folder / "match.yaml").write_text(json.dumps(http_config(base_url, data)))
    command = [sys.executable, "-m", "mashq", "run", str(folder / "match.yaml"), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if (out / "manifest.json").exists() and rows(out, "SELECT count(*) FROM events")[0][0]:
            return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError("the match did not begin")


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold in that time."""
    until = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


class Viewer(threading.Thread):
    """Reads the stream of a match until it has ended."""

    def __init__(self, found: Dashboard, run: str) -> None:
        super().__init__(daemon=True)
        self.frames: list[dict[str, Any]] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=60)
        self._connection.request("GET", f"/api/live?run={run}&match=0")

    def run(self) -> None:
        """Collect the frames."""
        reply = self._connection.getresponse()
        assert reply.headers["content-type"].startswith("text/event-stream")
        while line := reply.readline():
            if line.startswith(b"data: "):
                self.frames.append(json.loads(line[6:]))
                if self.frames[-1]["ended"] and self.frames[-1]["read"] == self.frames[-1]["total"]:
                    break
        self._connection.close()


def test_viewers_see_a_match_from_move_to_move_to_its_end(tmp_path: Path, runs: Path) -> None:
    out = tmp_path / "runs" / "live"
    shutil.copytree(runs / "simulated", tmp_path / "runs" / "other")
    with (
        FakeProvider(seed=3, latency=0.05) as provider,
        dashboard(tmp_path / "runs") as found,
        begin(tmp_path, provider.base_url, 25, out) as match,
    ):
        assert within(5, lambda: found.api("runs", state="playing")["of"] == 1)  # the list is a second old at most
        viewers = [Viewer(found, "live") for _ in range(5)]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join(60)
        assert match.wait(30) == 0
        last = found.api("frame", run="live", match="0")
        assert within(5, lambda: found.api("runs", state="finished")["of"] == 2)
    total = rows(out, "SELECT count(*) FROM events")[0][0]
    for viewer in viewers:
        seen = [frame["at"] for frame in viewer.frames]
        assert len(seen) > 3 and seen == sorted(seen) and seen[-1] == total == last["at"]
        assert viewer.frames[0]["playing"] and not viewer.frames[0]["ended"]
        assert viewer.frames[-1]["final"]["winner"] == last["final"]["winner"]
        tokens = [sum(player["tokens"] for player in frame["players"]) for frame in viewer.frames]
        assert tokens == sorted(tokens)
        assert any(frame["shown"] for frame in viewer.frames) == any(frame["shown"] for frame in viewers[0].frames)


def test_a_match_that_was_killed_is_stopped_and_can_be_watched_again(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "live"
    with FakeProvider(seed=3, latency=0.05) as provider:
        with begin(tmp_path, provider.base_url, 12, out) as match:
            match.kill()
        with dashboard(tmp_path / "runs") as found:
            frame = found.api("frame", run="live", match="0")
            assert not frame["ended"] and frame["final"] is None and 0 < frame["at"] == frame["total"]
            viewer = Viewer(found, "live")
            viewer.start()
            command = [sys.executable, "-m", "mashq", "resume", str(out)]
            assert subprocess.run(command, capture_output=True, check=False).returncode == 0
            viewer.join(60)
    assert viewer.frames[-1]["ended"]


def test_there_is_no_stream_of_what_is_not_there(view: Dashboard) -> None:
    assert view.refused("live", run="nothing", match="0")[0] == 404
    assert view.refused("live", run="real", match="9")[0] == 404
