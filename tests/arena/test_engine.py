"""The engine with simulated, recorded and misbehaving players."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import mashq
from mashq.arena import context as table
from mashq.arena import match as arena
from mashq.arena.referee import Referee
from mashq.config import PlayerConfig, check
from mashq.detectors.base import Pair
from mashq.errors import DetectorError, MashqError
from mashq.gateway.model import Model
from mashq.gateway.types import Message
from mashq.players.base import Draft, Player
from mashq.players.prompts import Prompts
from mashq.protocol import Answer, Decision, Observation, to_move
from mashq.protocol.results import results_of
from mashq.runs.open import load
from mashq.runs.setup import first_state
from tests.arena.helpers import check_sums, rows, story


def simulated(count: int = 6, players: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "task": {"limit": count},
        "players": [{"name": f"p{n}", "model": "simulated/default"} for n in range(players)],
        **changes,
    }


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turn=st.sampled_from(["cycle", "single"]),
    policy=st.sampled_from(["llm", "rule"]),
    keep=st.sampled_from(["latest", "better"]),
    when=st.sampled_from(["never", "review", "always"]),
    threshold=st.sampled_from([0.0, 0.7, 0.85, 1.0]),
    most=st.integers(0, 3),
    players=st.integers(1, 4),
    orders=st.lists(st.sampled_from(["forward", "reverse", "shuffle", "rotate 2"]), min_size=4, max_size=4),
    seed=st.integers(0, 1000),
)
def test_the_call_identities_hold_through_the_whole_engine(
    tmp_path_factory: pytest.TempPathFactory,
    turn: str,
    policy: str,
    keep: str,
    when: str,
    threshold: float,
    most: int,
    players: int,
    orders: list[str],
    seed: int,
) -> None:
    rules = {"turn": turn, "T": threshold, "R": most, "keep": keep, "vision": {"when": when}}
    config = simulated(4, players, rules=rules, seed=seed)
    for player, order in zip(config["players"], orders, strict=False):
        player |= {"policy": policy, "order": order}
    out = tmp_path_factory.mktemp("engine") / "run"
    result = mashq.play(config, out)
    moves = story(out)
    for player in result["players"]:
        ended = sum('"choice": "end"' in (move["ruling"] or "") for move in moves[player["name"]])
        once = 4 + player["reviews"]
        decisions = 0 if policy == "rule" else 4 if turn == "cycle" else once + ended
        assert player["calls"] == once + decisions
    check_sums(out)
    played = load(out)
    assert played.results == results_of(played.state), "the rows written at the end are the fold of the events"
    assert asyncio.run(arena.resume(out)).finished


def test_equal_players_in_equal_positions_tie(tmp_path: Path) -> None:
    models = {"simulated/default": {"simulate": {"common": True}}}
    config = simulated(rules={"vision": {"when": "never"}}, models=models)
    for player in config["players"]:
        player["order"] = "forward"
    result = mashq.play(config, tmp_path / "run")
    assert (result["winner"], result["tied"]) == (None, ["p0", "p1"])


def test_simulated_answers_carry_their_own_score_and_say_so(tmp_path: Path) -> None:
    result = mashq.play(simulated(), tmp_path / "run")
    assert result["simulated"] is True
    assert all(move["simulated"] for move in story(tmp_path / "run")["p0"] if move["kind"] == "answer")
    assert rows(tmp_path / "run", "SELECT count(*) FROM attempts WHERE h IS NULL AND purpose = 'answer'")[0][0] == 0


def test_refusals_and_failures_of_simulated_players_are_data(tmp_path: Path) -> None:
    models = {"simulated/default": {"simulate": {"refusal_rate": 0.3, "failure_rate": 0.2}}}
    result = mashq.play(simulated(20, models=models), tmp_path / "run")
    assert 0 < result["items"] < 20
    assert any("refused" in note for note in result["notes"])
    assert any("failed" in note for note in result["notes"])


def test_recorded_answers_are_scored_and_cost_what_the_file_says(tmp_path: Path) -> None:
    passages = {"a": "The mill burned down on 3 May. Nobody was hurt.", "b": "Ann Lee won 12 medals in Oslo."}
    (tmp_path / "items.jsonl").write_text(
        "".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in passages.items())
    )
    lines: list[dict[str, Any]] = [
        {"item": "a", "text": "The mill burned down on 3 May.", "tokens_in": 10, "tokens_out": 5, "seconds": 1.0},
        {"item": "b", "text": "Bob Ray lost 99 matches in Lima.", "tokens_in": 10, "tokens_out": 5, "seconds": 2.0},
        {"item": "b", "purpose": "review", "text": "Ann Lee won 12 medals.", "tokens_in": 7, "dollars": 0.5},
        {"item": "a", "text": "", "player": "B"},
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    config = {
        "task": {"data": str(tmp_path / "items.jsonl")},
        "players": [
            {"name": "A", "model": f"recorded/{tmp_path / 'answers.jsonl'}", "policy": "rule", "R": 1},
            {"name": "B", "model": f"recorded/{tmp_path / 'answers.jsonl'}", "policy": "rule", "R": 0},
        ],
        "score": {"refusals": "penalised"},
    }
    result = mashq.play(config, tmp_path / "run")
    a, b = result["players"]
    assert a["h"] > 0.8 > a["h_before_review"]
    assert (a["calls"], a["reviews"], a["tokens_in"]) == (3, 1, 27)
    assert (a["seconds"], a["charged"]["seconds"]) == (123, 120), "no review told its seconds: the time-out"
    worst = rows(tmp_path / "run", "SELECT worst_out FROM attempts WHERE purpose = 'review'")[0][0]
    assert (a["tokens_out"], a["charged"]["tokens_out"]) == (10 + worst, worst)
    assert a["unknown_attempts"] == 1, "the review gave no tokens_out"
    assert a["dollars"] is None, "the answers gave none, and there is no price to charge them at: unknown, not 0.5"
    assert b["answer_rate"] == 0.5
    assert result["simulated"] is False


def test_a_player_that_raises_or_returns_junk_loses_its_turn_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        async def move(self, seen: Observation, model: Model) -> Draft:
            if seen.step == "answer" and seen.position % 2:
                raise RuntimeError("boom")
            return Decision("continue")

    made = table.agent

    def player(config: PlayerConfig, texts: Prompts) -> Player:
        return Broken() if config.name == "p0" else made(config, texts)

    monkeypatch.setattr(table, "agent", player)
    result = mashq.play(simulated(4), tmp_path / "run")
    errors = [move["error"] for move in story(tmp_path / "run")["p0"] if move["kind"] == "answer"]
    assert errors == ["the player returned Decision when asked to answer", "RuntimeError: boom"] * 2
    assert result["players"][1]["answer_rate"] == 1.0


class MyAnswer(Answer):
    """What a player may think an answer is."""


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (MyAnswer("ok", "x"), "the player returned MyAnswer"),
        (Answer("ok", cast(str, None)), "impossible fields"),
        (Answer(cast(Any, "great"), "x"), "impossible fields"),
        (Answer("ok", "x", 7.0, simulated=True), "impossible fields"),
        (asyncio.CancelledError(), "CancelledError"),
        (SystemExit(3), "SystemExit"),
        (DetectorError("not mine to raise"), "DetectorError"),
    ],
)
def test_whatever_a_player_does_costs_it_its_move_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Any, error: str
) -> None:
    class Odd:
        async def move(self, seen: Observation, model: Model) -> Draft:
            if seen.step == "decide":
                return Decision("continue", reason=cast(str, object()))
            if isinstance(made, BaseException):
                raise made
            return made

    usual = table.agent

    def player(config: PlayerConfig, texts: Prompts) -> Player:
        return Odd() if config.name == "p0" else usual(config, texts)

    monkeypatch.setattr(table, "agent", player)
    result = mashq.play(simulated(2), tmp_path / "run")
    answers = [move for move in story(tmp_path / "run")["p0"] if move["kind"] == "answer"]
    assert [answer["status"] for answer in answers] == ["failed", "failed"]
    assert all(error in answer["error"] for answer in answers)
    assert result["players"][1]["answer_rate"] == 1.0
    assert any(note.startswith("p0 failed 2 of 2 items; the last error: ") for note in result["notes"])


def test_a_budget_holds_for_asks_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Greedy:
        async def move(self, seen: Observation, model: Model) -> Draft:
            asks = [model.ask([Message("user", "hello")]) for _ in range(10)]
            await asyncio.gather(*asks, return_exceptions=True)
            return Decision("continue")

    def player(_config: PlayerConfig, _texts: Prompts) -> Player:
        return Greedy()

    monkeypatch.setattr(table, "agent", player)
    config = simulated(2, 1, rules={"budget": {"calls": 3}})
    result = mashq.play(config, tmp_path / "run")
    assert result["attempts"]["opened"] == 3
    assert "budget of 3 calls" in result["players"][0]["stopped"]


def test_a_player_cannot_state_its_own_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar:
        async def move(self, seen: Observation, model: Model) -> Draft:
            return (
                Answer("ok", "Nonsense about zebras.", 1.0, simulated=True)
                if seen.step == "answer"
                else Decision("end")
            )

    def player(_config: PlayerConfig, _texts: Prompts) -> Player:
        return Liar()

    monkeypatch.setattr(table, "agent", player)
    (tmp_path / "empty.jsonl").write_text("")
    config = simulated(2, 1)
    config["players"][0]["model"] = f"recorded/{tmp_path / 'empty.jsonl'}"
    assert mashq.play(config, tmp_path / "run")["players"][0]["h"] < 0.5


class Odd:
    """A detector that misbehaves."""

    name, version = "odd", "0"

    def __init__(self, scores: list[float] | Exception) -> None:
        self.scores = scores

    def score(self, pairs: object) -> list[float]:
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ([float("nan")], "not a score"),
        ([1.5], "not a score"),
        ([], "0 scores for 1"),
        (ValueError("oops"), "ValueError: oops"),
        (DetectorError("mine"), "mine"),
    ],
)
async def test_a_broken_detector_is_one_sentence(scores: list[float] | Exception, sentence: str) -> None:
    referee = Referee(Odd(scores))
    with pytest.raises(DetectorError, match=sentence):
        await referee.score(Pair("source", "answer"))
    referee.close()


async def test_answers_that_wait_are_scored_together() -> None:
    sizes: list[int] = []

    class Counting:
        name, version = "counting", "1"

        def score(self, pairs: list[Pair]) -> list[float]:
            sizes.append(len(pairs))
            return [float(pair.answer) for pair in pairs]

    referee = Referee(Counting())  # pyright: ignore[reportArgumentType]
    wanted = [n / 100 for n in range(100)]
    assert await asyncio.gather(*(referee.score(Pair("s", str(h))) for h in wanted)) == wanted
    referee.close()
    assert sum(sizes) == 100 and len(sizes) < 10


async def test_a_quick_detector_is_called_in_place_and_a_slow_one_is_not() -> None:
    threads: list[str] = []
    pause = 0.0

    class Varying:
        name, version = "varying", "1"

        def score(self, pairs: list[Pair]) -> list[float]:
            threads.append(threading.current_thread().name)
            time.sleep(pause)
            return [0.5] * len(pairs)

    referee = Referee(Varying())  # pyright: ignore[reportArgumentType]
    here = threading.current_thread().name
    for _ in range(20):
        assert await referee.score(Pair("s", "a")) == 0.5
    assert threads[0] != here and here in threads
    pause = 0.01
    for _ in range(3):
        assert await referee.score(Pair("s", "a")) == 0.5
    assert here not in threads[-2:]
    referee.close()


def test_a_detector_that_fails_stops_the_match_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mashq.detectors import base

    data = tmp_path / "a.jsonl"
    data.write_text('{"item": "harbour-bridge-vote", "text": "x"}\n')
    config = simulated(1, 1)
    config["players"][0] |= {"model": f"recorded/{data}", "policy": "rule"}

    def odd(_name: str) -> Odd:
        return Odd([7.0])

    with monkeypatch.context() as patch:
        patch.setattr(base, "load", odd)
        with pytest.raises(MashqError, match="not a score"):
            mashq.play(config, tmp_path / "run")
    assert not mashq.show(tmp_path / "run")["finished"]
    with pytest.raises(MashqError, match="begun with grounding 0"):
        mashq.resume(tmp_path / "run")


def test_three_players_see_each_other_and_rotate(tmp_path: Path) -> None:
    result = mashq.play(simulated(9, 3, rules={"vision": {"when": "always"}}), tmp_path / "run")
    assert len(result["players"]) == 3
    first = rows(
        tmp_path / "run", "SELECT player, item FROM events WHERE round = 0 AND kind = 'answer' ORDER BY player"
    )
    assert len({item for _, item in first}) == 3
    prompts = rows(
        tmp_path / "run",
        "SELECT messages FROM prompts JOIN attempts ON prompt = digest WHERE player = 'p0' AND round = 1"
        " AND purpose = 'decision'",
    )
    assert "rival p1" in prompts[0][0] and "rival p2" in prompts[0][0] and "rival p0" not in prompts[0][0]


def test_a_match_can_be_set_up_without_being_played() -> None:
    state = first_state(check(simulated(2)), ())
    assert to_move(state) == {}
