"""A resource is one row of one table: joules, declared for a model, can be counted, budgeted, shown and exported."""

import asyncio
import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import ConfigError
from mashq.protocol.resources import RESOURCES, TABLE
from mashq.protocol.score import ScoreRules
from mashq.report.text.progress import Progress
from mashq.runs.open import load
from tests.pinned.door import Dashboard, command
from tests.pinned.stage import copied

RATE = {"input": 200_000.0, "output": 2_000_000.0}


def config(**settings: Any) -> dict[str, Any]:
    """Two simulated players; the energy of one model is declared."""
    document: dict[str, Any] = {
        "task": {"data": "builtin", "limit": 4},
        "players": [
            {"name": "A", "model": "simulated/one", "policy": "rule"},
            {"name": "B", "agent": "plain", "model": "simulated/two"},
        ],
        "models": {"simulated/one": {"energy": RATE}, "simulated/two": {"energy": RATE}},
        "seed": 3,
    }
    return document | settings


def by_hand(run: Path, player: str) -> float:
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        query = "SELECT sum(tokens_in), sum(tokens_out) FROM attempts WHERE player = ?"
        tokens_in, tokens_out = connection.execute(query, (player,)).fetchone()
    connection.close()
    return (tokens_in * RATE["input"] + tokens_out * RATE["output"]) / 1e6


def test_joules_are_worked_out_stored_shown_and_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    mashq.play(config(), run)
    shown = json.loads(command(["show", str(run), "--json"]).out)
    joules = {player["name"]: player["joules"] for player in shown["players"]}
    assert joules == {name: pytest.approx(by_hand(run, name)) for name in ("A", "B")}
    assert "joules" in command(["show", str(run)], columns=160).out
    rows = list(csv.DictReader(io.StringIO(command(["export", str(run), "--format", "csv"]).out)))
    assert sum(float(row["joules"]) for row in rows if row["player"] == "A") == pytest.approx(joules["A"])
    assert command(["verify", str(run)]).code == 0
    data = Dashboard(tmp_path).get("/api/match", "run=run&match=0")
    assert data.status == 200


def test_joules_can_be_counted_in_p(tmp_path: Path) -> None:
    mashq.play(config(score={"resources": ["joules"]}), tmp_path / "run")
    shown = json.loads(command(["show", str(tmp_path / "run"), "--json"]).out)
    a, b = (by_hand(tmp_path / "run", name) for name in ("A", "B"))
    assert [player["penalty"] for player in shown["players"]] == pytest.approx([a / max(a, b), b / max(a, b)])


def test_joules_can_be_budgeted(tmp_path: Path) -> None:
    mashq.play(config(rules={"budget": {"joules": 2_500.0}}), tmp_path / "run")
    players = load(tmp_path / "run").state.players
    assert any("budget of 2500 joules cannot cover the next call" in (player.stopped or "") for player in players)
    assert all(player.spend.amount("joules").total <= 2_500 for player in players)


def test_a_budget_needs_a_rate(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a budget in joules needs a rate.*models\.energy"):
        mashq.play(config(models={}, rules={"budget": {"joules": 5.0}}), tmp_path / "run")


def test_without_a_rate_it_is_unknown_and_left_out_of_p(tmp_path: Path) -> None:
    mashq.play(config(models={}, score={"resources": ["calls", "joules"]}), tmp_path / "run")
    shown = json.loads(command(["show", str(tmp_path / "run"), "--json"]).out)
    assert [player["joules"] for player in shown["players"]] == [None, None]
    assert "joules left out of P: the results do not have it." in shown["notes"]


def test_a_run_of_an_earlier_version_reads_as_unknown_and_resume_adds_the_columns(tmp_path: Path) -> None:
    run = copied("stopped", tmp_path / "run")
    spend = load(run).state.players[0].spend
    assert not spend.amount("joules").is_known and spend.amount("joules").unknown == spend.attempts
    assert command(["resume", str(run)]).code == 0
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        for table, column in (("attempts", "joules"), ("attempts", "worst_joules"), ("results", "joules_known")):
            assert column in {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    assert command(["verify", str(run)]).code == 0


def exported(run: Path, form: str) -> str:
    return command(["export", str(run), "--format", form]).out


def in_spans(run: Path) -> float:
    total = 0.0
    for line in exported(run, "otel").splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    values = {entry["key"]: entry["value"] for entry in span["attributes"]}
                    total += values.get("mashq.joules", {}).get("doubleValue", 0.0)
    return total


def test_every_output_of_a_run_has_its_joules(tmp_path: Path) -> None:
    """A list of resources written by hand somewhere would leave them out."""
    run, logs = tmp_path / "run", tmp_path / "logs"
    log = io.StringIO()
    season_config = check(config(score={"resources": ["joules"]}), "a test")
    rules = ScoreRules(weights={"joules": 1.0})
    with Progress(Console(file=log, width=200), rules, simulated=True, every=0.0) as progress:
        asyncio.run(match.run(season_config, run, show=progress))
    joules = {name: by_hand(run, name) for name in ("A", "B")}
    shown = {name: f"{amount:,.1f}" for name, amount in joules.items()}

    assert [player["joules"] for player in json.loads(command(["show", str(run), "--json"]).out)["players"]] == (
        pytest.approx(list(joules.values()))
    )
    table = command(["show", str(run)], columns=200).out.splitlines()
    for name, amount in shown.items():
        assert amount in next(line for line in table if line.strip().startswith(name)).split()
    assert any(f"joules {amount}" in log.getvalue() for amount in shown.values())

    command(["report", str(run), "-o", str(tmp_path / "report.html")])
    page = (tmp_path / "report.html").read_text("utf-8")
    assert all(f">{amount}<" in page for amount in shown.values())

    lines = [json.loads(line) for line in exported(run, "jsonl").splitlines()]
    cells = list(csv.DictReader(io.StringIO(exported(run, "csv"))))
    assert command(["export", str(run), "--format", "inspect", "-o", str(logs)]).code == 0
    back = tmp_path / "back.csv"
    assert command(["import", *map(str, sorted(logs.iterdir())), "-o", str(back)]).code == 0
    imported = list(csv.DictReader(io.StringIO(back.read_text("utf-8"))))
    for rows in (lines, cells, imported):
        for name, amount in joules.items():
            assert sum(float(row["joules"]) for row in rows if row["player"] == name) == pytest.approx(amount)
    assert in_spans(run) == pytest.approx(sum(joules.values()))


def test_the_table_names_each_resource_once() -> None:
    assert list(TABLE) == list(RESOURCES) == [row.name for row in TABLE.values()]
