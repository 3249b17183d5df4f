"""Names that no file can have, links without an end and pipes that nobody writes to: one sentence each."""

import os
import threading
from pathlib import Path

import pytest

from tests.pinned.door import command

LONG = "x" * 300
CONFIG = "players: [{name: A, model: simulated/default}, {name: B, model: simulated/default}]\ntask: {limit: 2}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, a run of it, a link to itself and pipes."""
    found = tmp_path_factory.mktemp("paths")
    (found / "c.yaml").write_text(CONFIG)
    (found / "loop").symlink_to("loop")
    for name in ("pipe.csv", "pipe.csv.gz", "pipe.jsonl", "pipe.parquet", "pipe.eval", "pipe.yaml", "pipe.json"):
        os.mkfifo(found / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        assert command(["run", "c.yaml", "--out", "r"]).code == 0
    return found


@pytest.mark.parametrize(
    "line",
    [
        f"score {LONG}",
        f"score {LONG}.csv",
        f"score {LONG}.parquet",
        f"score r --normalise reference:{LONG}",
        f"power {LONG}",
        f"compare {LONG} r",
        f"show {LONG}",
        f"view {LONG}",
        f"site {LONG} -o s",
        f"site . -o {LONG}",
        f"init {LONG}",
        f"export r -o {LONG}.csv",
        f"export r --format inspect -o {LONG}",
        f"validate sample r -o {LONG}",
        f"run c.yaml --out {LONG}",
        f"plan c.yaml --set task.data={LONG}",
        f"plan c.yaml --set task.data={LONG}.csv",
        f"plan c.yaml --set players.0.prompts={LONG}",
        "plan c.yaml --set task.data=loop",
        "plan c.yaml --set players.0.prompts=loop",
        "plan loop",
        "score loop",
        "score pipe.csv",
        "score pipe.csv.gz",
        "score pipe.jsonl",
        "score pipe.parquet",
        "score r --normalise reference:pipe.json",
        "import pipe.eval -o y.csv",
        "import pipe.json -o y.csv",
        "detect pipe.jsonl",
        "plan pipe.yaml",
        "plan c.yaml --set task.data=pipe.jsonl",
        "run c.yaml --out z --set players.0.model=recorded/pipe.jsonl",
    ],
)
def test_what_cannot_be_a_file_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(folder)
    found = command(line.split())
    assert (found.code, found.out) == (2, ""), found.out
    assert found.err.startswith("mashq: ") and found.err.count("\n") == 1, found.err
    if "pipe" in line:
        assert "it is a pipe or a device, and only files are read" in found.err


def test_the_pipe_of_a_shell_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    theirs, ours = os.pipe()
    writer = threading.Timer(0.2, lambda: (os.write(ours, CONFIG.encode()), os.close(ours)))
    writer.start()
    try:
        assert command(["plan", f"/dev/fd/{theirs}"]).code == 0
    finally:
        writer.join()
        os.close(theirs)


@pytest.mark.parametrize(
    "line",
    [
        "report r -o none/below/page.html",
        "report r --figures none/figures",
        "report r --tables none/tables",
        "score r --fail-if h(A)<0 --junit none/checks.xml",
        "score r --summary none/summary.md",
        "run c.yaml --out other --junit none/checks.xml",
        "export r -o none/rows.csv",
        "export r --format inspect -o none/logs",
        "import results.csv -o none/rows.csv",
        "calibrate r -o none/like.yaml",
        "validate sample r -o none/sheet",
        "site . -o none/site",
        "init none/mashq.yaml",
    ],
)
def test_an_output_makes_no_folders_above_it(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "results.csv").write_text("player,item,h\nA,1,0.5\n")
    result = command(line.split())
    assert (result.code, result.out) == (2, ""), result.out
    assert "(there is no folder none" in result.err and result.err.count("\n") == 1, result.err
    assert not (folder / "none").exists() and not (folder / "other").exists()
