"""Bad input: one clear sentence on standard error, exit code 2, no traceback, and nothing paid for."""

import json
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.arena.helpers import http_config, mashq, rows, write_items

A = {"name": "A", "model": "simulated/default"}


def refused(folder: Path, config: dict[str, Any] | str, *more: object, **environment: str) -> str:
    """The sentence a configuration is refused with."""
    path = folder / "match.yaml"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    done = mashq("run", path, "--out", folder / "out", *more, **environment)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("mashq: ")
    assert not (folder / "out").exists(), "nothing was begun"
    return lines[0]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"players": [A], "detektor": "x"}, "unknown key 'detektor': did you mean 'detector'?"),
        ({"players": [A], "rules": {"turns": "cycle"}}, "unknown key 'rules.turns': did you mean 'turn'?"),
        ({"players": [A | {"polcy": "llm"}]}, "unknown key 'players.0.polcy': did you mean 'policy'?"),
        ({"players": [{"name": "a", "modell": "x/y"}]}, "unknown key 'players.0.modell': did you mean 'model'?"),
        (
            {"players": [A], "models": {"a/b": {"price": {"inputt": 1, "output": 1}}}},
            "unknown key 'models.a/b.price.inputt': did you mean 'input'?",
        ),
        ({"players": [A], "rules": {"qqq": 1}}, "unknown key 'rules.qqq': known are turn, T, R"),
        ({"players": [A | {"agent": "q-agnt"}]}, "unknown agent 'q-agnt': did you mean 'q-agent'?"),
        ("players: [{name: A, model: m/x}]\nseed: 1\nseed: 2\n", "line 3: found duplicate key"),
        ({"players": [A, A]}, "two players are called 'A'"),
        ({"players": [A], "rules": {"T": 1.5}}, "'rules.T' must be at most 1, not 1.5"),
        ({"players": [A | {"T": -0.1}]}, "'players.0.T'"),
        ({"players": [A], "rules": {"R": "three"}}, "'rules.R'"),
        ({"players": []}, "'players'"),
        ({}, "'players' is missing"),
        ("players:\n\t- {name: A}\n", "line 2 begins with a tab, which YAML does not allow: use spaces"),
        (
            {"players": [A | {"n": "x"}], "rules": {"R": 1.5}, "taks": 1},
            "unknown key 'taks': did you mean 'task'?; 'players.0.n' must be a whole number or 'all', not 'x'; "
            "'rules.R' must be a whole number, not 1.5",
        ),
        ({"players": [A], "score": {"normalise": {"tokens": "x"}}}, "'score.normalise.tokens' must be a number"),
        ({"players": [A], "models": {"m/x": {"give_up": {"atempts": 3}}}}, "did you mean 'attempts'?"),
        ({"players": [A], "task": {"map": {"a": "b"}}}, "unknown key 'task.map.a': known are id, text, question"),
        (
            {"players": [A], "score": {"weights": {"toks": 1.0}}},
            "unknown key 'score.weights.toks': it must be 'tokens'",
        ),
        ({"players": [A], "score": {"resources": ["xyz"]}}, "'score.resources.0' must be 'tokens', 'calls'"),
        ({"players": [A], "detector": "foo"}, "there is no detector 'foo': known are grounding, reader"),
        ("", "holds no configuration"),
        ("players: [", "line 1"),
        ({"players": [A], "detector": "groundng"}, "no detector 'groundng'"),
        ({"players": [A], "task": {"data": "nowhere.jsonl"}}, "nowhere.jsonl does not exist"),
        ({"players": [A | {"model": "gpt-4"}]}, "must be written as provider/model"),
        ({"players": [A | {"model": "opnai/gpt-4"}]}, "unknown provider 'opnai': did you mean 'openai'?"),
        ({"players": [A | {"model": "openai/gpt-4o-mini"}]}, "set the environment variable OPENAI_API_KEY"),
        ({"players": [A | {"model": "local/nowhere.gguf"}]}, "nowhere.gguf"),
        ({"players": [A | {"model": "recorded/nowhere.jsonl"}]}, "nowhere.jsonl cannot be read"),
        ({"players": [A | {"prompts": "nowhere"}]}, "the prompt folder"),
        ({"players": [A | {"order": "sideways"}]}, "unknown order 'sideways'"),
        ({"players": [A], "score": {"weights": {"tokens": -1}}}, "must be positive"),
        ("players: &x [{name: A, model: m/x, prompts: *x}]", "holds something no setting can be"),
        ("? [a, b]\n: c", "holds something no setting can be"),
        ({"players": [A], "score": {"beta": 1e400}}, "score.beta"),
        ({"players": [A], "score": {"weights": {"dollars": 2.0}}}, "weights names dollars"),
        ({"players": [A], "score": {"resources": ["tokens", "tokens"]}}, "twice"),
        ({"players": [A], "models": {"simulated/default": {"max_tokens": 10**24}}}, "max_tokens"),
        ({"players": [A], "models": {"m/x": {"headers": {"X-A": "a\nb"}}}}, "headers"),
        ({"players": [A], "models": {"m/x": {"headers": {"Authorization": "Bearer s"}}}}, "would store a secret"),
        ({"players": [A], "models": {"m/x": {"base_url": "http://u:p@h/v1"}}}, "user or password"),
        ({"players": [A], "detector": "exact-match"}, "needs a reference answer"),
        ({"players": [A], "rules": {"budget": {"dollars": 2}}}, "none is known for simulated/default"),
        ({"players": [A | {"model": "m/x"}], "models": {"m/x": {"base_url": "ftp://x"}}}, "must start with http://"),
    ],
)
def test_a_bad_configuration_is_one_sentence(tmp_path: Path, config: dict[str, Any] | str, sentence: str) -> None:
    assert sentence in refused(tmp_path, config, OPENAI_API_KEY="")


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("x.jsonl", "", "is empty"),
        ("x.jsonl", "\n\n", "is empty"),
        ("x.jsonl", '{"id": "a", "text": "x"}\n{"id": "b"}\n', "line 2 has no text under 'text' (it has id)"),
        ("x.jsonl", '{"id": "a", "text": "  "}\n', "line 1 has no text"),
        ("x.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', "the id 'a' is also on line 1"),
        ("x.jsonl", "{oops\n", "line 1 is not JSON"),
        ("x.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("x.csv", "id,text\na,x\na,y\n", "the id 'a' is also on line 2"),
        ("x.csv", "id,body\na,x\n", "has no column 'text' (line 1, read as the header, has id, body)"),
        ("x.csv", "A dog ran.\nA cat sat.\n", "has no column 'text' (line 1, read as the header, has A dog ran.)"),
        ("x.csv", "id;text\na;\n", "line 2 has no text under 'text' (it has id, text)"),
        ("x.json", '[{"text": "x"}]', "is one JSON document: write one JSON object per line into a .jsonl file"),
        ("x.txt", "hello", "unknown ending"),
    ],
)
def test_bad_data_is_one_sentence(tmp_path: Path, name: str, body: str, sentence: str) -> None:
    (tmp_path / name).write_text(body)
    assert sentence in refused(tmp_path, {"players": [A], "task": {"data": name}})


def test_data_that_is_not_text_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "\xff"}')
    assert "is not UTF-8" in refused(tmp_path, {"players": [A], "task": {"data": "x.jsonl"}})


def test_an_unreachable_server_is_found_before_the_first_call(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        said = refused(tmp_path, http_config(url, write_items(tmp_path / "items.jsonl", 1)))
    assert "cannot be reached" in said and "base_url" in said


def test_a_missing_extra_names_its_install_command(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['xllamacpp'] = None\n")
    said = refused(tmp_path, {"players": [A | {"model": "local/model.gguf"}]}, PYTHONPATH=str(tmp_path))
    assert "pip install 'mashq[local]'" in said


def test_a_damaged_model_file_is_found_before_the_first_call(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    assert "cannot load" in refused(tmp_path, {"players": [A | {"model": "local/model.gguf"}]})


def test_one_policy_is_no_game_however_many_players_there_are(tmp_path: Path) -> None:
    (tmp_path / "match.yaml").write_text(json.dumps({"players": [A, A | {"name": "B"}]}))
    done = mashq("game", tmp_path / "match.yaml", "--policies", "frugal", "--out", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--policies 'frugal' names one policy: a game needs two" in done.stderr


def test_a_used_run_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "match.yaml").write_text(json.dumps({"players": [A], "task": {"limit": 2}}))
    command = ("run", tmp_path / "match.yaml", "--out", tmp_path / "out")
    assert mashq(*command).returncode == 0
    before = (tmp_path / "out" / "run.db").read_bytes()
    again = mashq(*command)
    assert again.returncode == 2
    assert "is already used" in again.stderr and "mashq resume" in again.stderr
    assert (tmp_path / "out" / "run.db").read_bytes() == before
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").write_text("x")
    foreign = mashq("run", tmp_path / "match.yaml", "--out", tmp_path / "theirs")
    assert foreign.returncode == 2 and "holds other files than a run's: choose another --out" in foreign.stderr
    assert "resume" not in foreign.stderr


def test_a_full_disk_is_one_sentence_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands in for the full disk: writes beyond it fail as they do there."""
    data = write_items(tmp_path / "items.jsonl", 300)
    (tmp_path / "match.yaml").write_text(json.dumps({"players": [A], "task": {"data": str(data)}}))
    command = [sys.executable, "-m", "mashq", "run", str(tmp_path / "match.yaml"), "--out", str(tmp_path / "out")]
    limit = 800_000
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr and "mashq resume" in done.stderr
    assert "Traceback" not in done.stderr
    kept = rows(tmp_path / "out", "SELECT count(*) FROM events")[0][0]
    resumed = mashq("resume", tmp_path / "out", "--json")
    assert resumed.returncode == 0
    assert 0 < kept < 300 and json.loads(resumed.stdout)["items"] == 300


@pytest.mark.parametrize("command", ["show", "resume"])
def test_what_is_not_a_run_is_one_sentence(tmp_path: Path, command: str) -> None:
    done = mashq(command, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a run of mashq" in done.stderr
    done = mashq(command, tmp_path / "none")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("/none does not exist: give the directory of a run\n")


def test_a_damaged_run_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "match.yaml").write_text(json.dumps({"players": [A], "task": {"limit": 3}}))
    assert mashq("run", tmp_path / "match.yaml", "--out", tmp_path / "out").returncode == 0
    database = tmp_path / "out" / "run.db"
    body = bytearray(database.read_bytes())
    body[4096:] = b"\x5a" * (len(body) - 4096)
    database.write_bytes(body)
    done = mashq("show", tmp_path / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.parametrize("override", ["rules.T", "=1", "players.7.name=x", "seed.x=1", "rules.T=[", "rules.T=2"])
def test_a_bad_override_is_one_sentence(tmp_path: Path, override: str) -> None:
    assert len(refused(tmp_path, {"players": [A]}, "--set", override)) > 20


def test_unknown_options_and_commands_exit_with_2() -> None:
    assert mashq("run").returncode == 2
    assert mashq("dance").returncode == 2
