"""What answers carry, through the whole engine: stored with a match, shown beside H, asked for by an adequate H."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mashq.arena import match as arena
from mashq.config import check
from mashq.detectors.base import load as detector
from mashq.detectors.contents import content, floor
from mashq.errors import ConfigError
from mashq.players import prompts
from mashq.protocol.content import ANSWERS, LEADS
from mashq.protocol.items import Item
from mashq.report.documents import match as match_document
from mashq.report.documents.base import dumped
from mashq.runs.contents import floors_of, of_state
from mashq.runs.open import Played, load
from mashq.runs.rescore import rescored
from mashq.runs.verify import verify
from mashq.tasks.load import load as items_of
from tests.pinned.door import command

ITEMS = items_of("builtin", limit=6)


def central(item: Item) -> str:
    """Three sentences that together carry much: the first, and the two that add most to it."""
    sentences = [item.text.split("\n\n")[at] for at in (0, 1, 3)]
    return " ".join(floor("lead-1", part) for part in sentences)


def recorded(path: Path, answers: dict[str, str], tokens: int = 0) -> str:
    """A recording of plain answers, which cost a call each and so many tokens."""
    rows = [{"item": i, "text": t, "tokens_in": tokens, "tokens_out": 0, "seconds": 0.0} for i, t in answers.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"recorded/{path}"


def play(folder: Path, **changes: Any) -> Played:
    """The first sentence, a copy, an extract and a model that makes things up."""
    extract = recorded(folder / "extract.jsonl", {item.id: central(item) for item in ITEMS})
    vague = recorded(
        folder / "vague.jsonl", {i.id: "Officials in Norway were delighted by 77 parrots." for i in ITEMS}
    )
    said = {
        "task": {"limit": len(ITEMS)},
        "players": [
            {"name": "first-sentence", "agent": "lead", "n": 1},
            {"name": "copy", "agent": "lead", "n": "all"},
            {"name": "extract", "agent": "plain", "model": extract},
            {"name": "vague", "agent": "plain", "model": vague},
        ],
        **changes,
    }
    asyncio.run(arena.run(check(said, "test"), folder / "run"))
    return load(folder / "run")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("floors"))


def told(*arguments: object) -> dict[str, Any]:
    """What a command prints as JSON."""
    said = command([*map(str, arguments), "--json"])
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_under_faithful_the_first_sentence_wins_and_that_is_said(played: Played) -> None:
    document = told("show", played.path)
    assert document["winner"] == "first-sentence" and document["h"] == "faithful"
    floors = {floor["name"]: floor for floor in document["floors"]}
    assert list(floors) == [*LEADS, "silence"]
    by = {player["name"]: player for player in document["players"]}
    assert floors["lead-1"]["h"] == floors["lead-1"]["q"] == by["first-sentence"]["h"]
    assert floors["copy"]["coverage"] == by["copy"]["coverage"] == pytest.approx(1.0)
    assert floors["silence"] == {"name": "silence", "h": 0.0, "coverage": 0.0, "words": 0.0, "q": 0.0}
    (note,) = [note for note in document["notes"] if "would have Q" in note]
    assert ", as much as any player (" in note and note.endswith(
        ": it costs nothing, and H does not see what it leaves out."
    )
    assert "first-sentence covers least of what matters" not in document["headline"]  # the vague one does
    assert "words on average" in document["headline"]
    assert by["copy"]["copied"] == 1.0 and by["vague"]["copied"] == 0.0
    assert by["first-sentence"]["calls"] == by["first-sentence"]["tokens"] == 0


def test_under_adequate_neither_the_first_sentence_nor_a_copy_wins(played: Played) -> None:
    document = told("score", played.path, "--h", "adequate")
    by = {player["name"]: player for player in document["players"]}
    assert document["winner"] == "extract" and by["copy"]["h"] == 0.0
    assert 0 < by["first-sentence"]["h"] < by["extract"]["h"]
    assert any("depends on what H means" in note for note in document["notes"])
    assert any("depends on what H means" in note for note in told("score", played.path)["notes"])
    compared = told("compare", played.path, played.path, "--h", "adequate")
    assert compared["players"][2]["runs"][0]["q"] == by["extract"]["q"]


def test_a_sweep_over_it_costs_nothing_more(tmp_path: Path) -> None:
    extract = recorded(tmp_path / "extract.jsonl", {item.id: central(item) for item in ITEMS})
    players = [{"name": "one", "agent": "lead", "n": 1}, {"name": "extract", "agent": "plain", "model": extract}]
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps({"task": {"limit": len(ITEMS)}, "players": players}))
    out = tmp_path / "run"
    said = command(["sweep", str(path), "--over", "score.h=faithful,adequate", "--out", str(out)])
    assert said.code == 0, said.err
    faithful, adequate = told("show", out)["cells"]
    assert (faithful["winner"], adequate["winner"]) == ("one", "extract")
    assert faithful["players"][0]["coverage"] == adequate["players"][0]["coverage"]


def test_a_gate_can_ask_for_coverage(played: Played) -> None:
    gate = ["score", str(played.path), "--h", "adequate", "--fail-if", "coverage(first-sentence) < coverage(extract)"]
    assert command(gate).code == 1


def test_what_is_stored_is_what_the_texts_carry(played: Played) -> None:
    stored = played.contents
    assert stored is not None and not [finding for finding in verify(played.path) if finding.wrong]
    kind, state = played.config.task.kind, played.state
    fresh = of_state(played.config, state, floors_of(kind, state.items))
    for one, other in zip(stored, fresh, strict=True):
        assert all(np.array_equal(one.answers[name], other.answers[name]) for name in ANSWERS)
    grounding = detector("grounding")
    for name in LEADS:
        pairs = [content(kind, item.text, floor(name, item.text)) for item in state.items]
        assert stored[0].floors[name]["words"].tolist() == [own.words for own in pairs]
        again = rescored(played, grounding)
        assert again.floors is not None
        assert stored[0].floors[name]["h"].tolist() == [row[0] for row in again.floors.rows[name]]


def test_exports_have_it_for_each_answer(played: Played, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert command(["export", str(played.path), "-o", str(out)]).code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    copies = [row for row in rows if row["player"] == "copy"]
    assert [row["copied"] for row in copies] == [1] * len(ITEMS) and all(row["words"] > 100 for row in copies)


def test_a_judge_that_is_not_free_leaves_the_floors_to_rescore(tmp_path: Path) -> None:
    played = play(tmp_path, detector="exact-match", task={"limit": 2, "data": str(_with_references(tmp_path))})
    document = dumped(match_document.document(played))
    assert [floor["h"] for floor in document["floors"]] == [None, None, None, 0.0]
    judged = dumped(match_document.document(rescored(played, detector("grounding"))))
    assert all(floor["h"] > 0.9 for floor in judged["floors"][:3])


def _with_references(folder: Path) -> Path:
    path = folder / "items.jsonl"
    rows = [{"id": item.id, "text": item.text, "answer": "x"} for item in ITEMS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_drawn_answers_carry_nothing_and_adequate_is_refused(tmp_path: Path) -> None:
    players = [{"name": name, "model": "simulated/default"} for name in "ab"]
    asyncio.run(arena.run(check({"task": {"limit": 6}, "players": players}, "test"), tmp_path / "run"))
    document = told("show", tmp_path / "run")
    assert document["floors"] == [] and {player["coverage"] for player in document["players"]} == {None}
    said = command(["score", str(tmp_path / "run"), "--h", "adequate"])
    assert said.code == 2 and "adequate H needs the texts" in said.err
    adequate = check({"players": players, "score": {"h": "adequate"}}, "test")
    with pytest.raises(ConfigError, match="those of a, b are not known"):
        asyncio.run(arena.run(adequate, tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_a_program_that_asks_nobody_is_measured_and_told_the_length(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    task = json.loads(line)\n"
        "    low, high = task['words']\n"
        "    print(json.dumps({'answer': ' '.join(task['text'].split()[:high])}), flush=True)\n"
    )
    player = {
        "name": "program",
        "agent": "external",
        "model": "simulated/x",
        "command": [sys.executable, str(program)],
    }
    said = {"task": {"limit": 2, "words": [10, 50]}, "players": [player]}
    asyncio.run(arena.run(check(said, "test"), tmp_path / "run"))
    (row,) = told("show", tmp_path / "run")["players"]
    assert 45 <= row["words"] <= 55 and row["copied"] == 1.0 and 0 < row["coverage"] < 1


def test_the_length_asked_for_is_told_and_counted(tmp_path: Path) -> None:
    played = play(tmp_path, task={"limit": 2, "words": [20, 100]})
    notes = match_document.document(played).notes
    assert "copy gave 2 of 2 answers outside of the 20 to 100 words asked for." in notes
    plain, asked = prompts.load(), prompts.load(None, "summarise", (40, 80))
    values = dict.fromkeys(prompts.STATE, "-") | {"passage": "P", "answer": "A", "h": "1"}
    for name in ("answer", "review", "react"):
        assert "two or three short sentences" in plain.fill(name, values)
        assert "40 to 80 words" in asked.fill(name, values) and "short sentences" not in asked.fill(name, values)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "answer.txt").write_text("Shorten: ${passage}")
    own = prompts.load(tmp_path / "own", "summarise", (40, 40))
    assert own.fill("answer", values) == "Shorten: P\n\nLength asked for: 40 words."
    with pytest.raises(ConfigError, match="swap them"):
        check({"task": {"words": [80, 40]}, "players": [{"name": "a", "model": "simulated/x"}]}, "test")


def test_only_a_lead_repeats_all(tmp_path: Path) -> None:
    players = [{"name": "a", "agent": "best-of-n", "n": "all", "model": "simulated/x"}]
    with pytest.raises(ConfigError, match="only an 'agent: lead'"):
        asyncio.run(arena.run(check({"players": players}, "test"), tmp_path / "run"))


def test_questions_are_attempted_or_not() -> None:
    assert content("qa", "Who?", "I do not know").coverage == content("qa", "Who?", "").coverage == 0.0
    assert content("qa", "Who?", "Ada Lovelace") == content("qa", "What?", "Ada Lovelace")
    assert content("qa", "Who?", "Ada Lovelace").coverage == 1.0
