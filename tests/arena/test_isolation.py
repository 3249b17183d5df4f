"""Isolated agents: what they cannot reach, what they cannot read, and that they play and pay like any other.

What holds in isolation is tried without it as well, so that a way out that leads nowhere anyway is noticed.
"""

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.errors import ConfigError
from mashq.players.external import sandbox
from mashq.players.external.sandbox import HOME, Sandbox, bubblewrap
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.arena.helpers import mashq as command

CONTESTANTS = Path(__file__).with_name("contestants")
KEY = "sk-the-real-key-of-this-match-0123456789"
WHY_NOT = (
    "bubblewrap is not installed"
    if bubblewrap() is None
    else asyncio.run(Sandbox(("true",), {"PATH": os.environ["PATH"]}).look())
)
isolating = pytest.mark.skipif(WHY_NOT is not None, reason=f"nothing can be isolated here: {WHY_NOT}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for programs alone."""
    folder = tmp_path / "programs"
    shutil.copytree(CONTESTANTS, folder)
    return folder


def player(folder: Path, name: str, *words: str, **more: Any) -> dict[str, Any]:
    given = {"model": "my/alpha", "command": [sys.executable, *words], "directory": str(folder), "isolate": True}
    return {"name": name, "agent": "external", **given, **more}


def match_of(provider: FakeProvider, tmp_path: Path, players: list[dict[str, Any]], items: int = 1) -> dict[str, Any]:
    config = http_config(provider.base_url, write_items(tmp_path / "items.jsonl", items), players=players)
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    config["models"] = {name: model | {"api_key_file": str(key)} for name, model in config["models"].items()}
    return config


def told(run: Path, name: str) -> dict[str, Any]:
    """What a prober had to say of its last item."""
    query = f"SELECT move FROM events WHERE kind = 'answer' AND player = '{name}' ORDER BY seq DESC LIMIT 1"
    ((move,),) = rows(run, query)
    return json.loads(json.loads(move)["text"])


@pytest.fixture
def listening() -> Iterator[list[list[Any]]]:
    """Ways to servers of this machine: on the loopback interface, on its own address if it has one, Unix sockets."""
    with ExitStack() as stack:
        ways: list[list[Any]] = []
        everywhere = stack.enter_context(closing(socket.create_server(("0.0.0.0", 0))))
        port = everywhere.getsockname()[1]
        ways.append(["connect", "127.0.0.1", port])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            try:
                out.connect(("192.0.2.1", 9))
                ways += [["connect", out.getsockname()[0], port], ["datagram", "192.0.2.1", 9]]
            except OSError:  # this machine has no network; the loopback ones have to do
                pass
        abstract = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        name = f"mashq-test-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        yield [*ways, ["unix", "@" + name]]


@isolating
def test_an_isolated_agent_reaches_and_reads_nothing(
    tmp_path: Path, folder: Path, listening: list[list[Any]]
) -> None:
    run, secret, me = tmp_path / "run", tmp_path / "key", os.getpid()
    hidden = [run, run / "run.db", secret, tmp_path / "items.jsonl", Path(__file__), Path(f"/proc/{me}/cmdline")]
    with FakeProvider(seed=5) as provider:
        ways: list[list[Any]] = [
            *listening,
            ["connect", "127.0.0.1", provider.port],
            ["ask", "/v1", [KEY[:3], KEY[3:]], provider.port],
            *(["read", str(path)] for path in hidden),
            ["write", str(folder / "mine")],
            ["signalled", me],
        ]
        system = [["write", path] for path in ("/usr/mine", "/mine", "/etc/mine", "/proc/sys/kernel/core_pattern")]
        players = [
            player(folder, "isolated", "prober.py", json.dumps([*ways, *system])),
            player(folder, "open", "prober.py", json.dumps(ways), isolate=False),
        ]
        mashq.play(match_of(provider, tmp_path, players), run)
        hits = len(provider.hits())
    isolated, free = told(run, "isolated"), told(run, "open")
    assert not [way for way, came in free["found"].items() if came.endswith("Error")], "every way leads somewhere"
    assert not {way: came for way, came in isolated["found"].items() if not came.endswith("Error")}
    assert len(isolated["found"]) == len(free["found"]) + len(system)
    own = isolated["own"]
    assert own["interfaces"] == ["lo"] and own["processes"] <= 3 and int(own["capabilities"], 16) == 0
    assert own["files"] == [0, 1, 2, 3], "the fourth is the list itself"
    allowed = {"PATH", "HOME", "LANG", "PWD", "PYTHONUNBUFFERED", "LC_CTYPE"}
    keys = {"OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}
    assert set(own["variables"]) <= allowed | keys | {"GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"}
    assert own["home"] == HOME and isolated["asked"] == ["200"]
    assert hits == rows(run, "SELECT count(*) FROM attempts")[0][0] + 1, "the open one asked the provider by itself"
    assert mashq.show(run)["players"][0]["calls"] == 1
    manifest = json.loads((run / "manifest.json").read_text())
    assert [own["isolate"] for own in manifest["config"]["players"]] == [True, False]


LEAK = """
import json, os, pathlib, sys, time
from urllib.parse import urlsplit
mine = {"path": urlsplit(os.environ["OPENAI_BASE_URL"]).path, "token": os.environ["OPENAI_API_KEY"]}
pathlib.Path(sys.argv[1]).write_text(json.dumps(mine))
for line in sys.stdin:
    time.sleep(1.5)  # its token works for as long as its turn lasts
    print(json.dumps({"answer": "I gave it away."}), flush=True)
"""


@isolating
def test_even_a_rivals_token_that_it_is_given_is_worth_nothing(tmp_path: Path, folder: Path) -> None:
    """A rival that is not isolated leaves its token where the isolated one can read it, and makes its turn last."""
    run, leaked = tmp_path / "run", folder / "leaked.json"
    (folder / "leak.py").write_text(LEAK)
    ways = json.dumps([["rival", str(leaked)]])
    with FakeProvider(seed=5) as provider:
        players = [
            player(folder, "R", "leak.py", str(leaked), isolate=False),
            player(folder, "A", "prober.py", ways),
        ]
        mashq.play(match_of(provider, tmp_path, players), run)
        hits = len(provider.hits())
    assert told(run, "A")["found"] == {f"rival {leaked}": "404 401"}
    assert rows(run, "SELECT player, count(*) FROM attempts GROUP BY 1") == [("A", 1)] and hits == 1
    refused = rows(run, "SELECT player, status FROM refusals ORDER BY status")
    assert refused == [("A", 401), ("A", 404)], "and it is noted whose doing it was"


@isolating
@pytest.mark.parametrize("script", ["agents", "with_openai"])
def test_an_ordinary_agent_plays_isolated_and_is_metered_exactly(tmp_path: Path, folder: Path, script: str) -> None:
    if script == "with_openai" and importlib.util.find_spec("openai") is None:
        pytest.skip("openai is not installed")
    agents = Path(__file__).parents[1] / "players" / "external" / "agents.py"
    shutil.copy(agents, folder / "agents.py")
    faults = {"rates": {"429": 0.1, "500": 0.1, "no_usage": 0.1, "reset_before": 0.05}, "retry_after": 0}
    names = ("honest", "told", "last_words") if script == "agents" else ("A",)
    with FakeProvider(seed=11, faults={} if script == "agents" else faults) as provider:
        words = {name: (name,) if script == "agents" else ("24",) for name in names}
        players = [player(folder, name, f"{script}.py", *words[name]) for name in names]
        result = mashq.play(match_of(provider, tmp_path, players, items=3), tmp_path / "run")
        hits = len(provider.hits())
    opened, closed = rows(tmp_path / "run", "SELECT count(*), count(outcome) FROM attempts")[0]
    assert hits == opened == closed == sum(own["calls"] for own in result["players"]) > 0
    assert not rows(tmp_path / "run", "SELECT * FROM refusals") and result["dropped"] == []
    if script == "agents":
        assert [own["calls"] for own in result["players"]] == [3, 3, 0], "the last is started afresh for every item"
        check_sums_of_tokens(tmp_path / "run")
    else:
        assert hits > 3 * 24, "its own retries are among them"


def check_sums_of_tokens(run: Path) -> None:
    charged = [json.loads(move).get("spend", {}) for (move,) in rows(run, "SELECT move FROM events")]
    for measure in ("tokens_in", "tokens_out"):
        ((counted,),) = rows(run, f"SELECT sum({measure}) FROM attempts")
        assert sum(spend.get(measure, [0])[0] for spend in charged) == counted > 0


@isolating
def test_what_an_isolated_agent_leaves_behind_dies_with_it(tmp_path: Path, folder: Path) -> None:
    mark = str(8_000_000 + os.getpid())
    with FakeProvider(seed=5) as provider:
        players = [player(folder, "A", "prober.py", json.dumps([["leave_a_trace", mark]]))]
        mashq.play(match_of(provider, tmp_path, players), tmp_path / "run")
    assert told(tmp_path / "run", "A")["found"] == {f"leave_a_trace {mark}": "left"}
    deadline = time.monotonic() + 10
    while _running(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _running(mark)


def _running(word: str) -> list[str]:
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if word.encode() in words and words[0] == b"sleep":
            found.append(process.parent.name)
    return found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": None, "url": "http://127.0.0.1:9"}, "has isolate and a url"),
        ({"command": None, "agent": "q-agent"}, "has isolate, which only an 'agent: external' takes"),
        ({"directory": "."}, "would see the run directory .*, which is in "),
        ({"directory": "keys"}, "would see the key file of my/alpha, .*, which is in .*keys"),
        ({"directory": "data"}, "would see the items in .*items.jsonl, which is in .*data"),
        ({"directory": "/"}, "where its private folders are to be"),
        ({"command": ["no-such-program-at-all"]}, "cannot be started"),
        ({"command": [sys.executable, "../data/items.jsonl"]}, "'../data/items.jsonl' is not in what it sees"),
        ({"command": ["sh", "elsewhere"]}, "'elsewhere' is not in what it sees"),
    ],
)
def test_what_cannot_be_isolated_is_said_before_anything_is_paid(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    if WHY_NOT is not None and "has isolate" not in words:
        pytest.skip(f"nothing can be isolated here: {WHY_NOT}")
    for name in ("keys", "data", "programs"):
        (tmp_path / name).mkdir()
    (tmp_path / "keys" / "key").write_text(KEY)
    (tmp_path / "keys" / "key").chmod(0o600)
    (tmp_path / "programs" / "elsewhere").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").touch()
    own = player(tmp_path / "programs", "A", "-c", "pass")
    own |= {**changes, "directory": str((tmp_path / changes.get("directory", "programs")).resolve())}
    config: dict[str, Any] = {
        "task": {"data": str(write_items(tmp_path / "data" / "items.jsonl", 1))},
        "players": [own],
    }
    with FakeProvider() as provider:
        model = {"base_url": provider.base_url, "api_key_file": str(tmp_path / "keys" / "key")}
        with pytest.raises(ConfigError, match=words):
            mashq.play({**config, "models": {"my/alpha": model}}, tmp_path / "run")
        assert not (tmp_path / "run").exists() and not provider.hits()


def test_without_bubblewrap_nothing_is_played(tmp_path: Path, folder: Path) -> None:
    """One sentence and exit 2 from all that would play, and from none of them a run."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    with FakeProvider(seed=5) as provider:
        config = match_of(provider, tmp_path, [player(folder, "A", "agents.py", "honest")])
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        for words in (["run", tmp_path / "match.yaml", "--out", tmp_path / "run"], ["plan", tmp_path / "match.yaml"]):
            done = command(*words, PATH=str(nowhere))
            assert done.returncode == 2, done.stderr
            assert "bubblewrap is not installed: apt-get install bubblewrap, or leave it out" in done.stderr
        done = command("doctor", tmp_path / "match.yaml", PATH=str(nowhere))
        said = " ".join(done.stdout.split())
        assert "no isolation of external agents (bubblewrap on Linux) (apt-get install bubblewrap)" in said
        assert "no player 'A' has isolate, and bubblewrap is not installed" in said
        gateway = ["gateway", "--config", tmp_path / "match.yaml", "--out", tmp_path / "run", "--", "true"]
        done = command(*gateway)
        assert done.returncode == 2 and "the gateway alone does not do" in done.stderr
        assert not provider.hits()
    assert not (tmp_path / "run").exists()


def test_only_linux_isolates(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"players": [player(folder, "A", "agents.py", "honest", model="simulated/x")]}
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sandbox.bubblewrap() is None
    with pytest.raises(ConfigError, match="needs Linux"):
        mashq.plan(config)


@isolating
async def test_a_sandbox_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Sandbox(("true",), {"PATH": os.environ["PATH"]}, tmp_path)
    monkeypatch.setattr(sandbox, "NAMESPACES", ("--no-such-option",))
    assert "no-such-option" in (await here.look() or "")
    with pytest.raises(OSError, match="ended before it was started"):
        await here.start({}, 40000)
