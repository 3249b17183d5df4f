"""The commands as a user runs them."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mashq as package
from mashq.gateway.backends import weights
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, mashq, story, write_items

SIMULATED: dict[str, Any] = {
    "task": {"limit": 6},
    "players": [{"name": "A", "model": "simulated/default"}, {"name": "B", "model": "simulated/default"}],
}
KEYS = {
    "name",
    "model",
    "h",
    "h_before_review",
    "answer_rate",
    "calls",
    "tokens_in",
    "tokens_out",
    "tokens",
    "reviews",
    "seconds",
    "dollars",
    "unknown_attempts",
    "penalty",
    "q",
    "q_min",
    "q_max",
}


def write(folder: Path, config: Mapping[str, object]) -> Path:
    path = folder / "match.yaml"
    path.write_text(json.dumps(config))
    return path


def test_run_show_and_resume_agree(tmp_path: Path) -> None:
    config, out = write(tmp_path, SIMULATED), tmp_path / "out"
    ran = mashq("run", config, "--out", out, "--json", "--set", "score.beta=0.05", "--set", "players.1.R=0")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert (document["beta"], document["simulated"], document["finished"]) == (0.05, True, True)
    assert {"run", "items", "alpha", "normalise", "refusals", "winner", "tied", "attempts"} <= set(document)
    assert all(set(player) >= KEYS for player in document["players"])
    assert document["players"][1]["reviews"] == 0
    assert set(document["attempts"]) == {"opened", "closed", "unresolved", "failed", "by_player"}
    assert json.loads(mashq("show", out, "--json").stdout) == document
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    resumed = mashq("resume", out, "--json")
    assert (resumed.returncode, json.loads(resumed.stdout)) == (0, document)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before, "a finished run is not touched"


def test_the_table_says_what_was_simulated_and_fits_100_columns(tmp_path: Path) -> None:
    ran = mashq("run", write(tmp_path, SIMULATED), "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert "SIMULATED" in ran.stdout
    assert "H before → after" in ran.stdout and "What the reviews bought" in ran.stdout
    shown = json.loads(mashq("show", tmp_path / "out", "--json").stdout)
    assert shown["headline"].startswith("No clear winner: B leads A by ") and not shown["clear"]
    assert shown["headline"] in " ".join(ran.stdout.split())
    assert max(len(line) for line in ran.stdout.splitlines()) <= 100
    assert str(tmp_path / "out") in ran.stderr


def test_hostile_names_and_errors_cannot_move_the_cursor(tmp_path: Path) -> None:
    players = [{"name": "\x1b[2J[bold]A[/bold]", "model": "simulated/default"}, SIMULATED["players"][1]]
    ran = mashq("run", write(tmp_path, SIMULATED | {"players": players}), "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert "\x1b" not in ran.stdout + ran.stderr
    assert "[bold]A[/bold]" in ran.stdout


def test_plan_costs_nothing_and_bounds_what_is_spent(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 5)
    with FakeProvider(seed=1) as provider:
        config = http_config(provider.base_url, data)
        config["models"] = {k: v | {"price": {"input": 1, "output": 2}} for k, v in config["models"].items()}
        planned = mashq("plan", write(tmp_path, config), "--json")
        assert provider.hits() == []
        result = package.play(config, tmp_path / "out")
    plans = json.loads(planned.stdout)
    for plan, player in zip(plans["players"], result["players"], strict=True):
        for name in ("calls", "tokens", "dollars"):
            assert 0 < player[name] <= plan["worst"][name]
            assert plan["expected"][name] < plan["worst"][name]
    text = mashq("plan", write(tmp_path, config)).stdout
    assert "Expected:" in text and "At worst:" in text
    unpriced = json.loads(mashq("plan", write(tmp_path, SIMULATED), "--json").stdout)
    assert unpriced["players"][0]["expected"]["dollars"] is None


def test_init_writes_a_configuration_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert mashq("init", path).returncode == 0
    assert mashq("plan", path).returncode == 0
    again = mashq("init", path)
    assert (again.returncode, "is already there" in again.stderr) == (2, True)
    simulated = [f"players.{n}.model=simulated/default" for n in range(2)]
    ran = mashq("run", path, "--out", tmp_path / "out", "--set", simulated[0], "--set", simulated[1])
    assert ran.returncode == 0, ran.stderr


def test_doctor_shows_no_key(tmp_path: Path) -> None:
    done = mashq("doctor", OPENAI_API_KEY="sk-very-secret", MASHQ_CACHE=str(tmp_path))
    assert done.returncode == 0
    assert "yes  openai/… with a key in OPENAI_API_KEY" in done.stdout
    assert "sk-very-secret" not in done.stdout


def test_help_of_every_command_has_an_example() -> None:
    listed = mashq("--help").stdout
    for command in ("demo", "run", "resume", "show", "plan", "init", "doctor", "weights"):
        assert command in listed
        assert f"mashq {command}" in mashq(command, "--help").stdout
    assert mashq("--version").stdout.strip().endswith(package.__version__)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_match_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=1, latency=0.05) as provider:
        config = write(tmp_path, http_config(provider.base_url, data))
        package.play(json.loads(config.read_text()), tmp_path / "whole")
        before = len(provider.hits())
        command = [sys.executable, "-m", "mashq", "run", str(config), "--out", str(tmp_path / "out"), "--json"]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
        ) as process:
            while len(provider.hits()) < before + 4:
                time.sleep(0.01)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (3, "")
        assert "mashq resume" in err and "Traceback" not in err
        shown = json.loads(mashq("show", tmp_path / "out", "--json").stdout)
        assert shown["finished"] is False
        assert mashq("resume", tmp_path / "out").returncode == 0
    assert story(tmp_path / "out") == story(tmp_path / "whole")


def test_two_processes_cannot_play_one_run(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=1, latency=0.6) as provider:
        config = write(tmp_path, http_config(provider.base_url, data))
        command = [sys.executable, "-m", "mashq", "run", str(config), "--out", str(tmp_path / "out"), "--json"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while not provider.hits():
                time.sleep(0.01)
            second = mashq("resume", tmp_path / "out")
            process.kill()
    assert second.returncode == 2
    assert "is being played by another process" in second.stderr


def test_the_python_api_is_what_it_says() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None


async def test_play_works_inside_a_running_loop(tmp_path: Path) -> None:
    assert package.play(SIMULATED, tmp_path / "out")["simulated"] is True


@pytest.mark.skipif(weights.find() is None, reason="the embedded model is not here: mashq weights")
def test_the_embedded_model_plays_a_real_match(tmp_path: Path) -> None:
    config = {
        "task": {"limit": 1},
        "players": [{"name": "A", "model": "local/smollm2-135m", "policy": "rule", "R": 0}],
        "rules": {"show_seconds": False},
        "models": {"local/smollm2-135m": {"max_tokens": 40}},
    }
    first = mashq("run", write(tmp_path, config), "--out", tmp_path / "one", "--json")
    assert first.returncode == 0, first.stderr
    player = json.loads(first.stdout)["players"][0]
    assert player["tokens_in"] > 200 and player["tokens_out"] > 0 and player["seconds"] > 0
    assert mashq("run", tmp_path / "match.yaml", "--out", tmp_path / "two", "--json").returncode == 0
    assert story(tmp_path / "one") == story(tmp_path / "two")
