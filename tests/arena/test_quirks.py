"""What real providers do to default settings, imitated: the match ends well, or at once with a reason."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from mashq.runs.manifest import manifest_digest
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, mashq, rows, write_items

KEY = {"QUIRK_KEY": "sk-quirk-0123456789"}
ALWAYS = 1.0


def config(tmp_path: Path, provider: FakeProvider, **model: Any) -> Path:
    """Two players, each on a model of its own, with default settings but for where it is and how patient."""
    found = http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 3))
    for settings in found["models"].values():
        settings |= {"api_key_env": "QUIRK_KEY"} | model
    path = tmp_path / "match.yaml"
    path.write_text(yaml.safe_dump(found))
    return path


def result_of(run: Path) -> dict[str, Any]:
    return json.loads(mashq("show", run, "--json").stdout)


@pytest.mark.parametrize("wire", ["openai", "responses", "anthropic", "gemini"])
def test_a_model_that_takes_no_temperature_is_told_none_after_its_first_call(tmp_path: Path, wire: str) -> None:
    with FakeProvider(faults={"rates": {"no_temperature": ALWAYS}}) as provider:
        done = mashq("run", config(tmp_path, provider, wire=wire), "--out", tmp_path / "run", **KEY)
        check_ledger(tmp_path / "run", provider.hits())
        statuses = [hit["status"] for hit in provider.hits()]
    assert done.returncode == 0, done.stderr
    assert statuses.count(400) == 2, "once for each model"
    found = result_of(tmp_path / "run")
    assert [player["answer_rate"] for player in found["players"]] == [1.0, 1.0]
    assert found["attempts"]["failed"] == 2
    for model in ("my/alpha", "my/beta"):
        assert (
            f"{model} does not take a temperature (HTTP 400: `temperature` is deprecated for this model.)"
            in "".join(found["notes"])
        )
    learnt = rows(tmp_path / "run", "SELECT model, field, most FROM learnt ORDER BY model")
    assert learnt == [("my/alpha", "temperature", None), ("my/beta", "temperature", None)]


@pytest.mark.parametrize("executor", ["local", "processes"])
def test_later_matches_and_other_processes_know_what_was_learnt(tmp_path: Path, executor: str) -> None:
    with FakeProvider(faults={"rates": {"no_temperature": ALWAYS}}) as provider:
        path = config(tmp_path, provider)
        document = yaml.safe_load(path.read_text())
        document["players"] = document["players"][:1]
        path.write_text(yaml.safe_dump(document))
        options = ["--executor", executor] if executor != "local" else []
        done = mashq("run", path, "--trials", 6, *options, "--out", tmp_path / "run", **KEY)
        refused = [hit["n"] for hit in provider.hits() if hit["status"] == 400]
    assert done.returncode == 0, done.stderr
    begun = 6 if executor == "local" else min(os.cpu_count() or 1, 6)  # matches at the same time
    assert 1 <= len(refused) <= begun
    assert rows(tmp_path / "run", "SELECT model, field FROM learnt") == [("my/alpha", "temperature")]


@pytest.mark.parametrize("wire", ["openai", "responses", "anthropic", "gemini"])
def test_a_model_that_thinks_has_room_to(tmp_path: Path, wire: str) -> None:
    with FakeProvider(faults={"rates": {"thinks": ALWAYS}}) as provider:
        done = mashq("run", config(tmp_path, provider, wire=wire), "--out", tmp_path / "run", **KEY)
        check_ledger(tmp_path / "run", provider.hits())
    assert done.returncode == 0, done.stderr
    found = result_of(tmp_path / "run")
    assert [player["answer_rate"] for player in found["players"]] == [1.0, 1.0]
    assert found["dropped"] == []
    assert rows(tmp_path / "run", "SELECT DISTINCT worst_out FROM attempts") == [
        (16_384 if wire == "anthropic" else 131_072,)
    ]


def test_a_limit_that_leaves_nothing_to_say_is_named_and_nothing_is_called_a_refusal(tmp_path: Path) -> None:
    with FakeProvider(faults={"rates": {"thinks": ALWAYS}}) as provider:
        path = config(tmp_path, provider, max_tokens=512)
        done = mashq("run", path, "--out", tmp_path / "run", **KEY)
        assert len(provider.hits()) == 2 * 2 * 3, "an answer and a decision for each item: nothing is asked for again"
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "run", "SELECT DISTINCT status FROM results") == [("cut",)]
    notes = result_of(tmp_path / "run")["notes"]
    limit = "cut off at the output limit of 512 tokens: raise models.my/alpha.max_tokens"
    assert f"A: 3 answers were {limit}; each counted as failed." in notes
    assert f"A: 3 decisions were {limit}; each counted as continue." in notes
    assert "refused 3 of" not in " ".join(notes)
    assert "Calls including items that are not scored: A 6, B 6." in done.stdout
    assert mashq("verify", tmp_path / "run").returncode == 0


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("401", "was refused (HTTP 401: Incorrect API key provided.)"),
        ("404", "does not know the model my/"),
        ("insufficient_quota", "is used up (HTTP 429: You exceeded your current quota"),
    ],
)
def test_what_is_hopeless_ends_the_run_at_its_first_call(tmp_path: Path, fault: str, sentence: str) -> None:
    with FakeProvider(faults={"rates": {fault: ALWAYS}}) as provider:
        done = mashq("run", config(tmp_path, provider), "--out", tmp_path / "run", **KEY)
        assert len(provider.hits()) <= 2, "no more than one for each model"
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        provider.configure()
        assert mashq("resume", tmp_path / "run", **KEY).returncode == 0, "mended, it goes on"
    found = result_of(tmp_path / "run")
    assert [player["answer_rate"] for player in found["players"]] == [1.0, 1.0]
    assert found["attempts"]["failed"] >= 1


def test_once_something_is_paid_the_run_stops_and_can_go_on(tmp_path: Path) -> None:
    """The stronger model, which reviews, refuses the key after the first has answered."""
    with FakeProvider(faults={"models": {"beta": {"rates": {"401": ALWAYS}}}}) as provider:
        path = config(tmp_path, provider)
        document = yaml.safe_load(path.read_text())
        document["players"] = [{"name": "A", "agent": "escalate", "model": "my/alpha", "to": "my/beta", "T": 1.0}]
        path.write_text(yaml.safe_dump(document))
        done = mashq("run", path, "--out", tmp_path / "run", **KEY)
        assert done.returncode == 3
        assert "the key of my/beta was refused" in done.stderr and "mashq resume" in done.stderr
        assert [hit["model"] for hit in provider.hits()] == ["alpha", "beta"]
        provider.configure()
        assert mashq("resume", tmp_path / "run", **KEY).returncode == 0
        check_ledger(tmp_path / "run", provider.hits())


def test_a_run_begun_by_the_first_rules_of_play_goes_on_by_them(tmp_path: Path) -> None:
    with FakeProvider(faults={"rates": {"401": ALWAYS}}) as provider:
        assert mashq("run", config(tmp_path, provider), "--out", tmp_path / "run", **KEY).returncode == 2
        path = tmp_path / "run" / "manifest.json"
        manifest = json.loads(path.read_text())
        assert manifest.pop("rules_of_play") == 2
        path.write_text(json.dumps(manifest | {"digest": manifest_digest(manifest)}))
        connection = sqlite3.connect(tmp_path / "run" / "run.db")
        connection.execute("DROP TABLE chain")  # such a run has none
        connection.close()
        provider.configure(rates={"thinks": ALWAYS})
        assert mashq("resume", tmp_path / "run", **KEY).returncode == 0
    assert rows(tmp_path / "run", "SELECT DISTINCT status FROM results") == [("refused",)]
    assert rows(tmp_path / "run", "SELECT DISTINCT worst_out FROM attempts WHERE outcome <> 'http'") == [(512,)]


AGENT = """
import json, os, sys, urllib.request, urllib.error
for line in sys.stdin:
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": json.loads(line)["text"]}]}).encode()
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        said = f"sorry: {error.code}"
    print(json.dumps({"answer": said}), flush=True)
"""


def test_a_key_refused_to_a_programs_first_request_ends_the_run_too(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with FakeProvider(faults={"rates": {"401": ALWAYS}}) as provider:
        path = config(tmp_path, provider)
        document = yaml.safe_load(path.read_text())
        command = ["python3", str(tmp_path / "agent.py")]
        document["players"] = [{"name": "E", "agent": "external", "model": "my/alpha", "command": command}]
        path.write_text(yaml.safe_dump(document))
        done = mashq("run", path, "--out", tmp_path / "run", **KEY)
        assert len(provider.hits()) == 1
    assert done.returncode == 2
    assert "the key of my/alpha was refused" in done.stderr
