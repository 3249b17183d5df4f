"""Many matches in one run: trials, sweeps, tournaments, games; stopped, resumed, in processes and on Ray."""

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mashq
from mashq.arena import match
from mashq.arena.executors.base import Executor
from mashq.arena.executors.local import LocalExecutor
from mashq.arena.executors.processes import Processes
from mashq.arena.executors.ray_cluster import allotted
from mashq.config import check, together_of
from mashq.errors import ConfigError
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents import seasons
from mashq.report.documents.base import dumped
from mashq.report.text.seasons import text
from mashq.runs.open import Season, load_season
from mashq.runs.seasons import batches
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, rows, sent_twice, write_items
from tests.arena.helpers import mashq as command

MODELS = {"simulated/a": {"simulate": {"h": 0.8}}, "simulated/b": {"simulate": {"h": 0.7, "tokens_out": 60}}}


def config(items: int = 6, **changes: Any) -> dict[str, Any]:
    players = [{"name": "A", "model": "simulated/a"}, {"name": "B", "model": "simulated/b", "policy": "rule"}]
    return {"task": {"limit": items}, "players": players, "models": MODELS, **changes}


def field(names: str, *thresholds: float) -> list[dict[str, Any]]:
    return [
        {"name": name, "model": "simulated/a", "policy": "rule", "T": t}
        for name, t in zip(names, thresholds, strict=True)
    ]


def play(settings: dict[str, Any], out: Path, season: dict[str, Any], executor: Executor | None = None) -> Any:
    return asyncio.run(match.run(check(settings), out, season=season, executor=executor))


def told(run: Path) -> list[tuple[Any, ...]]:
    """All moves of all matches without their costs: equal means the same season."""
    query = "SELECT match, player, round, kind, item, move, ruling FROM events ORDER BY match, player, round, seq"
    found: list[tuple[Any, ...]] = []
    for *where, move, ruling in rows(run, query):
        body = {key: value for key, value in json.loads(move).items() if key != "spend"}
        found.append((*where, json.dumps(body, sort_keys=True), ruling))
    return found


def test_trials_have_their_own_seeds_and_each_is_the_match_it_would_be_alone(tmp_path: Path) -> None:
    found = mashq.play(config(), tmp_path / "run", trials=3)
    assert (found["kind"], found["trials"], found["planned"]) == ("trials", 3, 3)
    moves = {m: [row[1:] for row in told(tmp_path / "run") if row[0] == m] for m in ("0", "1", "2")}
    assert moves["0"] != moves["1"] != moves["2"]
    mashq.play(config(), tmp_path / "alone")
    assert moves["0"] == [row[1:] for row in told(tmp_path / "alone")]
    each = [dumped(seasons.document(load_season(tmp_path / "alone")))["players"][0]["q"]]
    assert found["players"][0]["sd"]["q"] > 0 and abs(found["players"][0]["q"] - each[0]) < 0.2
    assert found == mashq.show(tmp_path / "run") == mashq.resume(tmp_path / "run")


def test_trials_that_cannot_differ_say_so(tmp_path: Path) -> None:
    quiet = {"simulated/a": {"simulate": {"h_spread": 0.0, "tokens_spread": 0.0, "seconds_spread": 0.0}}}
    players = [{"name": "A", "model": "simulated/a", "agent": "plain"}]
    found = mashq.play(config(players=players, models=quiet), tmp_path / "run", trials=2)
    assert any("All trials are the same" in note for note in found["notes"])
    assert found["players"][0]["sd"]["q"] == 0


@pytest.mark.parametrize(
    "season",
    [
        {"kind": "match", "trials": 4},
        {"kind": "sweep", "trials": 2, "over": [["rules.T", [0.7, 0.9]], ["score.beta", [0.1, 0.2]]]},
        {"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 1},
        {"kind": "tournament", "system": "swiss", "rounds": 2, "seats": 2, "trials": 1},
        {"kind": "game", "vision": ["never", "review"], "trials": 1},
        {"kind": "vision", "when": "always", "trials": 1},
    ],
    ids=lambda season: season["kind"] + season.get("system", ""),
)
def test_processes_play_the_same_season_as_this_one(tmp_path: Path, season: dict[str, Any]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    one, two = play(config(), here, season, LocalExecutor(3)), play(config(), there, season, Processes(2))
    assert told(here) == told(there) and told(here)
    assert dumped(seasons.document(one)) | {"run": ""} == dumped(seasons.document(two)) | {"run": ""}
    assert text(seasons.document(one))
    assert rows(here, "SELECT count(*) FROM matches WHERE ended IS NULL") == [(0,)]


def test_a_season_killed_at_any_time_ends_the_same(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 4)
    with FakeProvider(seed=3, latency=0.01) as provider:
        settings = http_config(provider.base_url, data)
        (tmp_path / "match.yaml").write_text(json.dumps(settings))
        whole = command("run", tmp_path / "match.yaml", "--trials", 3, "--out", tmp_path / "whole", "--json")
        assert whole.returncode == 0, whole.stderr
        requests = len(provider.hits())
        for kill in range(3):
            run, before = tmp_path / f"killed-{kill}", len(provider.hits())
            line = [
                sys.executable,
                "-m",
                "mashq",
                "run",
                str(tmp_path / "match.yaml"),
                "--trials",
                "3",
                "--out",
                str(run),
            ]
            with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and len(provider.hits()) < before + (kill + 1) * requests // 5:
                    time.sleep(0.002)
                os.kill(process.pid, signal.SIGKILL)
            assert not mashq.show(run)["finished"]
            mashq.resume(run)
            assert told(run) == told(tmp_path / "whole")
            assert not [call for m in "012" for call in sent_twice(run, m)]
            check_ledger(run, provider.hits()[before:], killed=True)


def test_a_worker_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mashq.arena.executors import processes

    hired: list[Any] = []
    made = processes._Worker  # pyright: ignore[reportPrivateUsage]

    class Frail(made):
        def __init__(self, kit: Any) -> None:
            super().__init__(kit)
            hired.append(self)
            self.heard = 0

        def hear(self) -> tuple[str, Any]:
            self.heard += 1
            if self is hired[0] and self.heard == 3:
                os.kill(self._process.pid or 0, signal.SIGKILL)
            return super().hear()

    season = {"kind": "match", "trials": 3}
    play(config(40), tmp_path / "whole", season, LocalExecutor())
    monkeypatch.setattr(processes, "_Worker", Frail)
    play(config(40), tmp_path / "run", season, Processes(1))
    assert len(hired) == 2
    assert told(tmp_path / "run") == told(tmp_path / "whole")


def test_answers_asked_ahead_change_nothing_but_the_time(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=5, latency=0.01) as provider:
        settings = http_config(provider.base_url, data)
        mashq.play(settings, tmp_path / "plain")
        before = len(provider.hits())
        mashq.play({**settings, "ahead": 4}, tmp_path / "ahead")
        check_ledger(tmp_path / "ahead", provider.hits()[before:])
    assert told(tmp_path / "plain") == told(tmp_path / "ahead")
    first = rows(tmp_path / "ahead", "SELECT item FROM attempts WHERE player = 'A' ORDER BY id LIMIT 5")
    assert len(set(first)) == 5, "five answers were on their way before the first decision"


def test_with_a_budget_nothing_is_asked_ahead(tmp_path: Path) -> None:
    players = [{"name": "A", "model": "simulated/a", "budget": {"calls": 7}}, {"name": "B", "model": "simulated/b"}]
    mashq.play(config(players=players, ahead=4), tmp_path / "ahead")
    mashq.play(config(players=players), tmp_path / "plain")
    assert told(tmp_path / "ahead") == told(tmp_path / "plain")


def test_a_sweep_of_the_score_plays_nothing_twice(tmp_path: Path) -> None:
    over = [["score.beta", [0.0, 0.1, 1.0]]]
    season = play(config(), tmp_path / "run", {"kind": "sweep", "trials": 1, "over": over})
    found = dumped(seasons.document(season))
    assert rows(tmp_path / "run", "SELECT count(*) FROM matches") == [(1,)]
    assert [cell["settings"]["score.beta"] for cell in found["cells"]] == [0.0, 0.1, 1.0]
    first = found["cells"][0]["players"][0]
    assert first["q"] == pytest.approx(first["h"])
    assert found["cells"][2]["players"][0]["against_first"]["q"]["value"] == pytest.approx(-first["penalty"])


def test_a_value_that_stands_twice_is_two_combinations(tmp_path: Path) -> None:
    found = play(
        config(), tmp_path / "run", {"kind": "sweep", "trials": 2, "over": [["players.0.T", [0.5, 0.5, 0.9]]]}
    )
    shown = seasons.document(found)
    assert [(one["settings"], one["trials"]) for one in dumped(shown)["cells"]] == [
        ({"players.0.T": value}, 2) for value in (0.5, 0.5, 0.9)
    ]


def test_a_player_who_joins_plays_only_its_own_matches(tmp_path: Path) -> None:
    names = field("ABC", 0.5, 0.9, 1)
    season = {"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 1}
    play(config(players=names[:2]), tmp_path / "run", season)
    first = rows(tmp_path / "run", "SELECT id, position, ended FROM matches ORDER BY position")
    asyncio.run(match.join(tmp_path / "run", check(config(players=names))))
    after = rows(tmp_path / "run", "SELECT id, position, ended FROM matches ORDER BY position")
    assert after[: len(first)] == first and len(after) == 6
    play(config(players=names), tmp_path / "whole", season)
    assert told(tmp_path / "run") == told(tmp_path / "whole")
    with pytest.raises(ConfigError, match="already"):
        asyncio.run(match.join(tmp_path / "run", check(config(players=names))))
    with pytest.raises(ConfigError, match="other rules"):
        asyncio.run(
            match.join(tmp_path / "run", check(config(players=[{**names[0], "name": "D"}], rules={"T": 0.1})))
        )


def test_three_seats_are_rated_by_their_order(tmp_path: Path) -> None:
    names = field("ABCD", 0, 0.7, 0.9, 1)
    season = play(
        config(players=names), tmp_path / "run", {"kind": "tournament", "system": "x", "seats": 3, "trials": 1}
    )
    found = dumped(seasons.document(season))
    assert rows(tmp_path / "run", "SELECT count(*) FROM matches") == [(12,)]
    by_rating = [player["name"] for player in found["players"]]
    assert by_rating == sorted(by_rating, key=lambda name: -_mean_q(season, name)), "the higher mean Q, the better"
    assert sum(player["p_first"] for player in found["players"]) == pytest.approx(1)


def _mean_q(season: Season, name: str) -> float:
    scores = [score(played.results, ScoreRules()) for played in season.fixtures_played()]
    found = [row.q for one in scores for row in one.players if row.name == name and row.q is not None]
    return sum(found) / len(found)


def test_the_game_knows_its_equilibria_and_vision_its_steps(tmp_path: Path) -> None:
    players = [
        {"name": "frugal", "model": "simulated/a", "policy": "rule", "R": 0},
        {"name": "lavish", "model": "simulated/a", "policy": "rule", "T": 1.0},
    ]
    season = play(config(8, players=players), tmp_path / "game", {"kind": "game", "vision": ["never"], "trials": 2})
    solved = dumped(seasons.document(season))["games"]["never"]
    assert all(one["regret"] <= 1e-9 for one in solved["equilibria"]) and solved["equilibria"]
    assert rows(tmp_path / "game", "SELECT count(*) FROM matches") == [(8,)]
    found = dumped(
        seasons.document(play(config(8), tmp_path / "vision", {"kind": "vision", "when": "review", "trials": 1}))
    )
    for player in found["players"]:
        assert set(player["changes"]) == {"company", "vision"}
        assert player["changes"]["company"]["h"]["value"] == 0, "a simulated player does not look at its rivals"


def test_positions_never_collide() -> None:
    players = [{"name": name, "model": "simulated/a"} for name in "ABCDE"]
    settings = check(config(players=players))
    for season in (
        {"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 3},
        {"kind": "tournament", "system": "round-robin", "seats": 4, "trials": 2},
        {"kind": "game", "vision": ["never", "always"], "trials": 2},
        {"kind": "vision", "when": "always", "trials": 2, "items": 9},
    ):
        (batch,) = batches(settings, season, lambda _match: ())
        assert sorted(fixture.position for fixture in batch) == list(range(len(batch)))
        assert len({fixture.id for fixture in batch}) == len(batch)


def test_limits_are_shared_out() -> None:
    models = {"my/m": {"base_url": "http://x/v1", "concurrency": 8, "requests_per_minute": 60.0}}
    settings = check({"players": [{"name": "A", "model": "my/m"}], "models": models})
    part = allotted(settings, 4).model("my/m")
    assert (part.concurrency, part.requests_per_minute) == (2, 15.0)
    assert allotted(settings, 100).model("my/m").concurrency == 1


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_on_ray_a_season_is_the_same_and_a_lost_worker_costs_nothing_twice(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=9, latency=0.05) as provider:
        settings = http_config(provider.base_url, data)
        (tmp_path / "match.yaml").write_text(json.dumps(settings))
        here = command("run", tmp_path / "match.yaml", "--trials", 2, "--out", tmp_path / "here", "--json")
        assert here.returncode == 0, here.stderr
        before = len(provider.hits())
        line = [sys.executable, "-m", "mashq", "run", str(tmp_path / "match.yaml"), "--trials", "2"]
        line += ["--executor", "ray", "--out", str(tmp_path / "ray"), "--json"]
        killed = 0
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not killed:
                if len(provider.hits()) > before + 5:
                    killed = _kill_a_worker()
                time.sleep(0.01)
            out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert killed, "no worker was there to kill"
        assert told(tmp_path / "ray") == told(tmp_path / "here")
        assert not [call for m in "01" for call in sent_twice(tmp_path / "ray", m)]
        check_ledger(tmp_path / "ray", provider.hits()[before:], killed=True)
        ours, theirs = json.loads(here.stdout), json.loads(out)
        assert [player["h"] for player in ours["players"]] == [player["h"] for player in theirs["players"]]


def _kill_a_worker() -> int:
    """Kill one process that plays a match."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                title = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::mashq-match"):
                os.kill(int(entry.name), signal.SIGKILL)
                return int(entry.name)
    return 0


def test_settings_can_change_together(tmp_path: Path) -> None:
    over = [list(together_of("rules.T,rules.R=0.7,1/0.9,2")), ["rules.vision.when", ["never", "review"]]]
    season = play(config(), tmp_path / "run", {"kind": "sweep", "trials": 1, "over": over})
    played = [(f.config.rules.T, f.config.rules.R, f.config.rules.vision.when) for f in season.fixtures()]
    assert played == [(0.7, 1, "never"), (0.7, 1, "review"), (0.9, 2, "never"), (0.9, 2, "review")]
    found = dumped(seasons.document(season))
    assert [axis["values"] for axis in found["over"]] == [["0.7, 1", "0.9, 2"], ["never", "review"]]
    assert [cell["settings"]["rules.T,rules.R"] for cell in found["cells"]] == ["0.7, 1"] * 2 + ["0.9, 2"] * 2


@pytest.mark.parametrize(
    ("option", "found"),
    [
        ("a.b,a.c=1,x/2,y", ("a.b,a.c", [[1, "x"], [2, "y"]])),
        ("a.b,a.c=[p/q,p/q],[r/s,r/s]", ("a.b,a.c", [["p/q", "p/q"], ["r/s", "r/s"]])),
    ],
)
def test_values_that_change_together_are_read(option: str, found: object) -> None:
    assert together_of(option) == found


@pytest.mark.parametrize(
    "option", ["rules.T=1,2", "a,b", "a,b=", "a,b=1", "a,b=1,2/3", "a,b=1,2,3", "=1,2", "a,b=p/q,p/q"]
)
def test_what_does_not_change_together_is_told(option: str) -> None:
    with pytest.raises(ConfigError, match="--with"):
        together_of(option)


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({}, 1),
        ({"policy": "rule"}, 1),
        ({"policy": "bayes"}, 2),
        ({"model": "local/some.gguf"}, 2),
        ({"model": "local/some.gguf", "policy": "rule"}, 1),
        ({"model": "local/some.gguf", "agent": "react"}, 2),
        ({"model": "local/some.gguf", "agent": "plain"}, 1),
        ({"agent": "external", "command": "x"}, 2),
    ],
)
def test_a_score_that_a_player_is_told_is_played(changes: dict[str, Any], matches: int) -> None:
    document = config()
    document["players"] = [document["players"][0] | changes, document["players"][1]]
    over = [["score.beta", [0.1, 0.2]]]
    for tell, wanted in ((["formula"], matches), (["costs", "disclosure"], 1)):
        told = check(document | {"rules": {"tell": tell}})
        (found,) = batches(told, {"kind": "sweep", "trials": 1, "over": over}, lambda _: ())
        assert len(found) == wanted
    (refusals,) = batches(
        check(document), {"kind": "sweep", "over": [["score.refusals", ["answered"]]]}, lambda _: ()
    )
    assert len(refusals) == 1


@pytest.mark.parametrize(
    ("matches", "items", "model", "in_processes"),
    [
        (50, 100, "simulated/default", True),  # 50 * 100 * 2 turns
        (49, 100, "simulated/default", False),
        (1, 5000, "simulated/default", False),
        (50, 100, "openai/x", False),
    ],
)
def test_many_matches_that_only_compute_are_played_in_processes(
    matches: int, items: int, model: str, in_processes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    config = check({"players": [{"name": name, "model": model} for name in ("A", "B")]})
    context: Any = SimpleNamespace(config=config, items=range(items))
    fixtures: Any = range(matches)
    assert isinstance(match.fitting(fixtures, context), Processes) == in_processes
