"""Whole matches over real HTTP against a provider in another process."""

from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, rows, sent_twice, story, write_items


def play(tmp_path: Path, config: dict[str, Any], name: str = "run") -> mashq.MatchRun:
    return mashq.play(config, tmp_path / name)


def test_a_match_without_faults_obeys_the_identities(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 5)
    with FakeProvider(seed=3) as provider:
        result = play(tmp_path, http_config(provider.base_url, data))
        check_ledger(tmp_path / "run", provider.hits())
    for player in result["players"]:
        assert player["calls"] == 2 * 5 + player["reviews"]
        assert player["unknown_attempts"] == 0
        assert player["q"] == player["q_min"] == player["q_max"]
        assert player["dollars"] is None, "no price is known for such a model: unknown, not 0"
    assert result["winner"] in ("A", "B")
    assert result["attempts"]["opened"] == sum(player["calls"] for player in result["players"])
    assert result["simulated"] is False
    assert mashq.show(tmp_path / "run") == result


@pytest.mark.parametrize("turn", ["cycle", "single"])
def test_the_same_seed_gives_the_same_match(tmp_path: Path, turn: str) -> None:
    data = write_items(tmp_path / "items.jsonl", 4)
    rules = {"turn": turn, "show_seconds": False, "vision": {"when": "always"}}
    with FakeProvider(seed=5, latency=0.003) as provider:
        config = http_config(provider.base_url, data, rules=rules)
        play(tmp_path, config, "one")
        play(tmp_path, config, "two")
    assert story(tmp_path / "one") == story(tmp_path / "two")


EVERY_FAULT = {
    "429": 0.06,
    "429_date": 0.02,
    "500": 0.06,
    "503": 0.03,
    "400": 0.02,
    "reset_before": 0.04,
    "drop_headers": 0.03,
    "drop_body": 0.06,
    "half_close": 0.03,
    "wrong_length": 0.02,
    "bad_gzip": 0.02,
    "bad_utf8": 0.02,
    "html": 0.02,
    "truncated_json": 0.03,
    "not_a_completion": 0.02,
    "no_usage": 0.06,
    "bad_usage": 0.03,
    "wrong_json": 0.05,
    "refusal": 0.03,
    "content_filter": 0.02,
    "empty": 0.02,
    "length": 0.02,
    "fenced": 0.04,
    "echo_key_500": 0.02,
}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_every_fault_the_ledger_is_exact(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", "sk-loopback-secret-0123456789")
    data = write_items(tmp_path / "items.jsonl", 12)
    with FakeProvider(seed=seed, faults={"rates": EVERY_FAULT, "retry_after": 0}) as provider:
        config = http_config(provider.base_url, data)
        config["models"] = {name: model | {"api_key_env": "LOOPBACK_KEY"} for name, model in config["models"].items()}
        result = play(tmp_path, config)
        check_ledger(tmp_path / "run", provider.hits())
        assert len({hit["fault"] for hit in provider.hits()}) > 12
    assert not sent_twice(tmp_path / "run")
    assert result["attempts"]["failed"] > 0
    for file in (tmp_path / "run").iterdir():
        assert b"sk-loopback-secret" not in file.read_bytes(), f"the key is in {file.name}"


def test_a_dead_players_match_goes_on_for_the_other_when_nobody_gives_up(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 4)
    unseen = {"show_seconds": False, "vision": {"when": "never"}}
    with FakeProvider(seed=1) as provider:
        config = http_config(provider.base_url, data, rules=unseen)
        config["models"] = {name: {**model, "give_up": False} for name, model in config["models"].items()}
        play(tmp_path, config, "healthy")
        provider.configure(models={"alpha": {"rates": {"500": 1.0}}})
        result = play(tmp_path, config, "sick")
    assert story(tmp_path / "sick")["B"] == story(tmp_path / "healthy")["B"]
    a, b = result["players"]
    assert (a["answer_rate"], b["answer_rate"]) == (0.0, 1.0)
    assert a["q"] is None and b["q"] is None and result["items"] == 0
    assert any("Q is undefined" in note for note in result["notes"])
    assert any(note.startswith("A failed 4 of 4 items; the last error: HTTP 500") for note in result["notes"])
    views = {view["refusals"]: view["players"] for view in result["views"]}
    assert views["penalised"]["A"]["h"] == 0.0
    assert views["penalised"]["B"]["h"] > 0.5
    assert {dropped["item"] for dropped in result["dropped"]} == {f"item-{n}" for n in range(4)}


def test_missing_usage_is_unknown_and_bounds_q(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 4)
    with FakeProvider(seed=1, faults={"models": {"alpha": {"rates": {"no_usage": 0.5}}}}) as provider:
        result = play(tmp_path, http_config(provider.base_url, data))
    a, b = result["players"]
    assert a["unknown_attempts"] > 0
    assert b["unknown_attempts"] == 0 and b["charged"] == {}
    unknown = "FROM attempts WHERE player = 'A' AND tokens_in IS NULL"
    least = rows(tmp_path / "run", "SELECT sum(tokens_in + tokens_out) FROM attempts WHERE player = 'A'")[0][0]
    most = rows(tmp_path / "run", f"SELECT sum(worst_in + worst_out) {unknown}")[0][0] + least
    assert a["tokens"] - a["charged"]["tokens"] == pytest.approx(least) and least < a["tokens"] < most
    of_a = {
        name: 0.1 * x / max(x, b["tokens"]) for name, x in {"now": a["tokens"], "best": least, "worst": most}.items()
    }
    assert a["q_min"] == pytest.approx(a["q"] + of_a["now"] - of_a["worst"]) and of_a["worst"] >= of_a["now"]
    assert a["q_max"] == pytest.approx(a["q"] + of_a["now"] - of_a["best"]) and of_a["best"] < of_a["worst"]
    of_b = {x: 0.1 * b["tokens"] / max(x, b["tokens"]) for x in (a["tokens"], least, most)}
    assert b["q_min"] == pytest.approx(b["q"] + of_b[a["tokens"]] - of_b[least])
    assert b["q_max"] == pytest.approx(b["q"] + of_b[a["tokens"]] - of_b[most]) and of_b[most] < of_b[least]
    assert (
        rows(tmp_path / "run", "SELECT count(*) FROM attempts WHERE tokens_in IS NULL")[0][0] == a["unknown_attempts"]
    )
    with FakeProvider(seed=1, faults={"models": {"alpha": {"rates": {"no_usage": 1.0}}}}) as provider:
        blind = play(tmp_path, http_config(provider.base_url, data), "blind")
    worst = rows(tmp_path / "blind", "SELECT sum(worst_in + worst_out) FROM attempts WHERE player = 'A'")[0][0]
    a = blind["players"][0]
    assert (a["tokens"], a["charged"]["tokens"]) == (worst, worst), "nothing known of any purpose: the worst case"
    assert not any("left out of P" in note for note in blind["notes"])


def test_an_unusable_reply_is_asked_for_once_more_then_taken_as_it_is(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 2)
    with FakeProvider(seed=1, faults={"models": {"alpha": {"rates": {"wrong_json": 1.0}}}}) as provider:
        result = play(tmp_path, http_config(provider.base_url, data))
    moves = story(tmp_path / "run")["A"]
    assert all(move["plain"] for move in moves if move["kind"] == "answer")
    assert all(move["source"] == "fallback" for move in moves if move["kind"] == "decision")
    assert result["players"][0]["calls"] == 2 * (2 + 2), "every ask was repeated once, and counted"


def test_a_refused_answer_is_not_asked_again_and_a_refused_decision_continues(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 2)
    with FakeProvider(seed=1, faults={"models": {"alpha": {"rates": {"refusal": 1.0}}}}) as provider:
        result = play(tmp_path, http_config(provider.base_url, data))
    moves = story(tmp_path / "run")["A"]
    assert [move["status"] for move in moves if move["kind"] == "answer"] == ["refused", "refused"]
    assert [move["choice"] for move in moves if move["kind"] == "decision"] == ["continue", "continue"]
    assert rows(tmp_path / "run", "SELECT count(*) FROM attempts WHERE player = 'A'")[0][0] == 4
    assert result["attempts"]["failed"] == 0


def test_a_time_out_is_an_attempt_of_unknown_cost(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 1)
    with FakeProvider(seed=1, faults={"models": {"alpha": {"script": ["hang"]}}, "hang": 3}) as provider:
        config = http_config(provider.base_url, data)
        config["models"]["my/alpha"] = config["models"]["my/alpha"] | {"timeout": 0.3}
        result = play(tmp_path, config)
        check_ledger(tmp_path / "run", provider.hits())
    assert result["players"][0]["unknown_attempts"] == 1
    assert rows(tmp_path / "run", "SELECT outcome FROM attempts WHERE player = 'A' ORDER BY id")[0] == ("timeout",)
    assert result["players"][0]["seconds"] >= 0.3, "the time it took is known and charged"


def test_waiting_for_a_slot_is_not_service_time(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 3)
    with FakeProvider(seed=1, latency=0.05) as provider:
        config = http_config(provider.base_url, data)
        config["models"] = {name: model | {"concurrency": 1} for name, model in config["models"].items()}
        play(tmp_path, config)
    seconds, waited = rows(tmp_path / "run", "SELECT max(seconds), sum(waited) FROM attempts")[0]
    assert seconds < 0.095
    assert waited > 0.05


def test_budgets_are_never_overrun_and_the_player_stops(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=1) as provider:
        config = http_config(provider.base_url, data)
        config["players"][0]["budget"] = {"tokens": 4000}
        result = play(tmp_path, config)
    a, b = result["players"]
    assert 0 < a["tokens"] <= 4000
    assert "budget of 4000 tokens cannot cover the next call" in a["stopped"]
    assert b["stopped"] is None
    assert 0 < a["answer_rate"] < 1
    assert result["items"] == 6, "items a stopped player left unanswered count as 0; they are not dropped"


def test_a_shared_budget_is_drawn_on_in_seat_order(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    rules = {"shared_budget": {"calls": 9}, "R": 0, "show_seconds": False}
    with FakeProvider(seed=1, latency=0.01) as provider:
        result = play(tmp_path, http_config(provider.base_url, data, rules=rules))
        assert len(provider.hits()) == 9
    assert [player["calls"] for player in result["players"]] == [5, 4]


def test_anthropic_messages_count_cached_tokens_once(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 3)
    with FakeProvider(seed=1) as provider:
        config = http_config(provider.base_url, data)
        config["models"] = {name: model | {"wire": "anthropic"} for name, model in config["models"].items()}
        config["models"]["my/alpha"]["price"] = {"input": 1.0, "output": 2.0}
        config["models"] = {k: v | {"api_key_env": "LOOPBACK_KEY"} for k, v in config["models"].items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LOOPBACK_KEY", "sk-test")
            result = play(tmp_path, config)
        assert {hit["path"] for hit in provider.hits()} == {"/v1/messages"}
        check_ledger(tmp_path / "run", provider.hits())
    a = result["players"][0]
    assert a["dollars"] == pytest.approx((a["tokens_in"] + 2 * a["tokens_out"]) / 1e6)
