"""`mashq power` and `mashq calibrate` as a user runs them."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import mashq as package
from mashq.cli import cli
from mashq.errors import MashqError
from tests.arena.helpers import mashq, write_items

PLAYERS = ("careful", "frugal, and proud")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    config = {
        "task": {"data": str(write_items(folder / "items.jsonl", 40))},
        "players": [
            {"name": PLAYERS[0], "model": "simulated/default", "R": 1},
            {"name": PLAYERS[1], "model": "simulated/default", "agent": "plain"},
        ],
        "models": {"simulated/default": {"simulate": {"h": 0.7, "h_spread": 0.3}}},
    }
    package.play(config, folder / "run")
    return folder / "run"


def done(*arguments: object, code: int = 0) -> str:
    result = mashq(*arguments, OPENBLAS_NUM_THREADS="1")
    assert result.returncode == code, result.stderr
    return result.stdout


def refused(said: str, *arguments: object) -> None:
    with pytest.raises(MashqError) as caught:
        cli.main([*map(str, arguments)], standalone_mode=False)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_power_says_how_many_items_and_what_they_cost(run: Path) -> None:
    said = " ".join(done("power", run).split())
    for part in (
        "SIMULATED",
        "items tell them apart",
        "if the true difference is the recorded one",
        "itself uncertain",
    ):
        assert part in said
    assert "recorded" in said and "detectable" in said and "an unknown price" in said
    document: dict[str, Any] = json.loads(done("power", run, "--json", "--players", ",".join(PLAYERS)))
    assert set(document["players"]) == set(PLAYERS) and document["simulated"] is True
    assert document["items"] == 40 and document["source"] == str(run)
    whole = package.show(run)
    assert document["dq"] == pytest.approx(whole["differences"][0]["dq"])
    at_40 = next(row for row in document["curve"] if row["items"] == 40)
    assert at_40["costs"]["tokens"] == pytest.approx(sum(player["tokens"] for player in whole["players"]))
    assert json.loads(done("power", run, "--json", "--beta", 0, "--level", 0.9))["level"] == 0.9


def test_power_from_a_simulation_keeps_the_recorded_difference(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.import_module("mashq.cli.power"), "POOL", 300)
    said: list[dict[str, Any]] = []
    for arguments in (["power", str(run), "--json"], ["power", str(run), "--json", "--simulate"]):
        cli.main(arguments, standalone_mode=False)
        said.append(json.loads(capsys.readouterr().out))
    plain, drawn = said
    assert drawn["drawn"] is True and drawn["simulated"] is True and drawn["items"] == 300
    for key in ("dq", "low", "high", "players"):
        assert drawn[key] == plain[key]
    assert drawn["recorded_needed"] == plain["needed"]
    assert drawn["needed"] == pytest.approx(plain["needed"], rel=0.5)


@pytest.mark.parametrize(("form", "sign"), [("table", "───"), ("latex", r"\begin{tabular}")])
def test_power_of_anyones_results(tmp_path: Path, form: str, sign: str) -> None:
    path = tmp_path / "results.csv"
    rows = [f"{m},{n},{h}" for m, by in (("a", 3), ("b", 4)) for n in range(60) for h in [(n * by % 10) / 10]]
    path.write_text("\n".join(["model,item,score", *rows]))
    said = done("power", path, "--map", "player=model", "--map", "h=score", "--format", form)
    assert sign in said and "SIMULATED" not in said and "left out of P" in said
    assert form != "table" or max(map(len, said.splitlines())) <= 100


def test_calibrate_writes_a_match_that_can_be_played_and_changed(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "like.yaml"
    said = done("calibrate", run, "-o", out, "--more", 3, "--items", 50)
    assert str(out) in said and (tmp_path / "like.items.jsonl").exists()
    text = out.read_text().replace("\n# ", " ")
    assert text.startswith("# SIMULATED") and "itself simulated" in text and "40 items" in text
    digest: str = json.loads((run / "manifest.json").read_text())["digests"]["config"]
    assert digest[:12] in text
    result = package.play(out, tmp_path / "run")
    assert result["simulated"] is True and result["items"] == 50 and len(result["players"]) == 5
    larger = json.loads(done("run", out, "--out", tmp_path / "more", "--set", "task.limit=120", "--json"))
    assert larger["items"] == 120


def test_calibrate_checks_itself(run: Path) -> None:
    said = done("calibrate", run, "--check", "--matches", 6)
    assert "SIMULATED" in said and "Like the record: all 12 figures" in said and " NO" not in said
    document: dict[str, Any] = json.loads(done("calibrate", run, "--check", "--matches", 2, "--json"))
    assert (
        document["matches"] == 2
        and document["simulated"] is True
        and {r["fitted"] for r in document["rows"]} == {True}
    )


def test_an_unlike_simulation_exits_with_1(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mashq.arena import simulation

    true = simulation.fit

    def worse(players: Any) -> Any:
        fitted = true(players)
        for one in fitted:
            one.simulate["h_values"][:] = [0.01]
        return fitted

    monkeypatch.setattr(simulation, "fit", worse)
    with pytest.raises(SystemExit) as caught:
        cli.main(["calibrate", str(run), "--check", "--matches", "2"], standalone_mode=False)
    assert caught.value.code == 1


def test_bad_input_is_one_sentence(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("player,item,h\n" + "".join(f"{p},{n},0.{n}\n" for p in "ab" for n in range(8)))
    refused("is not a run", "power", tmp_path)
    refused("does not exist", "power", tmp_path / "none.csv")
    refused("needs a run directory", "power", file, "--simulate")
    refused("there is no player 'frugal'", "power", run, "--players", "careful,frugal")
    refused("name two different players", "power", file, "--players", "a,a")
    refused("write two of", "power", file, "--players", "a")
    refused("no such player", "power", file, "--without", "c")
    refused("one player", "power", file, "--without", "b")
    refused("leaves no player", "power", file, "--without", "a", "--without", "b")
    refused("nothing to do", "calibrate", run)
    refused("is not a run", "calibrate", tmp_path, "--check")
    refused("variants of these players", "calibrate", run, "-o", tmp_path / "x.yaml", "--more", 5000)
    refused("cannot be written", "calibrate", run, "-o", tmp_path / "no" / "x.yaml")
    (tmp_path / "there.yaml").touch()
    refused("already there", "calibrate", run, "-o", tmp_path / "there.yaml")
    assert (tmp_path / "there.yaml").read_text() == "" and not (tmp_path / "x.yaml").exists()
    result = mashq("power", tmp_path)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert mashq("power", run, "--power", 2).returncode == 2
