"""Every kind of player in whole matches: what it asks, what it is charged, and what it makes of scores."""

import json
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.errors import ConfigError
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, check_sums, http_config, rows, story, write_items

AGENTS = ("q-agent", "plain", "retry", "escalate", "best-of-n", "react")


def player(agent: str, **more: Any) -> dict[str, Any]:
    to = {"to": "simulated/strong"} if agent == "escalate" else {}
    return {"name": agent, "agent": agent, "model": "simulated/default", **to, **more}


def play(tmp_path: Path, *players: dict[str, Any], **changes: Any) -> mashq.MatchRun:
    models = {
        "simulated/strong": {"simulate": {"h": 0.97, "h_spread": 0.02}},
        "simulated/default": {"simulate": {"h": 0.75}},
    }
    return mashq.play({"task": {"limit": 8}, "players": list(players), "models": models, **changes}, tmp_path / "run")


def test_six_kinds_play_one_match(tmp_path: Path) -> None:
    result = play(tmp_path, *(player(agent) for agent in AGENTS), rules={"vision": {"when": "always"}})
    assert [p["agent"] for p in result["players"]] == list(AGENTS)
    assert all(p["answer_rate"] == 1.0 for p in result["players"])
    check_sums(tmp_path / "run")
    assert result["envelope"][0]["beta_from"] == 0
    assert mashq.resume(tmp_path / "run") == result


def test_a_plain_player_makes_one_call_an_item(tmp_path: Path) -> None:
    (one,) = play(tmp_path, player("plain"))["players"]
    assert (one["calls"], one["reviews"]) == (8, 0)
    assert one["h"] == one["h_before_review"]


def test_retry_asks_the_same_question_until_the_score_is_good_enough(tmp_path: Path) -> None:
    (one,) = play(tmp_path, player("retry", R=5))["players"]
    assert one["calls"] == 8 + one["reviews"] > 8
    asked = rows(tmp_path / "run", "SELECT DISTINCT item, prompt FROM attempts")
    assert len(asked) == 8, "a retry is the same prompt again, and shows neither the old answer nor its score"
    seeds = rows(tmp_path / "run", "SELECT DISTINCT item, purpose, n FROM attempts")
    assert len(seeds) == one["calls"]


def test_escalate_asks_the_stronger_model_once_and_only_where_needed(tmp_path: Path) -> None:
    (one,) = play(tmp_path, player("escalate"))["players"]
    by_model = dict(rows(tmp_path / "run", "SELECT model, count(*) FROM attempts GROUP BY model"))
    assert by_model == {"simulated/default": 8, "simulated/strong": one["reviews"]}
    low = [m for m in story(tmp_path / "run")["escalate"] if m["kind"] == "answer" and m["h"] < 0.85]
    assert one["reviews"] == len(low) and one["R"] == 1
    assert one["h"] > one["h_before_review"]


@pytest.mark.parametrize("policy", ["llm", "rule"])
def test_best_of_n_charges_every_play(tmp_path: Path, policy: str) -> None:
    (one,) = play(tmp_path, player("best-of-n", n=3, policy=policy))["players"]
    decisions = 24 if policy == "llm" else 0
    assert one["calls"] == 3 * 8 + decisions + one["reviews"]
    answers = rows(
        tmp_path / "run", "SELECT item, max(h), count(*) FROM attempts WHERE purpose <> 'decision' GROUP BY item"
    )
    final = {m["item"]: m["h"] for m in story(tmp_path / "run")["best-of-n"] if m["kind"] == "answer"}
    assert all(final[item] <= best for item, best, _ in answers)
    assert one["h"] > one["h_before_review"]
    assert sum(count for _, _, count in answers) == one["calls"] - decisions


def test_more_plays_cost_more_and_never_score_less(tmp_path: Path) -> None:
    many = [player("best-of-n", n=n, policy="rule", R=0) | {"name": f"n{n}"} for n in (1, 2, 4)]
    models = {"simulated/default": {"simulate": {"h": 0.7, "common": True}}}
    for one in many:
        one["order"] = "forward"
    result = play(tmp_path, *many, models=models)
    h, calls = [p["h"] for p in result["players"]], [p["calls"] for p in result["players"]]
    assert h == sorted(h) and h[0] < h[-1] and calls == [8, 16, 32]


def test_react_observes_its_score_and_counts_each_turn(tmp_path: Path) -> None:
    (one,) = play(tmp_path, player("react"))["players"]
    assert one["calls"] == 8 + one["reviews"] > 8
    prompts = rows(
        tmp_path / "run", "SELECT messages FROM prompts JOIN attempts ON digest = prompt WHERE purpose = 'review'"
    )
    assert all("Observation: H = 0." in json.loads(messages)[-1][1] for (messages,) in prompts)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_kind_obeys_the_ledgers_law_under_faults(tmp_path: Path, agent: str) -> None:
    data = write_items(tmp_path / "items.jsonl", 3)
    rates = {"429": 0.1, "500": 0.1, "drop_body": 0.1, "no_usage": 0.1, "wrong_json": 0.1, "refusal": 0.05}
    with FakeProvider(seed=4, faults={"rates": rates, "retry_after": 0}) as provider:
        config = http_config(provider.base_url, data)
        for one in config["players"]:
            one |= {"agent": agent, "n": 2} | ({"to": "my/beta"} if agent == "escalate" else {})
        result = mashq.play(config, tmp_path / "run")
        check_ledger(tmp_path / "run", provider.hits())
    assert result["finished"]


@pytest.mark.parametrize("agent", ["q-agent", "best-of-n", "react"])
def test_keep_better_is_kept_by_every_kind(tmp_path: Path, agent: str) -> None:
    models = {"simulated/default": {"simulate": {"h": 0.5, "review_gain": 0.0, "review_spread": 0.9}}}
    players = [player(agent, n=1, policy="rule")] if agent == "best-of-n" else [player(agent)]
    (one,) = play(tmp_path, *players, models=models, rules={"keep": "better", "T": 1.0})["players"]
    assert one["reviews"] > 0 and one["h"] > one["h_before_review"], "no rewrite can make an answer worse"
    final = {m["item"]: m for m in story(tmp_path / "run")[agent] if m["kind"] == "answer"}
    assert all(m.get("h_first", m["h"]) <= m["h"] for m in final.values())


def test_a_budget_stops_a_player_within_its_plays(tmp_path: Path) -> None:
    (one,) = play(tmp_path, player("best-of-n", n=4, budget={"calls": 10}))["players"]
    assert one["calls"] == 10 and "budget of 10 calls" in one["stopped"]


def test_bad_agents_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name the stronger one"):
        play(tmp_path, player("escalate") | {"to": None})
    with pytest.raises(ConfigError, match="only the agent escalate"):
        play(tmp_path, player("plain") | {"to": "simulated/strong"})


QUESTIONS = [
    {"question": "Who wrote it?", "answer": "Ann Lee"},
    {"question": "When?", "answer": "1999"},
    {"question": "Where?", "answer": "Oslo"},
]
REPLIES = [
    ("1", '{"answer": "It was Ann Lee.", "confidence": 0.9}'),
    ("2", '{"answer": "2001", "confidence": 95}'),
    ("3", '{"answer": "I do not know", "confidence": "low"}'),
]


def qa(tmp_path: Path, **changes: Any) -> mashq.MatchRun:
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS))
    lines = [{"item": item, "text": text, "tokens_in": 1, "tokens_out": 1, "seconds": 1.0} for item, text in REPLIES]
    lines += [
        {"item": "3", "purpose": "review", "n": n, "text": '{"answer": "Oslo", "confidence": 0.2}'} for n in range(3)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = {
        "task": {"kind": "qa", "data": str(tmp_path / "q.jsonl")},
        "players": [{"name": "A", "model": f"recorded/{tmp_path / 'a.jsonl'}", "policy": "rule"}],
        **changes,
    }
    return mashq.play(config, tmp_path / "run")


def test_questions_are_guided_by_confidence_and_judged_by_the_reference(tmp_path: Path) -> None:
    result = qa(tmp_path)
    moves = [m for m in story(tmp_path / "run")["A"] if m["kind"] == "answer"]
    assert [m["h"] for m in moves] == [0.9, 0.95, 0.5], "as stated; 0.5 where nothing was"
    assert [m["judged"] for m in moves] == [1.0, 0.0, 0.0]
    assert (result["beta"], result["guide"], result["detector"]["name"]) == (0.001, "confidence", "simpleqa")
    assert any(note.startswith("A stated no confidence with 1 answer") for note in result["notes"])
    (one,) = result["players"]
    assert one["h_before_review"] == pytest.approx(1 / 3) and one["h"] == pytest.approx(2 / 3)
    assert one["h_guide"] == pytest.approx((0.9 + 0.95 + 0.2) / 3)
    assert one["overfit"] == pytest.approx((0.2 - 0.5) / 3 - 1 / 3)
    for (messages,) in rows(tmp_path / "run", "SELECT messages FROM prompts"):
        assert not any(q["answer"] in messages.replace("I do not know", "") for q in QUESTIONS[:2]), (
            "gold never leaks"
        )


def test_telling_players_whether_they_were_right_is_an_explicit_choice(tmp_path: Path) -> None:
    result = qa(tmp_path, guide="judge")
    moves = [m for m in story(tmp_path / "run")["A"] if m["kind"] == "answer"]
    assert [m["h"] for m in moves] == [1.0, 0.0, 0.0]
    assert result["guide"] == "judge" and result["players"][0]["overfit"] is None


def test_a_guide_and_a_judge_may_be_two_detectors(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"id": "a", "text": "Ann Lee won 12 medals.", "answer": "Ann Lee won."}\n')
    (tmp_path / "a.jsonl").write_text('{"item": "a", "text": "Ann Lee won."}\n')
    config = {
        "task": {"data": str(tmp_path / "items.jsonl")},
        "players": [{"name": "A", "agent": "plain", "model": f"recorded/{tmp_path / 'a.jsonl'}"}],
        "detector": "exact-match",
        "guide": "grounding",
    }
    result = mashq.play(config, tmp_path / "run")
    (move,) = [m for m in story(tmp_path / "run")["A"] if m["kind"] == "answer"]
    assert move["judged"] == 1.0 and 0 < move["h"] < 1
    assert result["players"][0]["h"] == 1.0 and result["guide"].startswith("grounding")


def test_the_first_answer_of_a_play_is_judged_by_the_judge(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(
        '{"id": "a", "text": "Ann Lee won 12 medals.", "answer": "Bob lost 3 games."}\n'
    )
    rows_ = [
        {"item": "a", "text": "Bob lost 3 games."},
        {"item": "a", "purpose": "review", "text": "Ann Lee won 12 medals."},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_))
    config = {
        "task": {"data": str(tmp_path / "items.jsonl")},
        "players": [player("best-of-n", n=1, policy="rule") | {"model": f"recorded/{tmp_path / 'a.jsonl'}"}],
        "detector": "exact-match",
        "guide": "grounding",
        "rules": {"T": 1.0, "R": 1, "keep": "latest"},
    }
    result = mashq.play(config, tmp_path / "run")
    (move,) = [m for m in story(tmp_path / "run")["best-of-n"] if m["kind"] == "answer"]
    assert (move["text"], move["judged"], move["judged_first"]) == ("Ann Lee won 12 medals.", 0.0, 1.0)
    assert 0 < move["h_first"] < move["h"]
    assert (result["players"][0]["h_before_review"], result["players"][0]["h"]) == (1.0, 0.0)
