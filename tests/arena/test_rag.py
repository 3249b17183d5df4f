"""Answers over documents, in whole matches: what players are told, what judge and guide say, every command on it."""

import asyncio
import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import ConfigError, Stopped
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, check_sums, rows, story
from tests.pinned.door import Dashboard, command
from tests.torture.honest import StopsAfter, complaints

AGENTS = ("q-agent", "plain", "retry", "escalate", "best-of-n", "react")
ITEMS: list[dict[str, Any]] = [
    {
        "id": "there",
        "question": "When did the mill burn down?",
        "passages": [
            {"id": "p1", "title": "Notes", "text": "Ann Lee won 12 medals in Oslo. She lives in Tarn."},
            {"id": "p2", "text": "The mill burned down on 3 May 1921. Nobody was hurt in the fire."},
            "The bridge at Hollin is closed to lorries until the end of June.",
        ],
        "reference": "3 May 1921",
        "answerable": True,
    },
    {
        "id": "absent",
        "question": "Who owned the mill?",
        "passages": ["The mill burned down on 3 May 1921.", "Ann Lee won 12 medals in Oslo."],
        "answerable": False,
    },
    {
        "id": "unsaid",
        "question": "How many medals did Ann Lee win?",
        "passages": ["Ann Lee won 12 medals in Oslo.", "The mill burned down on 3 May 1921."],
        "reference": "12",
    },
]
RIGHT = {"answer": "The mill burned down on 3 May 1921 [p2].", "abstained": False, "confidence": 0.9}
MADE_UP = {"answer": "The mill was owned by Bob Ray from Lima [p1].", "abstained": False, "confidence": 0.9}
GIVEN_UP = {"answer": "The passages do not say.", "abstained": True, "confidence": 0.7}


def write(folder: Path, items: list[dict[str, Any]] | None = None) -> Path:
    path = folder / "documents.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS if items is None or item in items))
    return path


def recorded(folder: Path, **answers: Any) -> dict[str, Any]:
    """A match of one plain player with these answers."""
    path = folder / "answers.jsonl"
    said = {name: text if isinstance(text, str) else json.dumps(text) for name, text in answers.items()}
    costs = {"tokens_in": 10, "tokens_out": 5, "seconds": 1.0}
    path.write_text("".join(json.dumps({"item": name, "text": text, **costs}) + "\n" for name, text in said.items()))
    wanted = [item for item in ITEMS if item["id"] in answers]
    return {
        "task": {"kind": "rag", "data": str(write(folder, wanted))},
        "players": [{"name": "A", "agent": "plain", "model": f"recorded/{path}"}],
    }


def moves(run: Path) -> dict[str, dict[str, Any]]:
    return {move["item"]: move for move in story(run)["A"] if move["kind"] == "answer"}


@pytest.mark.parametrize(
    ("item", "reply", "judged", "guide", "abstained"),
    [
        ("there", RIGHT, "support", "support", "no"),
        ("there", GIVEN_UP, 0.0, 0.7, "yes"),
        ("there", {**GIVEN_UP, "confidence": None}, 0.0, 0.5, "yes"),
        ("there", "The passages do not say when it burned down.", 0.0, 0.5, "read"),
        ("there", {**GIVEN_UP, "abstained": False}, "support", "support", "no"),
        ("there", "It burned down on 3 May 1921.", "support", "support", None),
        ("absent", GIVEN_UP, 1.0, 0.7, "yes"),
        ("absent", {**GIVEN_UP, "answer": ""}, 1.0, 0.7, "yes"),
        ("absent", MADE_UP, 0.0, "support", "no"),
        ("absent", {"answer": "The mill burned down on 3 May 1921."}, 0.0, "support", None),
        ("unsaid", GIVEN_UP, 0.0, 0.7, "yes"),
        ("unsaid", "Ann Lee won 12 medals.", "support", "support", None),
    ],
)
def test_what_judge_and_guide_say(
    tmp_path: Path, item: str, reply: Any, judged: float | str, guide: float | str, abstained: str | None
) -> None:
    mashq.play(recorded(tmp_path, **{item: reply}), tmp_path / "run")
    move = moves(tmp_path / "run")[item]
    assert move["status"] == "ok" and move.get("abstained") == abstained
    assert (move["judged"] == move["h"]) if judged == "support" else move["judged"] == judged
    if guide == "support":
        assert move["h"] < 0.5 if "Bob Ray" in str(reply) else move["h"] > 0.5
    else:
        assert move["h"] == guide
    assert complaints(tmp_path / "run") == []  # every H is scored anew, abstentions by the rules of the task


@pytest.mark.parametrize("name", ["h", "judged"])
def test_a_changed_score_of_an_abstention_is_noticed(tmp_path: Path, name: str) -> None:
    mashq.play(recorded(tmp_path, there=GIVEN_UP), tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as connection, connection:
        connection.execute(f"UPDATE events SET move = json_set(move, '$.{name}', 0.6) WHERE kind = 'answer'")
    right = {"h": "0.700000", "judged": "0.000000"}[name]
    wrong = f"the answer has H 0.600000, and by the rules of the task it is {right}"
    assert any(wrong in complaint for complaint in complaints(tmp_path / "run"))


def test_questions_guided_by_confidence_are_scored_anew(tmp_path: Path) -> None:
    config = recorded(tmp_path, there=RIGHT, unsaid={"answer": "13", "confidence": 0.3})
    rows = [
        {"id": item["id"], "question": item["question"], "answer": item["reference"]} for item in (ITEMS[0], ITEMS[2])
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config["task"] = {"kind": "qa", "data": str(tmp_path / "questions.jsonl")}
    config["detector"] = "exact-match"
    mashq.play(config, tmp_path / "run")
    assert [move["h"] for move in moves(tmp_path / "run").values()] == [0.9, 0.3]
    assert complaints(tmp_path / "run") == []


def test_an_abstention_is_worth_what_is_set(tmp_path: Path) -> None:
    config = recorded(tmp_path, there=GIVEN_UP, absent=GIVEN_UP, unsaid=GIVEN_UP)
    config["task"]["abstention"] = 0.25
    result = mashq.play(config, tmp_path / "run")
    assert [move["judged"] for move in moves(tmp_path / "run").values()] == [0.25, 1.0, 0.25]
    assert result["players"][0]["h"] == pytest.approx(0.5) and result["players"][0]["answer_rate"] == 1
    assert result["passages"]["stated"] == 3 and result["passages"]["read"] == 0


def test_the_views_tell_both_errors_citations_and_costs_apart(tmp_path: Path) -> None:
    said = {"answer": "Ann Lee won 12 medals [p1]. She is tall [p2].", "abstained": False, "confidence": 1}
    config = recorded(tmp_path, there="The passages do not say.", absent=MADE_UP, unsaid=said)
    result = mashq.play(config, tmp_path / "run")
    (one,) = result["passages"]["players"]
    assert one["answerable"] == {"answers": 1, "h": 0.0, "abstained": 1}
    assert one["unanswerable"] == {"answers": 1, "h": 0.0, "abstained": 0}
    assert one["unknown"]["answers"] == 1 and one["unknown"]["abstained"] == 0
    assert (one["correct"], one["referenced"]) == (1, 2)
    assert one["citations"] == {
        "cited": 3,
        "precision": pytest.approx(1 / 3),
        "sentences": 3,
        "recall": pytest.approx(1 / 3),
    }
    assert one["supported"] == (one["unknown"]["h"] >= 0.5)
    if one["supported"]:
        assert one["cost_per_supported"]["tokens"] == 45
    assert {part["passages"]: part["answers"] for part in one["by_count"]} == {2: 2, 3: 1}
    assert {part["place"]: part["answers"] for part in one["by_place"]} == {"first": 1, "middle": 1}
    assert result["passages"]["read"] == 1 and "docs/rag.md" in result["passages"]["note"]


def test_correctness_can_be_the_judge_and_is_told_to_nobody(tmp_path: Path) -> None:
    config = recorded(tmp_path, there=RIGHT, absent=GIVEN_UP, unsaid="Ann Lee won 13 medals.")
    with pytest.raises(ConfigError, match="no player of a rag task is told"):
        mashq.play({**config, "detector": "simpleqa"}, tmp_path / "refused")
    with pytest.raises(ConfigError, match="no player of a rag task is told"):
        mashq.play({**config, "guide": "exact-match"}, tmp_path / "refused")
    for guide in ("grounding", "confidence"):
        mashq.play({**config, "detector": "simpleqa", "guide": guide}, tmp_path / guide)
        found = moves(tmp_path / guide)
        assert [found[item["id"]]["judged"] for item in ITEMS] == [1.0, 1.0, 0.0]
        assert found["there"]["h"] == 0.9 if guide == "confidence" else found["there"]["h"] > 0.5


def player(agent: str, model: str = "my/alpha", **more: Any) -> dict[str, Any]:
    to = {"to": "my/beta"} if agent == "escalate" else {}
    return {"name": agent, "agent": agent, "model": model, "n": 2, **to, **more}


def served(url: str, data: Path, *players: dict[str, Any], **changes: Any) -> dict[str, Any]:
    model = {"base_url": url, "timeout": 5.0, "retry": {"attempts": 4, "base": 0.01, "cap": 0.02}}
    return {
        "task": {"kind": "rag", "data": str(data)},
        "players": list(players),
        "rules": {"show_seconds": False, "R": 2},
        "models": {"my/alpha": model, "my/beta": model},
        **changes,
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_plays_and_is_told_nothing_of_the_answer(tmp_path: Path, agent: str) -> None:
    secret = {**ITEMS[0], "reference": "zebra-reference", "evidence": ["p2"]}
    data = tmp_path / "documents.jsonl"
    data.write_text("".join(json.dumps(item) + "\n" for item in (secret, *ITEMS[1:])))
    rates = {"429": 0.1, "500": 0.1, "drop_body": 0.1, "no_usage": 0.1, "wrong_json": 0.1, "refusal": 0.05}
    with FakeProvider(seed=4, faults={"rates": rates, "retry_after": 0}) as provider:
        result = mashq.play(served(provider.base_url, data, player(agent)), tmp_path / "run")
        check_ledger(tmp_path / "run", provider.hits())
    assert result["finished"] and mashq.resume(tmp_path / "run") == result
    asked = [text for (text,) in rows(tmp_path / "run", "SELECT messages FROM prompts")]
    assert asked and not any("zebra" in text or "answerable" in text for text in asked)
    questions = [text for text in asked if "When did the mill burn down?" in text]
    assert questions and all('<passage id=\\"p2\\">' in text and "[p1]" in text for text in questions)


def test_which_passages_are_shown_is_a_setting_of_the_task_and_of_a_player(tmp_path: Path) -> None:
    players = [
        player("plain", passages={"limit": 1}) | {"name": "one"},
        player("plain", passages={"length": 60}) | {"name": "short"},
        player("plain", passages={"order": "reverse"}) | {"name": "turned"},
        player("plain", passages={"order": "shuffle"}) | {"name": "mixed"},
        player("plain") | {"name": "all"},
    ]
    with FakeProvider(seed=1) as provider:
        config = served(provider.base_url, write(tmp_path), *players)
        config["task"]["passages"] = {"limit": 2}
        mashq.play(config, tmp_path / "run")
    query = "SELECT player, messages FROM prompts JOIN attempts ON digest = prompt WHERE item = 'there'"
    asked = {name: json.loads(text)[0][1] for name, text in rows(tmp_path / "run", query)}
    shown = {name: [part.split('"')[1] for part in text.split("<passage ")[1:]] for name, text in asked.items()}
    assert shown["one"] == ["p1"] and shown["short"] == ["p1"] and shown["turned"] == ["p3", "p2", "p1"]
    assert shown["all"] == ["p1", "p2"] and sorted(shown["mixed"]) == ["p1", "p2", "p3"]


AGENT = """
import json, sys
for line in sys.stdin:
    task = json.loads(line)
    known = {"item", "text", "round", "rules", "state", "token", "base_url", "question", "passages"}
    assert set(task) == known and task["question"] in task["text"], sorted(task)
    assert all(set(passage) == {"id", "text", "title"} for passage in task["passages"])
    found = [p for p in task["passages"] if "burned" in p["text"]]
    if task["item"] == "absent":
        print(json.dumps({"answer": "", "abstained": True, "confidence": 0.8}), flush=True)
    else:
        print(json.dumps({"answer": found[0]["text"] + " [" + found[0]["id"] + "]"}), flush=True)
"""


def test_an_external_program_gets_the_question_and_the_passages(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    config = {
        "task": {"kind": "rag", "data": str(write(tmp_path))},
        "players": [
            {
                "name": "A",
                "agent": "external",
                "model": "simulated/x",
                "command": [sys.executable, str(tmp_path / "agent.py")],
            }
        ],
    }
    mashq.play(config, tmp_path / "run")
    found = moves(tmp_path / "run")
    assert found["there"]["judged"] > 0.9, found["there"]
    assert (found["absent"]["judged"], found["absent"]["h"], found["absent"].get("text")) == (1.0, 0.8, None)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a configuration of six agents and a run of it, with trials."""
    folder = tmp_path_factory.mktemp("rag")
    players = [
        {"name": name, "agent": name, "model": "simulated/default", "n": 2}
        | ({"to": "simulated/strong"} if name == "escalate" else {})
        for name in AGENTS
    ]
    models = {
        "simulated/default": {"simulate": {"h": 0.7, "refusal_rate": 0.05, "failure_rate": 0.02}},
        "simulated/strong": {"simulate": {"h": 0.95}},
    }
    config = {"task": {"kind": "rag", "limit": 12}, "players": players, "models": models}
    (folder / "match.yaml").write_text(json.dumps(config))
    two = {**config, "players": players[:2], "task": {"kind": "rag", "limit": 6}}
    (folder / "two.yaml").write_text(json.dumps(two))
    assert command(["run", str(folder / "match.yaml"), "--out", str(folder / "run")]).code == 0
    assert command(["run", str(folder / "match.yaml"), "--out", str(folder / "again"), "--trials", "2"]).code == 0
    return folder


SLOW = pytest.mark.slow


@pytest.mark.parametrize("refusals", ["intersection", "penalised", "answered"])
@pytest.mark.parametrize("when", ["never", pytest.param("review", marks=SLOW), pytest.param("always", marks=SLOW)])
def test_every_refusal_rule_and_vision_setting(played: Path, tmp_path: Path, refusals: str, when: str) -> None:
    config = json.loads((played / "match.yaml").read_text())
    config |= {"score": {"refusals": refusals}, "rules": {"vision": {"when": when}}}
    result = mashq.play(config, tmp_path / "run")
    assert result["refusals"] == refusals and len(result["passages"]["players"]) == len(AGENTS)
    check_sums(tmp_path / "run")
    assert mashq.resume(tmp_path / "run") == result


COMMANDS = (
    "show {run}",
    "show {run} --json",
    "show {again} --json",
    "score {run} --json",
    "score {again} --format md",
    "score {run} --format latex --without react",
    "verify {run}",
    "resume {run}",
    "compare {run} {again}",
    "report {run} -o {out}/report.html",
    "site {folder} -o {out}/site",
    "power {run}",
    "calibrate {run} -o {out}/calibrated.yaml",
    "plan {config}",
    "plan sweep {config} --over task.passages.limit=1,3",
    "validate sample {run} -o {out}/sheet -n 6",
    "export {run} -o {out}/rows.csv",
    "export {run} -o {out}/rows.jsonl",
    "export {run} -o {out}/rows.parquet",
    "export {run} --format inspect -o {out}/inspect",
    "export {run} --format otel -o {out}/spans.json",
    "export {run} --format latex -o {out}/table.tex",
    "sweep {two} --over task.passages.limit=1,3 --over task.passages.order=given,shuffle --out {out}/sweep --json",
    "tournament {two} --out {out}/tournament --json",
    "game {two} --out {out}/game --json",
    "vision {two} --out {out}/vision --json",
    "run {two} --out {out}/processes --executor processes --trials 2 --json",
)


HEAVY = ("report", "site", "power", "calibrate", "plan sweep", "sweep", "tournament", "game", "vision", "run")


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=SLOW if line.startswith(HEAVY) else ()) for line in COMMANDS]
)
def test_every_command(played: Path, tmp_path: Path, line: str) -> None:
    names = {"run": played / "run", "again": played / "again", "out": tmp_path, "folder": played}
    words = line.format(**names, config=played / "match.yaml", two=played / "two.yaml").split()
    done = command(words, 200)
    assert done.code == 0 and "Traceback" not in done.err, done.err
    assert done.out or list(tmp_path.iterdir())


def test_exported_rows_tell_abstentions_and_score_as_the_run_does(tmp_path: Path) -> None:
    config = recorded(tmp_path, there="The passages do not say.", absent=GIVEN_UP, unsaid="Ann Lee won 12 medals.")
    result = mashq.play(config, tmp_path / "run")
    assert command(["export", str(tmp_path / "run"), "-o", str(tmp_path / "rows.jsonl")]).code == 0
    found = {row["item"]: row for row in map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())}
    told = {name: (row["answerable"], row["abstained"], row["passages"]) for name, row in found.items()}
    assert told == {"there": (1, 1, 3), "absent": (0, 1, 2), "unsaid": (None, 0, 2)}
    scored = json.loads(command(["score", str(tmp_path / "rows.jsonl"), "--json"]).out)
    assert scored["players"][0]["h"] == result["players"][0]["h"]


def test_a_run_can_be_scored_anew_by_another_judge(tmp_path: Path) -> None:
    config = recorded(tmp_path, there=RIGHT, absent=GIVEN_UP, unsaid="Ann Lee won 13 medals.")
    mashq.play(config, tmp_path / "run")
    done = command(["rescore", str(tmp_path / "run"), "--detector", "simpleqa", "--json"])
    assert done.code == 0, done.err
    before, after = json.loads(done.out)
    assert after["players"][0]["h"] == pytest.approx(2 / 3) and before["players"][0]["h"] < 1
    again = command(["rescore", str(tmp_path / "run"), "--detector", "grounding", "--json"])
    assert json.loads(again.out)[1]["players"][0]["h"] == before["players"][0]["h"]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("passages", "no JSON"),
        ("passages", "{}"),
        ("passages", "[]"),
        ("passages", '["p1"]'),
        ("passages", '[["p1", "text"]]'),
        ("passages", '[["p1", 7, ""]]'),
        ("evidence", '{"p1": 1}'),
        ("evidence", "[1]"),
        ("answerable", 7),
    ],
)
def test_damaged_passages_are_one_sentence(tmp_path: Path, column: str, cell: object) -> None:
    mashq.play(recorded(tmp_path, there=RIGHT), tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.db", isolation_level=None)) as file:
        file.execute(f"UPDATE items SET {column} = ?", (cell,))
    for words in (["show"], ["score"], ["export", "--format", "csv"]):
        done = command([words[0], str(tmp_path / "run"), *words[1:]])
        assert done.code == 2 and "damaged" in done.err and "Traceback" not in done.err, (done.code, done.err)


@pytest.mark.slow
def test_a_record_with_abstentions_can_be_simulated(tmp_path: Path) -> None:
    items = [{**ITEMS[n % 3], "id": f"{n}"} for n in range(12)]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    said = {0: RIGHT, 1: GIVEN_UP, 2: MADE_UP}
    lines = [{"item": f"{n}", "text": json.dumps(said[n % 3]), "tokens_in": 9, "tokens_out": 5} for n in range(12)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps({**line, "seconds": 1.0}) + "\n" for line in lines))
    model = f"recorded/{tmp_path / 'answers.jsonl'}"
    config = {
        "task": {"kind": "rag", "data": str(tmp_path / "documents.jsonl")},
        "players": [{"name": name, "agent": "plain", "model": model} for name in "AB"],
    }
    mashq.play(config, tmp_path / "run")
    done = command(["calibrate", str(tmp_path / "run"), "-o", str(tmp_path / "calibrated.yaml")])
    assert done.code == 0, done.err
    again = command(["run", str(tmp_path / "calibrated.yaml"), "--out", str(tmp_path / "again"), "--json"])
    assert again.code == 0 and json.loads(again.out)["simulated"], again.err


def test_a_killed_match_goes_on_as_if_nothing_had_been(played: Path, tmp_path: Path) -> None:
    config = json.loads((played / "match.yaml").read_text())
    whole = mashq.play(config, tmp_path / "whole")
    ((moves,),) = rows(tmp_path / "whole", "SELECT count(*) FROM events")
    with pytest.raises(Stopped):
        asyncio.run(match.run(check(config), tmp_path / "cut", show=StopsAfter(moves // 2)))
    ((made,),) = rows(tmp_path / "cut", "SELECT count(*) FROM events")
    assert 0 < made < moves and not mashq.show(tmp_path / "cut")["finished"]
    mashq.resume(tmp_path / "cut")
    assert story(tmp_path / "cut") == story(tmp_path / "whole") and whole["finished"]
    assert complaints(tmp_path / "cut") == []


@pytest.mark.slow
def test_a_thousand_items_of_twenty_passages_under_30_seconds(tmp_path: Path) -> None:
    passages = [f"Passage {n} says that the mill of place {n} burned down in {1900 + n}. " * 6 for n in range(20)]
    with (tmp_path / "many.jsonl").open("w") as file:
        for n in range(1000):
            file.write(
                json.dumps({"id": str(n), "question": f"When did mill {n} burn?", "passages": passages}) + "\n"
            )
    players = [{"name": name, "model": "simulated/default"} for name in "AB"]
    began = time.perf_counter()
    result = mashq.play(
        {"task": {"kind": "rag", "data": str(tmp_path / "many.jsonl")}, "players": players}, tmp_path / "r"
    )
    assert result["items"] == 1000 and time.perf_counter() - began < 30


def test_the_dashboard_shows_an_item_with_its_passages(played: Path) -> None:
    found = json.loads(Dashboard(played).get("/api/item", "run=run&item=0").body)
    assert found["item"]["text"] and len(found["item"]["passages"]) >= 2
    assert found["item"]["answerable"] is True and found["item"]["evidence"] == ["p2"]


def test_the_dashboard_lights_what_an_answer_cites_and_marks_what_nothing_supports(tmp_path: Path) -> None:
    text = "The mill burned down on 3 May 1921 [p2]. Bob Ray was seen in Lima [p1, p9]."
    config = recorded(tmp_path, there={"answer": text, "abstained": False}, absent=GIVEN_UP)
    mashq.play(config, tmp_path / "runs" / "one")
    site = Dashboard(tmp_path / "runs")
    ((seq,), (other,)) = rows(tmp_path / "runs" / "one", "SELECT seq FROM events WHERE kind = 'answer' ORDER BY seq")
    found = json.loads(site.get("/api/spans", f"run=one&match=0&seq={seq}").body)
    marked = [text[start:end] for start, end in found["spans"]]
    assert any("Bob Ray" in part for part in marked) and not any("[p" in part or "mill" in part for part in marked)
    passage = ITEMS[0]["passages"][1]["text"]
    assert [passage[start:end] for start, end in found["lit"]["p2"]] == ["The mill burned down on 3 May 1921"]
    assert "do not hold" in json.loads(site.get("/api/spans", f"run=one&match=0&seq={other}").body)["why"]
    whole = site.get("/api/text", "run=one&match=0&what=passage%20p2&number=0")
    assert whole.body.decode() == passage
    assert site.get("/api/text", "run=one&match=0&what=passage%20p7&number=0").status == 404


def test_drawn_answers_say_that_their_scores_are_drawn_too(tmp_path: Path) -> None:
    config = {
        "task": {"kind": "rag", "data": "builtin", "limit": 8},
        "players": [{"name": "A", "agent": "plain", "model": "simulated/a"}],
        "models": {"simulated/a": {"simulate": {"h": 0.9, "h_spread": 0.0}}},
    }
    result = mashq.play(config, tmp_path / "run")
    assert result["passages"]["note"].startswith("Simulated answers keep the H they were drawn with")
    assert result["passages"]["players"][0]["unanswerable"]["h"] == pytest.approx(0.9)
