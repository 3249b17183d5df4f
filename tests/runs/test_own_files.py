"""A run writes its own files and no others."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import MashqError, StoreError
from mashq.web.library import Library
from tests.arena.helpers import http_config, write_items
from tests.arena.test_seasons import config
from tests.runs.test_begun import StopsAfter, begun


@pytest.mark.parametrize("name", ["lock", "manifest.json.new"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    run, other = begun(tmp_path / "run"), tmp_path / "precious"
    other.write_text("precious")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(other)
    with pytest.raises(StoreError):
        mashq.resume(run)
    assert other.read_text() == "precious"


def test_a_foreign_file_is_not_replaced(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    connection = sqlite3.connect(run / "run.db")
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = (run / "run.db").read_bytes()
    with pytest.raises(StoreError, match="already used"):
        mashq.play(config(), run)
    assert (run / "run.db").read_bytes() == before
    (run / "run.db").write_bytes(b"not a database at all, but theirs")
    with pytest.raises(StoreError, match="already used"):
        mashq.play(config(), run)
    (run / "run.db").write_bytes(b"")
    mashq.play(config(items=1), run)


class Removes(StopsAfter):
    """Someone who removes the run directory while it is played."""

    def __init__(self, run: Path, after: int) -> None:
        super().__init__(10_000)
        self._run, self._after = run, after

    def moved(self, fixture: object, state: object, seat: object, move: object) -> None:
        """Count, and remove."""
        self._after -= 1
        if self._after == 0:
            shutil.rmtree(self._run)


def test_a_removed_run_stops_at_the_next_write(tmp_path: Path) -> None:
    from mashq.testing import FakeProvider

    with FakeProvider() as provider:
        settings = check(http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 6)))
        with pytest.raises(MashqError, match="cannot be written"):
            asyncio.run(match.run(settings, tmp_path / "run", show=Removes(tmp_path / "run", 4)))
        assert len(provider.hits()) < 12, "at most what was under way"


@pytest.mark.parametrize("bad", ['{"season": null, "ended": null}', "[" * 100_000, "{}", '"x"'])
def test_one_bad_run_hides_no_other(tmp_path: Path, bad: str) -> None:
    mashq.play(config(items=1), tmp_path / "good")
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    document = json.loads((tmp_path / "good" / "manifest.json").read_text())
    (tmp_path / "bad" / "manifest.json").write_text(bad)
    assert [found.id for found in Library(tmp_path).runs()] == ["good"]
    (tmp_path / "bad" / "manifest.json").write_text(json.dumps(document | {"season": None}))
    assert [found.id for found in Library(tmp_path).runs()] == ["good"]
