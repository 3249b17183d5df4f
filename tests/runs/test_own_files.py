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
from tests.arena.helpers import mashq as command
from tests.arena.test_seasons import config
from tests.runs.test_begun import begun
from tests.torture.honest import StopsAfter


def test_reading_a_closed_run_leaves_no_file_beside_it(tmp_path: Path) -> None:
    mashq.play(config(items=2), tmp_path / "run")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert "run.db-wal" not in before
    assert mashq.show(tmp_path / "run")["finished"]
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize("name", ["lock", "manifest.json.new", "run.db", "run.db-wal", "run.db-shm"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    run, other = begun(tmp_path / "run"), tmp_path / "precious"
    other.write_bytes((run / name).read_bytes() if name == "run.db" else b"precious")
    before = other.read_bytes()
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(other)
    with pytest.raises(StoreError, match=r"is a link to another place|cannot be opened"):
        mashq.resume(run)
    assert other.read_bytes() == before


def test_a_foreign_file_is_not_replaced(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    connection = sqlite3.connect(run / "run.db")
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = (run / "run.db").read_bytes()
    with pytest.raises(StoreError, match="holds other files"):
        mashq.play(config(), run)
    assert (run / "run.db").read_bytes() == before
    (run / "run.db").write_bytes(b"not a database at all, but theirs")
    with pytest.raises(StoreError, match="holds other files"):
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


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("report", "site", "reports")]


@pytest.mark.parametrize("what", ["export", "junit", "import", *SLOW])
def test_an_output_is_not_written_through_a_link(tmp_path: Path, what: str) -> None:
    run, other = tmp_path / "runs" / "a", tmp_path / "precious"
    mashq.play(config(items=1), run)
    other.write_text("precious")
    out = tmp_path / "out"
    if what == "site":
        command("site", tmp_path / "runs", "-o", out)
        (out / "index.html").unlink()
        (out / "index.html").symlink_to(other)
        said = command("site", tmp_path / "runs", "-o", out)
    elif what == "reports":
        command("site", tmp_path / "runs", "-o", out)
        shutil.move(out / "reports", tmp_path / "theirs")
        (out / "reports").symlink_to(tmp_path / "theirs")
        said = command("site", tmp_path / "runs", "-o", out)
    else:
        out = out.with_suffix(".csv")
        out.symlink_to(other)
        rest: dict[str, tuple[object, ...]] = {
            "report": ("report", run, "-o", out),
            "export": ("export", run, "-o", out),
            "junit": ("score", run, "--fail-if", "h(A) < 0", "--junit", out),
            "import": ("import", tmp_path / "results.csv", "-o", out),
        }
        (tmp_path / "results.csv").write_text("player,item,h\nA,1,0.5\n")
        said = command(*rest[what])
    assert said.returncode == 2 and "link to another place" in said.stderr, said.stderr
    assert other.read_text() == "precious"


@pytest.fixture(scope="module")
def some_bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, and three that cannot be read."""
    runs = tmp_path_factory.mktemp("some") / "runs"
    for seed, name in enumerate(("one", "two", "bad", "worse", "worst")):
        mashq.play(config(items=2, seed=seed), runs / name)
    (runs / "bad" / "manifest.json").write_text("[" * 200_000)
    (runs / "worse" / "run.db").write_bytes(b"SQLite format 3\0" + b"?" * 5000)
    (runs / "worst" / "manifest.json").write_text('{"ended": {"a":' * 200)
    return runs


def test_a_bad_run_hides_no_other_in_a_comparison(some_bad: Path) -> None:
    done = command("compare", *(some_bad / name for name in ("bad", "one", "worse", "two", "worst")))
    assert done.returncode == 0 and done.stderr.count("Passed over") == 3, done.stderr
    assert done.stdout == command("compare", some_bad / "one", some_bad / "two").stdout
    assert command("compare", some_bad / "bad", some_bad / "one").returncode == 2, "nothing to compare it with"
    done = command("compare", some_bad / "none", some_bad / "one", some_bad / "two")
    assert done.returncode == 2, "one is no run at all"


@pytest.mark.slow
def test_a_bad_run_hides_no_other_in_a_site(some_bad: Path, tmp_path: Path) -> None:
    done = command("site", some_bad, "-o", tmp_path / "site")
    assert done.returncode == 0 and done.stderr.count("Passed over") == 3, done.stderr
    assert sorted(path.stem for path in (tmp_path / "site" / "reports").iterdir()) == ["one", "two"]


def test_a_bad_run_hides_no_other_in_the_dashboard(some_bad: Path) -> None:
    pytest.importorskip("starlette", reason="the extra 'web' is not installed")
    from starlette.testclient import TestClient

    from mashq.web.app import build

    client = TestClient(build(Library(some_bad)), base_url="http://127.0.0.1")
    assert {run["id"] for run in client.get("/api/runs").json()["runs"]} == {"one", "two", "worse"}
    assert client.get("/api/summary", params={"run": "two"}).status_code == 200
    assert client.get("/api/summary", params={"run": "worse"}).status_code == 409
