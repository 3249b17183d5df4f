"""What answers over documents carry follows what was recorded of them, not how they are worded."""

import asyncio
import json
from pathlib import Path

import pytest

from mashq.arena import match as arena
from mashq.config import check
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents.source import read_source
from mashq.runs.open import load
from mashq.runs.verify import verify

ANSWERABLE = {"q0": False, "q1": True, "q2": True, "q3": None}


def recorded(folder: Path, name: str, abstention: str) -> str:
    """A player that abstains in these words on every question but q1."""
    with (folder / name).open("w") as file:
        for item in ANSWERABLE:
            answer = "The bridge is 101 metres long [p1]." if item == "q1" else abstention
            text = json.dumps({"answer": answer, "abstained": item != "q1", "confidence": 0.8})
            file.write(json.dumps({"item": item, "text": text, "tokens_in": 9, "tokens_out": 9, "seconds": 1}) + "\n")
    return f"recorded/{folder / name}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rag")
    passages = [{"id": "p1", "text": "The bridge is 101 metres long."}]
    rows = [
        {"id": item, "question": "How long is it?", "passages": passages, "answerable": known}
        for item, known in ANSWERABLE.items()
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    players = [
        {"name": name, "agent": "plain", "model": recorded(folder, f"{name}.jsonl", words)}
        for name, words in (("A", "I cannot tell from the passages."), ("B", "I do not know."))
    ]
    task = {"kind": "rag", "data": str(folder / "items.jsonl"), "abstention": 0.3}
    asyncio.run(arena.run(check({"task": task, "players": players}, "test"), folder / "run"))
    return folder / "run"


def test_the_words_of_an_abstention_do_not_matter(run: Path) -> None:
    contents = load(run).contents
    assert contents is not None
    for own in contents:
        assert own.answers["coverage"].tolist() == own.answers["coverage_first"].tolist() == [[1, 1, 0, 0]]


def test_a_right_abstention_keeps_its_h_under_adequate(run: Path) -> None:
    results = read_source(run, {}).results
    faithful, adequate = (score(results, ScoreRules(h=h)).players[0].h for h in ("faithful", "adequate"))
    support = results.h[0, 1]
    assert faithful == pytest.approx((1 + support + 0.3 + 0.3) / 4)
    assert adequate == pytest.approx((1 + support) / 4)


@pytest.mark.parametrize("rescore", [False, True])
def test_it_verifies(run: Path, rescore: bool) -> None:
    assert not any(finding.wrong for finding in verify(run, rescore=rescore))
