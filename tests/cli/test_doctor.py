"""What `mashq doctor` says about secrets; it never shows one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mashq.cli.doctor import doctor
from mashq.errors import ConfigError
from mashq.extensions import DETECTORS

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path


def said(*arguments: str) -> str:
    done = CliRunner().invoke(doctor, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "secret" not in done.output
    return done.output.replace("\n     ", " ")  # a line may be folded anywhere, by how long a path is


def config(folder: Path, **model: object) -> str:
    path = folder / "match.yaml"
    players = [{"name": "A", "model": "my/x"}]
    path.write_text(json.dumps({"players": players, "models": {"my/x": {"base_url": "http://h/v1", **model}}}))
    return str(path)


@pytest.mark.parametrize(
    ("mode", "body", "says"),
    [
        (0o600, KEY, "yes  the key file"),
        (0o600, "", "it is empty"),
        (0o644, KEY, "can be read by others  (chmod 600"),
        (0o640, KEY, "can be read by others  (chmod 600"),
    ],
)
def test_a_key_file_is_its_owners_alone(folder: Path, mode: int, body: str, says: str) -> None:
    (folder / "key").write_text(body)
    (folder / "key").chmod(mode)
    assert says in said(config(folder, api_key_file="key"))


def test_a_key_file_that_is_not_there(folder: Path) -> None:
    assert "it cannot be read: No such file" in said(config(folder, api_key_file="nowhere"))


def test_an_env_file_that_others_can_read(folder: Path) -> None:
    path = folder / ".env"
    path.write_text(f"# keys\nexport OPENAI_API_KEY='{KEY}'\nMY_KEY={KEY}\nOTHER=1\nXAI_API_KEY=\n")
    path.chmod(0o644)
    assert " no  .env holds OPENAI_API_KEY and can be read by others  (chmod 600 .env)" in said()
    assert "OPENAI_API_KEY, MY_KEY" in said(config(folder, api_key_env="MY_KEY"))
    path.chmod(0o600)
    assert ".env" not in said()


def test_runs_that_others_can_read_are_mentioned(folder: Path) -> None:
    assert "prompt and answer" not in said()
    (folder / "runs").mkdir(mode=0o755)
    assert "  -  runs/ holds every prompt and answer" in said()
    (folder / "runs").chmod(0o700)
    assert "prompt and answer" not in said()


def test_a_missing_configuration_is_told_first(folder: Path) -> None:
    done = CliRunner().invoke(doctor, [str(folder / "none.yaml")])
    assert done.output == "" and isinstance(done.exception, ConfigError)


def test_every_detector_is_listed() -> None:
    assert f"detectors: {', '.join(DETECTORS.names())}, llm-judge:MODEL" in said()
