"""The leaderboard: its numbers are the score's, its directory is its own, and it needs nothing but itself."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.score_report import Options, judge
from mashq.cli import cli
from mashq.errors import ConfigError, StoreError
from mashq.protocol.results import from_matches
from mashq.report import site
from mashq.report.documents.base import dumped
from mashq.report.html import page
from mashq.report.html.facts import facts
from mashq.runs.open import load_season
from mashq.runs.setup import score_rules_of
from tests.report import runs
from tests.report.test_html import STUB, Seen

BETAS = (0.0, 0.013, 0.1, 1 / 3, 2.0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the charts' libraries and pictures: the reports have tests of their own."""
    monkeypatch.setattr(page, "libraries", lambda: STUB)
    monkeypatch.setattr(page, "picture", lambda _spec: "data:image/svg+xml;base64,")  # pyright: ignore


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two matches, trials, a tournament and a run that is not finished."""
    place = tmp_path_factory.mktemp("runs")
    runs.play(runs.config(3), place / "first")
    runs.play(
        runs.config(2, score={"resources": ["tokens", "seconds"], "weights": {"seconds": 2.5}}), place / "Second Ä"
    )
    runs.play(runs.config(), place / "deep" / "trials", trials=2)
    runs.play(runs.config(3), place / "league", kind="tournament", system="round-robin", seats=2)
    open_ = runs.play(runs.config(), place / "open") / "manifest.json"
    open_.write_text(json.dumps(json.loads(open_.read_text()) | {"ended": None}))
    return place


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of those runs."""
    out = tmp_path_factory.mktemp("made") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "libraries", lambda: STUB)
        patch.setattr(page, "picture", lambda _spec: "data:image/svg+xml;base64,")  # pyright: ignore
        site.write_site(folder, out)
    return out


def boards(out: Path) -> list[dict[str, Any]]:
    found = re.search(r'id="boards">(.*?)</script>', (out / "index.html").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def q(board: dict[str, Any], entry: dict[str, Any], beta: float, without: str = "") -> float:
    """What the page's script computes, operation by operation."""
    penalty = 0.0
    for name, weight in board["weights"].items():
        if name != without:
            penalty += weight * entry["shares"][name]
    return board["alpha"] * entry["h"] - beta * penalty


def test_the_page_scores_exactly_as_the_command_does(folder: Path, made: Path) -> None:
    found = {board["run"]: board for board in boards(made)}
    assert set(found) == {"first", "Second Ä", "trials"}
    for path in (folder / "first", folder / "Second Ä", folder / "deep" / "trials"):
        season = load_season(path)
        results = from_matches(played.results for played in season.fixtures_played())
        given = score_rules_of(season.config)
        board = found[path.name]
        for beta in BETAS:
            said = dumped(judge(results, Options(replace(given, beta=beta), 100)))
            assert [q(board, entry, beta) for entry in board["entries"]] == [p["q"] for p in said["players"]]
        fewer = {name: weight for name, weight in given.weights.items() if name != "tokens"}
        said = dumped(judge(results, Options(replace(given, beta=0.07, weights=fewer), 100)))
        assert [q(board, entry, 0.07, "tokens") for entry in board["entries"]] == [p["q"] for p in said["players"]]


def test_the_index_links_every_finished_run_and_says_what_was_passed_over(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["site", str(folder), "-o", str(tmp_path / "site")])
    assert done.exit_code == 0
    assert "open is not finished" in done.output
    seen = Seen((tmp_path / "site" / "index.html").read_text("utf-8"))
    links = {found["href"] for tag, found in seen.tags if tag == "a"}
    assert links == {f"reports/{name}.html" for name in ("first", "second-a", "deep-trials", "league")}
    assert all((tmp_path / "site" / str(link)).is_file() for link in links)
    assert "Tournaments" in seen.words and "rated first" in seen.words and "SIMULATED" in seen.words


def test_without_a_script_the_table_is_there_in_order(made: Path) -> None:
    html = (made / "index.html").read_text("utf-8")
    rows = re.findall(r'data-board="(\d+)".*?class="q">([−\d.]+)<.*?class="place">(\d+)<', html, re.DOTALL)
    assert [(board, place) for board, _, place in rows] == sorted((board, place) for board, _, place in rows)
    first = [float(value.replace("−", "-")) for board, value, _ in rows if board == "0"]
    assert len(first) > 1 and first == sorted(first, reverse=True)


def test_the_same_runs_give_the_same_bytes_and_no_path(folder: Path, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    site.write_site(folder, out)
    first, second = (
        {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        for place in (made, out)
    )
    assert first == second
    assert not any(str(folder).encode() in content or str(made).encode() in content for content in first.values())


def test_a_directory_that_is_no_site_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match="no site of mashq"):
        site.write_site(folder, tmp_path)
    with pytest.raises(StoreError, match="is a file"):
        site.write_site(folder, tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_site_made_again_drops_its_old_reports_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    site.write_site(folder, out)
    (out / "CNAME").write_text("example.org")
    (tmp_path / "outside.html").write_text("mine")
    mark = json.loads((out / "site.json").read_text())
    mark["files"] += ["../outside.html", "CNAME", "/etc/hosts"]
    (out / "site.json").write_text(json.dumps(mark))
    site.write_site(folder / "deep", out)
    assert [path.name for path in (out / "reports").iterdir()] == ["trials.html"]
    assert (out / "CNAME").exists() and (tmp_path / "outside.html").exists()


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no finished run"):
        site.write_site(tmp_path, tmp_path / "site")
    with pytest.raises(ConfigError, match="not a directory"):
        site.write_site(tmp_path / "nowhere", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_hostile_names_are_text_in_the_index(tmp_path: Path) -> None:
    runs.hostile(tmp_path / "runs")
    site.write_site(tmp_path / "runs", tmp_path / "site")
    html = (tmp_path / "site" / "index.html").read_text("utf-8")
    seen = Seen(html)
    assert [tag for tag, _ in seen.tags].count("script") == 2
    assert not any(name.startswith("on") for _, attributes in seen.tags for name in attributes)
    assert "window.pwned" in seen.words and not set("\u202e\x1b\x00") & set(html)
    assert str(tmp_path) not in html


def test_the_index_loads_nothing(made: Path) -> None:
    html = (made / "index.html").read_text("utf-8")
    assert "default-src 'none'" in html and "://" not in html


def test_a_tie_has_no_winner_and_drawn_scores_have_no_detector(tmp_path: Path) -> None:
    """Two players that draw the same replies have the same Q."""
    same = {"model": "simulated/m", "agent": "plain", "order": "forward"}
    tied = {
        "task": {"limit": 6},
        "players": [{"name": "a", **same}, {"name": "b", **same}],
        "models": {"simulated/m": {"simulate": {"common": True}}},
    }
    runs.play(tied, tmp_path / "tied")
    runs.play(runs.config(2, 6), tmp_path / "won")
    boards = {name: site.board(facts(load_season(tmp_path / name)), "r.html") for name in ("tied", "won")}
    ranked = {name: [q for _, _, _, q in site.ranking(board)] for name, board in boards.items()}
    assert ranked["tied"][0] == ranked["tied"][1] and boards["tied"].winner is None
    assert ranked["won"][0] != ranked["won"][1]
    assert boards["won"].winner == site.ranking(boards["won"])[0][1].player
    assert {board.detector for board in boards.values()} == {"none (scores are drawn)"}
