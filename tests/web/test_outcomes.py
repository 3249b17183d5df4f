"""The outcome of a run in the list is that of its own document, whatever kind of run it is."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.web import kept
from mashq.web.api import summaries
from mashq.web.kept import Kept
from mashq.web.library import Library
from mashq.web.replay_cache import ReplayCache
from tests.pinned.stage import copied

SEASONS = ("tournament", "swiss", "sweep", "vision", "game", "stopped-league")


def lines(root: Path, run: str) -> list[tuple[str, str, str]]:
    summary = summaries.summary(ReplayCache(Library(root)), run)
    return [(line["name"], line["text"], line["mark"]) for line in summary["lines"]]


@pytest.mark.parametrize("kind", ["tournament", "swiss", "stopped-league"])
def test_a_tournament_is_ranked_by_its_ratings(tmp_path: Path, kind: str) -> None:
    run = copied(kind, tmp_path / kind)
    document = mashq.show(run)
    expected = [(player["name"], f"{player['rating']:.0f}") for player in document["players"]]
    assert [line[:2] for line in lines(tmp_path, kind)] == expected


@pytest.mark.parametrize("kind", SEASONS)
def test_a_season_has_no_winner_of_its_own(tmp_path: Path, kind: str) -> None:
    copied(kind, tmp_path / kind)
    summary = summaries.summary(ReplayCache(Library(tmp_path)), kind)
    assert summary["winner"] is None and not summary["clear"]
    if kind != "sweep":
        assert not {"winner", "leads"} & {line["mark"] for line in summary["lines"]}


def test_a_sweep_has_the_best_q_of_each_combination(tmp_path: Path) -> None:
    document = mashq.show(copied("sweep", tmp_path / "sweep"))
    found = lines(tmp_path, "sweep")
    assert len(found) == len(document["cells"])
    for (name, text, mark), cell in zip(found, document["cells"], strict=True):
        best = next(player for player in cell["players"] if player["name"] == cell["winner"])
        assert name.endswith(f": {cell['winner']}") and text == f"{best['q']:.4f}"
        assert mark == ("winner" if cell["clear"] else "leads")


def test_vision_shows_what_seeing_rivals_changes(tmp_path: Path) -> None:
    document = mashq.show(copied("vision", tmp_path / "vision"))
    expected = [
        (player["name"], f"{player['changes']['vision']['h']['value']:+.4f}") for player in document["players"]
    ]
    assert [(name, text.partition(" ")[0]) for name, text, _ in lines(tmp_path, "vision")] == expected


@pytest.mark.parametrize("kind", ["match", "trials", "three", "tie", "alone", "stopped", "stopped-trials", "budget"])
def test_a_winner_is_named_only_where_it_is_clear(tmp_path: Path, kind: str) -> None:
    document = mashq.show(copied(kind, tmp_path / kind))
    marks = {name: mark for name, _, mark in lines(tmp_path, kind)}
    leaders = {document["winner"]: "winner" if document["clear"] else "leads"} if document["winner"] else {}
    if len(document["players"]) == 1:
        leaders = {}
    expected = dict.fromkeys(marks, "") | leaders | dict.fromkeys(document["tied"], "tied")
    assert marks == expected
    assert [(name, text) for name, text, _ in lines(tmp_path, kind)] == [
        (player["name"], "?" if player["q"] is None else f"{player['q']:.4f}") for player in document["players"]
    ]


def test_a_clear_winner_is_called_one(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "task": {"limit": 12},
        "players": [{"name": name, "agent": "plain", "model": f"simulated/{name}"} for name in ("good", "bad")],
        "models": {"simulated/good": {"simulate": {"h": 0.95}}, "simulated/bad": {"simulate": {"h": 0.2}}},
    }
    mashq.play(config, tmp_path / "run")
    assert mashq.show(tmp_path / "run")["clear"]
    assert {name: mark for name, _, mark in lines(tmp_path, "run")} == {"good": "winner", "bad": ""}


@pytest.mark.slow
def test_all_trials_count_however_many(tmp_path: Path) -> None:
    players = [{"name": name, "agent": "plain", "model": f"simulated/{name}"} for name in "xy"]
    mashq.play({"task": {"limit": 2}, "players": players}, tmp_path / "run", trials=1_010)
    summary = summaries.summary(ReplayCache(Library(tmp_path)), "run")
    document = mashq.show(tmp_path / "run")
    assert summary["matches"] == 1_010 and summary["units"] == document["units"] == 2_020
    assert [player["q"] for player in summary["players"]] == [player["q"] for player in document["players"]]


def test_an_outcome_is_computed_once_per_state_of_the_files(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "simulated", tmp_path / "run")
    library, memory, calls = Library(tmp_path), Kept(), list[int]()

    def count() -> int:
        calls.append(1)
        return len(calls)

    assert [memory.get("key", [library.find("run")], count) for _ in range(3)] == [1, 1, 1]
    assert memory.get("other", [library.find("run")], count) == 2
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert memory.get("key", [library.find("run")], count) == 3


def test_a_run_that_is_played_is_not_computed_at_every_move(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "simulated", tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"ended": None}))
    library, memory, now, calls = Library(tmp_path), Kept(), [100.0], list[int]()
    monkeypatch.setattr(kept.time, "monotonic", lambda: now[0])

    def slow() -> int:
        now[0] += 2.0
        calls.append(1)
        return len(calls)

    def after(seconds: float) -> int:
        now[0] += seconds
        (tmp_path / "run" / "run.db-wal").write_bytes(b"x" * len(calls) + b"y" * int(now[0]))
        return memory.get("key", [library.find("run")], slow)

    assert [after(0), after(1), after(18), after(2)] == [1, 1, 1, 2]
