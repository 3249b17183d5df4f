"""The first ten minutes and a hundredth run: templates, help, CI use, and the way from a wheel to a report."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from ruamel.yaml import YAML

import mashq as package
from mashq import cli
from mashq.cli.init import TEMPLATES
from tests.arena.helpers import mashq, write_items

ROOT = Path(__file__).parent.parent.parent
CONFIG: dict[str, Any] = {
    "task": {"limit": 8},
    "players": [
        {"name": "mine", "model": "simulated/default"},
        {"name": "base & <line>", "model": "simulated/default", "R": 0},
    ],
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A match of two players."""
    path = tmp_path / "match.yaml"
    path.write_text(json.dumps(CONFIG))
    return path


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script, with this Python's `mashq` on its path."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "mashq"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mashq "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


EMBEDDED = ("match", "rag")  # templates whose players are the embedded model, which takes minutes


@pytest.mark.parametrize("name", list(TEMPLATES))
def test_every_template_plays_as_it_is(name: str, tmp_path: Path) -> None:
    command = TEMPLATES[name][1]
    made = mashq("init", tmp_path / "mashq.yaml", "--template", name)
    assert made.returncode == 0 and f"mashq {command} {tmp_path / 'mashq.yaml'}" in made.stdout
    simulated = ["--set", "players.0.model=simulated/default", "--set", "players.1.model=simulated/default"]
    played = mashq(
        command,
        tmp_path / "mashq.yaml",
        "--out",
        tmp_path / "run",
        "--json",
        *(simulated if name in EMBEDDED else ()),
    )
    assert played.returncode == 0, played.stderr
    found = json.loads(played.stdout)
    assert found["finished"] and not any("failed" in note for note in found["notes"])
    again = mashq("init", tmp_path / "mashq.yaml", "--template", name)
    assert (again.returncode, "is already there: name another file" in again.stderr) == (2, True)


def test_what_init_says_fits_a_terminal_and_can_be_pasted(tmp_path: Path) -> None:
    path = tmp_path / "field.yaml"
    lines = mashq("init", "--template", "tournament", path).stdout.splitlines()
    assert lines[-4:-2] == [f"Wrote {path}.", "Edit it, then run:"]
    assert lines[-2:] == [f"  mashq plan tournament {path}", f"  mashq tournament {path}"]


def test_a_template_replaces_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("mine")
    refused = mashq("init", tmp_path / "new.yaml", "--template", "qa")
    assert refused.returncode == 2 and "questions.csv is already there" in refused.stderr
    assert not (tmp_path / "new.yaml").exists() and (tmp_path / "questions.csv").read_text() == "mine"


def test_the_templates_are_those_in_the_package() -> None:
    folder = Path(package.__file__).parent / "cli" / "templates"
    assert sorted(path.name for path in folder.iterdir()) == sorted(TEMPLATES)
    assert all((folder / name / "mashq.yaml").exists() for name in TEMPLATES)


def test_help_lists_every_command_once_in_groups_with_whole_sentences() -> None:
    listed = [cli.cli.commands[name] for names in cli.GROUPS.values() for name in names]
    assert len(listed) == len({command.name for command in listed}) == len(cli.cli.commands) >= 28
    text = mashq("--help", COLUMNS="100").stdout
    assert [line for line in text.splitlines() if line.rstrip(":") in cli.GROUPS] == [
        f"{name}:" for name in cli.GROUPS
    ]
    flat = " ".join(text.split())
    for command in listed:
        assert " ".join(command.get_short_help_str(1000).split()) in flat
    assert "..." not in text.replace("[ARGS]...", "")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", ["detectors", "validate", "paper", "plan"])
def test_a_group_lists_its_commands_with_whole_sentences(name: str) -> None:
    text = " ".join(mashq(name, "--help").stdout.split())
    group = cli.cli.commands[name]
    assert isinstance(group, click.Group)
    for command in group.commands.values():
        assert " ".join(command.get_short_help_str(1000).split()) in text


@pytest.mark.parametrize("line", [["swep", "c.yaml"], ["plan", "swep", "c.yaml"]])
def test_a_mistyped_command_is_told_the_nearest(line: list[str]) -> None:
    done = mashq(*line)
    assert done.returncode == 2 and done.stderr.endswith("there is no command 'swep': did you mean 'sweep'?\n")


def test_windows_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("mashq: mashq needs Linux, macOS or WSL") and said.count("\n") == 1


def test_run_says_what_to_do_next(config: Path, tmp_path: Path) -> None:
    ran = mashq("run", config, "--out", tmp_path / "run")
    place = tmp_path / "run"
    assert f"Next: mashq report {place} -o report.html\n      mashq score {place}\n      mashq view" in ran.stderr
    assert "Next" not in mashq("run", config, "--out", tmp_path / "two", "--json").stderr


def test_completion_scripts_are_there() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = mashq(_MASHQ_COMPLETE=f"{shell}_source")
        assert done.returncode == 0 and "_MASHQ_COMPLETE" in done.stdout


CONDITIONS = ("q(mine) < q(base & <line>) - 5", "h(mine) < 2 * h(base & <line>)", "clear(mine, base & <line>)")


def told(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command with the conditions, of which the second alone is true."""
    flags = [flag for condition in CONDITIONS for flag in ("--fail-if", condition)]
    return mashq(*arguments, *flags)


def test_run_and_score_fail_alike_and_say_by_what(config: Path, tmp_path: Path) -> None:
    junit, summary = tmp_path / "mashq.xml", tmp_path / "summary.md"
    summary.write_text("before\n")
    files = ("--junit", junit, "--summary", summary)
    ran = told("run", config, "--out", tmp_path / "run", "--json", *files)
    assert ran.returncode == 1, ran.stderr
    by = {player["name"]: player for player in json.loads(ran.stdout)["players"]}
    mine, base = by["mine"], by["base & <line>"]
    said = ran.stderr.splitlines()[-3:]
    assert said[0].startswith(f"mashq: ok: {CONDITIONS[0]} is false (q(mine) = {mine['q']:.6g}, ")
    assert said[1] == (
        f"mashq: failed: {CONDITIONS[1]} is true (h(mine) = {mine['h']:.6g}, h(base & <line>) = {base['h']:.6g}; "
        f"left side {mine['h']:.6g}, right side {2 * base['h']:.6g})"
    )
    assert said[2].startswith(f"mashq: ok: {CONDITIONS[2]} is false (q(mine) - q(base & <line>) = ")
    scored = told("score", tmp_path / "run", "--json")
    assert scored.returncode == 1 and scored.stderr.splitlines()[-3:] == said
    (suite,) = ElementTree.parse(junit).getroot()
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures"), len(cases)) == ("3", "1", 3)
    assert [case.get("name") for case in cases] == [f"not ({condition})" for condition in CONDITIONS]
    assert [case.find("failure") is not None for case in cases] == [False, True, False]
    text = summary.read_text("utf-8")
    assert text.startswith("before\n### mashq: ") and "<line>" not in text
    assert text.count("✅ ok") == 2 and text.count("❌ failed") == 1
    assert f"{mine['q']:.4f}" in text and f"{base['h']:.4f}" in text


def test_a_pass_is_a_pass(config: Path, tmp_path: Path) -> None:
    ran = mashq("run", config, "--out", tmp_path / "run", "--fail-if", "q(mine) < -9", "--junit", tmp_path / "x.xml")
    assert ran.returncode == 0 and "mashq: ok: q(mine) < -9 is false (q(mine) = " in ran.stderr
    assert ElementTree.parse(tmp_path / "x.xml").getroot().get("failures") == "0"


@pytest.mark.parametrize("condition", ["q(nobody) < 1", "q(mine)", "import os"])
def test_a_wrong_condition_is_told_before_anything_is_played(config: Path, tmp_path: Path, condition: str) -> None:
    ran = mashq("run", config, "--out", tmp_path / "run", "--fail-if", condition)
    assert ran.returncode == 2 and "--fail-if" in ran.stderr and not (tmp_path / "run").exists()


def test_a_file_that_cannot_be_written_is_one_sentence(config: Path, tmp_path: Path) -> None:
    ran = mashq("run", config, "--out", tmp_path / "run", "--summary", tmp_path / "match.yaml" / "x.md")
    assert ran.returncode == 2 and "cannot be written" in ran.stderr and "Traceback" not in ran.stderr


def read(path: str) -> Any:
    """A YAML file of the repository."""
    reader: Any = YAML(typ="safe")
    return reader.load((ROOT / path).read_text("utf-8"))


@pytest.mark.slow
def test_the_action_plays_fails_and_reports(config: Path, tmp_path: Path) -> None:
    action = [step for step in read("action.yml")["runs"]["steps"] if "mashq" in str(step.get("run", ""))]
    assert all("${{" not in step["run"] for step in action), "inputs reach a shell as variables only"
    scripts = [step["run"] for step in action if "pip" not in step["run"]]
    settings = {
        "CONFIG": str(config),
        "COMMAND": "run",
        "FAIL_IF": "q(mine) < -9\n\n  q(mine) > $(touch hacked) 9\n",
        "OUT": "out dir",
        "JUNIT": "m.xml",
        "REPORT": "r.html",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "s.md"),
    }
    refused = bash(scripts[0], tmp_path, **settings)
    assert refused.returncode == 2 and not (tmp_path / "hacked").exists()
    good = settings | {"FAIL_IF": "q(mine) < -9\n\nh(mine) > 2\n"}
    played = bash(scripts[0], tmp_path, **good)
    assert played.returncode == 0, played.stderr
    assert (tmp_path / "m.xml").exists() and "✅" in (tmp_path / "s.md").read_text("utf-8")
    failed = bash(
        scripts[0], tmp_path, **(good | {"COMMAND": "score", "CONFIG": "out dir", "FAIL_IF": "h(mine) > 0"})
    )
    assert failed.returncode == 1, failed.stderr
    reported = bash(scripts[1], tmp_path, **good)
    assert reported.returncode == 0 and (tmp_path / "r.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    "path", ["examples/github/mashq.yml", "src/mashq/cli/templates/ci/.github/workflows/mashq.yml"]
)
def test_the_workflows_use_what_there_is(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    (job,) = read(path)["jobs"].values()
    for step in job["steps"]:
        if "mashq@" in step.get("uses", ""):
            assert set(step["with"]) <= set(read("action.yml")["inputs"])
    players = {player["name"] for player in read("src/mashq/cli/templates/ci/mashq.yaml")["players"]}
    assert {"proposed", "baseline"} == players and "q(proposed) < q(baseline) - 0.02" in text


README_COMMANDS = 5


@pytest.mark.slow
def test_five_commands_from_the_wheel_to_a_report_of_ones_own_file(tmp_path: Path) -> None:
    """What a newcomer types, with the wheel as it is built; the packages it needs are those of this environment."""
    build = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        str(tmp_path / "dist"),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (Path(site) / "packages.pth").write_text(here + "\n")
    items = [json.loads(line)["text"] for line in write_items(tmp_path / "i.jsonl", 10).read_text().splitlines()]
    (tmp_path / "mine.csv").write_text("article\n" + "".join(f'"{text}"\n' for text in items))
    commands = [
        f"pip install --no-deps --no-index --disable-pip-version-check {wheel}",
        "mashq init",
        "mashq plan mashq.yaml --set task.data=mine.csv --set task.text=article --set task.limit=10",
        "mashq run mashq.yaml --set task.data=mine.csv --set task.text=article --set task.limit=10 --out runs/first"
        " --set players.0.model=simulated/default --set players.1.model=simulated/default",
        "mashq report runs/first",
    ]
    assert len(commands) <= README_COMMANDS
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PATH"] = f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    where = subprocess.run(
        [python, "-c", "import mashq; print(mashq.__file__)"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    assert where.stdout.startswith(str(tmp_path / "env")), "the wheel is what was used"
    page = (tmp_path / "report.html").read_text("utf-8")
    assert len(page) > 100_000 and "10 items" in page
