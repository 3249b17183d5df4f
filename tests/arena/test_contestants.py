"""Whole matches of foreign agents over real HTTP: real clients with their own retries, and one that is hostile."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.errors import ConfigError
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.arena.helpers import mashq as command

FOLDER = Path(__file__).with_name("contestants")
KEY = "sk-the-real-key-of-this-match-0123456789"
FAULTS = {"429": 0.06, "500": 0.06, "503": 0.03, "reset_before": 0.04, "drop_headers": 0.03, "drop_body": 0.05,
          "no_usage": 0.08, "echo_key_500": 0.02, "refusal": 0.02}  # fmt: skip
PACKAGES = {"with_openai": "openai", "with_pydantic_ai": "pydantic_ai", "with_langchain": "langchain_openai"}
WIRES = {  # script and its arguments: the package it needs, and the wire that it speaks
    "with_openai_responses": ("openai", "responses"),
    "with_anthropic": ("anthropic", "anthropic"),
    "with_google": ("google.genai", "gemini"),
    "with_agents": ("agents", "responses"),
    "with_pydantic_ai_wires openai": ("pydantic_ai", "responses"),
    "with_pydantic_ai_wires anthropic": ("anthropic", "anthropic"),
    "with_pydantic_ai_wires google": ("google.genai", "gemini"),
}


PATHS = {
    "responses": {"/v1/responses", "/v1/embeddings"},
    "anthropic": {"/v1/messages"},
    "gemini": {"/v1beta/models/alpha:generateContent", "/v1beta/models/alpha:streamGenerateContent"},
}


def installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package above it is not here
        return False


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(KEY + "\n")
    path.chmod(0o600)
    return path


def external(name: str, script: str, *arguments: object, model: str = "my/alpha", **more: Any) -> dict[str, Any]:
    words = [sys.executable, str(FOLDER / f"{script}.py"), *map(str, arguments)]
    return {"name": name, "agent": "external", "model": model, "command": words, **more}


def match_of(url: str, data: Path, key: Path, players: list[dict[str, Any]]) -> dict[str, Any]:
    config = http_config(url, data, players=players)
    settings = {"api_key_file": str(key), "concurrency": 64, "timeout": 30.0}
    config["models"] = {name: model | settings for name, model in config["models"].items()}
    return config


def law(run: Path, hits: list[dict[str, Any]]) -> dict[str, int]:
    """Closed with a reply <= requests seen <= opened; all was closed, so requests seen and opened are equal."""
    opened, closed, replied, unknown = rows(
        run,
        "SELECT count(*), count(outcome), coalesce(sum(status IS NOT NULL), 0),"
        " sum(tokens_in IS NULL OR tokens_out IS NULL) FROM attempts",
    )[0]
    assert replied <= len(hits) <= opened
    assert (closed, len(hits)) == (opened, opened)
    charged = [json.loads(move).get("spend", {}) for (move,) in rows(run, "SELECT move FROM events")]
    assert sum(spend.get("calls", 0) for spend in charged) == opened
    assert sum(spend.get("unknown", 0) for spend in charged) == unknown
    return {"hits": len(hits), "opened": opened, "closed": closed, "replied": replied, "unknown": unknown}


def in_flight(run: Path) -> int:
    """The most attempts that were under way at the same time."""
    times = rows(run, "SELECT opened, 1 FROM attempts UNION ALL SELECT closed, -1 FROM attempts ORDER BY 1, 2")
    now = most = 0
    for _, step in times:
        now += step
        most = max(most, now)
    return most


@pytest.mark.parametrize("script", PACKAGES)
def test_a_real_client_with_its_own_retries_is_counted_exactly(
    tmp_path: Path, key_file: Path, script: str, record_property: Any
) -> None:
    if importlib.util.find_spec(PACKAGES[script]) is None:
        pytest.skip(f"{PACKAGES[script]} is not installed")
    data = write_items(tmp_path / "items.jsonl", 2)
    with FakeProvider(seed=11, faults={"rates": FAULTS, "retry_after": 0}, latency=0.05) as provider:
        players = [external("A", script, 64)]
        result = mashq.play(match_of(provider.base_url, data, key_file, players), tmp_path / "run")
        figures = law(tmp_path / "run", provider.hits())
    record_property("figures", figures | {"in_flight": in_flight(tmp_path / "run")})
    assert 16 < in_flight(tmp_path / "run") <= 64
    assert figures["hits"] > 2 * 64, "its retries are among them"
    (player,) = result["players"]
    assert player["calls"] == figures["opened"] and player["unknown_attempts"] == figures["unknown"] > 0
    assert 0 < player["seconds"] < 120
    assert result["dropped"] == []
    assert {row[0] for row in rows(tmp_path / "run", "SELECT DISTINCT item FROM attempts")} == {"item-0", "item-1"}
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert not rows(tmp_path / "run", "SELECT * FROM refusals")


@pytest.mark.parametrize("script", WIRES)
def test_the_clients_of_every_wire_are_counted_exactly(tmp_path: Path, key_file: Path, script: str) -> None:
    package, wire = WIRES[script]
    if not installed(package) or (script.startswith("with_pydantic") and not installed("pydantic_ai")):
        pytest.skip(f"{package} is not installed")
    data = write_items(tmp_path / "items.jsonl", 2)
    name, *arguments = script.split()
    with FakeProvider(seed=11, faults={"rates": FAULTS, "retry_after": 0}, latency=0.02) as provider:
        player = external("A", name, 24, *arguments, env=["PYTHONPATH"])
        config = match_of(provider.base_url, data, key_file, [player])
        base = provider.base_url.replace("/v1", "/v1beta") if wire == "gemini" else provider.base_url
        config["models"]["my/alpha"] |= {"wire": wire, "base_url": base}
        result = mashq.play(config, tmp_path / "run")
        figures = law(tmp_path / "run", provider.hits())
    asked = {hit["path"] for hit in provider.hits()}
    assert asked <= PATHS[wire] and asked, "the requests went out on the wire that they came in on"
    assert figures["hits"] > 2 * 24, "its retries and its tools' results are among them"
    (player,) = result["players"]
    assert player["calls"] == figures["opened"] and player["unknown_attempts"] == figures["unknown"] > 0
    assert result["dropped"] == []
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert not rows(tmp_path / "run", "SELECT * FROM refusals")


def test_kinds_of_players_share_a_match(tmp_path: Path, key_file: Path) -> None:
    scripts = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is not None]
    data = write_items(tmp_path / "items.jsonl", 3)
    players = [external(name, name, 8, model="my/beta") for name in scripts]
    players += [{"name": "Q", "model": "my/alpha"}]
    with FakeProvider(seed=5, faults={"rates": FAULTS, "retry_after": 0}) as provider:
        result = mashq.play(match_of(provider.base_url, data, key_file, players), tmp_path / "run")
        law(tmp_path / "run", provider.hits())
    assert [player["name"] for player in result["players"]] == [*scripts, "Q"]
    assert mashq.show(tmp_path / "run") == result


def test_a_hostile_agent_gets_nothing(tmp_path: Path, key_file: Path) -> None:
    """Wrong and others' tokens, paths outside the API, a huge body, requests after its turn, a look for the key."""
    data = write_items(tmp_path / "items.jsonl", 2)
    key_file.chmod(0o600)
    players = [
        external("B", "hostile", "x", model="my/beta", order="reverse"),
        external("H", "hostile", KEY[:6]),
    ]
    with FakeProvider(seed=5) as provider:
        mashq.play(match_of(provider.base_url, data, key_file, players), tmp_path / "run")
        law(tmp_path / "run", provider.hits())
        assert all(hit["path"] == "/v1/chat/completions" for hit in provider.hits())
    told = [json.loads(move) for (move,) in rows(tmp_path / "run", "SELECT move FROM events WHERE kind = 'answer'")]
    assert all(move["status"] == "ok" for move in told) and len(told) == 4
    for move in told:
        first, *others = move["text"].split("\n")
        assert first.startswith("200 ")
        assert [line.split()[0] for line in others[:4]] in (["401"] * 3 + ["404"], ["401", "401", "200", "404"])
        assert KEY not in move["text"]
    refused = rows(tmp_path / "run", "SELECT player, status, reason FROM refusals")
    assert {401, 404, 413} <= {status for _, status, _ in refused}
    assert any(player == "B" and "another player" in reason for player, _, reason in refused)
    assert any("not active" in reason for _, _, reason in refused), "what it asked after its turn"
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())


def test_keys_in_the_environment_are_gone_before_an_agent_starts(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 1)
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, data, players=[external("H", "hostile", "x")])
        config["models"] = {name: model | {"api_key_env": "LOOPBACK"} for name, model in config["models"].items()}
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        done = command("run", tmp_path / "match.yaml", "--out", tmp_path / "run", "--json", LOOPBACK=KEY)
        assert done.returncode == 0, done.stderr
        assert len(provider.hits()) == rows(tmp_path / "run", "SELECT count(*) FROM attempts")[0][0] > 0
        assert provider.hits()[0]["authorization"] is not None
    ((move,),) = rows(tmp_path / "run", "SELECT move FROM events WHERE kind = 'answer'")
    assert "OPENAI_API_KEY" in move and KEY not in move, "the agent printed its environment and its parent's"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": None}, "either a command or a url"),
        ({"command": "x", "url": "http://127.0.0.1:9"}, "either a command or a url"),
        ({"agent": "q-agent"}, "only an 'agent: external'"),
        ({"command": "'unfinished"}, "cannot be split"),
        ({"command": []}, "is empty"),
        ({"command": None, "url": "ftp://x"}, "must start with http"),
        ({"env": ["OPENAI_API_KEY"]}, "holds a key"),
        ({"env": ["MY_HEADER"]}, "env names MY_HEADER, which holds a key"),
        ({"command": "no-such-program-at-all"}, "cannot be started"),
    ],
)
def test_bad_settings_are_said_before_anything_is_paid(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    data = write_items(tmp_path / "items.jsonl", 1)
    player = {**external("A", "hostile", model="simulated/x"), **changes}
    models = {"simulated/x": {"header_env": {"X-Access": "MY_HEADER"}}}
    with pytest.raises(ConfigError, match=words):
        mashq.play({"task": {"data": str(data)}, "players": [player], "models": models}, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("", 0o600, "is empty"),
        (KEY, 0o644, "chmod 600"),
        ("k\u00e9y", 0o600, "no key can have"),
        (None, 0, "cannot be read"),
    ],
)
def test_key_files(tmp_path: Path, content: str | None, mode: int, words: str) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    model = {"base_url": "http://127.0.0.1:9/v1", "api_key_file": str(path)}
    config: dict[str, Any] = {"players": [{"name": "A", "model": "my/x"}], "models": {"my/x": model}}
    with pytest.raises(ConfigError, match=words):
        mashq.play(config, tmp_path / "run")
    config["models"]["my/x"] = model | {"api_key_env": "ALSO"}
    with pytest.raises(ConfigError, match="exclude each other"):
        mashq.play(config, tmp_path / "run")


def test_a_gateway_alone_meters_a_program(tmp_path: Path) -> None:
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, tmp_path, task={})
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        gateway = ["gateway", "--config", tmp_path / "match.yaml", "--out", tmp_path / "run"]
        done = command(*gateway, "--", "true")
        assert done.returncode == 2 and "--player A" in done.stderr
        done = command(*gateway, "--player", "C")
        assert done.returncode == 2 and "no player 'C'" in done.stderr
        program = (
            "import json, os, urllib.request as u; "
            "head = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}; "
            "body = json.dumps({'messages': [{'role': 'user', 'content': 'hi'}]}).encode(); "
            "r = u.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, head); "
            "print(json.load(u.urlopen(r))['model']); raise SystemExit(7)"
        )
        done = command(*gateway, "--player", "A", "--", sys.executable, "-c", program)
        assert (done.returncode, done.stdout) == (7, "alpha\n"), done.stderr
        assert len(provider.hits()) == 1
    shown = json.loads(command("show", tmp_path / "run", "--json").stdout)
    assert shown["kind"] == "gateway" and shown["finished"] and shown["refused"] == []
    (row,) = shown["spent"]
    assert (row["player"], row["model"], row["attempts"], row["unknown"]) == ("A", "my/alpha", 1, 0)
    assert "my/alpha" in command("show", tmp_path / "run").stdout
    done = command("resume", tmp_path / "run")
    assert done.returncode == 2 and "not a match" in done.stderr


ASKING = (
    "import json, os, sys, urllib.request as u\n"
    "head = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
    "body = json.dumps({'messages': [{'role': 'user', 'content': 'hi'}], 'max_tokens': 100}).encode()\n"
    "def ask(): return u.urlopen(u.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, head)).read()\n"
)


def test_a_budget_stops_a_runaway(tmp_path: Path) -> None:
    runaway = ASKING + "while True:\n try: ask()\n except Exception: pass\n"
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, tmp_path, task={})
        for model in config["models"].values():
            model |= {"price": {"input": 1.0, "output": 100.0}}
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        gateway = ["gateway", "--config", tmp_path / "match.yaml", "--out", tmp_path / "run", "--player", "A"]
        done = command(*gateway, "--budget", "dollars=0.05", "--", sys.executable, "-c", runaway)
        assert done.returncode == 1, done.stderr
        assert "stopped: the budget of 0.05 dollars cannot cover the next call" in done.stderr
        hits = len(provider.hits())
        assert f"{hits} calls" in done.stderr
    ((opened, dollars),) = rows(tmp_path / "run", "SELECT count(*), sum(dollars) FROM attempts")
    assert opened == hits >= 2 and 0.03 < dollars <= 0.05


def test_several_players_share_a_gateway_and_a_budget(tmp_path: Path) -> None:
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, tmp_path, task={})
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        words = [sys.executable, "-m", "mashq", "gateway", "--config", str(tmp_path / "match.yaml")]
        words += ["--out", str(tmp_path / "run"), "--budget", "calls=3"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as serving:
            assert serving.stdout is not None and serving.stderr is not None
            told: dict[str, dict[str, str]] = {}
            player = ""
            while len(told) < 2 or len(told[player]) < 7:
                line = serving.stdout.readline().strip()
                if line.startswith("# "):
                    player = line[2:]
                    told[player] = {}
                else:
                    name, _, value = line.removeprefix("export ").partition("=")
                    told[player][name] = value
            assert list(told) == ["A", "B"] and told["A"]["OPENAI_API_KEY"] != told["B"]["OPENAI_API_KEY"]
            asking = [sys.executable, "-c", ASKING + "ask()"]
            codes = [subprocess.run(asking, env=told[who], capture_output=True).returncode for who in "ABABA"]
            serving.send_signal(signal.SIGINT)
            errors = serving.stderr.read()
            assert serving.wait(30) == 0, errors
        assert codes == [0, 0, 0, 1, 1] and len(provider.hits()) == 3
        assert "3 calls" in errors and "stopped: the budget of 3 calls cannot cover" in errors
    players = rows(tmp_path / "run", "SELECT player, count(*) FROM attempts GROUP BY 1 ORDER BY 1")
    assert players == [("A", 2), ("B", 1)]


def test_a_program_is_handed_no_key_of_any_provider(tmp_path: Path) -> None:
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, tmp_path, task={})
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        secrets = dict.fromkeys(
            ("GOOGLE_API_KEY", "MISTRAL_API_KEY", "AZURE_OPENAI_API_KEY", "HF_TOKEN", "ANTHROPIC_AUTH_TOKEN"), KEY
        )
        show = "import json, os; print(json.dumps(dict(os.environ)))"
        gateway = ["gateway", "--config", tmp_path / "match.yaml", "--out", tmp_path / "run", "--player", "A"]
        done = command(*gateway, "--", sys.executable, "-c", show, MY_OWN="kept", TAVILY_API_KEY="kept", **secrets)
        assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert KEY not in seen.values() and (seen["MY_OWN"], seen["TAVILY_API_KEY"]) == ("kept", "kept")
    tokens = {seen[name] for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")}
    assert len(tokens) == 1 and next(iter(tokens)).startswith("mashq-")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "--config FILE or --model NAME"),
        (["--model", "simulated/x", "--budget", "dollars=much"], "is not a budget"),
        (["--model", "simulated/x", "--budget", "reviews=3"], "is not a budget"),
        (["--model", "simulated/x", "--budget", "dollars=2"], "needs to know what simulated/x costs"),
    ],
)
def test_what_a_gateway_cannot_do_is_said(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = command("gateway", *words, "--out", tmp_path / "run", "--", "true")
    assert done.returncode == 2 and sentence in done.stderr and not (tmp_path / "run").exists()


@pytest.mark.parametrize(("language", "needs"), [("python", ["python3"]), ("sh", ["sh", "jq", "curl"])])
def test_the_examples_in_the_documentation_play(
    tmp_path: Path, key_file: Path, language: str, needs: list[str]
) -> None:
    if not all(map(shutil.which, needs)) or (language == "python" and importlib.util.find_spec("openai") is None):
        pytest.skip("what the example needs is not installed")
    text = (FOLDER.parents[2] / "docs" / "external.md").read_text("utf-8")
    script = tmp_path / "agent"
    script.write_text(text.split(f"```{language}\n")[1].split("```")[0])
    program = sys.executable if language == "python" else "sh"
    data = write_items(tmp_path / "items.jsonl", 2)
    player = {"name": "A", "agent": "external", "model": "my/alpha", "command": f"{program} {script}"}
    with FakeProvider(seed=5) as provider:
        result = mashq.play(match_of(provider.base_url, data, key_file, [player]), tmp_path / "run")
        assert law(tmp_path / "run", provider.hits())["opened"] == 2
    assert result["dropped"] == []


def snippets() -> dict[str, str]:
    """The snippets of the documentation, by the package that each needs."""
    text = (FOLDER.parents[2] / "docs" / "external.md").read_text("utf-8")
    found = re.findall(r"^```python (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return dict(found)


@pytest.mark.parametrize("package", snippets())
def test_a_snippet_of_the_documentation_is_metered(tmp_path: Path, package: str) -> None:
    if not installed(package):
        pytest.skip(f"{package} is not installed: make frameworks")
    wire = {"anthropic": "anthropic", "google.genai": "gemini"}.get(package, "openai")
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, tmp_path, task={})
        base = provider.base_url.replace("/v1", "/v1beta") if wire == "gemini" else provider.base_url
        config["models"]["my/alpha"] |= {"wire": wire, "base_url": base, "api_key_env": "LOOPBACK"}
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        gateway = ["gateway", "--config", tmp_path / "match.yaml", "--out", tmp_path / "run", "--player", "A"]
        done = command(*gateway, "--", sys.executable, "-c", snippets()[package], LOOPBACK=KEY)
        assert done.returncode == 0, done.stderr
        hits = provider.hits()
    assert done.stdout.strip() and hits and all(hit["status"] == 200 for hit in hits)
    assert rows(tmp_path / "run", "SELECT count(*), count(tokens_out) FROM attempts") == [(len(hits), len(hits))]


def test_a_killed_match_of_foreign_agents_goes_on(tmp_path: Path, key_file: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 5)
    agents = Path(__file__).parents[1] / "players" / "external" / "agents.py"
    player = {
        "name": "A",
        "agent": "external",
        "model": "my/alpha",
        "command": [sys.executable, str(agents), "honest"],
    }
    run = tmp_path / "run"
    with FakeProvider(seed=5, latency=0.2) as provider:
        (tmp_path / "match.yaml").write_text(json.dumps(match_of(provider.base_url, data, key_file, [player])))
        words = [sys.executable, "-m", "mashq", "run", str(tmp_path / "match.yaml"), "--out", str(run)]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as playing:
            deadline = time.monotonic() + 60
            while len(provider.hits()) < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
            playing.kill()
        done = command("resume", run, "--json")
        assert done.returncode == 0, done.stderr
        opened, replied = rows(run, "SELECT count(*), sum(status IS NOT NULL) FROM attempts")[0]
        assert replied <= len(provider.hits()) <= opened and opened >= 5
    (found,) = json.loads(done.stdout)["players"]
    assert found["calls"] == opened and found["answer_rate"] == 1
