"""Inspect logs there and back, and other people's rows."""

import csv
import importlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mashq.errors import ConfigError, DataError
from mashq.export import files, imports
from mashq.export import tables as rows
from mashq.export.inspect import read as inspect_read
from mashq.export.inspect import write as inspect_write
from mashq.runs.open import load_season
from tests.arena.helpers import mashq
from tests.export.runs import command, played

CAPITALS = Path(__file__).parent / "capitals.eval"  # written by Inspect 0.3.285: two scorers, two epochs, a cache
COLUMNS = [name for name, _ in imports.COLUMNS]


def imported(*paths: Path, **how: Any) -> tuple[list[dict[str, Any]], list[str]]:
    reading = imports.Reading(**how)
    table = imports.table(paths, reading)
    return [dict(zip(table.names, row, strict=True)) for row in table.rows], reading.notes


def log(path: Path, samples: list[dict[str, Any]], **spec: Any) -> Path:
    """A small log in JSON."""
    about = {"task": "t", "model": "m/own", "created": "2026-01-01T00:00:00+00:00", **spec}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": samples}))
    return path


def sample(value: Any = 0.5, **more: Any) -> dict[str, Any]:
    used = {"m/own": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}
    return {"id": 1, "epoch": 1, "scores": {"s": {"value": value}}, "model_usage": used, "working_time": 2.5} | more


@pytest.mark.parametrize("trials", [1, 3])
def test_there_and_back(tmp_path: Path, trials: int) -> None:
    run = played(tmp_path / "run", trials)
    command("export", run, "--format", "inspect", "-o", tmp_path / "logs")
    logs = sorted((tmp_path / "logs").iterdir())
    assert len(logs) == 2
    before = [path.read_bytes() for path in logs]
    inspect_write.write(load_season(run), tmp_path / "logs")
    assert [path.read_bytes() for path in logs] == before, "exporting twice gives the same bytes"
    found, notes = imported(*logs)
    table = rows.results(load_season(run))
    exported = [dict(zip([name for name, _ in table.columns], row, strict=True)) for row in table.rows]
    wanted = [{name: row.get(name) for name in COLUMNS} | {"trial": str(row["trial"])} for row in exported]
    assert sorted(found, key=_place) == sorted(wanted, key=_place)
    assert {row["status"] for row in found} > {"ok"}, notes


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ({}, "match"),
        ({"normalise": {"tokens": 5000.0}}, {"tokens": 5000.0}),
        ({"normalise": {"per_item": {"tokens": 600.0}}}, {"per_item": {"tokens": 600.0}}),
    ],
)
def test_a_log_says_what_costs_are_relative_to(tmp_path: Path, score: dict[str, Any], said: Any) -> None:
    rules = score | {"resources": ["tokens"]}
    (path, *_) = inspect_write.write(load_season(played(tmp_path / "run", score=rules)), tmp_path / "logs")
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    assert header["eval"]["metadata"]["mashq"]["normalise"] == said


def _place(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["player"], row["item"], row["trial"]


def test_real_inspect_reads_our_logs(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    log_module: Any = importlib.import_module("inspect_ai.log")
    run = played(tmp_path / "run", 2)
    for path in inspect_write.write(load_season(run), tmp_path / "logs"):
        found = log_module.read_eval_log(str(path))
        assert (found.status, len(found.samples), found.eval.config.epochs) == ("success", 18, 2)
        about = found.eval.metadata["mashq"]
        assert found.results.scores[0].metrics["mean"].value == about["h"]
        for one in found.samples:
            assert one.input and (one.scores or one.metadata["mashq"]["status"] != "ok")
            assert one.output.completion or not one.scores
        used = sum(usage.total_tokens for usage in found.stats.model_usage.values())
        assert used == pytest.approx(sum(one.metadata["mashq"]["tokens"] for one in found.samples))
        assert len(log_module.read_eval_log_sample_summaries(str(path))) == 18


@pytest.mark.parametrize("reader", ["zstandard", "pyarrow"])
def test_a_log_that_inspect_wrote(monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    pytest.importorskip(reader)
    monkeypatch.setattr(inspect_read, "READERS", {reader: inspect_read.READERS[reader]})
    found, notes = imported(CAPITALS, scorer="match")
    assert [row["h"] for row in found] == [1.0, 0.0, 1.0, 1.0]
    assert [(row["item"], row["trial"]) for row in found] == [("fr", "0"), ("it/x", "0"), ("fr", "1"), ("it/x", "1")]
    assert [(row["tokens_in"], row["tokens_out"]) for row in found] == [(13, 2), (14, 3), (15, 4), (16, 5)]
    assert all(row["calls"] is None and row["reviews"] is None and row["seconds"] > 0 for row in found)
    assert notes == ["Scores C, P, I and N were read as 1, 0.5, 0 and 0 (4 rows)."]
    assert [row["h"] for row in imported(CAPITALS, scorer="two.a")[0]] == [0.25] * 4
    with pytest.raises(ConfigError, match=r"2 scorers \(match, two\): choose one with --scorer"):
        imported(CAPITALS)
    with pytest.raises(ConfigError, match=r"choose one with --scorer \(two.a, two.b\)"):
        imported(CAPITALS, scorer="two")
    with pytest.raises(ConfigError, match="no scorer 'x': it has match, two"):
        imported(CAPITALS, scorer="x")


def test_without_a_zstandard_reader_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_read, "READERS", {"no_such_module": None})
    with pytest.raises(ConfigError, match="pip install"):
        imported(CAPITALS, scorer="match")


def test_what_is_unknown_stays_unknown(tmp_path: Path) -> None:
    samples = [
        sample(id="none", model_usage={}, working_time=None),
        sample(id="time", working_time=None, total_time=9.0),
        sample(float("nan"), id="nan"),
        sample(id="error", error={"message": "x"}),
        sample(True, id="true"),
        sample(id="none at all", scores=None),
    ]
    found, notes = imported(log(tmp_path / "a.json", samples))
    by = {row["item"]: row for row in found}
    assert (by["none"]["tokens"], by["none"]["seconds"]) == (None, None)
    assert by["time"]["seconds"] == 9.0
    assert [by[name]["status"] for name in ("nan", "error", "none at all")] == ["failed"] * 3
    assert by["true"]["h"] == 1.0
    assert any("without usage" in note for note in notes) and any("total time" in note for note in notes)


def test_the_referee_is_not_charged(tmp_path: Path) -> None:
    one = {"input_tokens": 70, "output_tokens": 30, "total_tokens": 100, "total_cost": 0.5}
    both = sample(model_usage={"m/own": one, "m/judge": one}, role_usage={"grader": one})
    path = log(tmp_path / "a.json", [both])
    (row,), notes = imported(path)
    assert (row["tokens"], row["dollars"]) == (100, 0.5) and any("other models" in note for note in notes)
    (row,), notes = imported(path, usage="all")
    assert (row["tokens"], row["dollars"]) == (100, 0.5) and any("grader" in note for note in notes)
    part = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    own = log(
        tmp_path / "b.json",
        [sample(model_usage={"m/own": one}, role_usage={"grader": part})],
        model_roles={"grader": {"model": "m/own"}},
    )
    assert imported(own)[0][0]["tokens"] == 75


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([sample(7.5)], "s is '7.5', must be a number from 0 to 1"),
        ([sample("maybe")], "s is 'maybe', must be a number"),
        ([sample(-0.1)], "must be a number from 0 to 1"),
        ([sample(id=None)], "without an id"),
        ([sample(epoch="x")], "without an id or an epoch"),
        ([], "has no samples"),
        (["x"], "should hold JSON objects"),
        ([sample(working_time="long")], "seconds is 'long', must be a number"),
        ([sample(working_time=-1)], "seconds is -1, must be a number that is not negative"),
        ([sample(), sample()], "tell players apart with --player"),
    ],
)
def test_bad_logs_are_one_sentence(tmp_path: Path, samples: list[Any], said: str) -> None:
    with pytest.raises((DataError, ConfigError)) as error:
        imported(log(tmp_path / "a.json", samples))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_broken_files_exit_with_2(tmp_path: Path) -> None:
    whole = CAPITALS.read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) // 2])
    damaged = bytearray(whole)
    at = whole.rindex(b"summaries.json", 0, whole.rindex(b"summaries.json")) + 40
    damaged[at : at + 20] = b"\0" * 20
    (tmp_path / "damaged.eval").write_bytes(damaged)
    (tmp_path / "text.eval").write_text("no zip")
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with zipfile.ZipFile(tmp_path / "empty.eval", "w") as packed:
        packed.writestr("x", "y")
    for name in (
        "cut.eval",
        "damaged.eval",
        "text.eval",
        "other.json",
        "list.json",
        "deep.json",
        "empty.eval",
        "no.eval",
    ):
        with pytest.raises(DataError) as error:
            imported(tmp_path / name, scorer="match")
        assert name in str(error.value) and "\n" not in str(error.value)
    done = mashq("import", tmp_path / "text.eval", "-o", tmp_path / "r.csv")
    assert (done.returncode, "Traceback" in done.stderr, (tmp_path / "r.csv").exists()) == (2, False, False)
    with pytest.raises(ConfigError, match="unknown ending"):
        command("import", CAPITALS, "-o", tmp_path / "r.txt")


def test_a_log_that_stopped_and_one_of_an_early_version(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("_journal/start.json", json.dumps({"eval": {"task": "t", "model": "m/own"}}))
        packed.writestr("_journal/summaries/2.json", json.dumps([sample(0.75, id="a")]))
        packed.writestr("_journal/summaries/1.json", json.dumps([sample(0.25, id="a"), {"id": "b", "epoch": 1}]))
        packed.writestr("samples/b_epoch_1.json", json.dumps(sample(1, id="b")))
        packed.writestr("_journal/summaries/3.json", json.dumps([sample(id="c", completed=False)]))
    (tmp_path / "a.eval").write_bytes(out.getvalue())
    found, notes = imported(tmp_path / "a.eval")
    assert {row["item"]: (row["h"], row["tokens"]) for row in found} == {"a": (0.75, 10), "b": (1.0, 10)}
    assert any("still running" in note for note in notes)
    early = sample()
    early["score"] = early.pop("scores")["s"]
    assert imported(log(tmp_path / "b.json", [early], status="error"))[0][0]["h"] == 0.5
    both = sample() | {"score": {"value": 0.125}}  # in a log of today a field of the sample's own
    assert imported(log(tmp_path / "c.json", [both]))[0][0]["h"] == 0.5
    bare = sample(id="d")
    del bare["scores"]
    assert imported(log(tmp_path / "d.json", [sample(), bare]))[0][1]["h"] is None


def test_several_logs_and_names(tmp_path: Path) -> None:
    one, two = log(tmp_path / "one.json", [sample()]), log(tmp_path / "two.json", [sample()])
    with pytest.raises(DataError, match="tell players apart"):
        imported(one, two)
    found, _ = imported(one, two, player="{model} {file}")
    assert [row["player"] for row in found] == ["m/own one", "m/own two"]
    with pytest.raises(DataError, match="each task into a file of its own"):
        imported(one, log(tmp_path / "c.json", [sample()], task="other"))
    with pytest.raises(ConfigError, match="empty name"):
        imported(one, player="{solver}")


def test_anyones_rows(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("model,item,score,tokens,note\nA,1,0.5,10,x\nA,2,,,\n".replace("A,2,,,\n", "B,1,1,,\n"))
    said = command("import", path, "-o", tmp_path / "r.jsonl", "--map", "player=model", "--map", "h=score")
    assert "Ignored columns: note." in said
    found = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(row["player"], row["h"], row["tokens"], row["status"]) for row in found] == [
        ("A", 0.5, 10, "ok"),
        ("B", 1, None, "ok"),
    ]
    assert "Q = 1" in command("score", tmp_path / "r.jsonl", "--resources", "tokens", "--resamples", 100)
    path.write_text("player,h\nA,0.5\n")
    with pytest.raises(DataError, match="totals by player"):
        imported(path)
    path.write_text("player,item,h\nA,1,5\n")
    with pytest.raises(DataError, match="must be a number from 0 to 1"):
        imported(path)
    path.write_text("player,item,h,status\nA,1,,refused\n")
    assert imported(path)[0][0]["status"] == "refused"


def test_rows_are_written_as_they_are(tmp_path: Path) -> None:
    table = files.Table((("player", "text"), ("h", "real")), [("=1+1", None), ("a\rb", 0.5), ("x", float("inf"))])
    written = files.write(table, "csv", tmp_path / "a.csv")
    assert (written.rows, written.formulas) == (3, 1)
    with (tmp_path / "a.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["player", "h"], ["=1+1", ""], ["a\rb", "0.5"], ["x", ""]]
