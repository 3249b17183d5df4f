"""What a result says of replies that could not be used, and of what a provider billed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.arena.helpers import mashq as command

MOVES = "SELECT move FROM events ORDER BY player, round, seq"


def test_unusable_replies_are_counted_in_a_note(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 4)
    with FakeProvider(seed=5, faults={"models": {"alpha": {"rates": {"wrong_json": 1.0}}}}) as provider:
        result = mashq.play(http_config(provider.base_url, data), tmp_path / "run")
    answers, decisions = (
        rows(tmp_path / "run", f"SELECT count(*) FROM events WHERE player = 'A' AND kind {kinds}")[0][0]
        for kinds in ("IN ('answer', 'rewrite')", "= 'decision'")
    )
    notes = [
        f"A: {answers} of {answers} replies were not the JSON asked for; each was taken as plain text.",
        f"A: {decisions} of {decisions} decisions gave nothing usable; each became `continue`.",
    ]
    assert answers >= 4 and decisions >= 4
    assert [note for note in result["notes"] if "JSON" in note or "usable" in note] == notes
    shown = " ".join(command("show", tmp_path / "run").stdout.split())
    assert all(note in shown for note in notes)


def test_thinking_is_no_part_of_what_is_scored(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 3)
    with FakeProvider(seed=5) as provider:
        usual = mashq.play(http_config(provider.base_url, data), tmp_path / "usual")
    with FakeProvider(seed=5, faults={"rates": {"think": 1.0}}) as provider:
        thought = mashq.play(http_config(provider.base_url, data), tmp_path / "thought")
    assert [player["h"] for player in thought["players"]] == [player["h"] for player in usual["players"]]
    (first, second) = (
        [json.loads(move).get("text") for (move,) in rows(tmp_path / name, MOVES)] for name in ("usual", "thought")
    )
    assert first == second and any(first)


def test_an_answer_that_a_filter_took_is_refused_and_not_asked_for_again(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 2)
    players = [{"name": "A", "agent": "plain", "model": "my/alpha"}]
    with FakeProvider(seed=5, faults={"rates": {"unsaid": 1.0}}) as provider:
        result = mashq.play(http_config(provider.base_url, data, players=players), tmp_path / "run")
        assert len(provider.hits()) == 2
    outcomes = rows(tmp_path / "run", "SELECT outcome, stop, tokens_in > 0, tokens_out > 0 FROM attempts")
    assert outcomes == [("refused", "content_filter", 1, 1)] * 2
    assert "A refused 2 of 2 items." in result["notes"]


def test_what_was_billed_is_marked(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 2)
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, data)
        config["models"]["my/alpha"] |= {"price": {"input": 1.0, "output": 2.0}}
        mashq.play(config, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as file, file:
        usage = json.dumps({"cost": 0.25, "prompt_tokens": 3})
        file.execute("UPDATE attempts SET usage = ? WHERE player = 'A' AND purpose = 'answer'", (usage,))
    calls = rows(tmp_path / "run", "SELECT count(*) FROM attempts WHERE player = 'A'")[0][0]
    notes = mashq.show(tmp_path / "run")["notes"]
    wanted = f"A: the dollars of 2 of {calls} calls are as the provider billed them, the rest by the price list."
    assert wanted in notes and not any(note.startswith("B: the dollars") for note in notes)


SETTINGS = {"task": {"limit": 8}, "models": {"simulated/m": {"simulate": {"h": 0.5, "review_rate": 0.0}}}}


def two(**first: object) -> list[dict[str, object]]:
    return [{"name": "A", "model": "simulated/m", **first}, {"name": "B", "model": "simulated/m", "policy": "rule"}]


def test_a_policy_that_never_follows_the_advice_to_review_is_told(tmp_path: Path) -> None:
    result = mashq.play(SETTINGS | {"players": two()}, tmp_path / "run")
    assert result["advice"]["A"] == {"advised": 8, "did": 0}
    followed = result["advice"]["B"]
    assert followed["did"] == followed["advised"] > 0
    warned = [note for note in result["notes"] if "never did" in note]
    assert len(warned) == 1 and warned[0].startswith("A was advised to review 8 times and never did")
    shown = " ".join(command("show", tmp_path / "run").stdout.split())
    assert (
        f"A was advised to review 8 times and never did; B was advised to review {followed['did']} times and" in shown
    )
    advised = rows(tmp_path / "run", """SELECT count(*) FROM events WHERE instr(move, '"advised": true')""")
    assert advised == [(8 + followed["advised"],)]


def test_agents_without_a_policy_are_not_warned_about(tmp_path: Path) -> None:
    players = [
        {"name": name, "agent": name, "model": "simulated/m", "n": 1} for name in ("plain", "react", "best-of-n")
    ]
    result = mashq.play(SETTINGS | {"players": players}, tmp_path / "run")
    assert "advice" not in result and not [note for note in result["notes"] if "never did" in note]


def test_vision_says_who_cannot_react(tmp_path: Path) -> None:
    def notes(name: str, players: list[dict[str, object]], response: float = 0.0) -> str:
        simulate = {"simulate": {"h": 0.5, "snapshot_response": response}}
        document = SETTINGS | {"players": players, "models": {"simulated/m": simulate}}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(document))
        done = command("vision", tmp_path / f"{name}.yaml", "--out", tmp_path / name)
        return " ".join(done.stdout.split())

    alone = notes("none", two())
    assert "No player here can react to what is shown of rivals" in alone and "Neither company" not in alone
    some = notes("some", two(), response=1.0)
    assert "B cannot react to what is shown of rivals" in some
    other: dict[str, object] = {"name": "C", "model": "simulated/m", "policy": "bayes"}
    assert "cannot react" not in notes("all", [two(policy="bayes")[0], other])
