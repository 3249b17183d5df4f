"""`mashq detect`, `detectors` and `rescore` as a user runs them."""

import json
from pathlib import Path

import pytest

import mashq as package
from tests.arena.helpers import mashq

SOURCE = "The mill burned down on 3 May. Nobody was hurt, said Ida Holm."


def test_a_line_comes_out_for_every_line_in(tmp_path: Path) -> None:
    answers = ["The mill burned down on 3 May.", "", "Aliens stole 99 zebras from Lima.", "🚢"]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"source": SOURCE, "answer": a}) + "\n" for a in answers))
    first = mashq("detect", tmp_path / "p.jsonl", MASHQ_CACHE=str(tmp_path / "cache"))
    assert first.returncode == 0, first.stderr
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    assert len(lines) == 4
    assert lines[0]["h"] > 0.9 and lines[1]["h"] == 0.0 and lines[2]["h"] < 0.5
    start, end = lines[2]["spans"][0]
    assert 0 <= start < end <= len(answers[2])
    assert (tmp_path / "cache" / "scores.db").exists()
    again = mashq("detect", tmp_path / "p.jsonl", MASHQ_CACHE=str(tmp_path / "cache"))
    assert again.stdout == first.stdout
    (tmp_path / "cache" / "scores.db").write_bytes(b"damaged")
    assert mashq("detect", tmp_path / "p.jsonl", MASHQ_CACHE=str(tmp_path / "cache")).stdout == first.stdout


@pytest.mark.parametrize(
    ("body", "sentence"),
    [("", "is empty"), ("{", "is not JSON"), ('{"source": "x"}', 'needs "source" and "answer"'), ("[]", "needs")],
)
def test_bad_pairs_are_one_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    (tmp_path / "p.jsonl").write_text(body)
    done = mashq("detect", tmp_path / "p.jsonl", MASHQ_CACHE=str(tmp_path))
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_detectors_are_listed_with_their_versions() -> None:
    done = mashq("detectors")
    assert done.returncode == 0, done.stderr
    assert "yes  grounding" in done.stdout and "yes  exact-match 1" in done.stdout
    assert "no  hhem" in done.stdout, "its weights are not here"
    assert "BAD" not in done.stdout


def test_published_scores_are_compared(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps([["Ann", "", 0.0]]))
    (tmp_path / "bad.json").write_text(json.dumps([[SOURCE, SOURCE, 0.1]]))
    assert mashq("detectors", "check", "grounding", "--pairs", tmp_path / "good.json").returncode == 0
    off = mashq("detectors", "check", "grounding", "--pairs", tmp_path / "bad.json")
    assert off.returncode == 1 and "0 of 1 within" in off.stdout


def test_a_run_is_rescored_without_a_call(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": SOURCE, "answer": "The mill burned down."},
        {"id": "b", "text": "Ann won.", "answer": "Ann won."},
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "x.jsonl").write_text(
        '{"item": "a", "text": "The mill burned down."}\n{"item": "b", "text": "Zebras."}\n'
    )
    (tmp_path / "y.jsonl").write_text('{"item": "a", "text": "Cows."}\n{"item": "b", "text": "Ann won."}\n')
    players = [{"name": n, "agent": "plain", "model": f"recorded/{tmp_path / n}.jsonl"} for n in "xy"]
    shown = package.play({"task": {"data": str(tmp_path / "items.jsonl")}, "players": players}, tmp_path / "run")
    before = (tmp_path / "run" / "run.db").read_bytes()
    cache = {"MASHQ_CACHE": str(tmp_path / "cache")}
    done = mashq(
        "rescore", tmp_path / "run", "--detector", "exact-match", "--detector", "grounding", "--json", **cache
    )
    assert done.returncode == 0, done.stderr
    stored, exact, same = json.loads(done.stdout)
    assert [p["h"] for p in exact["players"]] == [0.5, 0.5]
    assert [p["h"] for p in same["players"]] == pytest.approx([p["h"] for p in shown["players"]])
    assert stored["players"][0]["calls"] == exact["players"][0]["calls"] == 2
    assert (tmp_path / "run" / "run.db").read_bytes() == before
    text = mashq("rescore", tmp_path / "run", "--detector", "exact-match", **cache).stdout
    assert "under every judge" in text or "depends on the judge" in text


def test_simulated_answers_cannot_be_rescored(tmp_path: Path) -> None:
    package.play({"task": {"limit": 2}, "players": [{"name": "A", "model": "simulated/default"}]}, tmp_path / "run")
    done = mashq("rescore", tmp_path / "run", "--detector", "grounding")
    assert (done.returncode, "no text to score" in done.stderr) == (2, True)
