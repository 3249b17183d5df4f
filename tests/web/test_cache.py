"""What the dashboard keeps: the matches looked at last, those who watch, and no file that is not the run's own."""

import asyncio
import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from mashq.errors import StoreError
from mashq.web import replay_cache
from mashq.web.api.queries import opened
from mashq.web.library import Library
from mashq.web.live import Channel
from mashq.web.replay_cache import ReplayCache


def test_the_match_looked_at_least_lately_is_forgotten(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        shutil.copytree(runs / "simulated", tmp_path / name)
    monkeypatch.setattr(replay_cache, "MAX_MATCHES", 2)
    cache = ReplayCache(Library(tmp_path))
    first, second = cache.match("a", "0"), cache.match("b", "0")
    assert cache.match("a", "0") is first, "looked at again: now the other is the older one"
    third = cache.match("c", "0")
    assert cache.match("a", "0") is first and cache.match("c", "0") is third
    assert cache.match("b", "0") is not second


def test_a_run_is_read_again_only_when_its_manifest_has_changed(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "simulated", tmp_path / "a")
    cache = ReplayCache(Library(tmp_path))
    first = cache.run("a")
    assert cache.run("a") is first
    manifest = tmp_path / "a" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"ended": None}))
    assert cache.run("a") is not first and not cache.run("a").found.finished


def test_nobody_looks_at_a_match_that_nobody_watches(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def watched() -> None:
        channel = Channel(ReplayCache(Library(runs)), "simulated", "0")
        queue = channel.join()
        assert await asyncio.wait_for(queue.get(), 20)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(others) == 1
        channel.leave(queue)
        assert not channel.viewers
        await asyncio.wait_for(asyncio.gather(*others), 20)

    monkeypatch.setattr("mashq.web.live.EVERY", 0.01)
    asyncio.run(watched())


def test_a_link_is_not_read_as_a_runs_file(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "run.db").symlink_to(runs / "simulated" / "run.db")
    with pytest.raises(StoreError, match="is missing"), opened(tmp_path, finished=True):
        pass


def test_a_run_that_is_still_played_cannot_be_written_through_it(runs: Path) -> None:
    with opened(runs / "simulated", finished=False) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM events")


def test_a_folder_that_goes_away_meanwhile_has_no_runs(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "simulated", tmp_path / "kept")
    (tmp_path / "gone").mkdir()
    scan = os.scandir

    def scandir(folder: Path | str) -> object:
        if Path(folder).name == "gone":
            raise FileNotFoundError(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert [found.id for found in Library(tmp_path).runs()] == ["kept"]
