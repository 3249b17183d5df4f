"""docs/extending.md as a reader follows it: its package is installed, and used from the command line."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mashq.extensions import DETECTORS, EXECUTORS, EXPORTS, PLAYERS, WIRES, Extensions

ROOT = Path(__file__).parent.parent
DOC = (ROOT / "docs" / "extending.md").read_text("utf-8")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
KINDS: tuple[Extensions[Any], ...] = (PLAYERS, DETECTORS, WIRES, EXPORTS, EXECUTORS)


def install(site: Path, entry_points: str, **files: str) -> Path:
    """A package in a folder, as an installer leaves it."""
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, "utf-8")
    info = site / "my_extensions-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-extensions\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(entry_points)
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the documentation."""
    blocks = BLOCK.findall(DOC)
    (toml,) = [text for language, text in blocks if language == "toml"]
    files = {text.splitlines()[0].removeprefix("# "): text for language, text in blocks if language == "python"}
    assert len(files) == 6
    names = toml.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', "")
    return install(tmp_path_factory.mktemp("site"), names, **files)


def run(site: Path, *arguments: object, module: str = "mashq") -> subprocess.CompletedProcess[str]:
    """A command of a Python that has the package installed."""
    path = os.pathsep.join([str(site), str(ROOT / "src")])
    line = [sys.executable, "-m", module, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    return subprocess.run(line, capture_output=True, text=True, env=environment, cwd=site, check=False, timeout=120)


def match(folder: Path, **changes: Any) -> Path:
    """A configuration (JSON is YAML)."""
    config: dict[str, Any] = {
        "task": {"limit": 3},
        "players": [{"name": "A", "model": "simulated/a"}, {"name": "B", "model": "simulated/b", "agent": "plain"}],
    }
    path = folder / "match.yaml"
    path.write_text(json.dumps(config | changes))
    return path


def test_a_player_and_a_detector(site: Path, tmp_path: Path) -> None:
    config = match(tmp_path, players=[{"name": "A", "model": "simulated/a", "agent": "closing"}], detector="overlap")
    done = run(site, "run", config, "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    (player,) = json.loads(done.stdout)["players"]
    assert player["h"] > 0.9 and player["calls"] == 0
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"source": "the bridge opened in 1931", "answer": "the bridge collapsed"}\n')
    done = run(site, "detect", pairs, "--detector", "overlap", "--no-cache")
    assert json.loads(done.stdout) == {"h": pytest.approx(2 / 3)}
    assert "yes  overlap 1\n" in run(site, "detectors").stdout


@contextmanager
def completions() -> Generator[tuple[str, list[dict[str, Any]]]]:
    """A provider that speaks the documented wire format: its base URL, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body | {"path": self.path})
            text = '{"summary": "A ferry sank."}'
            reply = {"choices": [{"text": text}], "usage": {"prompt_tokens": 11, "completion_tokens": 4}}
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
        server.shutdown()


def test_a_wire_format(site: Path, tmp_path: Path) -> None:
    with completions() as (url, asked):
        model = {"my/alpha": {"base_url": url, "wire": "completions"}}
        players = [{"name": "A", "model": "my/alpha", "agent": "plain"}]
        done = run(site, "run", match(tmp_path, players=players, models=model), "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    (player,) = json.loads(done.stdout)["players"]
    assert (player["tokens_in"], player["tokens_out"], player["calls"]) == (33, 12, 3)
    assert [(body["path"], body["model"]) for body in asked] == [("/v1/completions", "alpha")] * 3


def test_an_export_and_an_executor(site: Path, tmp_path: Path) -> None:
    place, line = tmp_path / "run", ("run", match(tmp_path), "--trials", 2, "--json")
    done = run(site, *line, "--executor", "one-by-one", "--out", place)
    assert done.returncode == 0, done.stderr
    here = run(site, *line, "--executor", "local", "--out", tmp_path / "here")
    assert json.loads(done.stdout)["players"] == json.loads(here.stdout)["players"]
    table = run(site, "export", place, "--format", "markdown").stdout.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert rows[0][:3] == ["player", "item", "trial"] and len(rows) == 2 + 2 * 2 * 3
    assert {row[0] for row in rows[2:]} == {"A", "B"}
    done = run(site, "export", place, "-o", tmp_path / "results.md")
    assert (done.returncode, done.stderr) == (0, f"A table in {tmp_path / 'results.md'}.\n")
    assert (tmp_path / "results.md").read_text().splitlines() == table


def test_the_documented_checks_pass(site: Path) -> None:
    done = run(site, "-q", "-p", "no:cacheprovider", "test_my_extensions.py", module="pytest")
    assert "5 passed" in done.stdout, done.stdout + done.stderr


BROKEN = {
    "gone": ("my_extensions.gone:Gone", "ModuleNotFoundError"),
    "unmade": ("my_extensions:Unmade", "TypeError: Unmade.__init__"),
    "empty": ("my_extensions:Empty", "it has no"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.group)
def test_a_broken_extension_is_one_sentence_that_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Extensions[Any], name: str
) -> None:
    source = "class Unmade:\n    def __init__(self, needed): ...\n\nclass Empty: ...\n"
    place, said = BROKEN[name]
    site = install(tmp_path, f"[{kind.group}]\n{name} = {place}\n", **{"my_extensions.py": source})
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    monkeypatch.delitem(sys.modules, "my_extensions", raising=False)
    with pytest.raises(Exception, match=r"of the package my-extensions 1\.2 cannot be used") as caught:
        kind.create(name)
    sys.modules.pop("my_extensions", None)
    message = str(caught.value)
    assert type(caught.value).__name__ == "ConfigError" and said in message and "\n" not in message
    assert repr(name) in message and message.endswith(".")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.group)
def test_an_unknown_name_is_told_the_nearest(kind: Extensions[Any]) -> None:
    known = next(iter(kind.built_in))
    with pytest.raises(Exception, match=rf"there is no {kind.kind} '{known}x': did you mean '{known}'\?$"):
        kind.create(f"{known}x")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.group)
def test_what_is_built_in_has_what_is_asked_of_others(kind: Extensions[Any]) -> None:
    for name in kind.built_in:
        if name not in ("hhem", "minicheck"):  # their weights may not be here
            made: Any = kind.load(name)
            assert callable(made)
            made = made if kind is PLAYERS else made()  # a player of ours is made with its prompts
            assert [member for member in kind.members if not hasattr(made, member)] == [], name


def test_a_broken_extension_exits_with_2(tmp_path: Path) -> None:
    site = install(tmp_path / "site", "[mashq.executors]\ngone = my_extensions.gone:Gone\n")
    done = run(site, "run", match(tmp_path), "--executor", "gone")
    assert (done.returncode, "my-extensions 1.2" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
