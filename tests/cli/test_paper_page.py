"""docs/paper.md: every command that it names runs, and it leaves out no experiment."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mashq.cli import cli
from mashq.paper.experiments import experiments

DOC = Path(__file__).parents[2] / "docs" / "paper.md"
TEXT = DOC.read_text("utf-8")
SAID = sorted(set(re.findall(r"`(mashq [^`]+)`", TEXT)))
PLAYS = [said for said in SAID if said.startswith("mashq paper play ")]


def rows() -> list[str]:
    return [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith(("|---", "| item |"))]


def test_the_page_is_a_whole_list() -> None:
    assert 60 <= len(rows()) <= 110
    for name in experiments():
        assert f"`mashq paper play {name} " in TEXT, name


@pytest.mark.parametrize("said", [one for one in SAID if one not in PLAYS and "…" not in one])
def test_a_command_of_the_page_is_one(said: str, tmp_path: Path) -> None:
    words = said.split()[1:]
    if words[0] == "paper" and words[1:2] != ["play"]:
        where = ["--out", str(tmp_path)] if words[1:2] == ["show"] else []
        found = CliRunner().invoke(cli, [*words, *where])
    else:
        found = CliRunner().invoke(cli, [*words, "--help"])
    assert found.exit_code == 0, found.output


@pytest.mark.slow
@pytest.mark.parametrize("said", PLAYS)
def test_an_experiment_of_the_page_plays(said: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, [*said.split()[1:], "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    assert "simulated from printed figures" in " ".join(found.output.split())
